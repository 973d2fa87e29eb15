"""Random points of a cloud."""

from __future__ import annotations

import torch
from torch import Tensor


def random_points(points: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """A uniformly random subset of each cloud, without replacement, in random order.

    Args:
        points: (..., N, 3).
        count: how many, at most N.
        generator: makes the choice.

    Returns:
        (..., count) positions.

    >>> index = random_points(torch.rand(2, 10, 3), 4)
    >>> index.shape, len(set(index[0].tolist()))
    (torch.Size([2, 4]), 4)
    """
    if points.ndim < 2 or points.shape[-1] != 3:
        raise ValueError(f"points must have shape (..., N, 3), got {tuple(points.shape)}")
    there = points.shape[-2]
    if not 1 <= count <= there:
        raise ValueError(f"count must be between 1 and the number of points, {there}, got {count}")
    # float64: among millions of float32 numbers many are equal, and ties are not uniform.
    keys = torch.rand(
        points.shape[:-1], generator=generator, dtype=torch.float64, device=points.device
    )
    return keys.argsort(-1, descending=True)[..., :count]
