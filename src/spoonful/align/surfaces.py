"""Refine the poses of all scans together, on their surfaces.

Let p be a point of one scan, q its partner on another one and m the normal there, all in the
group's frame. Small motions x = (turn, shift) of both scans change the distance of p to the plane
at q by J (x_source - x_target) with J = (p x m, m). The sums of J^T J and J^T r over the matches of
each pair make one linear system for the motions of all scans: a Gauss-Newton step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose, rotation_from_vector
from spoonful.icp import tukey
from spoonful.neighbors import Index

# Points of a scan that are matched with another one.
_POINTS = 1000
# How far apart matched points may be, round by round, in lengths of the surface's grid.
_REACHES = (2.0, 1.5, 1.0, 1.0)
# Directions that no surface holds stay as they are; relative to the mean of the diagonal.
_DAMPING = 1e-4


class Surface(NamedTuple):
    """The points of a scan on a grid, about its centre.

    Attributes:
        grid: (N, 3) points, in the files' unit.
        normals: (N, 3) unit vectors of either sign.
        edge: of the grid, in the files' unit.
    """

    grid: Index
    normals: Tensor
    edge: float


def refine(
    poses: Mapping[int, Pose], pairs: Sequence[tuple[int, int, Surface, Surface]]
) -> dict[int, Pose]:
    """Fit all scans to each other on their surfaces.

    Args:
        poses: the pose of each scan in the group's frame, float64. The first one stays.
        pairs: numbers of two scans that overlap, and the surface of each.

    Returns:
        The refined poses; those given if they fit better.
    """
    start, poses = dict(poses), dict(poses)
    if len(poses) < 2 or not pairs:
        return poses
    place = {scan: k for k, scan in enumerate(poses)}
    ways = [way for i, j, a, b in pairs for way in ((i, j, a, b), (j, i, b, a))]
    losses = []
    # The last look only tells whether the first reach's loss is smaller now.
    for reach in (*_REACHES, _REACHES[0]):
        middle = torch.stack([pose.translation for pose in poses.values()]).mean(0)
        system = torch.zeros(len(poses), 6, len(poses), 6, dtype=torch.float64)
        force = torch.zeros(len(poses), 6, dtype=torch.float64)
        losses.append(0.0)
        for i, j, one, other in ways:
            own, gradient, loss = _normal_equations(
                one, other, poses[i], poses[j], middle, reach * other.edge
            )
            a, b = place[i], place[j]
            system[a, :, a] += own
            system[b, :, b] += own
            system[a, :, b] -= own
            system[b, :, a] -= own
            force[a] -= gradient
            force[b] += gradient
            losses[-1] += loss
        if len(losses) > len(_REACHES):
            break
        matrix = system.flatten(2).flatten(0, 1)[6:, 6:]
        matrix.diagonal().mul_(1 + _DAMPING).add_(1e-12)
        motion = torch.linalg.solve(matrix, force.flatten()[6:]).unflatten(0, (-1, 6))
        for scan, step in zip([*poses][1:], motion, strict=True):
            turn = rotation_from_vector(step[:3])
            old = poses[scan]
            shift = turn @ (old.translation - middle) + middle + step[3:]
            poses[scan] = Pose(turn @ old.rotation, shift)
    return poses if losses[-1] <= losses[0] else start


def _normal_equations(
    source: Surface, target: Surface, here: Pose, there: Pose, middle: Tensor, reach: float
) -> tuple[Tensor, Tensor, float]:
    """The sums of J^T J (6, 6) and J^T r (6,) over the matches of two scans, and the loss.

    The loss is the mean of squared distances relative to `reach`, at most 1 for each point.
    """
    points = source.grid.points
    points = points[:: max(1, len(points) // _POINTS)].double()
    moved = there.inverse().compose(here).apply(points)
    near = target.grid.nearest(moved.float(), reach=reach)
    on = near.squared_distance.isfinite()
    index = near.index[on]
    normal = target.normals[index].double()
    gap = ((moved[on] - target.grid.points[index].double()) * normal).sum(-1)
    weight = tukey(gap.abs(), reach)
    facing = normal @ there.rotation.mT
    arm = there.apply(moved[on]) - middle
    rows = torch.cat([torch.linalg.cross(arm, facing), facing], -1)
    weighted = rows * weight[:, None]
    loss = 1 - float((1 - (gap / reach).square()).clamp_min(0).sum()) / len(points)
    return weighted.mT @ rows, weighted.mT @ gap, loss
