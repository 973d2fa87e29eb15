"""Kernels for GPUs behind the networks' own functions; see `spoonful.geometry.kernels` too.

They are used where Triton is there and nobody switched kernels off (SPOONFUL_KERNELS=off, or
`spoonful.geometry.kernels.disabled()`); elsewhere torch's own operations compute the same.

Neighbours and soft assignment are always faster so. Networks on edges (edges_triton.py) are faster
than torch's operations one by one, but slower than what torch.compile makes of them; they need a
third to two thirds of the memory (benchmarks/results/models-cuda.md). So a compiler gets torch's
operations, unless memory matters more: SPOONFUL_KERNELS=all.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from spoonful.geometry.kernels import switch

__all__ = ["saving_memory", "usable"]


def usable(*tensors: Tensor | None) -> bool:
    """Whether Triton's kernels can take these tensors, in the mode torch is in."""
    there = [tensor for tensor in tensors if tensor is not None]
    return (
        all(tensor.is_cuda for tensor in there)
        and not torch._C._are_functorch_transforms_active()
        and switch.ready(there[0].device)
    )


def saving_memory() -> bool:
    """Whether kernels are wanted that save memory at the cost of time."""
    return os.environ.get("SPOONFUL_KERNELS", "").lower() == "all"


# Read once for a graph, not while it is traced; see `switch.ready`.
saving_memory._dynamo_marked_constant = True  # type: ignore[attr-defined]
