"""Compiled kernels behind the geometry's own functions, and the switch that turns them off.

    SPOONFUL_KERNELS=off python train.py        # or, around some lines:
    with kernels.disabled(): ...

`kabsch`, `kabsch_packed`, `refine` and `SpoonfulLayer` call `pose_head`, `similarity` calls
`similarity_head`. They use a kernel if one fits (`usable`) and the reference, `geometry.head`,
otherwise, with the same results up to rounding. So do the robust fits, by `robust_head`, and
the steps of ICP on a GPU, by `plane_step_triton`.
"""

from spoonful.geometry.kernels.library import built, status
from spoonful.geometry.kernels.node import Robust, pose_head, robust_head, similarity_head
from spoonful.geometry.kernels.switch import disabled, usable

__all__ = [
    "Robust",
    "built",
    "disabled",
    "pose_head",
    "robust_head",
    "similarity_head",
    "status",
    "usable",
]
