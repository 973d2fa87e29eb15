"""The result of aligning scans: groups, poses, pairs, and the reasons to doubt them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from spoonful.align.graph import CONFIDENT, evidence, parts
from spoonful.align.places import LIKELY, listed, worst_part
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import Deviation

# A part is doubtful if its rejected pairs with the rest weigh this share of the kept ones.
_CONTRADICTED = 0.5


@dataclass(frozen=True)
class PairResult:
    """The result of registering one pair.

    Attributes:
        source: name of the scan that was moved.
        target: name of the other scan.
        pose: `T_target_source`, between the files' frames.
        covariance: (6, 6) of a small turn and shift about the source's centre.
        confidence: the probability that the pose is right, without regard to other pairs.
        overlap: the part of the smaller scan that lies on the other one.
        rmse: of the distances to the surface, in the files' unit.
        status: "kept", "rejected" (it contradicts the others), "unused" (too doubtful, alone or
            together with others), or "between groups".
        off: its disagreement with the result, in standard deviations; None between groups.
    """

    source: str
    target: str
    pose: Pose
    covariance: Tensor
    confidence: float
    overlap: float
    rmse: float
    status: str
    off: float | None


@dataclass(frozen=True)
class Aligned:
    """Aligned scans in groups, each group in one frame.

    Attributes:
        files: the file of each scan, by the scan's name.
        groups: names of the scans of each group, the largest group first. Each group has the frame
            of its first scan.
        poses: for each scan the pose that maps the scaled scan into its group's frame.
        scales: for each scan its scale factor; 1 unless `scale` is "auto".
        covariances: for each scan the (6, 6) covariance of its pose, of a small turn (radians) and
            shift about its centroid, in its own axes; zero for the first of a group.
        centers: for each scan its centroid, scaled, in its own frame.
        surfaces: for each scan of a pair that was registered, the file with its description.
        pairs: all pairs that were registered.
        unreadable: the files that could not be read, and why.
        copies: files with the same content as another file, and the name of that scan.
        skipped: the pairs not tried because the scans differ too much in size, or one has too few
            points.
        spacing: half the median edge of the grids, in the files' unit.
        doubts: the reasons to doubt the result, one sentence each.
        notes: remarks on scans, such as points that were dropped, and the files of scans whose
            names differ from them, one sentence each.
        seconds: the time it took.
    """

    files: Mapping[str, Path]
    groups: list[list[str]]
    poses: Mapping[str, Pose]
    scales: Mapping[str, float]
    covariances: Mapping[str, Tensor]
    centers: Mapping[str, Tensor]
    surfaces: Mapping[str, str]
    pairs: list[PairResult]
    unreadable: Mapping[str, str]
    copies: Mapping[str, str]
    skipped: list[tuple[str, str]]
    spacing: float
    doubts: list[str]
    notes: list[str]
    seconds: float = field(compare=False)

    @property
    def confident(self) -> bool:
        """True if all files were read and are in one group without doubt."""
        return not self.doubts


def deviations(covariance: Tensor) -> Deviation:
    """Standard deviations of a pose along its least certain axes, from its (6, 6) covariance."""
    blocks = covariance[:3, :3], covariance[3:, 3:]
    turn, shift = (torch.linalg.eigvalsh(block)[-1].clamp_min(0).sqrt() for block in blocks)
    return Deviation(math.degrees(turn), float(shift))


def doubts_of(
    groups: Sequence[Sequence[str]],
    pairs: Sequence[PairResult],
    unreadable: Mapping[str, str],
    skipped: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """The reasons to doubt a result, one sentence each, with the scans' names."""
    found = [f"not read: {file}: {why}" for file, why in unreadable.items()]
    if len(groups) > 1:
        found.append(
            f"the scans are in {len(groups)} groups that no trusted pair connects: if they show "
            "the same object or place, add scans between them"
        )
        if skipped:
            named = listed([f"{one} with {other}" for one, other in skipped])
            found.append(
                f"pairs not tried: {named}, because the scans differ too much in size or one has "
                "too few points: if their units differ, convert the files to one unit, or use "
                "--scale auto"
            )
        near = [p for p in pairs if p.status == "between groups" and p.confidence >= LIKELY]
        for pair in sorted(near, key=lambda pair: -pair.confidence)[:5]:
            found.append(
                f"{pair.source} and {pair.target} may belong together (confidence "
                f"{pair.confidence:.2f}), but no other pair confirms it: look at the two with "
                "spoonful register"
            )
    kept = [pair for pair in pairs if pair.status == "kept"]
    found += [text for group in groups for text in _badly_held(group, kept)]
    return found + [text for group in groups for text in _misplaced(group, pairs)]


def _badly_held(group: Sequence[str], kept: Sequence[PairResult]) -> list[str]:
    """A sentence for each part of a group that only doubtful pairs hold to the largest part."""
    number = {name: k for k, name in enumerate(group)}
    own = [pair for pair in kept if pair.source in number]
    sure = [(number[p.source], number[p.target]) for p in own if p.confidence >= CONFIDENT]
    found = []
    for part in sorted(parts(len(group), sure), key=len, reverse=True)[1:]:
        names = [group[scan] for scan in part]
        held = [pair.confidence for pair in _between(own, {*names})]
        if held:
            found.append(
                f"only doubtful pairs place {listed(names)} (pairs: {len(held)}, confidence at "
                f"most {max(held):.2f}): look at the scans, or add one that overlaps them more"
            )
    return found


def _misplaced(group: Sequence[str], pairs: Sequence[PairResult]) -> list[str]:
    """A sentence for each part of a group that other pairs contradict, the worst first.

    Pairs of a part that has its sentence do not count for the others.
    """
    own = [pair for pair in pairs if pair.source in group and pair.confidence >= LIKELY]
    kept = [pair for pair in own if pair.status == "kept"]
    joins = [(p.source, p.target) for p in sorted(kept, key=lambda pair: -pair.confidence)]
    worst, case = worst_part(group, joins, lambda part: _case_against(_between(own, part)))
    if case < _CONTRADICTED:
        return []
    names = [name for name in group if name in worst]
    agree, contradict = (
        sum(pair.status == status for pair in _between(own, worst))
        for status in ("kept", "rejected")
    )
    text = (
        f"{listed(names)} may be in the wrong place (pairs with the other scans that agree: "
        f"{agree}, that contradict: {contradict}): look at the scans, or add one that overlaps "
        "them more"
    )
    rest = [pair for pair in own if (pair.source in worst) == (pair.target in worst)]
    return [text, *_misplaced(group, rest)]


def _case_against(pairs: Sequence[PairResult]) -> float:
    """The weight of rejected pairs over that of kept ones."""
    kept, rejected = (
        sum(evidence(pair.confidence) for pair in pairs if pair.status == status)
        for status in ("kept", "rejected")
    )
    return rejected / max(kept, 1e-9)


def _between(pairs: Sequence[PairResult], part: set[str]) -> list[PairResult]:
    """The pairs of a part with the rest."""
    return [pair for pair in pairs if (pair.source in part) != (pair.target in part)]
