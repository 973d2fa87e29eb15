"""Search for poses of two scans, and rank all proposed poses by the same score.

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
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.classical.consensus import support_of
from spoonful.classical.fpfh import fpfh, mutual_matches
from spoonful.geometry import Pose
from spoonful.pipeline import sight
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
    """Feature matches between two scans.

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
    """Poses that a method proposes.

    Attributes:
        name: of the method.
        pose: rotation (H, 3, 3), translation (H, 3), float32, in voxels.
    """

    name: str
    pose: Pose


@dataclass(frozen=True)
class Judged:
    """Refined and scored poses, best first.

    Attributes:
        pose: rotation (H, 3, 3), in voxels.
        name: the method that proposed each.
        support: (H,) matches that agree, see `support_of`.
        common: (H,) voxels of the source on the target plus voxels of the target on the source,
            halved.
        agreement: (H,) of the voxels of either scan that come near the other, the share that lies
            on its surface.
        through: (H,) the share of a scan that is solid in the other sensor's free space, the
            larger of both; zero if no sensor is known.
        score: (H,) between 0 and 1, the sort key: the share of matches that agree, times powers of
            `agreement` and of the share outside free space.
    """

    pose: Pose
    name: tuple[str, ...]
    support: Tensor
    common: Tensor
    agreement: Tensor
    through: Tensor
    score: Tensor

    def select(self, keep: Tensor) -> Judged:
        """The poses at the given indices, in that order."""
        return Judged(
            self.pose.at(keep),
            tuple(self.name[k] for k in keep.tolist()),
            self.support[keep],
            self.common[keep],
            self.agreement[keep],
            self.through[keep],
            self.score[keep],
        )

    def plus(self, other: Judged) -> Judged:
        """These poses and others, best first."""
        parts = (torch.cat(pair) for pair in zip(self._numbers(), other._numbers(), strict=True))
        both = Judged(
            Pose(*(torch.cat(pair) for pair in zip(self.pose, other.pose, strict=True))),
            self.name + other.name,
            *parts,
        )
        return both.select(both.score.argsort(descending=True, stable=True))

    def _numbers(self) -> tuple[Tensor, ...]:
        return self.support, self.common, self.agreement, self.through, self.score


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
        self.source_features, self.target_features = source.features, target.features
        self.reliefs: dict[tuple[float, ...], Any] = {}  # see `relief_of`
        self.views: list[View] = []
        # Both or none: two files of one device are alike; one alone may look like a scan by chance.
        if pair.source.eye is not None and pair.target.eye is not None:
            self.views = [_view(pair.source, pair.source.eye), _view(pair.target, pair.target.eye)]

    def judge(self, proposals: Sequence[Proposal]) -> Judged:
        """Refine the proposed poses (at least one) by a few ICP steps, and rank them."""
        counts = [len(each.pose.rotation) for each in proposals]
        names = [p.name for p, n in zip(proposals, counts, strict=True) for _ in range(n)]
        pose = Pose(*(torch.cat(parts) for parts in zip(*(p.pose for p in proposals), strict=True)))
        # Single-pose proposals are always kept; the others are ranked by matches.
        alone = [n == 1 for n in counts for _ in range(n)]
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
        """Score poses (H, ...) without refining them; `names` are the methods of the poses."""
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
        names = names or ("",) * len(support)
        return Judged(pose, names, support, near, agreement, through, score)

    def looked_through(self, pose: Pose) -> Tensor:
        """(H,) see `sight.looked_through`; zero if the sensors are not known."""
        if not self.views:
            return pose.translation.new_zeros(len(pose.translation))
        return sight.looked_through(*self._rays, pose)

    @cached_property
    def _rays(self) -> tuple[sight.Rays, sight.Rays]:
        both = self.pair.source, self.pair.target
        source, target = (
            sight.Rays(scan.fine.points, view.eye)
            for scan, view in zip(both, self.views, strict=True)
        )
        return source, target

    def with_estimated_normals(self) -> Search:
        """A copy of the search that scores poses with estimated normals of either sign.

        Confidence is fitted to estimated normals. Normals of files distinguish poses better, but
        are noisier at the scale of a voxel, so less of the surface agrees.
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
    """Match the features of both scans mutually."""
    source, target = pair.source, pair.target
    here, there = mutual_matches(source_features, target_features, CHOICES)
    return Evidence(
        source=source.points[here],
        target=target.points[there],
        source_normals=source.normals[here],
        target_normals=target.normals[there],
    )


def distinct(pose: Pose, value: Tensor, points: Tensor, most: int) -> Tensor:
    """Indices of up to `most` distinct poses, best first.

    Two poses are the same if the moved points differ by at most `_SAME` voxels, root mean square.
    """
    some = points[:: max(1, len(points) // 32)]
    places = (some @ pose.rotation.mT + pose.translation.unsqueeze(-2)).flatten(1)
    apart = torch.cdist(places, places) / len(some) ** 0.5
    same = (apart < _SAME).cpu()
    keep: list[int] = []
    taken: set[int] = set()
    for k in value.argsort(descending=True, stable=True).tolist():
        if k not in taken:
            keep.append(k)
            taken.update(same[k].nonzero().squeeze(1).tolist())
            if len(keep) == most:
                break
    return torch.tensor(keep, dtype=torch.int64, device=value.device)


def different(pair: Pair, pose: Pose, other: Pose) -> Tensor:
    """(H,) bool, poses that move the source a tenth of its size away from where `other` does."""
    points = pair.source.points
    some = points[:: max(1, len(points) // 64)]
    places = some @ pose.rotation.mT + pose.translation.unsqueeze(-2)
    other = other.to(points.device, points.dtype)
    apart = (places - other.apply(some)).square().sum(-1).mean(-1).sqrt()
    size = points.square().sum(-1).mean().sqrt()
    return apart > (0.1 * size).clamp_min(3.0)
