"""Kernels for GPUs behind the networks' own functions; see `spoonful.geometry.kernels` too.

They are used where Triton is there, the network runs in bfloat16, and nobody switched kernels off
(SPOONFUL_KERNELS=off, or `spoonful.geometry.kernels.disabled()`); elsewhere torch's own operations
compute the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.kernels import switch

__all__ = ["usable"]


def usable(*tensors: Tensor | None) -> bool:
    """Whether Triton's kernels can take these tensors, in the mode torch is in."""
    there = [tensor for tensor in tensors if tensor is not None]
    return (
        all(tensor.is_cuda for tensor in there)
        and not torch._C._are_functorch_transforms_active()
        and switch.ready(there[0].device)
    )
