"""Errors of registrations: pure batched functions, and one class that collects them.

"The paper" is that of the refinement layer; see `spoonful.geometry`.
"""

from spoonful.metrics.accumulator import PoseErrors, Report
from spoonful.metrics.clouds import (
    chamfer_distance,
    correspondence_error,
    mean_point_distance,
    modified_chamfer_distance,
    relative_correspondence_error,
)
from spoonful.metrics.poses import (
    Convention,
    anisotropic_error_degrees,
    relative_rotation_error,
    relative_translation_error,
    rotation_error_degrees,
    translation_error,
)
from spoonful.metrics.summary import Summary, quantile, summarize

__all__ = [
    "Convention",
    "PoseErrors",
    "Report",
    "Summary",
    "anisotropic_error_degrees",
    "chamfer_distance",
    "correspondence_error",
    "mean_point_distance",
    "modified_chamfer_distance",
    "quantile",
    "relative_correspondence_error",
    "relative_rotation_error",
    "relative_translation_error",
    "rotation_error_degrees",
    "summarize",
    "translation_error",
]
