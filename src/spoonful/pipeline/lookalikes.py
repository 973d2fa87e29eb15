"""Look-alikes of a pose: slides, half turns and symmetries that fit nearly as well.

A hall fits on itself after a slide by one column, a room with rows of desks after half a turn, and
a propeller with five blades after a fifth of a turn. Most matches then agree with one of the poses,
chance decides with which, and the search may find this one only. So the others are made from it:
shifted so that the things that stand out of large planes lie on each other again, turned by half a
turn about the normal of a large plane and shifted so that the planes do, or moved as matches of
each scan with itself propose.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import conv1d, normalize

from spoonful.classical.consensus import consensus
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.field import meet, settle
from spoonful.pipeline.gravity import Upright
from spoonful.pipeline.prepare import Scan
from spoonful.pipeline.relief import ENOUGH, Common, large_planes
from spoonful.pipeline.search import (
    CHOICES,
    TOLERANCE,
    Judged,
    Proposal,
    Search,
    different,
    distinct,
)

NAME, SYMMETRY = "look-alike", "symmetry"
"""The names of the poses that are made here, and of those that a symmetry explains."""

# Poses differ by a slide if the cosine of the angle between them is larger than this, and by half a
# turn if it is smaller than minus this.
_COSINE = 0.97
# Planes whose normals have a smaller cosine are across each other.
_ACROSS = 0.3
# Points of a scan that are looked at, and of its relief, which is so many voxels off the planes.
_POINTS, _RELIEF, _OFF = 600, 300, 1.5
# Points of the relief lie on each other if their normals have a larger cosine.
_PARALLEL = 0.8
# Slides are counted in cubes of so many voxels, up to so many cubes away, and so many are tried.
_CUBE, _FAR, _SLIDES = 2.0, 20, 6
# After a half turn so many shifts are tried in each direction, if they bring together this share
# of the points that the best one does; if they differ by less voxels, they settle in one place.
_SHIFTS, _AS_MANY, _SAME = 2, 0.8, 4
# The number of points of each scan that are matched, and the least distance of matches in voxels.
_MATCHED, _AWAY = 500, 10.0
# The numbers of matches that propose motions, of motions that are compared, and of those tried.
_MATCHES, _MOTIONS, _TRIED = 250, 16, 4
# A motion is a symmetry if it puts this share of the relief that comes near a scan on its surface.
_SYMMETRIC = 0.85
# How far points may be off before a pose has settled, in voxels: shifts are whole numbers.
_ROUGH = 2.5
# So many poses are settled, if they bring together this share of the points that the first does,
_MOST, _WORTH = 6, 0.7
# and kept if they bring together this share then.
_KEPT = 0.8


class _Shape(NamedTuple):
    """A scan as it is compared here: its surface, the relief, and the normals of large planes."""

    surface: Common
    relief: Common
    planes: Tensor

    def at(self, pose: Pose) -> _Shape:
        """The scan at a pose with rotation (3, 3)."""
        turn = pose.rotation.mT
        surface, relief = (Common(pose.apply(p), n @ turn) for p, n in (self.surface, self.relief))
        return _Shape(surface, relief, self.planes @ turn)


Shapes = tuple[_Shape, _Shape]


def with_lookalikes(search: Search, judged: Judged, upright: Upright | None = None) -> Judged:
    """The poses, with look-alikes of the first that bring nearly as much surface together.

    With `upright` only those that hardly tilt the source.
    """
    source, field = search.pair.source, search.target_field
    step = max(1, len(source.points) // _POINTS)
    points, normals = source.points[::step], source.normals[::step]

    def together(pose: Pose, reach: float) -> Tensor:
        """The number of points that lie on the target at each pose."""
        return meet(field, points, normals, pose, reach=reach, signed=source.given).near.sum(1)

    first = judged.pose.at(slice(0, 1))
    shapes = _shape(source), _shape(search.pair.target)
    made = [_slides_and_turns(*shapes, first), _symmetries(search, shapes, first)]
    pose = Pose(*(torch.cat(parts) for parts in zip(*made, strict=True)))
    if upright is not None:
        pose = upright.kept([Proposal(NAME, pose)])[0].pose
    pose = Pose(*(torch.cat(parts) for parts in zip(first, pose, strict=True)))
    rough = together(pose, _ROUGH).float()
    enough = rough >= _WORTH * rough[0]
    rough[0] = torch.inf  # so that poses that hardly differ from the first are left out
    keep = distinct(pose, rough, source.points, _MOST + 1)[1:]
    keep = keep[enough[keep]]
    if not len(keep):
        return judged
    pose = settle(field, points, normals, pose.at(keep), signed=source.given)
    kept = together(pose, 1.5) >= _KEPT * together(first, 1.5)
    # Poses of one place are for `most_exact_first`, which knows the finer grid.
    kept &= different(search.pair, pose, first.at(0))
    if not bool(kept.any()):
        return judged
    pose = pose.at(kept)
    symmetric = _onto_itself(search, shapes, pose, first) >= _SYMMETRIC
    # Corridors and halls nearly fit on themselves after these two, so more is asked of them.
    symmetric &= ~slid_or_turned(pose, first.at(0))
    names = tuple(SYMMETRY if each else NAME for each in symmetric.tolist())
    return judged.plus(search.measure(pose, names))


def slid_or_turned(pose: Pose, other: Pose) -> Tensor:
    """(H,) bool, which poses differ from another one by a slide, or by half a turn and a slide."""
    trace = (pose.rotation * other.rotation.to(pose.rotation)).sum((-2, -1))
    return ((trace - 1) / 2).abs() > _COSINE


def _symmetries(search: Search, shapes: Shapes, pose: Pose) -> Pose:
    """The pose, with rotation (1, 3, 3), after motions that may map the scans onto themselves.

    At the pose both scans have the same symmetries, so the matches of both propose them together.
    """
    first, source, target = pose.at(0), search.pair.source, search.pair.target
    turned = source.normals @ first.rotation.mT
    sides = [
        _self_matches(first.apply(source.points), turned, search.source_features),
        _self_matches(target.points, target.normals, search.target_features),
    ]
    alike, *ends = (torch.cat(parts) for parts in zip(*sides, strict=True))
    best = alike.argsort(descending=True, stable=True)[:_MATCHES]
    p, q, n, m = (part[best] for part in ends)
    found = consensus(p, q, TOLERANCE, source_normals=n, target_normals=m)
    made = found.pose.compose(pose)
    # Slides and half turns are made from planes and relief, and held against the relief.
    value = found.support.where(~slid_or_turned(made, first), 0.0)
    value = value.where(different(search.pair, made, first), 0.0)
    made = made.at(distinct(made, value, source.points, _MOTIONS))
    best = _onto_itself(search, shapes, made, pose).topk(min(_TRIED, len(made.rotation))).indices
    return made.at(best)


def _onto_itself(search: Search, shapes: Shapes, pose: Pose, first: Pose) -> Tensor:
    """(H,) how much of the relief of both scans each motion from `first` puts on the same scan.

    It is the share of the relief that comes near the scan. The motions lead from `first`, with
    rotation (1, 3, 3), to each pose (H, ...). It is zero if there is little relief.
    """
    back = first.inverse()
    near = off = pose.translation.new_zeros(len(pose.rotation))
    for field, shape, motion in (
        (search.source_field, shapes[0], back.compose(pose)),
        (search.target_field, shapes[1], pose.compose(back)),
    ):
        points, normals = (part.to(near) for part in shape.relief)
        fit = meet(field, points, normals, motion, reach=_ROUGH)
        near, off = near + fit.near.sum(1), off + fit.off.sum(1)
    return near / (near + off).clamp_min(ENOUGH)


def _self_matches(points: Tensor, normals: Tensor, features: Tensor) -> tuple[Tensor, ...]:
    """Matches of some points of a scan with others of them, by `mutual_matches` of features.

    Returns:
        (K,) how similar they are, (K, 3) points, their matches, and the normals of both.
    """
    some = slice(None, None, max(1, len(points) // _MATCHED))
    points, normals, features = points[some], normals[some], features[some].sqrt()
    likeness = features @ features.mT
    likeness.masked_fill_(torch.cdist(points, points) < _AWAY, 0)
    alike, there = likeness.topk(min(CHOICES, len(points)))
    here = torch.arange(len(points), device=points.device).unsqueeze(1).expand_as(there)
    mutual = (there[there] == here.unsqueeze(-1)).any(-1) & (alike > 0)
    here, there = here[mutual], there[mutual]
    return alike[mutual], points[here], points[there], normals[here], normals[there]


def _slides_and_turns(source: _Shape, target: _Shape, pose: Pose) -> Pose:
    """The pose after several slides, and turned by half about three axes across each other."""
    first = pose.at(0).to("cpu", torch.float64)
    source = source.at(first)
    slides = _relief_onto(source.relief, target.relief)
    made = [Pose(torch.eye(3).double().expand(len(slides), 3, 3), slides)]
    axes = _axes(torch.cat([target.planes, source.planes]))
    for axis in axes:
        turn = rotation_from_vector(math.pi * axis)
        shifts = _planes_onto(source.surface.points @ turn.mT, target.surface.points, axes)
        made.append(Pose(turn.expand(len(shifts), 3, 3), shifts))
    every = Pose(*(torch.cat(parts) for parts in zip(*made, strict=True))).compose(first)
    return every.to(pose.rotation.device, torch.float32)


def _shape(scan: Scan) -> _Shape:
    points, normals = scan.points.double().cpu(), scan.estimated.double().cpu()
    some = slice(None, None, max(1, len(points) // _POINTS))
    surface = Common(points[some], normals[some])
    ways, offsets = large_planes(surface)
    off = ((points @ ways.mT - offsets).abs() >= _OFF).all(-1).nonzero().squeeze(1)
    off = off[:: max(1, len(off) // _RELIEF)]
    return _Shape(Common(points, normals), Common(points[off], normals[off]), ways)


def _axes(planes: Tensor) -> Tensor:
    """Three unit vectors across each other, (3, 3), of which two are normals of large planes.

    (0, 3) if no two planes are across each other.
    """
    across = [n for n in planes if float((n @ planes[0]).abs()) < _ACROSS]
    if not across:
        return planes[:0]
    first = planes[0]
    second = normalize(across[0] - (across[0] @ first) * first, dim=0)
    return torch.stack([first, second, torch.linalg.cross(first, second)])


def _planes_onto(source: Tensor, target: Tensor, axes: Tensor) -> Tensor:
    """(K, 3) the shifts of points that bring the most planes across the axes onto others."""
    sides = ((points @ axes.mT).unbind(1) for points in (source, target))
    ways = [_shifts(*pair) for pair in zip(*sides, strict=True)]
    return axes.new_tensor([*itertools.product(*ways)]) @ axes


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


def _relief_onto(source: Common, target: Common) -> Tensor:
    """(K, 3) the shifts that bring the most points of the source's relief onto the target's."""
    near = (target.normals @ source.normals.mT).abs_() > _PARALLEL
    near &= torch.cdist(target.points, source.points, p=math.inf) < _CUBE * _FAR
    there, here = ((scan.points / _CUBE).round().long() for scan in (target, source))
    # The number of the cube of each shift, counted along z, y and x from the middle one.
    middle = _FAR + 2
    side = 2 * middle + 1
    step = there.new_tensor([side**2, side, 1])
    cube = (there @ step + middle * step.sum()).unsqueeze(1) - here @ step
    # All shifts that do not count are in one more cube.
    cube = cube.where(near, side**3).flatten()
    count = torch.bincount(cube, minlength=side**3 + 1)[:-1].float().view(side, side, side)
    # With the cubes around, because points seldom fall into the same places.
    for axis in range(3):
        count = count + count.roll(1, axis) + count.roll(-1, axis)
    found: list[list[int]] = []
    for _ in range(_SLIDES):
        most, best = count.flatten().max(0)
        if most == 0:
            break
        place = [int(best) // side**k % side for k in (2, 1, 0)]
        found.append([k - middle for k in place])
        count[tuple(slice(max(0, k - 2), k + 3) for k in place)] = 0
    return _CUBE * source.points.new_tensor(found).view(-1, 3)
