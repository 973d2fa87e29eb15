"""Nearest neighbours by exhaustive search, a bounded amount of memory at a time."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

# Distances held at once: 16 Mi of them are 64 MiB in float32, whatever the clouds' sizes.
_BUDGET = 1 << 24


class Neighbors(NamedTuple):
    """For each query point its nearest point.

    Attributes:
        index: (..., N) position of the nearest point among the M.
        squared_distance: (..., N); differentiable in both clouds.
    """

    index: Tensor
    squared_distance: Tensor


def nearest(query: Tensor, points: Tensor, *, mask: Tensor | None = None) -> Neighbors:
    """The nearest of `points` to each of `query`.

    Distances are computed from differences, not from |a|^2 - 2ab + |b|^2, whose rounding
    error exceeds the distances of close points, and never with TF32.

    Args:
        query: (..., N, 3).
        points: (..., M, 3), M >= 1, with the same leading dimensions.
        mask: (..., M) bool, False for points that must not be chosen.

    Returns:
        `Neighbors`; ties go to the smallest index. With every point masked, distances are inf.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> nearest(torch.tensor([[1.2, 0, 0]]), line).index
    tensor([1])
    """
    batch = query.shape[:-2]
    n, m = query.shape[-2], points.shape[-2]
    flat_query = query.reshape(-1, n, 3)
    flat_points = points.reshape(-1, m, 3)
    rows = max(1, _BUDGET // max(1, m * flat_query.shape[0]))
    with torch.no_grad():
        banned = None if mask is None else ~mask.reshape(-1, 1, m)
        chosen = []
        for part in flat_query.detach().split(rows, dim=-2):
            distance = torch.cdist(
                part, flat_points.detach(), compute_mode="donot_use_mm_for_euclid_dist"
            )
            if banned is not None:
                distance = distance.masked_fill(banned, torch.inf)
            chosen.append(distance.argmin(dim=-1))
        index = torch.cat(chosen, dim=-1)
    match = flat_points.gather(-2, index.unsqueeze(-1).expand(-1, -1, 3))
    squared = (flat_query - match).square().sum(-1)
    if mask is not None:
        squared = squared.masked_fill(~mask.any(-1).reshape(-1, 1), torch.inf)
    return Neighbors(index.reshape(*batch, n), squared.reshape(*batch, n))
