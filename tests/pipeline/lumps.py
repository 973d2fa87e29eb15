"""Scans made up for the tests: views of a lumpy solid, each of a part of it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.geometry import Pose


def lumpy(count: int, seed: int) -> Tensor:
    """Points on a closed surface without any symmetry, of radius about one."""
    generator = torch.Generator().manual_seed(seed)
    axis = torch.nn.functional.normalize(
        torch.randn(count, 3, generator=generator, dtype=torch.float64), dim=-1
    )
    x, y, z = axis.unbind(-1)
    radius = (
        1
        + 0.25 * torch.sin(3 * x + 1) * torch.cos(4 * y)
        + 0.2 * torch.sin(5 * z + 2 * x)
        + 0.15 * torch.cos(6 * y + 3 * z * x)
    )
    return axis * radius.unsqueeze(-1)


def view(points: Tensor, direction: tuple[float, float, float], depth: float = -0.2) -> Tensor:
    """What can be seen from a direction: the points on that side."""
    towards = torch.tensor(direction, dtype=points.dtype)
    return points[points @ (towards / towards.norm()) > depth]


def off_by(pose: Pose, truth: Pose) -> tuple[float, float]:
    """The angle between two poses, in degrees, and the distance between their translations."""
    turn = pose.rotation.mT @ truth.rotation
    cosine = ((turn.diagonal().sum() - 1) / 2).clamp(-1, 1)
    return math.degrees(math.acos(cosine)), float((pose.translation - truth.translation).norm())
