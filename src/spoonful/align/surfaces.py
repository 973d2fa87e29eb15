"""Refine the poses of all scans together, on their surfaces, and estimate their covariances.

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

from spoonful.geometry import Pose, hat, rotation_from_vector
from spoonful.icp import tukey
from spoonful.neighbors import Index

# Points of a scan that are matched with another one.
_POINTS = 1000
# How far apart matched points may be, round by round, in lengths of the surface's grid.
_REACHES = (2.0, 1.5, 1.0, 1.0)
# Matches in one cube share their errors: its edge, in mean radii of the scans.
_CELL = 0.75
# Damping keeps undetermined directions unchanged; relative to the mean of the diagonal.
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
    """Refine the poses of all scans jointly, by the distances between their surfaces.

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
        middle = _middle(poses)
        system = torch.zeros(len(poses), 6, len(poses), 6, dtype=torch.float64)
        force = torch.zeros(len(poses), 6, dtype=torch.float64)
        losses.append(0.0)
        for i, j, one, other in ways:
            met = _meet(one, other, poses[i], poses[j], middle, reach * other.edge)
            a, b = place[i], place[j]
            weighted = met.rows * met.weight[:, None]
            _add(system, a, b, weighted.mT @ met.rows)
            gradient = weighted.mT @ met.gap
            force[a] -= gradient
            force[b] += gradient
            losses[-1] += met.loss
        if len(losses) > len(_REACHES):
            break
        matrix = _without_first(system)
        matrix.diagonal().mul_(1 + _DAMPING).add_(1e-12)
        motion = torch.linalg.solve(matrix, force.flatten()[6:]).unflatten(0, (-1, 6))
        for scan, step in zip([*poses][1:], motion, strict=True):
            turn = rotation_from_vector(step[:3])
            old = poses[scan]
            shift = turn @ (old.translation - middle) + middle + step[3:]
            poses[scan] = Pose(turn @ old.rotation, shift)
    return poses if losses[-1] <= losses[0] else start


def covariances(
    poses: Mapping[int, Pose],
    pairs: Sequence[tuple[int, int, Surface, Surface]],
    growth: Mapping[int, float],
) -> dict[int, Tensor]:
    """The covariance of each refined pose, relative to the first scan.

    With N the matrix of the system it is N^-1 M N^-1. As in `plane_covariance`, M sums the squares
    of the forces J^T r of groups of matches: those in one cell of space share their errors, of
    whichever scans they are. A scan that is too large by a share moves all its points, so this
    share is one more error. What no surface holds is known within a radian, or the scan's size.

    Args:
        poses: the pose of each scan in the group's frame, float64, refined.
        pairs: as for `refine`; they connect all scans.
        growth: the standard deviation of each scan's scale, as a share of it.

    Returns:
        For each scan (6, 6) of a small turn (radians) and shift about its centre, in its own axes;
        zero for the first.
    """
    found = {scan: torch.zeros(6, 6, dtype=torch.float64) for scan in poses}
    if len(poses) < 2 or not pairs:
        return found
    place = {scan: k for k, scan in enumerate(poses)}
    middle = _middle(poses)
    radius = {
        scan: float(surface.grid.points.norm(dim=-1).mean())
        for i, j, one, other in pairs
        for scan, surface in ((i, one), (j, other))
    }
    usual = sum(radius.values()) / len(radius)
    system = torch.zeros(len(poses), 6, len(poses), 6, dtype=torch.float64)
    grown = system.new_zeros(len(poses), len(poses), 6)
    gaps, weights, cells, forces = [], [], [], []
    for i, j, one, other in pairs:
        a, b = place[i], place[j]
        there = _meet(one, other, poses[i], poses[j], middle, _REACHES[-1] * other.edge)
        back = _meet(other, one, poses[j], poses[i], middle, _REACHES[-1] * one.edge)
        # Both as functions of the motion of i relative to j.
        rows = torch.cat([there.rows, -back.rows])
        gap, weight = torch.cat([there.gap, back.gap]), torch.cat([there.weight, back.weight])
        places = torch.cat([there.places, back.places])
        weighted = weight[:, None] * rows
        _add(system, a, b, weighted.mT @ rows)
        gaps.append(gap)
        weights.append(weight)
        cells.append((places / (_CELL * usual)).floor())
        forces.append(gap[:, None] * weighted)
        for scan, k, sign in ((i, a, 1), (j, b, -1)):
            arm = places + middle - poses[scan].translation
            longer = growth.get(scan, 0.0) * sign * (rows[:, 3:] * arm).sum(-1)
            grown[k, a] += weighted.mT @ longer
            grown[k, b] -= weighted.mT @ longer
    gap, weight = torch.cat(gaps), torch.cat(weights)
    variance = (weight * gap.square()).sum() / weight.sum().clamp_min(1e-9)
    variance = variance.clamp_min((1e-3 * pairs[0][2].edge) ** 2)
    different, cell = torch.cat(cells).unique(dim=0, return_inverse=True)
    pulls = system.new_zeros(len(different), len(poses), 6)
    owners = cell.split([len(force) for force in forces])
    for (i, j, *_), own, force in zip(pairs, owners, forces, strict=True):
        pulls[:, place[i]].index_add_(0, own, force)
        pulls[:, place[j]].index_add_(0, own, -force)
    # The fit makes the forces on a scan cancel, so they are smaller than the errors.
    errors = int((pulls != 0).any(-1).sum())
    pulls *= (errors / max(1, errors - 6 * (len(poses) - 1))) ** 0.5
    noise = torch.cat([pulls, grown]).flatten(1)[:, 6:] / variance
    away = {scan: float((pose.translation - middle).norm()) for scan, pose in poses.items()}
    before = [away[scan] + radius.get(scan, usual) for scan in poses]
    prior = system.new_tensor([[1.0] * 3 + [size] * 3 for size in before[1:]]).flatten() ** -2
    inverse = torch.linalg.inv(_without_first(system) / variance + prior.diag())
    spread = inverse @ (noise.mT @ noise + prior.diag()) @ inverse
    for k, scan in enumerate([*poses][1:]):
        own = slice(6 * k, 6 * k + 6)
        # A motion about the middle, in the group's axes, as one about the scan's centre in its own.
        turn, arm = poses[scan].rotation.mT, hat(poses[scan].translation - middle)
        upper, lower = torch.cat([turn, 0 * turn], -1), torch.cat([-turn @ arm, turn], -1)
        change = torch.cat([upper, lower])
        found[scan] = change @ spread[own, own] @ change.mT
    return found


class _Met(NamedTuple):
    """The matches of one scan with another: (M,) gaps, weights; (M, 6) rows; (M, 3) places.

    Places are in the group's frame, about its middle. The loss is the mean of squared distances
    relative to the reach, at most 1 for each point.
    """

    rows: Tensor
    gap: Tensor
    weight: Tensor
    places: Tensor
    loss: float


def _meet(
    source: Surface, target: Surface, here: Pose, there: Pose, middle: Tensor, reach: float
) -> _Met:
    points = source.grid.points
    points = points[:: max(1, len(points) // _POINTS)].double()
    moved = there.inverse().compose(here).apply(points)
    near = target.grid.nearest(moved.float(), reach=reach)
    on = near.squared_distance.isfinite()
    index = near.index[on]
    normal = target.normals[index].double()
    gap = ((moved[on] - target.grid.points[index].double()) * normal).sum(-1)
    facing = normal @ there.rotation.mT
    places = there.apply(moved[on]) - middle
    rows = torch.cat([torch.linalg.cross(places, facing), facing], -1)
    loss = 1 - float((1 - (gap / reach).square()).clamp_min(0).sum()) / len(points)
    return _Met(rows, gap, tukey(gap.abs(), reach), places, loss)


def _add(system: Tensor, a: int, b: int, own: Tensor) -> None:
    """Add what depends on the motion of scan `a` relative to scan `b`."""
    system[a, :, a] += own
    system[b, :, b] += own
    system[a, :, b] -= own
    system[b, :, a] -= own


def _without_first(system: Tensor) -> Tensor:
    """The matrix of (scans, 6, scans, 6) without the first scan, which stays."""
    return system.flatten(2).flatten(0, 1)[6:, 6:]


def _middle(poses: Mapping[int, Pose]) -> Tensor:
    return torch.stack([pose.translation for pose in poses.values()]).mean(0)
