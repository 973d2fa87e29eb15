"""Some of the points of a cloud: the farthest from each other, or any."""

from __future__ import annotations

import torch
from torch import Tensor


def farthest_points(
    points: Tensor,
    count: int,
    generator: torch.Generator | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Farthest-point sampling: each choice is the point farthest from all chosen before.

    Args:
        points: (..., N, 3).
        count: how many, at most the number of points in each cloud.
        generator: chooses the first point; without one it is the first of each cloud.
        mask: (..., N) bool, False for padding, which is never chosen.

    Returns:
        (..., count) positions, in the order they were chosen: any beginning of it is a
        farthest-point sample too. `take(points, index)` gathers them.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [9, 0, 0]])
    >>> farthest_points(line, 3)
    tensor([0, 3, 2])
    """
    flat, allowed = _flat(points, mask, count)
    rows = torch.arange(len(flat), device=flat.device)
    if generator is None:
        chosen = allowed.int().argmax(-1)
    else:
        chosen = _random_keys(allowed, generator).argmax(-1)
    # A centred copy: float32 squares of large coordinates would hide small distances.
    flat = flat - flat[rows, chosen].unsqueeze(1)
    nearest = torch.full(allowed.shape, torch.inf, dtype=flat.dtype, device=flat.device)
    nearest.masked_fill_(~allowed, -1.0)
    index = [chosen]
    for _ in range(count - 1):
        distance = (flat - flat[rows, chosen].unsqueeze(1)).square().sum(-1)
        nearest = torch.minimum(nearest, distance)
        # A chosen point must not come back where all others coincide with chosen ones.
        nearest[rows, chosen] = -1.0
        chosen = nearest.argmax(-1)
        index.append(chosen)
    return torch.stack(index, -1).reshape(*points.shape[:-2], count)


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
    _, allowed = _flat(points, mask, count)
    index = _random_keys(allowed, generator).argsort(-1, descending=True)[:, :count]
    return index.reshape(*points.shape[:-2], count)


def take(values: Tensor, index: Tensor) -> Tensor:
    """Gather rows: (..., N, C) values at (..., K) positions give (..., K, C).

    >>> take(torch.eye(3), torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    return values.gather(-2, index.unsqueeze(-1).expand(*index.shape, values.shape[-1]))


def _flat(points: Tensor, mask: Tensor | None, count: int) -> tuple[Tensor, Tensor]:
    """Points (B, N, 3) and which may be chosen (B, N), once `count` is known to be possible."""
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
    return points.reshape(-1, n, 3), allowed


def _random_keys(allowed: Tensor, generator: torch.Generator | None) -> Tensor:
    # float64: among millions of float32 numbers many are equal, and ties are not uniform.
    keys = torch.rand(
        allowed.shape, generator=generator, dtype=torch.float64, device=allowed.device
    )
    return keys.masked_fill(~allowed, -1.0)
