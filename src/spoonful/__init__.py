"""Learned 3D point-cloud registration: a differentiable pose layer, exact, fast and never NaN."""

from spoonful.compat import spoonful as spoonful
from spoonful.geometry import (
    LayerOutput,
    Pose,
    SpoonfulLayer,
    Stability,
    Status,
    kabsch,
    refine,
    robust_kabsch,
    similarity,
    stability,
)
from spoonful.version import __version__ as __version__

# Without `register`, which needs more than torch, and without `spoonful`, the published function,
# which would hide this package.
__all__ = [
    "LayerOutput",
    "Pose",
    "SpoonfulLayer",
    "Stability",
    "Status",
    "kabsch",
    "refine",
    "robust_kabsch",
    "similarity",
    "stability",
]


def __getattr__(name: str) -> object:
    # Registering files and scans imports numpy and more: only when it is used.
    if name == "register":
        from spoonful.pipeline import register

        return register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "geometry", "register", "spoonful"})
