"""Learned 3D point-cloud registration: a differentiable pose layer, exact, fast and never NaN."""

from typing import Any

from spoonful.compat import spoonful as spoonful
from spoonful.geometry import (
    LayerOutput,
    Moments,
    Neighbors,
    Pose,
    SpoonfulLayer,
    Stability,
    Status,
    gram_schmidt,
    hat,
    kabsch,
    kabsch_packed,
    linearized_step,
    moments,
    moments_packed,
    nearest,
    random_rotation,
    refine,
    rotation_from_vector,
    stability,
    vee,
)

__version__ = "0.1.0"

# Without `register`, which needs more than torch, and without `spoonful`, the published function,
# which would hide this package.
__all__ = [
    "LayerOutput",
    "Moments",
    "Neighbors",
    "Pose",
    "SpoonfulLayer",
    "Stability",
    "Status",
    "gram_schmidt",
    "hat",
    "kabsch",
    "kabsch_packed",
    "linearized_step",
    "moments",
    "moments_packed",
    "nearest",
    "random_rotation",
    "refine",
    "rotation_from_vector",
    "stability",
    "vee",
]


def __getattr__(name: str) -> Any:
    # Registering files and scans brings in numpy and more: not before it is asked for.
    if name == "register":
        from spoonful.pipeline import register

        return register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "register"})
