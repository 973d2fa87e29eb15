"""Maxima over neighbours and sums of a layer on edges as an operator of torch; see edges_triton.py.

A compiler's maximum over a short axis takes ten times as long as reading the memory.
"""

# Without `from __future__ import annotations`: torch 2.4 cannot read the types of a custom
# operation from text.

import torch
from torch import Tensor

MOST_NEIGHBORS = 64
_WAVES = 16  # programs for each multiprocessor
_ROWS, _SOME = 16, 64  # points and channels of a tile: 8 numbers for a thread


@torch.library.custom_op("spoonful::edge_summary", mutates_args=())
def edge_summary(y: Tensor, gamma: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Extremes over neighbours, their places, and sums over items; without a gradient.

    Args:
        y: (B, N, k, C), contiguous, k <= 127.
        gamma: (C,) the weight of the norm that follows.
        mask: (B, N) bool or None.

    Returns:
        For each point and channel the largest value over its edges, or the smallest if gamma is
        negative, (B, N, C) float32: relu(norm(extreme)) is then the maximum of relu(norm(y)).
        At which of its edges, (B, N, C) int8. The sums of y and of its squares over an item,
        padding left out, (B, 2, C) float32, added up in a fixed order.
    """
    from spoonful.models.kernels import edges_triton

    items, count, k, channels = y.shape
    processors = 1
    if y.is_cuda:
        processors = torch.cuda.get_device_properties(y.device).multi_processor_count
    programs = max(1, min(-(-count // _ROWS), -(-_WAVES * processors // items)))
    extreme, arg = _extremes_like(y)
    sums = y.new_empty((items, programs, 2, channels), dtype=torch.float32)
    with torch.cuda.device_of(y):
        edges_triton.summarize[(items, programs, -(-channels // _SOME))](
            y, gamma, mask, extreme, arg, sums, count, channels, k, _ROWS, _SOME, num_warps=4
        )
    return extreme, arg, sums.sum(1)


@edge_summary.register_fake
def _(y: Tensor, gamma: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    extreme, arg = _extremes_like(y)
    return extreme, arg, extreme.new_empty(y.shape[0], 2, y.shape[-1])


def _extremes_like(y: Tensor) -> tuple[Tensor, Tensor]:
    size = (y.shape[0], y.shape[1], y.shape[3])
    return y.new_empty(size, dtype=torch.float32), y.new_empty(size, dtype=torch.int8)
