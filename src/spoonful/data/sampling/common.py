"""Functions that the samplers share."""

from __future__ import annotations

import torch
from torch import Tensor


def check_cloud(points: Tensor, name: str) -> None:
    """Refuse all but finite (N, 3) points; `name` is the argument's."""
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(f"{name} must have shape (N, 3) with N >= 1, got {tuple(points.shape)}")
    if not points.is_floating_point():
        raise TypeError(f"{name} must be floating point, got {points.dtype}")
    if not bool(points.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def unit(vectors: Tensor) -> Tensor:
    """(..., 3) vectors made unit; zero stays zero, and what is not finite becomes NaN."""
    # Scaled by the largest component first, whose square neither overflows nor vanishes.
    largest = vectors.abs().amax(-1, keepdim=True)
    vectors = vectors / largest.where(largest > 0, 1.0)
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.where(length > 0, 1.0)
