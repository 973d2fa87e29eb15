"""Point-pair features: four numbers of an edge that no rigid motion changes."""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.models.neighborhoods import gather


def point_pair_features(points: Tensor, normals: Tensor, index: Tensor) -> Tensor:
    """`(angle(n_i, d), angle(n_j, d), angle(n_i, n_j), |d|)` with `d = x_j - x_i`.

    The angle of a zero vector with anything is 0, in value and in gradient.

    Args:
        points: (B, N, 3).
        normals: (B, N, 3), unit vectors.
        index: (B, N, k) the neighbours j of each point i.

    Returns:
        (B, N, k, 4), angles in radians.

    >>> points = torch.tensor([[[0.0, 0, 0], [2, 0, 0]]])
    >>> normals = torch.tensor([[[0.0, 0, 1], [1, 0, 0]]])
    >>> point_pair_features(points, normals, torch.tensor([[[1], [0]]]))[0, 0]
    tensor([[1.5708, 0.0000, 1.5708, 2.0000]])
    """
    d = gather(points, index) - points.unsqueeze(-2)
    others = gather(normals, index)
    own = normals.unsqueeze(-2).expand_as(others)
    length = _length(d)
    return torch.stack([angle(own, d), angle(others, d), angle(own, others), length], dim=-1)


def angle(a: Tensor, b: Tensor) -> Tensor:
    """The angle between vectors (..., 3), in [0, pi]: atan2(|a x b|, a . b)."""
    sine = _length(torch.linalg.cross(a, b))
    cosine = (a * b).sum(-1)
    # atan2 has no gradient at (0, 0); a constant stands in for it there.
    nothing = (sine == 0) & (cosine == 0)
    return torch.atan2(sine, torch.where(nothing, torch.ones_like(cosine), cosine))


def _length(vectors: Tensor) -> Tensor:
    """Norms whose gradient at a zero vector is zero."""
    squared = vectors.square().sum(-1)
    zero = squared == 0
    return torch.where(zero, squared, torch.where(zero, torch.ones_like(squared), squared).sqrt())
