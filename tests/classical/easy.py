"""Pairs that any registration method must solve."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose, rotation_from_vector


def shape(points: int, seed: int = 0) -> Tensor:
    """A lopsided surface of radius about 1, without symmetries: (points, 3)."""
    generator = torch.Generator().manual_seed(seed)
    way = torch.nn.functional.normalize(torch.randn(points, 3, generator=generator), dim=-1)
    x, y, z = way.unbind(-1)
    radius = 0.6 + 0.25 * x + 0.15 * torch.sin(3 * y + 1) + 0.1 * torch.cos(4 * z * x)
    return way * radius.unsqueeze(-1) * torch.tensor([1.0, 0.8, 0.6])


def motion(degrees: float = 15.0, seed: int = 0) -> Pose:
    generator = torch.Generator().manual_seed(seed)
    axis = torch.nn.functional.normalize(torch.randn(3, generator=generator), dim=0)
    shift = 0.1 * torch.randn(3, generator=generator)
    return Pose(rotation_from_vector(axis * math.radians(degrees)), shift)


def pair(points: int = 128, degrees: float = 15.0, seed: int = 0) -> tuple[Tensor, Tensor, Pose]:
    """A source, the same points moved and shuffled as target, and the pose between them."""
    source, pose = shape(points, seed), motion(degrees, seed)
    order = torch.randperm(points, generator=torch.Generator().manual_seed(seed))
    return source, pose.apply(source)[order], pose


def batch(count: int = 3, points: int = 128, degrees: float = 15.0) -> Batch:
    pairs = [pair(points, degrees, seed) for seed in range(count)]
    return Batch(
        torch.stack([source for source, _, _ in pairs]),
        torch.stack([target for _, target, _ in pairs]),
        pose=Pose(*(torch.stack(parts) for parts in zip(*(p for _, _, p in pairs), strict=True))),
    )


def degrees_between(found: Pose, truth: Pose) -> Tensor:
    """Angles of the rotations between two poses, precise for small ones."""
    chord = torch.linalg.matrix_norm(found.rotation.double() - truth.rotation.double())
    return torch.rad2deg(2 * torch.asin((chord / math.sqrt(8)).clamp_max(1)))
