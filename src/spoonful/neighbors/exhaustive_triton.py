"""Exhaustive nearest neighbours on a GPU, in Triton, without storing all distances.

A program compares a few queries with all points of one cloud, a block at a time. For the nearest
point, each lane keeps the best point it has seen; the lanes are compared once, at the end.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

GROUP = 16
"""Points of a group in `group_distances`."""

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
    rows, count, _ = query.shape
    index = torch.empty(rows, count, dtype=torch.long, device=query.device)
    squared = torch.empty(rows, count, dtype=query.dtype, device=query.device)
    _run(nearest_kernel, points, query, cloud, index, squared)
    return index, squared


def group_distances(points: Tensor, query: Tensor, cloud: Tensor) -> Tensor:
    """Find the nearest point in each group of `GROUP` consecutive points.

    Arguments as for `nearest_of`.

    Returns:
        Squared distances (R, N, G).
    """
    groups = triton.cdiv(points.shape[1], GROUP)
    squared = torch.empty(*query.shape[:2], groups, dtype=query.dtype, device=query.device)
    _run(group_kernel, points, query, cloud, squared, GROUP=GROUP)
    return squared


def _run(
    kernel: Any, points: Tensor, query: Tensor, cloud: Tensor, *found: Tensor, **constants: int
) -> None:
    query, cloud = query.contiguous(), cloud.contiguous()
    rows, count, _ = query.shape
    blocks = triton.cdiv(count, _QUERIES)
    with torch.cuda.device_of(query):
        # One dimension: the other dimensions of a grid are limited to 65,535.
        kernel[(rows * blocks,)](
            query,
            points,
            cloud,
            *found,
            count,
            points.shape[1],
            blocks,
            QUERIES=_QUERIES,
            POINTS=_POINTS,
            num_warps=_WARPS,
            **constants,
        )


@triton.jit
def _own(query, count, blocks, QUERIES: tl.constexpr):
    """The row of this program, the places of its queries in it, and their coordinates."""
    row = (tl.program_id(0) // blocks).to(tl.int64)
    place = tl.program_id(0) % blocks * QUERIES + tl.arange(0, QUERIES)
    there = place < count
    at = query + (row * count + place) * 3
    x = tl.load(at, mask=there, other=0.0)[:, None]
    y = tl.load(at + 1, mask=there, other=0.0)[:, None]
    z = tl.load(at + 2, mask=there, other=0.0)[:, None]
    return row, place, (x, y, z)


@triton.jit
def _squared(own, first, lane, size):
    """Squared distances of queries to points of a cloud; inf where there is no point."""
    real = lane < size
    other = first + lane * 3
    dx = own[0] - tl.load(other, mask=real, other=float("inf"))[None, :]
    dy = own[1] - tl.load(other + 1, mask=real, other=float("inf"))[None, :]
    dz = own[2] - tl.load(other + 2, mask=real, other=float("inf"))[None, :]
    return dx * dx + dy * dy + dz * dz


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
    row, place, own = _own(query, count, blocks, QUERIES)
    first = points + tl.load(cloud + row) * size * 3
    lane = tl.arange(0, POINTS)
    best = tl.full((QUERIES, POINTS), float("inf"), own[0].dtype)
    block = tl.zeros((QUERIES, POINTS), tl.int32)
    for start in range(0, size, POINTS):
        distance = _squared(own, first, start + lane, size)
        better = distance < best
        best = tl.where(better, distance, best)
        block = tl.where(better, start, block)
    least = tl.min(best, axis=1)
    # Ties go to the smallest index.
    which = tl.where(best == least[:, None], block + lane[None, :], 2147483647)
    tl.store(index + row * count + place, tl.min(which, axis=1).to(tl.int64), mask=place < count)
    tl.store(squared + row * count + place, least, mask=place < count)


@triton.jit(do_not_specialize=["count", "size", "blocks"])
def group_kernel(
    query,
    points,
    cloud,
    squared,
    count,
    size,
    blocks,
    QUERIES: tl.constexpr,
    POINTS: tl.constexpr,
    GROUP: tl.constexpr,
):
    """QUERIES points of one row of queries against each group of points of their cloud."""
    row, place, own = _own(query, count, blocks, QUERIES)
    first = points + tl.load(cloud + row) * size * 3
    groups = tl.cdiv(size, GROUP)
    to = squared + (row * count + place)[:, None] * groups
    for start in range(0, size, POINTS):
        distance = _squared(own, first, start + tl.arange(0, POINTS), size)
        least = tl.min(distance.reshape(QUERIES, POINTS // GROUP, GROUP), axis=2)
        group = (start // GROUP + tl.arange(0, POINTS // GROUP))[None, :]
        tl.store(to + group, least, mask=(place < count)[:, None] & (group < groups))
