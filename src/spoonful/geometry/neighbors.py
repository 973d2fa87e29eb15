"""Nearest neighbours by exhaustive search, a bounded amount of memory at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry.checks import check_is_tensor, check_tensor, working_dtype

# Squared distances held at once, 16 MiB of them in float32, whatever the clouds' sizes: large
# enough to hide the launch of a kernel, small beside other memory.
_BUDGET = 1 << 22


class Neighbors(NamedTuple):
    """The nearest point of each query point.

    Attributes:
        index: (..., N) position of the nearest point among the M.
        squared_distance: (..., N); differentiable in both clouds.
    """

    index: Tensor  # type: ignore[assignment]  # hides tuple.index
    squared_distance: Tensor


def nearest(query: Tensor, points: Tensor, *, mask: Tensor | None = None) -> Neighbors:
    """The nearest of `points` to each of `query`.

    Distances are computed from differences, not from |a|^2 - 2ab + |b|^2, whose rounding
    error exceeds the distances of close points, and never with TF32.

    Args:
        query: (..., N, 3).
        points: (..., M, 3), M >= 1; its leading dimensions broadcast with the query's.
        mask: (..., M) bool, False for points that must not be chosen.

    Returns:
        `Neighbors`; ties go to the smallest index. With every point masked, distances are inf.
        A NaN among a cloud's points makes all distances to that cloud NaN, and no others.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> nearest(torch.tensor([[1.2, 0, 0]]), line).index
    tensor([1])
    >>> nearest(torch.tensor([[1.2, 0, 0]]), line, mask=torch.tensor([True, False, True])).index
    tensor([2])
    """
    query, points = _checked("query", query), _checked("points", points)
    n, m = query.shape[-2], points.shape[-2]
    if m == 0:
        raise ValueError("points must hold at least one point, got shape (..., 0, 3)")
    if mask is not None:
        check_is_tensor("mask", mask)
        if mask.dtype != torch.bool or mask.shape != points.shape[:-1]:
            raise ValueError(
                f"mask must be bool with the shape of points without its last dimension, "
                f"{tuple(points.shape[:-1])}, got {mask.dtype} {tuple(mask.shape)}"
            )
        # Padding may hold anything, NaN included: it must reach neither distances nor gradients.
        points = points.masked_fill(~mask.unsqueeze(-1), 0.0)
    try:
        # Not torch.broadcast_shapes, whose first call imports sympy: that takes a second.
        leading = (torch.empty(cloud.shape[:-2], device="meta") for cloud in (query, points))
        batch = torch.broadcast_tensors(*leading)[0].shape
    except RuntimeError:
        raise ValueError(
            f"query and points must have leading dimensions that broadcast, "
            f"got {tuple(query.shape)} and {tuple(points.shape)}"
        ) from None
    clouds = math.prod(batch)
    query = query.expand(*batch, n, 3).reshape(clouds, n, 3)
    points = points.expand(*batch, m, 3).reshape(clouds, m, 3)
    allowed = None if mask is None else mask.expand(*batch, m).reshape(clouds, m)

    index = _search(query.detach(), points.detach(), allowed)
    match = points.gather(-2, index.unsqueeze(-1).expand(-1, -1, 3))
    squared = (query - match).square().sum(-1)
    if allowed is not None:
        squared = squared.masked_fill(~allowed.any(-1, keepdim=True), torch.inf)
    return Neighbors(index.reshape(*batch, n), squared.reshape(*batch, n))


def _search(query: Tensor, points: Tensor, allowed: Tensor | None) -> Tensor:
    """Indices (B, N) of the nearest points, over as many rows and clouds as the budget holds."""
    if allowed is not None:
        points = points.masked_fill(~allowed.unsqueeze(-1), torch.inf)
    b, n, m = query.shape[0], query.shape[1], points.shape[1]
    rows = max(1, min(n, _BUDGET // m))
    clouds = max(1, _BUDGET // (rows * m))
    index = torch.empty(b, n, dtype=torch.long, device=query.device)
    columns = points.mT.contiguous().unsqueeze(-2)  # (B, 3, 1, M)
    for first in range(0, b, clouds):
        some = slice(first, first + clouds)
        x, y, z = columns[some].unbind(1)
        for start in range(0, n, rows):
            part = query[some, start : start + rows]
            squared = (part[..., 0:1] - x).square_()
            for axis, other in ((1, y), (2, z)):
                difference = part[..., axis : axis + 1] - other
                squared.addcmul_(difference, difference)
            # min with its index is several times faster than argmin on CPUs
            index[some, start : start + rows] = squared.min(dim=-1).indices
    return index


def _checked(name: str, cloud: Tensor) -> Tensor:
    """`cloud` in the precision to compute in, or an error that names it."""
    check_tensor(name, cloud, "N", 3)
    return cloud.to(working_dtype(cloud))
