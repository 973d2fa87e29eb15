"""What may be wrong with a pose: how likely it is right, and which motions it leaves open."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose
from spoonful.pipeline.field import meet
from spoonful.pipeline.prepare import Pair
from spoonful.pipeline.search import Judged, Search

# A pose that is another one, yet fits as well as this: it has so much of the best one's surface,
_AS_MUCH = 0.9
# its surfaces lie so near each other,
_AS_NEAR = 1.25
# and so much of its matches.
_AS_SUPPORTED = 0.6
# Where too little holds a pose it is one of many, whatever agrees with it: its confidence shrinks.
_LOOSE = 0.45
# The logistic function of `confidence_of`, fitted.
_SUPPORT, _LEAD, _GAP, _BIAS = 1.0, 0.4, 12.0, 0.9
# Scans with fewer voxels than this say little.
_FEW = 150
# Scans that have less than this in common hardly touch.
_TOUCH = 0.03
# Less of the smaller scan on the other than this is low overlap.
_LOW_OVERLAP = 0.3
# A smaller scan that lies on the other by this share and more is a part of it.
PART = 0.5
# Motions with less than this of a determined one's resistance are free.
_WEAK = 0.03
# Two sizes that differ by more than this are worth a word,
_SCALES = 2.0
# and by about one of these, units are the likely reason.
_UNITS = {
    1000.0: "millimetres and metres",
    100.0: "centimetres and metres",
    10.0: "millimetres and centimetres",
    25.4: "millimetres and inches",
    2.54: "centimetres and inches",
    39.37: "inches and metres",
    3.2808: "feet and metres",
    304.8: "millimetres and feet",
    12.0: "inches and feet",
}


class Signs(NamedTuple):
    """What confidence is computed from; all are free of units.

    Attributes:
        support: how many matches agree with the pose.
        rival: the largest support of a pose that is clearly another one.
        share: the part of the smaller scan that lies on the other one.
        gap: mean distance of the surfaces where they meet, in voxels.
        equals: how many other poses fit as well.
        loose: whether too little holds the pose: few points, hardly any common surface or one that
            lets it slide or turn, or a cloud that is flat or a line.
    """

    support: float
    rival: float
    share: float
    gap: float
    equals: int
    loose: bool = False


def signs_of(search: Search, judged: Judged, freedom: Freedom) -> Signs:
    """The signs of the best of the judged poses; `freedom` is its own."""
    sizes = [len(scan.points) for scan in (search.pair.source, search.pair.target)]
    other = _others(search.pair, judged)
    return Signs(
        support=float(judged.support[0]),
        rival=float(judged.support[other].max()) if bool(other.any()) else 0.0,
        share=min(1.0, float(judged.common[0]) / min(sizes)),
        gap=float(judged.gap[0]),
        equals=int(equals_of(search.pair, judged).sum()),
        loose=(
            min(sizes) < _FEW
            or float(judged.common[0]) < _TOUCH * min(sizes)
            or bool(_shape(search.pair) or freedom.turns or freedom.slides)
        ),
    )


def equals_of(pair: Pair, judged: Judged) -> Tensor:
    """Which poses are clearly other ones than the first, yet fit about as well: (H,) bool."""
    return (
        _others(pair, judged)
        & (judged.common >= _AS_MUCH * judged.common[0])
        & (judged.gap <= _AS_NEAR * judged.gap[0] + 0.02)
        & (judged.support >= _AS_SUPPORTED * judged.support[0])
    )


def _others(pair: Pair, judged: Judged) -> Tensor:
    """Which poses are clearly not the first: they carry the source a tenth of its size away."""
    points = pair.source.points
    some = points[:: max(1, len(points) // 64)]
    places = some @ judged.pose.rotation.mT + judged.pose.translation.unsqueeze(-2)
    apart = (places - places[0]).square().sum(-1).mean(-1).sqrt()
    size = points.square().sum(-1).mean().sqrt()
    return apart > (0.1 * size).clamp_min(3.0)


def confidence_of(signs: Signs) -> float:
    """The estimated probability that a pose with these signs is right, between 0 and 1.

    A logistic function of the logarithms of `support` and of `support` over `rival`, and of `gap`,
    fitted to pairs of scans that overlap little or not at all and to some that overlap well;
    docs/limits.md says which, and how it fared on others. Poses that fit as well share the
    probability among them, and a pose that little holds is never called confident.

    >>> round(confidence_of(Signs(support=100, rival=10, share=0.5, gap=0.15, equals=0)), 2)
    0.94
    >>> round(confidence_of(Signs(support=10, rival=10, share=0.2, gap=0.25, equals=0)), 2)
    0.18
    """
    value = (
        _SUPPORT * math.log(signs.support + 1)
        + _LEAD * math.log((signs.support + 1) / (signs.rival + 1))
        - _GAP * signs.gap
        - _BIAS
    )
    sure = 1 / (1 + math.exp(-value)) / (1 + signs.equals)
    return sure * _LOOSE if signs.loose else sure


class Freedom(NamedTuple):
    """Small motions of the source along the common surface, which it hardly resists.

    Attributes:
        turns: unit axes, in the target's frame, about which the source can turn.
        slides: unit directions in which it can slide.
    """

    turns: tuple[tuple[float, float, float], ...]
    slides: tuple[tuple[float, float, float], ...]


def freedom_of(search: Search, pose: Pose) -> Freedom:
    """The motions that leave the common surface on itself, to first order.

    The information matrix of point-to-plane distances has rows (arm x n, n), with arms in units of
    their root mean square length. Of a motion with a small eigenvalue the surfaces know nothing:
    the turns of a sphere, the slides of a plane.
    """
    source = search.pair.source
    batch = Pose(pose.rotation.float().unsqueeze(0), pose.translation.float().unsqueeze(0))
    fit = meet(search.target_field, source.points, source.normals, batch, signed=source.given)
    on = fit.near[0]
    if int(on.sum()) < 6:
        return Freedom((), ())
    n = search.target_field.normals[fit.partner[0, on]].double()
    moved = batch.apply(source.points)[0, on].double()
    arm = moved - moved.mean(0)
    size = arm.square().sum(-1).mean().sqrt().clamp_min(1e-9)
    rows = torch.cat([torch.linalg.cross(arm / size, n), n], -1)
    values, vectors = torch.linalg.eigh(rows.mT @ rows / len(rows))
    turns, slides = [], []
    # Normals of unit length resist all slides together by one, and a third of it each.
    for motion in vectors[:, values < _WEAK / 3].unbind(1):
        turn, slide = motion[:3], motion[3:]
        if float(turn.norm()) >= float(slide.norm()):
            turns.append(_axis(turn))
        else:
            slides.append(_axis(slide))
    return Freedom(tuple(turns), tuple(slides))


def _axis(direction: Tensor) -> tuple[float, float, float]:
    unit = direction / direction.norm()
    x, y, z = (unit * unit[unit.abs().argmax()].sign()).tolist()
    return x, y, z


def warnings_of(
    pair: Pair, signs: Signs, freedom: Freedom, sizes: tuple[float, float]
) -> list[str]:
    """What a user should know, one sentence each.

    Args:
        pair: the scans.
        signs: of the pose.
        freedom: of the pose.
        sizes: of source and target, in their own units.
    """
    found = []
    ratio = max(sizes) / max(min(sizes), 1e-300)
    if ratio > _SCALES:
        larger = "source" if sizes[0] > sizes[1] else "target"
        # What lies on the other to the greater part is a part of it, and of the same scale.
        known = unit_ratio(sizes) if signs.share < PART else None
        what = (
            f"perhaps {_UNITS[known]}: bring both to one unit first"
            if known
            else "unless one is a part of the other, bring both to one scale first"
        )
        found.append(
            f"scales differ: the {larger} is {_times(ratio)} times as large as the other, and a "
            f"rigid motion changes no scale; {what}"
        )
    for name, scan in (("source", pair.source), ("target", pair.target)):
        count = len(scan.points)
        if count < _FEW:
            voxels = "1 voxel" if count == 1 else f"{count} voxels"
            found.append(
                f"few points: the {name} has {voxels} of {pair.voxel:.3g}, and fewer than {_FEW} "
                "seldom determine a pose"
            )
    kind = _shape(pair)
    if kind:
        found.append(kind)
    if freedom.slides:
        found.append(
            "planar or prismatic geometry: the common surface does not hold the source from "
            f"sliding along {_listed(freedom.slides)}"
        )
    if freedom.turns:
        found.append(
            "round or flat geometry: the common surface does not hold the source from turning "
            f"about {_listed(freedom.turns)}"
        )
    # Where nothing meets, all poses are equally bad, which is no symmetry.
    if signs.equals and signs.share > 0:
        poses = "pose fits" if signs.equals == 1 else "poses fit"
        found.append(f"symmetric: {signs.equals} clearly different {poses} about as well")
    if signs.share < _LOW_OVERLAP:
        found.append(
            f"low overlap: {signs.share:.0%} of the smaller cloud lies on the other, "
            "if the pose is right"
        )
    return found


def notes_of(source: Cloud, target: Cloud) -> tuple[str, ...]:
    """What was done with the clouds that is no reason to doubt, one sentence each.

    >>> notes_of(Cloud(torch.eye(3), dropped=1200), Cloud(torch.eye(3)))
    ('left out for NaN or infinite coordinates: 1,200 points of the source',)
    >>> notes_of(Cloud(torch.eye(3)), Cloud(torch.eye(3)))
    ()
    """
    counts = {"source": source.dropped, "target": target.dropped}
    parts = [
        f"{count:,} {'point' if count == 1 else 'points'} of the {name}"
        for name, count in counts.items()
        if count
    ]
    if not parts:
        return ()
    return (f"left out for NaN or infinite coordinates: {' and '.join(parts)}",)


def _shape(pair: Pair) -> str:
    """What a scan looks like as a whole, if that is a line or a plane."""
    for name, scan in (("source", pair.source), ("target", pair.target)):
        centred = (scan.points - scan.points.mean(0)).double()
        thin, middle, wide = (
            torch.linalg.eigvalsh(centred.mT @ centred).clamp_min(0).sqrt().tolist()
        )
        if middle < 0.03 * wide:
            return f"line-like: the {name} does not determine the turn about its own line"
        if thin < 0.02 * wide:
            return f"planar: the {name} is flat, and only its outline holds it in its plane"
    return ""


def units_hint(sizes: tuple[float, float]) -> str:
    """What two sizes suggest about units; nothing if they are of one kind.

    >>> units_hint((1.7, 1650.0))
    'the target is about 1000 times as large: perhaps millimetres and metres'
    >>> units_hint((1.0, 1.5))
    ''
    """
    ratio = max(sizes) / max(min(sizes), 1e-300)
    if ratio <= _SCALES:
        return ""
    closest = unit_ratio(sizes)
    larger = "source" if sizes[0] > sizes[1] else "target"
    if closest is None:
        return (
            f"the {larger} is {_times(ratio)} times as large; no usual pair of units explains that"
        )
    return f"the {larger} is about {closest:g} times as large: perhaps {_UNITS[closest]}"


def unit_ratio(sizes: tuple[float, float]) -> float | None:
    """By how much usual units differ that would explain two sizes; None if there are none.

    >>> unit_ratio((1.7, 1650.0)), unit_ratio((1.0, 1.5))
    (1000.0, None)
    """
    ratio = max(sizes) / max(min(sizes), 1e-300)
    closest = min(_UNITS, key=lambda factor: abs(math.log(ratio / factor)))
    known = ratio > _SCALES and abs(math.log(ratio / closest)) <= 0.25
    return closest if known else None


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if 100 <= ratio < 1e6 else f"{ratio:.3g}"


def _listed(axes: tuple[tuple[float, float, float], ...]) -> str:
    return " and ".join("({:.2f}, {:.2f}, {:.2f})".format(*axis) for axis in axes)
