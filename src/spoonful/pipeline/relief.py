"""The relief of two scans: the surface that lies off their large planes.

Walls and floors are most of many scans, and they fit at many poses: after a slide, and turned by a
quarter or half a turn. What stands out of them fits at the right pose only: the things on a table,
the doors of a corridor, the furniture of a room.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.pipeline.field import meet
from spoonful.pipeline.search import Search

FEWEST = 6
"""A common surface of fewer points than this has no planes."""

ENOUGH = 30
"""Fewer points of relief are no evidence for a pose, or against it."""

# A large plane has at least this share of the common surface; at most this many are taken off.
_LARGE, _PLANES = 0.08, 6
# Normals with a larger cosine than this are parallel.
_PARALLEL = 0.9
# Tangent planes of about this many points are tried.
_TRIED = 128
# Relief comes near the other scan within this many voxels, and agrees within one.
_AROUND = 5.0


class Common(NamedTuple):
    """The surface of the target that the source lies on; on the CPU, where small sums are faster.

    Attributes:
        points: (N, 3) float64 points of the source, in the target's frame, in voxels.
        normals: (N, 3) float64 the target's normals there, of either sign.
    """

    points: Tensor
    normals: Tensor


class Relief(NamedTuple):
    """The relief of both scans on their fine grids, and how it fits at a pose; on the CPU.

    Attributes:
        near: how many of its points come near the other scan.
        agreement: the share of these that lies on it.
        points: (N, 3) float64, those that lie on it, in the target's frame, in voxels.
        normals: (N, 3) float64 the target's normals there, of either sign.
        common: the common surface, off whose large planes the relief lies.
    """

    near: int
    agreement: float
    points: Tensor
    normals: Tensor
    common: Common


def _common_of(search: Search, pose: Pose) -> Common:
    """The common surface at a pose with rotation (3, 3), by estimated normals."""
    search = search.with_estimated_normals()
    source = search.pair.source
    fit = meet(search.target_field, source.points, source.normals, _one(pose))
    table = torch.cat([fit.moved[0], fit.facing[0]], -1)[fit.near[0]]
    return Common(*table.double().cpu().split(3, -1))


def relief_of(search: Search, pose: Pose) -> Relief:
    """The relief at a pose with rotation (3, 3), off the large planes of the common surface.

    The search remembers it: several steps ask for the relief of one pose.
    """
    key = tuple(torch.cat([pose.rotation.flatten(), pose.translation]).tolist())
    if key not in search.reliefs:
        search.reliefs[key] = _relief_of(search, pose)
    return search.reliefs[key]


def _relief_of(search: Search, pose: Pose) -> Relief:
    common = _common_of(search, pose)
    source, target = search.pair.source.fine, search.pair.target.fine
    known = search.pair.target.fine_normals
    assert known is not None
    if len(common.points) < FEWEST:
        return Relief(0, 0.0, common.points, common.normals, common)
    ways, offsets = (part.to(known.device) for part in large_planes(common))
    batch = _one(pose)

    def off(points: Tensor) -> Tensor:
        return ((points.double() @ ways.mT - offsets).abs() >= 1).all(-1)

    moved = batch.apply(source.points)[0]
    moved = moved[off(moved)]
    others = off(target.points).nonzero().squeeze(-1)
    there = target.nearest(moved, reach=_AROUND)
    back = source.nearest(batch.inverse().apply(target.points[others])[0], reach=_AROUND)
    square = torch.cat([there.squared_distance, back.squared_distance])
    places = torch.cat([moved, target.points[others]])
    table = torch.cat([places, known[torch.cat([there.index, others])]], -1)
    points, normals = table[square < 1].double().cpu().split(3, -1)
    near = int(square.isfinite().sum())
    return Relief(near, len(points) / max(1, near), points, normals, common)


def large_planes(common: Common) -> tuple[Tensor, Tensor]:
    """The unit normals (P, 3) and offsets (P,) of the large planes n . x = offset, largest first.

    They are tangent planes of some of the points, then fitted to the points within a voxel.
    """
    points, normals = common
    some = slice(None, None, max(1, len(points) // _TRIED))
    on = _lie_on(common, normals[some], (points[some] * normals[some]).sum(-1))
    counted = on.float()  # sums by products: faster than of chosen rows
    left = torch.ones(len(points), dtype=torch.bool)
    found: list[tuple[Tensor, Tensor]] = []
    while len(found) < _PLANES:
        mine = left & on[(counted @ left.float()).argmax()]
        if int(mine.sum()) < max(1.0, _LARGE * len(points)):
            break
        way, offset = _plane_through(points[mine])
        near = _lie_on(common, way.unsqueeze(0), offset)[0]
        if bool(near.any()):
            way, offset = _plane_through(points[near])
        found.append((way, offset))
        left &= (points @ way - offset).abs() >= 1
    if not found:
        return points.new_zeros(0, 3), points.new_zeros(0)
    return torch.stack([way for way, _ in found]), torch.stack([offset for _, offset in found])


def _plane_through(points: Tensor) -> tuple[Tensor, Tensor]:
    """The unit normal (3,) and the offset of the plane that is nearest to points (N, 3)."""
    middle = points.mean(0)
    arm = points - middle
    way = torch.linalg.eigh(arm.mT @ arm).eigenvectors[:, 0]
    return way, middle @ way


def _lie_on(common: Common, ways: Tensor, offsets: Tensor) -> Tensor:
    """(P, N) bool, on which planes which points lie, within a voxel and with a parallel normal."""
    near = (ways @ common.points.mT).sub_(offsets.unsqueeze(-1)).abs_() < 1
    return near & ((ways @ common.normals.mT).abs_() > _PARALLEL)


def _one(pose: Pose) -> Pose:
    """The pose as a batch of one, float32."""
    return Pose(pose.rotation.float().unsqueeze(0), pose.translation.float().unsqueeze(0))
