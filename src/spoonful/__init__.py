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

# These were here before 0.2. They live in `spoonful.geometry`.
_MOVED = {
    "Moments",
    "Neighbors",
    "gram_schmidt",
    "hat",
    "kabsch_packed",
    "linearized_step",
    "moments",
    "moments_packed",
    "nearest",
    "random_rotation",
    "rotation_from_vector",
    "vee",
}


def __getattr__(name: str) -> object:
    # Registering files and scans imports numpy and more: only when it is used.
    if name == "register":
        from spoonful.pipeline import register

        return register
    if name in _MOVED:
        import warnings

        from spoonful import geometry

        warnings.warn(
            f"spoonful.{name} is deprecated: import it from spoonful.geometry",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(geometry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "geometry", "register", "spoonful"})
