"""Half turns of a pose: rivals that the search may not find.

A room with rows of desks fits on itself after half a turn, all but a few things. Most matches then
agree with one of the two poses, and chance decides which. So the other one is made from it: turned
by half a turn about the normal of a large plane, and shifted so that the planes lie on each other
again.
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor
from torch.nn.functional import conv1d, normalize

from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.field import meet, settle
from spoonful.pipeline.gravity import Upright
from spoonful.pipeline.relief import Common, large_planes
from spoonful.pipeline.search import Judged, Proposal, Search

NAME = "half turn"
"""The name of the poses that are made here."""

# The cosine of the angle between two poses that differ by half a turn, at most.
_HALF = -0.97
# Planes whose normals have a smaller cosine are across each other.
_ACROSS = 0.3
# Shifts tried in each direction, which bring this share of the best one's points together.
_SHIFTS, _AS_MANY = 2, 0.8
# Shifts that differ by less, in voxels, settle in the same place.
_SAME = 4
# Points of a scan that are looked at.
_POINTS = 1000
# How far points may be off before a pose has settled, in voxels: shifts are whole numbers.
_ROUGH = 2.5
# So many poses are settled, if this share of the points that the first brings together, is,
_MOST, _WORTH = 3, 0.7
# and kept, if it is this share then.
_KEPT = 0.8


def with_half_turns(search: Search, judged: Judged, upright: Upright | None = None) -> Judged:
    """The poses, with half turns of the first that bring nearly as much surface together.

    With `upright` only those that hardly tilt the source.
    """
    source, field = search.pair.source, search.target_field
    step = max(1, len(source.points) // _POINTS)
    points, normals = source.points[::step], source.normals[::step]

    def shares(pose: Pose, reach: float) -> Tensor:
        """The points that lie on the target, over those at the first pose."""
        every = Pose(*(torch.cat(parts) for parts in zip(first, pose, strict=True)))
        fit = meet(field, points, normals, every, reach=reach, signed=source.given)
        near = fit.near.sum(1)
        return near[1:] / near[0].clamp_min(1)

    first = judged.pose.at(slice(0, 1))
    pose = _half_turns(search, first)
    if pose is None:
        return judged
    if upright is not None:
        pose = upright.kept([Proposal(NAME, pose)])[0].pose
    rough = shares(pose, _ROUGH)
    best = rough.argsort(descending=True, stable=True)[:_MOST]
    pose = pose.at(best[rough[best] >= _WORTH])
    if not len(pose.rotation):
        return judged
    pose = settle(field, points, normals, pose, signed=source.given)
    pose = pose.at(shares(pose, 1.5) >= _KEPT)
    if not len(pose.rotation):
        return judged
    return judged.plus(search.measure(pose, (NAME,) * len(pose.rotation)))


def by_half_a_turn(pose: Pose, other: Pose) -> Tensor:
    """(H,) bool, which poses differ from another one by about half a turn."""
    trace = (pose.rotation * other.rotation.to(pose.rotation)).sum((-2, -1))
    return (trace - 1) / 2 < _HALF


def _half_turns(search: Search, pose: Pose) -> Pose | None:
    """The pose, turned about three axes across each other, with several shifts each.

    None if the target has no two large planes across each other.
    """
    target = search.pair.target
    points, normals = target.points.double().cpu(), target.estimated.double().cpu()
    step = max(1, len(points) // _POINTS)
    axes = _axes(Common(points[::step], normals[::step]))
    if axes is None:
        return None
    placed = pose.to("cpu", torch.float64).apply(search.pair.source.points.double().cpu())[0]
    onto = (points @ axes.mT).unbind(1)
    turns, shifts = [], []
    for axis in axes:
        turn = rotation_from_vector(math.pi * axis)
        along = (placed @ turn.mT @ axes.mT).unbind(1)
        ways = [_shifts(*sides) for sides in zip(along, onto, strict=True)]
        for shift in itertools.product(*ways):
            turns.append(turn)
            shifts.append(points.new_tensor(shift) @ axes)
    made = Pose(torch.stack(turns), torch.stack(shifts)).compose(pose.to("cpu", torch.float64))
    return made.to(target.points.device, torch.float32)


def _axes(surface: Common) -> Tensor | None:
    """Three unit vectors across each other, (3, 3), of which two are normals of large planes."""
    normals = large_planes(surface)[0]
    across = [n for n in normals[1:] if float((n @ normals[0]).abs()) < _ACROSS]
    if not across:
        return None
    first = normals[0]
    second = normalize(across[0] - (across[0] @ first) * first, dim=0)
    return torch.stack([first, second, torch.linalg.cross(first, second)])


def _shifts(source: Tensor, target: Tensor) -> list[float]:
    """The shifts of coordinates (N,) that bring the most planes across them onto others (M,)."""
    low = torch.minimum(source.min(), target.min())
    count = int(torch.maximum(source.max(), target.max()) - low) + 2
    # Square roots: one large wall should not outweigh all others.
    sides = (torch.bincount((x - low).long(), minlength=count).float() for x in (source, target))
    here, there = (x.sqrt().view(1, 1, -1) for x in sides)
    together = conv1d(there, here, padding=count - 1).flatten()
    together = conv1d(together.view(1, 1, -1), together.new_ones(1, 1, 3), padding=1).flatten()
    found: list[float] = []
    most = together.max()
    while len(found) < _SHIFTS and together.max() >= _AS_MANY * most:
        best = int(together.argmax())
        found.append(float(best - (count - 1)))
        together[max(0, best - _SAME) : best + _SAME + 1] = 0
    return found
