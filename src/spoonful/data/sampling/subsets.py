"""Random points of a cloud."""

from __future__ import annotations

import torch
from torch import Tensor


def random_points(
    points: Tensor,
    count: int,
    generator: torch.Generator | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """A uniformly random subset of each cloud, without replacement, in random order.

    Args:
        points: (..., N, 3).
        count: how many, at most the number of points in each cloud.
        generator: makes the choice.
        mask: (..., N) bool, False for padding, which is never chosen.

    Returns:
        (..., count) positions; `take(points, index)` gathers them.

    >>> index = random_points(torch.rand(2, 10, 3), 4)
    >>> index.shape, len(set(index[0].tolist()))
    (torch.Size([2, 4]), 4)
    """
    allowed = _allowed(points, mask, count)
    # float64: among millions of float32 numbers many are equal, and ties are not uniform.
    keys = torch.rand(
        allowed.shape, generator=generator, dtype=torch.float64, device=allowed.device
    )
    index = keys.masked_fill(~allowed, -1.0).argsort(-1, descending=True)[:, :count]
    return index.reshape(*points.shape[:-2], count)


def take(values: Tensor, index: Tensor) -> Tensor:
    """Gather rows: (..., N, C) values at (..., K) positions give (..., K, C).

    >>> take(torch.eye(3), torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    return values.gather(-2, index.unsqueeze(-1).expand(*index.shape, values.shape[-1]))


def _allowed(points: Tensor, mask: Tensor | None, count: int) -> Tensor:
    """The mask of points that may be chosen, (B, N); raises if there are fewer than `count`."""
    if points.ndim < 2 or points.shape[-1] != 3:
        raise ValueError(f"points must have shape (..., N, 3), got {tuple(points.shape)}")
    n = points.shape[-2]
    if mask is None:
        mask = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    elif mask.shape != points.shape[:-1]:
        raise ValueError(
            f"mask must have shape {tuple(points.shape[:-1])}, got {tuple(mask.shape)}"
        )
    allowed = mask.reshape(-1, n)
    least = int(allowed.sum(-1).min()) if allowed.numel() else 0
    if not 1 <= count <= least:
        raise ValueError(f"count must be between 1 and the number of points, {least}, got {count}")
    return allowed
