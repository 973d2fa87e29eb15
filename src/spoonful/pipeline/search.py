"""From two scans to a short list of poses, judged alike wherever they came from.

Three kinds of evidence rank a pose. Matches of similar surroundings: how many of them it brings
together. The surfaces: where the scans come near each other, how much of one lies on the other
instead of beside or across it. And free space, if a scan was taken from the origin of its
coordinates: how much of the other scan lies where its sensor looked through. How much they have in
common does not count: two rooms laid on each other the wrong way round have more in common than two
scans that share a corner.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.classical.consensus import support_of
from spoonful.classical.fpfh import fpfh, mutual_matches
from spoonful.geometry import Pose
from spoonful.pipeline.field import Field, View, meet, settle
from spoonful.pipeline.prepare import Pair, Scan, both

# Surroundings of these radii, in voxels, describe a point together.
_RADII = (4.0, 6.0, 9.0)
# A match is among this many most similar ones, seen from both ends.
CHOICES = 2
# Matches within this many voxels agree.
TOLERANCE = 1.5
# Poses that move the scan apart by less than this, in voxels, are one.
_SAME = 2.0
# How many poses are settled and judged by the surfaces.
_SHORT_LIST = 24
# The power of the agreement: 10 % that disagree cost a third of the score.
_AGREEING = 4
# The power of the share outside free space: 5 % inside it cost 40 % of the score.
_OPAQUE = 10
# Points of the source that a pose is settled with.
_SETTLE_POINTS = 1000


@dataclass(frozen=True)
class Evidence:
    """Points of two scans that look alike.

    Attributes:
        source: (K, 3) float32, in voxels.
        target: (K, 3).
        source_normals: (K, 3).
        target_normals: (K, 3).
    """

    source: Tensor
    target: Tensor
    source_normals: Tensor
    target_normals: Tensor


class Proposal(NamedTuple):
    """Poses that a method suggests.

    Attributes:
        name: of the method.
        pose: rotation (H, 3, 3), translation (H, 3), float32, in voxels.
    """

    name: str
    pose: Pose


@dataclass(frozen=True)
class Judged:
    """Poses after settling, best first.

    Attributes:
        pose: rotation (H, 3, 3), in voxels.
        name: what proposed each.
        support: (H,) matches that agree, see `support_of`.
        common: (H,) voxels of the source on the target plus voxels of the target on the source,
            halved.
        agreement: (H,) of the voxels of either scan that come near the other, the share that lies
            on its surface.
        through: (H,) the share of either scan that is solid where the other's sensor looked
            through, the larger one; zero if no sensor is known.
        score: (H,) between 0 and 1, poses are sorted by it: the share of matches that agree, times
            powers of `agreement` and of the share outside free space.
    """

    pose: Pose
    name: tuple[str, ...]
    support: Tensor
    common: Tensor
    agreement: Tensor
    through: Tensor
    score: Tensor

    def select(self, keep: Tensor) -> Judged:
        """The poses at some positions, in that order."""
        return Judged(
            self.pose.at(keep),
            tuple(self.name[k] for k in keep.tolist()),
            self.support[keep],
            self.common[keep],
            self.agreement[keep],
            self.through[keep],
            self.score[keep],
        )


class Description(NamedTuple):
    """The points and features of one scan that the search needs.

    Attributes:
        features: (N, D) the surroundings of each point of its grid.
        field: its nearest points.
    """

    features: Tensor
    field: Field


class Search:
    """The evidence for poses of one pair, and the fields that judge them.

    Args:
        pair: the two scans on one grid.
        source: the description of the source, if both scans have theirs already.
        target: likewise.
    """

    def __init__(
        self, pair: Pair, source: Description | None = None, target: Description | None = None
    ) -> None:
        self.pair = pair
        if source is None or target is None:
            device = pair.source.points.device
            described = both(describe, pair.source, pair.target, device)
            source, target = described
        self.evidence = find_evidence(pair, source.features, target.features)
        self.source_field, self.target_field = source.field, target.field
        self.views: list[View] = []
        # Both or none: two files of one device are alike; one alone may look like a scan by chance.
        if pair.source.eye is not None and pair.target.eye is not None:
            self.views = [_view(pair.source, pair.source.eye), _view(pair.target, pair.target.eye)]

    def judge(self, proposals: Sequence[Proposal]) -> Judged:
        """Settle the proposed poses, of which there is at least one, and rank them."""
        names = [each.name for each in proposals for _ in each.pose.rotation]
        pose = Pose(*(torch.cat(parts) for parts in zip(*(p.pose for p in proposals), strict=True)))
        # Single-pose proposals are always kept; the others are ranked by matches.
        alone = [len(each.pose.rotation) == 1 for each in proposals for _ in each.pose.rotation]
        source, promise = self.pair.source, self._support(pose)
        promise = promise.masked_fill(torch.tensor(alone, device=promise.device), torch.inf)
        keep = distinct(pose, promise, source.points, _SHORT_LIST)
        step = max(1, len(source.points) // _SETTLE_POINTS)
        pose = settle(
            self.target_field,
            source.points[::step],
            source.normals[::step],
            pose.at(keep),
            signed=source.given,
        )
        judged = self.measure(pose, tuple(names[k] for k in keep.tolist()))
        return judged.select(distinct(judged.pose, judged.score, source.points, _SHORT_LIST))

    def _support(self, pose: Pose) -> Tensor:
        return support_of(pose, self.evidence.source, self.evidence.target, TOLERANCE)

    def measure(self, pose: Pose, names: tuple[str, ...] = ()) -> Judged:
        """Judge poses (H, ...) as they are, in their order; `names` says what proposed them."""
        source, target = self.pair.source, self.pair.target
        signed = source.given
        there = meet(self.target_field, source.points, source.normals, pose, signed=signed)
        back = meet(self.source_field, target.points, target.normals, pose.inverse(), signed=signed)
        near, off = (
            (getattr(there, kind).sum(1) + getattr(back, kind).sum(1)) / 2
            for kind in ("near", "off")
        )
        support = self._support(pose)
        # One voxel more, so that contact at a few points does not count as agreement.
        agreement = near / (near + off + 1)
        through = torch.zeros_like(agreement)
        if self.views:
            here, onto = self.views
            through = torch.maximum(onto.through(here, pose), here.through(onto, pose.inverse()))
        score = support / max(1, len(self.evidence.source))
        score = score * agreement**_AGREEING * (1 - through) ** _OPAQUE
        return Judged(pose, names, support, near, agreement, through, score)

    def with_estimated_normals(self) -> Search:
        """The same search, which measures poses by estimated normals of either sign.

        Confidence is fitted to them. Normals of files tell poses apart better, but they are noisier
        at the scale of a voxel, so less of the surface agrees.
        """
        if not self.pair.source.given:
            return self
        found = copy.copy(self)
        source, target = (
            replace(scan, normals=scan.estimated, given=False)
            for scan in (self.pair.source, self.pair.target)
        )
        found.pair = replace(self.pair, source=source, target=target)
        fields = copy.copy(self.source_field), copy.copy(self.target_field)
        found.source_field, found.target_field = fields
        found.source_field.normals, found.target_field.normals = source.normals, target.normals
        return found


def describe(scan: Scan) -> Description:
    """Describe one scan for the search, independently of the other scan."""
    return Description(surroundings(scan), Field(scan.points, scan.normals))


def _view(scan: Scan, eye: Tensor) -> View:
    return View(scan.grid, scan.estimated, scan.fine.points, eye)


def surroundings(scan: Scan) -> Tensor:
    """(N, D) features of the points of a scan's grid."""
    return fpfh(scan.points, scan.normals, _RADII, index=scan.grid)


def find_evidence(pair: Pair, source_features: Tensor, target_features: Tensor) -> Evidence:
    """Mutual matches of the scans' surroundings."""
    source, target = pair.source, pair.target
    here, there = mutual_matches(source_features, target_features, CHOICES)
    return Evidence(
        source=source.points[here],
        target=target.points[there],
        source_normals=source.normals[here],
        target_normals=target.normals[there],
    )


def distinct(pose: Pose, value: Tensor, points: Tensor, most: int) -> Tensor:
    """Positions of the best poses of which no two are the same, best first, `most` of them.

    Poses are the same if they carry the points to places no farther apart than `_SAME` voxels,
    root mean square.
    """
    some = points[:: max(1, len(points) // 32)]
    places = (some @ pose.rotation.mT + pose.translation.unsqueeze(-2)).flatten(1)
    apart = torch.cdist(places, places) / len(some) ** 0.5
    same = (apart < _SAME).cpu()
    free = torch.ones(len(value), dtype=torch.bool)
    keep = []
    for k in value.argsort(descending=True, stable=True).tolist():
        if free[k]:
            keep.append(k)
            free &= ~same[k]
            if len(keep) == most:
                break
    return torch.tensor(keep, dtype=torch.int64, device=value.device)
