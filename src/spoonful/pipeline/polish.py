"""Point-to-plane ICP with exact nearest points, from a pose that is nearly right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from spoonful.geometry import Pose, plane_covariance
from spoonful.geometry.exact import dot3
from spoonful.icp import Matches, descend, tukey
from spoonful.neighbors import Index
from spoonful.pipeline.field import DAMPING
from spoonful.pipeline.prepare import Pair, chosen

# The target points at some positions (N,), and their normals: (N, 3) and (N, 3), float64.
_Planes: TypeAlias = Callable[[Tensor], tuple[Tensor, ...]]
# Source points used in a round. With half of them some poses end in another minimum.
_POINTS = 8000
# A pose has settled when distances, in voxels, change by less.
_SETTLED = 1e-4
# How far apart points of the clouds themselves may be, in voxels.
_REACH = 0.5
# The least number of cells that the common surface is divided into.
_CELLS = 20


def polish(
    pair: Pair,
    source: Tensor,
    target: Index,
    pose: Pose,
    *,
    generator: torch.Generator,
    rounds: int = 6,
) -> tuple[Pose, Pose, Tensor]:
    """Refine on the fine grid, then on the clouds themselves.

    Args:
        pair: the scans; the target has its `fine_normals`.
        source: (N, 3) the whole source cloud, in voxels, float64, on any device.
        target: the whole target, likewise, on the device of the scans.
        pose: rotation (3, 3), between the scans.
        generator: chooses source points if there are very many.
        rounds: on each of the two levels, at most.

    Returns:
        The pose after the fine grid, that after the clouds, and the covariance (6, 6) of the
        latter, see `plane_covariance`; in voxels, float64.
    """
    fine, normals = pair.target.fine, pair.target.fine_normals
    assert normals is not None
    places, normals = fine.points.double(), normals.double()
    some = some_of(pair.source.fine.points, _POINTS, generator)
    refined = Pose(*(part.double().unsqueeze(0) for part in pose))
    for reach in (1.5, 0.75):
        refined, _ = _icp(some, fine, lambda k: (places[k], normals[k]), refined, reach, rounds)

    def planes(index: Tensor) -> tuple[Tensor, ...]:
        """Some target points, with the normals of the nearest points of the fine grid."""
        onto = target.points[index]
        return onto, normals[fine.nearest(onto.float()).index]

    some = some_of(source, _POINTS, generator).to(fine.points.device)
    final, matches = _icp(some, target, planes, refined, _REACH, rounds // 2)
    return refined.at(0), final.at(0), _covariance(some.double(), matches, final)


def _covariance(source: Tensor, matches: Matches, pose: Pose) -> Tensor:
    """The covariance of the last fit, if points in one cell share their errors.

    They share the errors of estimated normals and of uneven surfaces.
    """
    assert matches.normals is not None
    table = torch.cat([source, matches.points[0], matches.normals[0]], -1)
    # On the CPU, because a GPU takes longer to start so many small operations.
    common, onto, normals = table[matches.squared[0].isfinite()].cpu().split(3, -1)
    if len(common) <= 6:
        return torch.full((6, 6), torch.nan, dtype=torch.float64)
    return plane_covariance(common, onto, normals, pose.at(0).to("cpu"), groups=_cells(common))


def _cells(points: Tensor) -> Tensor:
    """The number of each point's cell, (N,). Cells are cubes, as large as `_CELLS` allows."""
    places = (points - points.amin(0)) / (points.amax(0) - points.amin(0)).max().clamp_min(1e-9)
    for count in (4, 8, 16, 32):
        x, y, z = (places * count).long().clamp_max(count - 1).unbind(-1)
        numbers = torch.unique((x * count + y) * count + z, return_inverse=True)[1]
        if int(numbers.max()) + 1 >= _CELLS:
            break
    return numbers


def some_of(points: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """All points, or `most` of them at random, in their order: k-d trees find neighbours faster."""
    if len(points) <= most:
        return points
    return points[chosen(len(points), most, generator).sort().values]


def _icp(
    source: Tensor, target: Index, planes: _Planes, pose: Pose, reach: float, rounds: int
) -> tuple[Pose, Matches]:
    """Point-to-plane ICP in float64 with Tukey's weights of the distances to planes.

    Returns:
        The pose and its matches.
    """
    last: list[Matches] = []

    def matcher(moved: Tensor, rows: Tensor) -> Matches:
        near = target.nearest(moved.to(target.points.dtype), reach=reach)
        onto, n = planes(near.index)
        weight = tukey(dot3(moved - onto, n), reach)
        weight = weight * (near.squared_distance < torch.inf)
        last[:] = [Matches(onto, near.squared_distance, weight, n)]
        return last[0]

    found = descend(
        source.double(), pose, matcher, rounds=rounds, tolerance=_SETTLED, damping=DAMPING
    )
    return found.pose, last[0]
