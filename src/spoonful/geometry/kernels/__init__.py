"""Compiled kernels behind the geometry's own functions, and the switch that turns them off.

    SPOONFUL_KERNELS=off python train.py        # or, around some lines:
    with kernels.disabled(): ...

`kabsch`, `kabsch_packed`, `refine` and `SpoonfulLayer` use a kernel where one fits (`usable`) and
torch's own operations everywhere else, with the same results up to rounding.
"""

from spoonful.geometry.kernels.call import Plan
from spoonful.geometry.kernels.head import (
    build_all,
    kabsch_pose,
    layer_poses,
    quick_pose,
    refined_poses,
)
from spoonful.geometry.kernels.switch import disabled, usable

__all__ = [
    "Plan",
    "build_all",
    "disabled",
    "kabsch_pose",
    "layer_poses",
    "quick_pose",
    "refined_poses",
    "usable",
]
