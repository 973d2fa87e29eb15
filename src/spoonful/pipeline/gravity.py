"""The vertical axis as a prior for the search: poses may turn about it, but hardly tilt."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.pipeline.prepare import Pair, Scan
from spoonful.pipeline.proposers import gather
from spoonful.pipeline.search import Evidence, Proposal, Search
from spoonful.view.layers import UPS

UP = (*UPS, "auto")
"""The values of `up`: an axis of both clouds, or "auto" for the largest floor in each."""

# Poses that tilt the source by more than this, in degrees, are dropped before they are settled.
_TILT = 10.0
# Matches whose normals rise differently, as a cosine, are not used.
_RISE = 0.25
# A tilted pose with this many times the score of the best upright one is worth a warning.
_BETTER = 2.0
# A floor has this share of a scan's voxels, and at most this share lies below it.
_FLOOR, _BELOW = 0.08, 0.03
# Points whose planes are tried as floors, and the half thickness of a floor in voxels.
_TRIED, _THICK = 200, 1.0


class Upright(NamedTuple):
    """Unit vectors (3,) that point up, each in the frame of its scan."""

    source: Tensor
    target: Tensor

    def tilt(self, pose: Pose) -> Tensor:
        """(H,) the angles, in degrees, by which poses tilt the source."""
        source, target = (axis.to(pose.rotation) for axis in self)
        cosine = (source @ pose.rotation.mT * target).sum(-1)
        return torch.rad2deg(cosine.clamp(-1, 1).acos())

    def kept(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """The proposed poses that hardly tilt the source."""
        return [
            Proposal(name, pose.at((self.tilt(pose) <= _TILT).nonzero().squeeze(1)))
            for name, pose in proposals
        ]

    def propose(self, search: Search, names: Sequence[str], init: Pose | None) -> list[Proposal]:
        """Upright poses from matches whose normals have the same elevation in both scans."""
        found = search.evidence
        source, target = (axis.to(found.source_normals) for axis in self)
        rise = found.source_normals @ source - found.target_normals @ target
        alike = rise.abs() < _RISE
        limited = copy.copy(search)
        limited.evidence = Evidence(*(part[alike] for part in vars(found).values()))
        return self.kept(gather(limited, names, init)[0])


class Narrowed(NamedTuple):
    """The proposals that remain if poses must be upright.

    Attributes:
        proposals: the poses to judge.
        warnings: reasons to doubt `up`, one sentence each.
        notes: what was done, one sentence each.
        upright: the directions up, if the poses must keep them.
    """

    proposals: list[Proposal]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    upright: Upright | None = None


def narrowed(
    search: Search, proposals: list[Proposal], up: str, names: Sequence[str], init: Pose | None
) -> Narrowed:
    """Narrow a search to poses that hardly tilt the source.

    Args:
        search: the search.
        proposals: its poses so far.
        up: one of `UP`.
        names: the methods that propose upright poses.
        init: as for `gather`.

    Returns:
        `Narrowed`. It keeps all poses if none is upright, or if "auto" chose the floors and a
        tilted pose fits far better.
    """
    upright = upright_of(up, search.pair)
    if upright is None:
        note = "up auto: no floor found in both clouds, so all poses were considered"
        return Narrowed(proposals, (), (note,))
    own = upright.kept(proposals) + upright.propose(search, names, init)
    if any(len(each.pose.rotation) for each in own):
        # Once more after they have settled, which may tilt them.
        best = search.judge(own)
        best = best.select((upright.tilt(best.pose) <= _TILT).nonzero().squeeze(1))
        ones = (best.pose.at(slice(k, k + 1)) for k in range(len(best.name)))
        own = [Proposal(*each) for each in zip(best.name, ones, strict=True)]
    if not own or not len(own[0].pose.rotation):
        why = f"up {up}: no pose keeps the source upright, so all poses were considered"
        return Narrowed(proposals, *((), (why,)) if up == "auto" else ((why,), ()))
    free = search.judge(proposals)
    tilt = float(upright.tilt(free.pose)[0])
    if tilt > _TILT and float(free.score[0]) > _BETTER * float(best.score[0]):
        better = f"a pose that tilts the source by {tilt:.0f} degrees fits far better"
        if up == "auto":
            note = f"up auto: {better} than those that bring the largest floors together"
            return Narrowed(proposals, (), (f"{note}, so all poses were considered",))
        why = f"up {up}: {better} than the best upright one; check --up, or leave it out"
        return Narrowed(own, (why,), (), upright)
    note = f"up {up}: only poses that tilt the source by less than {_TILT:.0f} degrees considered"
    return Narrowed(own, (), (note,), upright)


def upright_of(up: str, pair: Pair) -> Upright | None:
    """The directions up of both scans; None if "auto" finds no floor in one of them."""
    if up == "auto":
        source, target = floor_of(pair.source), floor_of(pair.target)
        return None if source is None or target is None else Upright(source, target)
    axis = torch.eye(3)["xyz".index(up[-1])] * (-1 if up.startswith("-") else 1)
    return Upright(axis, axis)


def floor_of(scan: Scan) -> Tensor | None:
    """The normal, (3,) pointing up, of the largest plane with the rest of the scan on one side."""
    points, normals = scan.points, scan.normals
    some = torch.linspace(0, len(points) - 1, min(_TRIED, len(points))).long().to(points.device)
    height = points @ normals[some].mT - (points[some] * normals[some]).sum(-1)
    flat = (normals @ normals[some].mT).abs() > math.cos(math.radians(_TILT))
    on = (height.abs() < _THICK) & flat
    above = (height > _THICK).float().mean(0)
    below = (height < -_THICK).float().mean(0)
    share = on.float().mean(0).where(torch.minimum(above, below) <= _BELOW, 0.0)
    best = int(share.argmax())
    if float(share[best]) < _FLOOR:
        return None
    floor = points[on[:, best]]
    normal = torch.linalg.eigh((floor - floor.mean(0)).mT @ (floor - floor.mean(0))).eigenvectors
    upwards = normals[some[best]] * (1 if above[best] >= below[best] else -1)
    return normal[:, 0] * torch.sign(normal[:, 0] @ upwards)
