"""Scans made up for the tests: views of a lumpy solid, each of a part of it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.geometry import Pose, rotation_from_vector


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


def ellipsoid(signed: bool) -> tuple[Tensor, Tensor, Tensor, Pose]:
    """Two noisy copies of an ellipsoid, in voxels, their normals, and three poses.

    The first pose is nearly right. With the others nothing meets: one is too far away, and the
    other is outside of the grid.
    """
    generator = torch.Generator().manual_seed(0)
    directions = torch.nn.functional.normalize(torch.randn(300, 3, generator=generator), dim=-1)
    axes = torch.tensor([4.0, 6.0, 9.0])
    normals = torch.nn.functional.normalize(directions / axes, dim=-1)
    if not signed:
        normals = normals * torch.randn(300, 1, generator=generator).sign()
    source = axes * directions
    target = source + 0.05 * torch.randn(300, 3, generator=generator)
    turns = rotation_from_vector(torch.tensor([[0.05, 0.1, -0.05], [0, 0, 0], [0, 0, 0]]))
    shifts = torch.tensor([[0.3, -0.2, 0.4], [0, 0, 20], [-1000, 0, 0]])
    return target, source, normals, Pose(turns, shifts)


def view(points: Tensor, direction: tuple[float, float, float], depth: float = -0.2) -> Tensor:
    """What can be seen from a direction: the points on that side."""
    towards = torch.tensor(direction, dtype=points.dtype)
    return points[points @ (towards / towards.norm()) > depth]


def off_by(pose: Pose, truth: Pose) -> tuple[float, float]:
    """The angle between two poses, in degrees, and the distance between their translations."""
    turn = pose.rotation.mT @ truth.rotation
    cosine = ((turn.diagonal().sum() - 1) / 2).clamp(-1, 1)
    return math.degrees(math.acos(cosine)), float((pose.translation - truth.translation).norm())
