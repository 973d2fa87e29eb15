"""Estimate the probability that a pose is right, from statistics of its fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from spoonful.data.clouds import Cloud
from spoonful.pipeline.freedom import Freedom
from spoonful.pipeline.prepare import Pair, size_of
from spoonful.pipeline.relief import ENOUGH, Relief
from spoonful.pipeline.rivals import AS_GOOD, exactness_of, rivals_of
from spoonful.pipeline.search import Judged, Search

# If the surfaces barely fix a pose, its confidence shrinks.
LOOSE = 0.5
# The weights of `features_of` and the exponent of rivals, fitted by benchmarks/confidence.py.
_WEIGHTS, _RIVALRY = (1.02, 10.62, 4.15, -85.52, 0.46, 1.30), 5.71
# Scans with fewer voxels than this get a warning.
_FEW = 150
# Scans that have less than this in common hardly touch.
_TOUCH = 0.03
# A larger solid share of a scan than this in the other sensor's free space contradicts a pose.
_THROUGH = 0.003
# Relief of which less than this lies on the other scan contradicts a pose; without free space less
# than `FitStatistics.least_relief`, which is at most the second.
_RELIEF, _MOST_RELIEF = 0.3, 0.45
# Less of the smaller scan on the other than this is low overlap.
_LOW_OVERLAP = 0.3
# A smaller scan that lies on the other by this share and more is a part of it.
PART = 0.5
# Coordinates in steps of more than this share of a cloud's size get a note.
_ROUNDED = 0.001
# Two sizes that differ by more than this get a warning,
_SCALES = 2.0
# and by about one of these, units are the likely reason.
_UNITS = {
    1000.0: "millimetres and metres",
    100.0: "centimetres and metres",
    10.0: "millimetres and centimetres",
    25.4: "millimetres and inches",
    2.54: "centimetres and inches",
    1 / 0.0254: "inches and metres",
    1 / 0.3048: "feet and metres",
    304.8: "millimetres and feet",
    12.0: "inches and feet",
}


SCALES_DIFFER = "scales differ"
"""The beginning of the warning that one scan is much larger."""


class FitStatistics(NamedTuple):
    """The dimensionless statistics that confidence is computed from.

    Attributes:
        support: how many matches agree with the pose.
        agreement: of the voxels that come near the other scan, the share that lies on it.
        exactness: how exactly the surfaces coincide, see `exactness_of`.
        share: the part of the smaller scan that lies on the other one.
        rivals: the scores of clearly different poses, each over the best pose's score.
        loose: true if the pose is poorly determined: few points, a common surface that is tiny,
            bare or lets the source slide or turn, relief that disagrees, or solid points in free
            space.
        through: the share of a scan that is solid in the other sensor's free space.
        relief: the agreement of the relief; NaN if too little of it comes near the other scan.
        seen: whether free space counts, because the positions of both sensors are known.
    """

    support: float
    agreement: float
    exactness: float
    share: float
    rivals: tuple[float, ...] = ()
    loose: bool = False
    through: float = 0.0
    relief: float = math.nan
    seen: bool = False

    @property
    def least_relief(self) -> float:
        """If less of the relief agrees than this, the pose is doubtful.

        At right poses more of it agrees, the more the scans share: the limit rises between a third
        and two thirds. Where free space counts, it finds wrong poses, too, and less suffices.
        """
        if self.seen:
            return _RELIEF
        return min(max(_RELIEF, 0.15 + 0.45 * self.share), _MOST_RELIEF)

    @property
    def equals(self) -> int:
        """The number of clearly different poses that fit about as well."""
        return sum(rival >= AS_GOOD for rival in self.rivals)


def statistics_of(
    search: Search, judged: Judged, relief: Relief, freedom: Freedom
) -> FitStatistics:
    """The statistics of the best judged pose, with its relief and its free motions."""
    sizes = [len(scan.points) for scan in (search.pair.source, search.pair.target)]
    best = judged
    if search.pair.source.given:
        best = search.with_estimated_normals().measure(judged.pose.at(slice(0, 1)))
    fit = FitStatistics(
        support=float(judged.support[0]),
        agreement=float(best.agreement[0]),
        exactness=exactness_of(search.pair, judged.pose.at(0)),
        share=min(1.0, float(best.common[0]) / min(sizes)),
        rivals=tuple(rivals_of(search, judged, relief).tolist()),
        through=float(judged.through[0]),
        relief=relief.agreement if relief.near >= ENOUGH else math.nan,
        seen=bool(search.views),
    )
    loose = (
        min(sizes) < _FEW
        or float(best.common[0]) < _TOUCH * min(sizes)
        or fit.through > _THROUGH
        or fit.relief < fit.least_relief
        or freedom != Freedom()
    )
    return fit._replace(loose=loose)


def confidence_of(fit: FitStatistics) -> float:
    """The estimated probability that a pose with these statistics is right, between 0 and 1.

    The product of two probabilities. The first, that the right pose was found at all, is a logistic
    function of `features_of`. The second, that no rival is right instead, depends on their scores
    s: s_1^g / (s_1^g + s_2^g + ...). A rival with `AS_GOOD` of the best score counts as equal. The
    constants are fitted together, see docs/limits.md. A pose that is poorly determined, or has an
    equal rival, is never called confident.

    >>> fit = FitStatistics(support=100, agreement=0.7, exactness=0.7, share=0.5)
    >>> round(confidence_of(fit), 2)
    0.81
    >>> round(confidence_of(fit._replace(exactness=0.5)), 2)
    0.52
    >>> round(confidence_of(fit._replace(rivals=(1,))), 2)
    0.41
    """
    value = sum(w * x for w, x in zip(_WEIGHTS, features_of(fit), strict=True))
    found = 1 / (1 + math.exp(-value))
    # If another pose fits about as well, the probability is at most 0.5, which is doubtful.
    odds = (1.0 if rival >= AS_GOOD else rival**_RIVALRY for rival in fit.rivals)
    best = 1 / (1 + sum(odds))
    return found * best * (LOOSE if fit.loose else 1.0)


def features_of(fit: FitStatistics) -> tuple[float, ...]:
    """Logarithms of `support` / `share`, `agreement`, `exactness`; excess of `through`; seen; one.

    The excess is over `_THROUGH`, and at most 0.1: edges and noise explain what is below.
    """
    shares = (math.log(share + 0.01) for share in (fit.agreement, fit.exactness))
    excess = min(max(fit.through - _THROUGH, 0.0), 0.1)
    seen = float(fit.seen)
    return math.log((fit.support + 1) / (fit.share + 0.1)), *shares, excess, seen, 1.0


def warnings_of(
    pair: Pair, fit: FitStatistics, freedom: Freedom, sizes: tuple[float, float]
) -> list[str]:
    """The warnings about a result, one sentence each; sizes are in the units of the clouds."""
    found = []
    larger, ratio = _larger(sizes)
    if ratio > _SCALES:
        what = "unless one is a part of the other, convert both to one scale first"
        # A cloud that mostly lies on the other is a part of it, at the same scale.
        if fit.share < PART and (known := unit_ratio(sizes)):
            what = f"perhaps {_UNITS[known]}: convert both to one unit first"
        found.append(
            f"{SCALES_DIFFER}: the {larger} is {_times(ratio)} times as large as the other; {what}"
        )
    for name, scan in (("source", pair.source), ("target", pair.target)):
        count = len(scan.points)
        if count < _FEW:
            voxels = "1 voxel" if count == 1 else f"{count} voxels"
            found.append(
                f"few points: the {name} has {voxels} of {pair.voxel:.3g}; "
                f"fewer than {_FEW} are seldom enough for a pose"
            )
    for axes, shape, move in (
        (freedom.slides, "planar or prismatic", "slide along"),
        (freedom.turns, "round or flat", "turn about"),
    ):
        if axes:
            listed = " and ".join("({:z.2f}, {:z.2f}, {:z.2f})".format(*axis) for axis in axes)
            found.append(f"{shape} geometry: the source can {move} {listed} and still fit")
    if freedom.bare:
        found.append(
            "bare geometry: the common surface is hardly more than three planes, "
            "and planes fit in many places"
        )
    if fit.relief < fit.least_relief:
        found.append(
            f"different relief: only {fit.relief:.0%} of the surface off the large planes agrees, "
            "and walls and floors fit in many places"
        )
    if fit.through > _THROUGH:
        found.append(
            f"free space: {fit.through:.1%} of a scan lies where the other sensor saw empty space; "
            "the pose is wrong, something moved, or a sensor was elsewhere"
        )
    # Without overlap all poses are equally bad, which is not a symmetry.
    if fit.equals and fit.share > 0:
        poses = "pose fits" if fit.equals == 1 else "poses fit"
        found.append(f"symmetric: {fit.equals} clearly different {poses} about as well")
    if fit.share < _LOW_OVERLAP:
        found.append(
            f"low overlap: {fit.share:.0%} of the smaller cloud lies on the other, "
            "if the pose is right"
        )
    return found


def notes_of(clouds: Mapping[str, Cloud]) -> tuple[str, ...]:
    """The notes on clouds by name, one sentence each; notes do not make a result doubtful.

    >>> import torch
    >>> notes_of({"the source": Cloud(torch.eye(3), dropped=1200)})
    ('left out for NaN or infinite coordinates: 1,200 points of the source',)
    >>> notes_of({"the target": Cloud(torch.eye(3) + 5.4e6)})
    ("the target's coordinates are rounded to steps of 0.5, as float32 rounds large numbers: save \
them as float64, or about a near point",)
    >>> notes_of({"the target": Cloud(torch.rand(9, 3).double() + 5.4e6)})
    ()
    """
    parts = [
        f"{cloud.dropped:,} {'point' if cloud.dropped == 1 else 'points'} of {name}"
        for name, cloud in clouds.items()
        if cloud.dropped
    ]
    text = f"left out for NaN or infinite coordinates: {' and '.join(parts)}"
    found = [text] if parts else []
    for name, cloud in clouds.items():
        points = cloud.points
        if not bool((points.float() == points).all()):
            continue
        step = 2.0 ** (math.frexp(float(points.abs().amax(-1).median()))[1] - 24)
        if step > _ROUNDED * size_of(points) > 0:
            found.append(
                f"{name}'s coordinates are rounded to steps of {step:.2g}, as float32 rounds "
                "large numbers: save them as float64, or about a near point"
            )
    return tuple(found)


def units_hint(sizes: tuple[float, float]) -> str:
    """A hint that two clouds may have different units; "" if their sizes are similar.

    >>> units_hint((1.7, 1650.0))
    'the target is about 1000 times as large: perhaps millimetres and metres'
    >>> units_hint((1.0, 1.5))
    ''
    """
    larger, ratio = _larger(sizes)
    if ratio <= _SCALES:
        return ""
    if closest := unit_ratio(sizes):
        return f"the {larger} is about {closest:g} times as large: perhaps {_UNITS[closest]}"
    return f"the {larger} is {_times(ratio)} times as large; no usual pair of units explains that"


def unit_ratio(sizes: tuple[float, float]) -> float | None:
    """The common ratio of units that explains two sizes; None if there is none.

    >>> unit_ratio((1.7, 1650.0)), unit_ratio((1.0, 1.5))
    (1000.0, None)
    """
    _, ratio = _larger(sizes)
    closest = min(_UNITS, key=lambda factor: abs(math.log(ratio / factor)))
    known = ratio > _SCALES and abs(math.log(ratio / closest)) <= 0.25
    return closest if known else None


def _larger(sizes: tuple[float, float]) -> tuple[str, float]:
    """The name of the larger cloud, and how many times larger it is."""
    return "source" if sizes[0] > sizes[1] else "target", max(sizes) / max(min(sizes), 1e-300)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if 100 <= ratio < 1e6 else f"{ratio:.3g}"
