"""Exhaustive nearest neighbours on a GPU, in Triton: distances are compared where they are made.

A program takes a few queries of one cloud past all its points, a block at a time. Each of its lanes
remembers the best it has seen; they are compared with each other once, at the end.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

import torch
import triton
import triton.language as tl
from torch import Tensor

from spoonful.geometry.neighbors import Neighbors

_QUERIES, _POINTS, _WARPS = 32, 128, 4


def nearest_of(
    points: Tensor, query: Tensor, cloud: Tensor, mask: Tensor | None, reach: float
) -> Neighbors:
    """The `Search` among `points` (B, M, 3), contiguous; those that must not be found are inf."""
    query, cloud = query.contiguous(), cloud.contiguous()
    rows, count, _ = query.shape
    index = torch.empty(rows, count, dtype=torch.long, device=query.device)
    squared = torch.empty(rows, count, dtype=query.dtype, device=query.device)
    blocks = triton.cdiv(count, _QUERIES)
    with torch.cuda.device_of(query):
        # One dimension: the others of a grid end at 65,535, and either number may be above.
        nearest_kernel[(rows * blocks,)](
            query,
            points,
            cloud,
            index,
            squared,
            count,
            points.shape[1],
            blocks,
            QUERIES=_QUERIES,
            POINTS=_POINTS,
            num_warps=_WARPS,
        )
    if mask is not None:
        squared = squared.masked_fill(~mask, torch.inf)
    return Neighbors(index, squared)


@triton.jit
def nearest_kernel(
    query,
    points,
    cloud,
    index,
    squared,
    count,
    size,
    blocks,
    QUERIES: tl.constexpr,
    POINTS: tl.constexpr,
):
    """QUERIES points of one row of queries against all `size` points of their cloud."""
    row = (tl.program_id(0) // blocks).to(tl.int64)
    place = tl.program_id(0) % blocks * QUERIES + tl.arange(0, QUERIES)
    there = place < count
    at = query + (row * count + place) * 3
    x = tl.load(at, mask=there, other=0.0)[:, None]
    y = tl.load(at + 1, mask=there, other=0.0)[:, None]
    z = tl.load(at + 2, mask=there, other=0.0)[:, None]
    first = points + tl.load(cloud + row) * size * 3
    lane = tl.arange(0, POINTS)
    best = tl.full((QUERIES, POINTS), float("inf"), x.dtype)
    block = tl.zeros((QUERIES, POINTS), tl.int32)
    for start in range(0, size, POINTS):
        real = start + lane < size
        other = first + (start + lane) * 3
        dx = x - tl.load(other, mask=real, other=float("inf"))[None, :]
        dy = y - tl.load(other + 1, mask=real, other=float("inf"))[None, :]
        dz = z - tl.load(other + 2, mask=real, other=float("inf"))[None, :]
        distance = dx * dx + dy * dy + dz * dz
        better = distance < best
        best = tl.where(better, distance, best)
        block = tl.where(better, start, block)
    least = tl.min(best, axis=1)
    # Of points equally near the first, as everywhere.
    which = tl.where(best == least[:, None], block + lane[None, :], 2147483647)
    tl.store(index + row * count + place, tl.min(which, axis=1).to(tl.int64), mask=there)
    tl.store(squared + row * count + place, least, mask=there)
