"""Indices of neighbours: the k nearest, or the first k inside a ball.

They come in no particular order, because the networks pool over them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.models.kernels import usable
from spoonful.models.kernels.neighbor_ops import MOST_POINTS
from spoonful.models.kernels.neighbor_ops import ball as fused_ball
from spoonful.models.kernels.neighbor_ops import knn as fused_knn
from spoonful.models.precision import at_least_float32, full_precision

# Distances held at once: 128 Mi of them are 512 MiB in float32.
_BUDGET = 1 << 27


def knn(points: Tensor, k: int, *, mask: Tensor | None = None) -> Tensor:
    """The k nearest points of each point, itself among them.

    Where a cloud has fewer than k points, the free places repeat the point itself, which
    changes no maximum over the neighbours.

    Args:
        points: (B, N, 3).
        k: how many; at most N are returned.
        mask: (B, N) bool, False for padding, which is never a neighbour.

    Returns:
        (B, N, min(k, N)) int64 indices, in no particular order.

    >>> line = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [3, 0, 0]]])
    >>> knn(line, 2).sort(dim=-1).values
    tensor([[[0, 1],
             [0, 1],
             [1, 2]]])
    """
    count = points.shape[-2]
    width = min(k, count)
    with torch.no_grad(), full_precision(points):
        points = at_least_float32(points)
        if points.dtype == torch.float32 and count <= MOST_POINTS and usable(points, mask):
            return fused_knn(
                points.contiguous(), None if mask is None else mask.contiguous(), width
            )
        chosen = []
        for rows, own in _rows(points):
            distance = squared_distances(points[:, rows], points)
            if mask is not None:
                distance = distance.masked_fill(~mask.unsqueeze(-2), torch.inf)
            best = distance.topk(width, dim=-1, largest=False, sorted=False)
            index = best.indices
            if mask is not None:
                index = torch.where(best.values.isinf(), own, index)
            chosen.append(index)
        return torch.cat(chosen, dim=-2)


def ball(points: Tensor, radius: float, k: int, *, mask: Tensor | None = None) -> Tensor:
    """For each point the first k others within `radius`, by their position in the cloud.

    This is RPM-Net's grouping: not the nearest k but those of smallest index, without the point
    itself; free places are filled with the point itself. There are always k places, whatever the
    size of the cloud.

    Args:
        points: (B, N, 3).
        radius: neighbours are at most this far.
        k: places per point.
        mask: (B, N) bool, False for padding, which is never a neighbour.

    Returns:
        (B, N, k) int64 indices, in no particular order.

    >>> line = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [3, 0, 0]]])
    >>> ball(line, 1.5, 2).sort(dim=-1).values
    tensor([[[0, 1],
             [0, 1],
             [2, 2]]])
    """
    count = points.shape[-2]
    width = min(k, count)
    with torch.no_grad(), full_precision(points):
        points = at_least_float32(points)
        if points.dtype == torch.float32 and usable(points, mask):
            return fused_ball(
                points.contiguous(), None if mask is None else mask.contiguous(), radius, k
            )
        position = torch.arange(count, device=points.device, dtype=torch.int32)
        allowed = None if mask is None else mask.unsqueeze(-2)
        chosen = []
        for rows, own in _rows(points):
            inside = squared_distances(points[:, rows], points) <= radius * radius
            inside = inside & (position != own)
            if allowed is not None:
                inside = inside & allowed
            # The k smallest positions that are inside; `count` stands for a free place.
            first = torch.where(inside, position, count)
            first = first.topk(width, dim=-1, largest=False, sorted=False).values
            chosen.append(torch.where(first == count, own, first.long()))
        index = torch.cat(chosen, dim=-2)
        if width < k:
            own = torch.arange(count, device=points.device).reshape(1, count, 1)
            index = torch.cat([index, own.expand(index.shape[0], -1, k - width)], dim=-1)
        return index


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """`|a_i - b_j|^2` from differences: exact for close points, untouched by TF32.

    Args:
        a: (..., N, 3).
        b: (..., M, 3).

    Returns:
        (..., N, M).
    """
    a, b = a.unsqueeze(-2), b.unsqueeze(-3)
    x, y, z = (a[..., axis] - b[..., axis] for axis in range(3))
    return x * x + y * y + z * z


def gather(values: Tensor, index: Tensor) -> Tensor:
    """Each point's neighbours' values: (B, N, C) at (B, N, k) gives (B, N, k, C)."""
    batch, count, channels = values.shape
    base = torch.arange(batch, device=index.device).reshape(-1, 1, 1) * count
    flat = values.reshape(batch * count, channels).index_select(0, (index + base).flatten())
    return flat.reshape(*index.shape, channels)


def _rows(points: Tensor) -> list[tuple[slice, Tensor]]:
    """Slices of rows whose distances fit the budget, each with the rows' own positions (n, 1)."""
    batch, count = points.shape[:2]
    positions = torch.arange(count, device=points.device).unsqueeze(-1)
    if type(count) is not int:  # exported for any number of points: no loop over it
        return [(slice(None), positions)]
    step = max(1, _BUDGET // max(1, batch * count))
    return [
        (slice(start, start + step), positions[start : start + step])
        for start in range(0, count, step)
    ]
