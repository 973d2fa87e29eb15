"""Learned 3D point-cloud registration: a differentiable pose layer, exact, fast and never NaN."""

from spoonful.compat import spoonful
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
    linearized_step,
    moments,
    nearest,
    random_rotation,
    refine,
    rotation_from_vector,
    stability,
    vee,
)

__version__ = "0.1.0"

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
    "linearized_step",
    "moments",
    "nearest",
    "random_rotation",
    "refine",
    "rotation_from_vector",
    "spoonful",
    "stability",
    "vee",
]
