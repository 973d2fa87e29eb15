"""Neighbours as operators of torch; see neighbors_triton.py."""

# Without `from __future__ import annotations`: torch 2.4 cannot read the types of a custom
# operation from text.

import torch
from torch import Tensor

# A row of distances is held in registers: beyond this many points it does not fit.
MOST_POINTS = 4096
_ROW = 4096  # distances that a program holds


@torch.library.custom_op("spoonful::ball", mutates_args=())
def ball(points: Tensor, mask: Tensor | None, radius: float, k: int) -> Tensor:
    """`neighborhoods.ball` of contiguous float32 points (B, N, 3)."""
    from spoonful.models.kernels import neighbors_triton

    items, count, _ = points.shape
    index = points.new_empty(items, count, k, dtype=torch.int64)
    rows = 16
    with torch.cuda.device_of(points):
        neighbors_triton.ball[(items, -(-count // rows))](
            points,
            mask,
            index,
            radius * radius,
            count,
            k,
            KP=1 << max(0, k - 1).bit_length(),
            OWN=rows,
            OTHER=128,
            num_warps=4,
        )
    return index


@ball.register_fake
def _(points: Tensor, mask: Tensor | None, radius: float, k: int) -> Tensor:
    return points.new_empty(points.shape[0], points.shape[1], k, dtype=torch.int64)


@torch.library.custom_op("spoonful::knn", mutates_args=())
def knn(points: Tensor, mask: Tensor | None, k: int) -> Tensor:
    """`neighborhoods.knn` of contiguous float32 points (B, N, 3), N <= MOST_POINTS and k <= N."""
    from spoonful.models.kernels import neighbors_triton

    items, count, _ = points.shape
    index = points.new_empty(items, count, k, dtype=torch.int64)
    row = 1 << max(0, count - 1).bit_length()
    rows = max(1, min(8, _ROW // row))
    with torch.cuda.device_of(points):
        neighbors_triton.knn[(items, -(-count // rows))](
            points, mask, index, count, k, OWN=rows, ALL=row, num_warps=4
        )
    return index


@knn.register_fake
def _(points: Tensor, mask: Tensor | None, k: int) -> Tensor:
    return points.new_empty(points.shape[0], points.shape[1], k, dtype=torch.int64)
