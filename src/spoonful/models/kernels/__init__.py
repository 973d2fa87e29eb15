"""Kernels for GPUs behind the networks' own functions: neighbours, soft assignment and maxima.

They are used if Triton runs on the device and kernels are not switched off (SPOONFUL_KERNELS=off,
or `spoonful.geometry.kernels.disabled()`); otherwise torch's own operations compute the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.kernels import switch

__all__ = ["usable"]


def usable(*tensors: Tensor | None) -> bool:
    """True if Triton's kernels can take these tensors, in the mode torch is in."""
    there = [tensor for tensor in tensors if tensor is not None]
    return (
        all(tensor.is_cuda for tensor in there)
        and not torch._C._are_functorch_transforms_active()
        and switch.ready(there[0].device)
    )
