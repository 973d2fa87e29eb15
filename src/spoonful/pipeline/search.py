"""From two scans to a short list of poses, judged alike wherever they came from.

Two witnesses judge a pose. Matches of similar surroundings: how many of them it brings together.
And the surfaces: how much of each scan lies on the other, facing the same way. Low overlap or a
flat wall may mislead the second, few distinct places the first; hardly anything misleads both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.classical.consensus import support_of
from spoonful.classical.fpfh import fpfh, mirrored, mutual_matches
from spoonful.geometry import Pose
from spoonful.pipeline.field import Field, meet, settle
from spoonful.pipeline.prepare import Pair

# Surroundings of these radii, in voxels, describe a point together.
_RADII = (4.0, 6.0, 9.0)
# A match is among so many most similar ones, seen from both ends.
_CHOICES = 2
# Matches within this many voxels agree.
TOLERANCE = 1.5
# Surfaces this near each other lie closely on each other.
_CLOSE = 0.3
# Poses that move the scan apart by less than this, in voxels, are one.
_SAME = 2.0
# How many poses are settled and judged by the surfaces.
_SHORT_LIST = 24
# Points of the source that a pose is settled with.
_SETTLE_POINTS = 1000


@dataclass(frozen=True)
class Evidence:
    """Points of two scans that look alike.

    Attributes:
        source: (K, 3) float32, in voxels.
        target: (K, 3).
        source_normals: (K, 3), turned around where `side` is -1.
        target_normals: (K, 3).
        side: 1, or -1 if the source's normals are taken to point the other way.
    """

    source: Tensor
    target: Tensor
    source_normals: Tensor
    target_normals: Tensor
    side: int


class Proposal(NamedTuple):
    """Poses that a method suggests.

    Attributes:
        name: of the method.
        pose: rotation (H, 3, 3), translation (H, 3), float32, in voxels.
        side: as in `Evidence`; 0 where the method does not care.
    """

    name: str
    pose: Pose
    side: int = 0


@dataclass(frozen=True)
class Judged:
    """Poses after settling, best first.

    Attributes:
        pose: rotation (H, 3, 3), in voxels.
        name: what proposed each.
        side: (H,) 1 or -1, as in `Evidence`.
        support: (H,) matches that agree, see `support_of`.
        common: (H,) voxels of the source on the target plus voxels of the target on the source,
            halved.
        gap: (H,) mean distance between the surfaces where they meet, in voxels; 1 if nowhere.
        score: (H,) what they are sorted by, between 0 and 1: the share of matches that agree times
            the share of the smaller scan that lies closely on the other.
    """

    pose: Pose
    name: tuple[str, ...]
    side: Tensor
    support: Tensor
    common: Tensor
    gap: Tensor
    score: Tensor

    def select(self, keep: Tensor) -> Judged:
        """The poses at some positions, in that order."""
        return Judged(
            self.pose.at(keep),
            tuple(self.name[k] for k in keep.tolist()),
            self.side[keep],
            self.support[keep],
            self.common[keep],
            self.gap[keep],
            self.score[keep],
        )


class Search:
    """The state of one search: evidence, fields, and the poses proposed so far."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.evidence = find_evidence(pair)
        self.source_field = Field(pair.source.points, pair.source.normals)
        self.target_field = Field(pair.target.points, pair.target.normals)

    def judge(self, proposals: Sequence[Proposal]) -> Judged:
        """Settle the proposed poses, of which there is at least one, and rank them."""
        names: list[str] = []
        poses: list[Pose] = []
        sides: list[Tensor] = []
        sure: list[Tensor] = []
        for proposal in proposals:
            count = len(proposal.pose.rotation)
            for choice in (proposal.side,) if proposal.side else self.sides:
                names += [proposal.name] * count
                poses.append(proposal.pose)
                sides.append(torch.full((count,), choice))
                # Who proposes one pose is heard; who proposes many has to bring matches.
                sure.append(torch.full((count,), torch.inf if count == 1 else 0.0))
        pose = Pose(
            torch.cat([p.rotation for p in poses]), torch.cat([p.translation for p in poses])
        )
        side = torch.cat(sides)
        promise = self._support(pose, side) + torch.cat(sure)
        keep = distinct(pose, side, promise, self.pair.source.points, _SHORT_LIST)
        pose, side = pose.at(keep), side[keep]
        names = [names[k] for k in keep.tolist()]
        source = self.pair.source
        step = max(1, len(source.points) // _SETTLE_POINTS)
        pose = settle(
            self.target_field, source.points[::step], source.normals[::step], pose, side=side
        )
        judged = self._measure(pose, side, names)
        keep = distinct(judged.pose, judged.side, judged.score, source.points, _SHORT_LIST)
        return judged.select(keep)

    @property
    def sides(self) -> tuple[int, ...]:
        """On which sides the source's normals may be: both where they had to be estimated."""
        return tuple(found.side for found in self.evidence)

    def _support(self, pose: Pose, side: Tensor) -> Tensor:
        total = torch.zeros(len(side))
        for found in self.evidence:
            counted = support_of(pose, found.source, found.target, TOLERANCE)
            total = torch.where(side == found.side, counted, total)
        return total

    def _measure(self, pose: Pose, side: Tensor, names: list[str]) -> Judged:
        source, target = self.pair.source, self.pair.target
        there = meet(self.target_field, source.points, source.normals, pose, side=side)
        back = meet(self.source_field, target.points, target.normals, pose.inverse(), side=side)
        common = (there.near.sum(1) + back.near.sum(1)) / 2
        met = there.near.sum(1)
        gap = ((there.gap.abs() * there.near).sum(1) / met.clamp_min(1)).where(met > 0, 1.0)
        support = self._support(pose, side)
        closely = [(fit.near & (fit.gap.abs() < _CLOSE)).sum(1) for fit in (there, back)]
        close = (closely[0] + closely[1]) / 2
        share = close / min(len(source.points), len(target.points))
        most = max(1, *(len(found.source) for found in self.evidence))
        score = support / most * share.clamp_max(1)
        return Judged(pose, tuple(names), side, support, common, gap, score)


def find_evidence(pair: Pair) -> list[Evidence]:
    """Mutual matches of the scans' surroundings, both ways round where normals have no side."""
    scans = (pair.source, pair.target)
    features, other = (fpfh(scan.points, scan.normals, _RADII) for scan in scans)
    found = []
    for side in (1,) if pair.source.given else (1, -1):
        own = features if side > 0 else mirrored(features)
        here, there = mutual_matches(own, other, _CHOICES)
        found.append(
            Evidence(
                source=pair.source.points[here],
                target=pair.target.points[there],
                source_normals=pair.source.normals[here] * side,
                target_normals=pair.target.normals[there],
                side=side,
            )
        )
    return found


def distinct(pose: Pose, side: Tensor, value: Tensor, points: Tensor, most: int) -> Tensor:
    """Positions of the best poses of which no two are the same, best first, `most` of them.

    Poses are the same if they carry the points to places no farther apart than `_SAME` voxels,
    root mean square.
    """
    some = points[:: max(1, len(points) // 32)]
    places = (some @ pose.rotation.mT + pose.translation.unsqueeze(-2)).flatten(1)
    apart = torch.cdist(places, places) / len(some) ** 0.5
    same = (apart < _SAME) & (side[:, None] == side[None])
    free = torch.ones(len(value), dtype=torch.bool)
    keep = []
    for k in value.argsort(descending=True, stable=True).tolist():
        if free[k]:
            keep.append(k)
            free &= ~same[k]
            if len(keep) == most:
                break
    return torch.tensor(keep, dtype=torch.int64)
