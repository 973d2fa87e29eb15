"""Exhaustive nearest neighbours on a GPU, in Triton, without storing distances.

A program compares a few queries with all points of one cloud, a block at a time. Each lane keeps
the best point it has seen; the lanes are compared once, at the end.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

import torch
import triton
import triton.language as tl
from torch import Tensor

_QUERIES, _POINTS, _WARPS = 32, 128, 4


def nearest_of(points: Tensor, query: Tensor, cloud: Tensor) -> tuple[Tensor, Tensor]:
    """Find the nearest point of each query point.

    Args:
        points: (B, M, 3), contiguous; points that must not be found are inf.
        query: (R, N, 3), in the dtype of `points`.
        cloud: (R,) the cloud in which each row of the query is searched.

    Returns:
        Positions (R, N) and squared distances (R, N).
    """
    query, cloud = query.contiguous(), cloud.contiguous()
    rows, count, _ = query.shape
    index = torch.empty(rows, count, dtype=torch.long, device=query.device)
    squared = torch.empty(rows, count, dtype=query.dtype, device=query.device)
    blocks = triton.cdiv(count, _QUERIES)
    with torch.cuda.device_of(query):
        # One dimension: the other dimensions of a grid are limited to 65,535.
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
    return index, squared


# One kernel for all sizes: clouds of other sizes must not wait for the compiler.
@triton.jit(do_not_specialize=["count", "size", "blocks"])
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
    # Ties go to the smallest index.
    which = tl.where(best == least[:, None], block + lane[None, :], 2147483647)
    tl.store(index + row * count + place, tl.min(which, axis=1).to(tl.int64), mask=there)
    tl.store(squared + row * count + place, least, mask=there)
