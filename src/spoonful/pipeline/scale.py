"""Registration of clouds whose scales differ by an unknown factor.

vote      match surroundings on grids of many edges; groups of matches vote for a scale
register  the source at the best supported scales, rigidly
refine    the scale together with the pose, by point-to-plane ICP
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.classical.consensus import compatible
from spoonful.classical.fpfh import mutual_matches
from spoonful.data.clouds import Cloud
from spoonful.data.sampling import voxel_average
from spoonful.geometry import Similarity, rotation_from_vector, similarity
from spoonful.icp import FEWEST, tukey
from spoonful.neighbors import Index
from spoonful.pipeline.alignment import CONFIDENT, Alignment
from spoonful.pipeline.confidence import SCALES_DIFFER
from spoonful.pipeline.field import DAMPING
from spoonful.pipeline.polish import some_of
from spoonful.pipeline.prepare import (
    normals_at,
    scan_on_grid,
    size_of,
    suitable_edges,
    thinned,
)
from spoonful.pipeline.search import CHOICES, TOLERANCE, surroundings

UNIT_RATIOS = {
    1.0: "the same unit",
    1e-3: "millimetres onto metres",
    1e3: "metres onto millimetres",
    1e-2: "centimetres onto metres",
    1e2: "metres onto centimetres",
    0.0254: "inches onto metres",
    1 / 0.0254: "metres onto inches",
    25.4: "inches onto millimetres",
    1 / 25.4: "millimetres onto inches",
    0.3048: "feet onto metres",
    1 / 0.3048: "metres onto feet",
}
"""Common ratios of units, and the conversion of the source that each one is."""

# Edges of neighbouring grids differ by this factor; the finest ones are one step above `apt`,
_STEP = 1.2
# and scales are tried this many steps up and down from where both clouds have as many voxels.
_STEPS = 8
# The source has a grid for each this many steps; the target has one for each step.
_SOURCE_STEPS = 4
# Matches that vote, groups that they form, and members of a group.
_MATCHES, _GROUPS, _MEMBERS = 600, 64, 12
# A group's own scale differs at most by this from the ratio of its two grids.
_OFF = 1.25
# Scales nearer than this are one.
_SAME = 1.1
# How many of the scales with most votes are tried,
_TRIED = 2
# and how many unit ratios if none of those gives a confident result, each at most this far away.
_UNITS_TRIED, _FARTHEST = 3, 10.0
# The share of votes of a scale that is too far away for votes.
_UNKNOWN = 0.5
# A scale with this many times the votes of the next one is the only one tried.
_CLEAR = 2.0
# A scale is refined until it changes by less.
_SETTLED = 0.01
# A scale this near a ratio of units, as a share and in standard deviations, is that ratio,
_UNIT_NEAR, _UNIT_DEVIATIONS = 0.05, 2.0
# if the distances to the surface are then at most this many times as large.
_UNIT_WORSE = 1.25
# If growth moves the surface by less than this share of its own length, it is not fixed.
_WEAK = 0.1
_FREE = (
    "the common surface does not fix the scale: it is nearly a plane, a corner or a part of a "
    "sphere; the scale comes from matches and outlines alone"
)
# How far apart, in voxels, points of the surfaces may be; first and last.
_REACHES = (3.0, 1.5, 0.75)
# Rounds of ICP for each of them, and the step, in voxels, at which it has settled.
_ROUNDS, _STILL = 8, 1e-3
# Weight of all matches together, compared with all points on planes.
_MATCH = 0.03
# Neighbouring points share their errors: this many of them count as one.
_ALIKE = 10.0
# Scans are bent, and all points share this part of the rms distance. Calibrated with real scans.
_BENT = 0.6
# A scale that is farther off than this is wrong.
_RIGHT = 0.05
# Points of each cloud that a scale is refined on.
_POINTS = 4000
# If the scale is free, a result is not called confident.
_LOOSE = 0.45

Rigid = Callable[[Cloud], Alignment]
"""`rigid(source)` registers a scaled source."""


class ScaleVote(NamedTuple):
    """A scale factor of the source, and the number of matches that agree with it."""

    scale: float
    support: float


def scale_votes(source: Cloud, target: Cloud, *, seed: int = 0) -> list[ScaleVote]:
    """Candidate scale factors of the source, those with most matches first.

    Both clouds are put on grids of several edges. Points with similar surroundings are matched
    between all pairs of grids whose edges have different ratios. Groups of compatible matches
    give a scale each, and the number of matches that agree with it.

    Args:
        source: at least three points, not all in one place.
        target: likewise.
        seed: of the points that are used if there are very many.

    Returns:
        Scales of which no two differ by less than a tenth; empty if nothing matches.
    """
    generator = torch.Generator().manual_seed(seed)
    clouds = [thinned(cloud, generator).points.double() for cloud in (source, target)]
    edges = [_STEP * suitable_edges(points, generator).apt for points in clouds]
    clouds = [points - points.mean(0) for points in clouds]
    # The grids are rotated against each other, as in `prepare`.
    turns = (rotation_from_vector(torch.tensor([0.5, 0.7, 0.9]).double()), torch.eye(3).double())
    known: dict[tuple[int, float], _Level] = {}

    def level(which: int, step: float) -> _Level:
        if (which, step) not in known:
            edge = edges[which] * _STEP**step
            scan = scan_on_grid(clouds[which] / edge, None, turns[which])
            known[which, step] = _Level(edge, scan.points, scan.normals, surroundings(scan))
        return known[which, step]

    # The ratio of grids that is nearest to a ratio of units is that ratio.
    units = [math.log(ratio * edges[0] / edges[1]) / math.log(_STEP) for ratio in UNIT_RATIOS]
    exact = {round(step): step for step in units}
    votes = []
    for step in range(-_STEPS, _STEPS + 1):
        own = 0 if step >= 0 else _SOURCE_STEPS * math.ceil(-step / _SOURCE_STEPS)
        votes.append(_vote(level(0, own), level(1, own + exact.get(step, step))))
    kept: list[ScaleVote] = []
    for vote in sorted(votes, key=lambda vote: -vote.support):
        if vote.support > 0 and all(_apart(vote.scale, other.scale) > _SAME for other in kept):
            kept.append(vote)
    return kept


class _Level(NamedTuple):
    """A cloud on a grid of one edge: points in voxels, normals and features."""

    edge: float
    points: Tensor
    normals: Tensor
    features: Tensor


def _vote(source: _Level, target: _Level) -> ScaleVote:
    """The scale near the ratio of two grids that most matches agree on."""
    here, there = (i[:_MATCHES] for i in mutual_matches(source.features, target.features, CHOICES))
    p, q = source.points[here], target.points[there]
    ratio = target.edge / source.edge
    if len(p) <= FEWEST:
        return ScaleVote(ratio, 0.0)
    agree = compatible(
        p,
        q,
        TOLERANCE,
        source_normals=source.normals[here],
        target_normals=target.normals[there],
        slack=_STEP**0.5 - 1,
    )
    common = agree * (agree @ agree)
    seed = common.sum(1).topk(min(_GROUPS, len(p))).indices
    ranked = common[seed].topk(min(_MEMBERS, len(p) - 1))
    index = torch.cat([seed[:, None], ranked.indices], 1)
    weight = ranked.values / ranked.values[:, :1].clamp_min(1e-9)
    weight = torch.cat([torch.ones_like(weight[:, :1]), weight], 1)
    fit = _similar(p[index], q[index], weight)
    p, q = p.expand(len(seed), -1, -1), q.expand(len(seed), -1, -1)
    for reach in (2 * TOLERANCE, TOLERANCE):
        fit = _similar(p, q, _closeness(fit, p, q, reach))
    support, best = _closeness(fit, p, q, TOLERANCE).sum(-1).max(0)
    return ScaleVote(ratio * float(fit.scale[best]), float(support))


def _similar(p: Tensor, q: Tensor, weight: Tensor) -> Similarity:
    return similarity(p, q, weight, scale="symmetric", bounds=(1 / _OFF, _OFF))


def _closeness(fit: Similarity, p: Tensor, q: Tensor, reach: float) -> Tensor:
    return (1 - (fit.apply(p) - q).square().sum(-1) / reach**2).clamp_min(0)


def _apart(a: float, b: float) -> float:
    """The factor by which two scales differ, at least 1."""
    return max(a / b, b / a)


def register_scaled(
    source: Cloud, target: Cloud, rigid: Rigid, *, start: float | None = None, seed: int = 0
) -> Alignment:
    """Register clouds of unknown scales.

    Args:
        source: the cloud to scale and move.
        target: the cloud that stays fixed.
        rigid: registers the scaled source with the target, see `Rigid`.
        start: a scale to try first.
        seed: random seed.

    Returns:
        `Alignment` with its `scale` and `scale_deviation`. Its source is the scaled one.
    """

    def at(scale: float) -> Alignment:
        return rigid(replace(source, points=source.points * scale))

    votes: list[ScaleVote] = []

    def near_votes(scale: float) -> list[ScaleVote]:
        return [vote for vote in votes if _apart(vote.scale, scale) < _STEP]

    def support(scale: float) -> float:
        """The votes near a scale, as a share of the votes for the best scale."""
        near = [vote.support / votes[0].support for vote in near_votes(scale)]
        return max(near, default=_UNKNOWN if votes else 1.0)

    tried = [] if start is None else [(at(start), start)]
    if not tried or not tried[0][0].confident:
        votes = scale_votes(source, target, seed=seed)
        clear = len(votes) > 1 and votes[0].support > _CLEAR * votes[1].support
        tried += [(at(vote.scale), vote.scale) for vote in votes[: 1 if clear else _TRIED]]
    if not any(found.confident for found, _ in tried):
        size = size_of(target.points) / size_of(source.points)
        near = sorted(UNIT_RATIOS, key=lambda ratio: _apart(ratio, size))[:_UNITS_TRIED]
        near = [ratio for ratio in near if _apart(ratio, size) < _FARTHEST] or [size]
        tried += [(at(ratio), ratio) for ratio in near if not near_votes(ratio)]
    found, scale = max(tried, key=lambda each: each[0].confidence * support(each[1]))
    refined = refine_scale(found)
    if abs(refined.growth - 1) > _SETTLED:
        scale *= refined.growth
        refined = refine_scale(at(scale))
    scale *= refined.growth
    found, known = at(scale), False
    unit = min(UNIT_RATIOS, key=lambda ratio: _apart(ratio, scale))
    if math.log(_apart(unit, scale)) < min(_UNIT_NEAR, _UNIT_DEVIATIONS * refined.deviation):
        other = at(unit)
        known = other.surface.rmse < _UNIT_WORSE * found.surface.rmse
        found, scale = (other, unit) if known else (found, scale)
    notes = [f"scale {scale:.6g}: {UNIT_RATIOS[unit]}"] if known else []
    right = support(scale)
    # The sizes of scans are no reason to doubt a scale that was searched for.
    warnings = [each for each in found.warnings if not each.startswith(SCALES_DIFFER)]
    if right < CONFIDENT:
        warnings.append(f"more matches agree with a scale of about {votes[0].scale:.3g}")
    if refined.free:
        right *= _LOOSE
        warnings.append(_FREE)
    elif not known:
        right *= math.erf(_RIGHT / max(refined.deviation, 1e-9) / math.sqrt(2))
    return replace(
        found,
        scale=scale,
        scale_deviation=refined.deviation,
        confidence=found.confidence * right,
        warnings=tuple(warnings),
        notes=(*found.notes, *notes),
        units_hint="",
    )


class RefinedScale(NamedTuple):
    """Refine the scale of two surfaces, from a pose that is nearly right.

    Attributes:
        growth: the factor by which the source is still to be scaled.
        deviation: its standard deviation, as a share of it.
        free: whether the surfaces hardly change when the source grows.
    """

    growth: float
    deviation: float
    free: bool


def refine_scale(found: Alignment) -> RefinedScale:
    """Refine scale and pose jointly, by ICP with seven unknowns.

    A growth g of the source about its middle m changes the distance of a point x to a plane with
    normal n by g n . (x - m). The other six unknowns are those of `plane_step`. Points of either
    cloud are put on planes of the other: one direction alone has several minima if little overlaps.
    The matches that support the pose are added, point to point, with little weight: they decide if
    planes do not.
    """
    generator = torch.Generator().manual_seed(0)
    edge, centre = found.voxel, found.target.points.mean(0)

    def placed(points: Tensor) -> Tensor:
        return (found.pose.apply(points) - centre) / edge

    moving, fixed = (
        voxel_average(cloud.points, edge / 2).points for cloud in (found.source, found.target)
    )
    source = _Planes(placed(moving), generator)
    target = _Planes((fixed - centre) / edge, generator)
    matched, partner = placed(found.matches.source), (found.matches.target - centre) / edge
    eye = torch.eye(7, dtype=torch.float64)
    move = Similarity(eye[:3, :3], eye[0, 1:4], eye[0, 0])
    for reach in _REACHES:
        for _ in range(_ROUNDS):
            points, gaps, normals = _on_planes(source, target, move, reach)
            if len(points) <= len(eye):
                return RefinedScale(1.0, math.nan, True)
            weight = tukey(gaps.abs().squeeze(1), reach)
            middle = (points * weight[:, None]).sum(0) / weight.sum().clamp_min(1e-9)
            size = (points - middle).square().sum(-1).mean().sqrt()
            planes = _system(points, gaps, normals, weight, middle, size)
            moved = move.apply(matched)
            apart = _gaps(moved, partner, eye[:3, :3])
            trust = _MATCH * tukey(apart.norm(dim=1), 2 * TOLERANCE)
            links = _system(moved, apart, eye[:3, :3], trust, middle, size)
            system, right = (a + b for a, b in zip(planes, links, strict=True))
            step = torch.linalg.solve(system + DAMPING * eye, -right)
            growth = (step[6] / size).clamp(-0.05, 0.05).exp()
            turn = rotation_from_vector((step[:3] / size).clamp(-0.1, 0.1))
            about = middle + step[3:6] - growth * turn @ middle
            move = Similarity(turn, about, growth).compose(move)
            if float(step.abs().max()) < _STILL:
                break
    rms = ((gaps.squeeze(1).square() * weight).sum() / weight.sum()).sqrt()
    noise = rms * math.hypot(_BENT, math.sqrt(_ALIKE / len(points)))
    variance = torch.linalg.inv(system + DAMPING * eye)[6, 6]
    # The growth that no motion undoes, as the planes see it.
    left = 1 / torch.linalg.inv(planes[0] + DAMPING * eye)[6, 6] - DAMPING
    deviation = float(noise * variance.sqrt() / size)
    return RefinedScale(float(move.scale), deviation, bool(left < _WEAK**2))


class _Planes:
    """The points of a cloud, in voxels, their normals, and some of them to be put on planes."""

    def __init__(self, points: Tensor, generator: torch.Generator) -> None:
        self.index = Index(points.float())
        self.points, self.some = points, some_of(points, _POINTS, generator)
        self.normals = normals_at(self.index.points, self.index).double()

    def nearest(self, places: Tensor, reach: float) -> tuple[Tensor, Tensor]:
        """(M,) bool, True for places (M, 3) near the cloud, and the numbers of their points."""
        near = self.index.nearest(places.float(), reach=reach)
        kept = near.squared_distance.isfinite()
        return kept, near.index[kept]


def _on_planes(
    source: _Planes, target: _Planes, move: Similarity, reach: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Points of the moved source, (N, 3), their distances (N, 1) to planes, and normals (N, 1, 3).

    The planes are those of the target at its nearest points; and those of the source, at the points
    that are nearest to the target's.
    """
    moved = move.apply(source.some)
    kept, index = target.nearest(moved, reach)
    back, own = source.nearest(move.inverse().apply(target.some), reach / float(move.scale))
    points = torch.cat([moved[kept], move.apply(source.points[own])])
    partners = torch.cat([target.points[index], target.some[back]])
    normals = torch.cat([target.normals[index], source.normals[own] @ move.rotation.mT])[:, None]
    return points, _gaps(points, partners, normals), normals


def _gaps(points: Tensor, partners: Tensor, axes: Tensor) -> Tensor:
    """(N, A) the distances of points (N, 3) from their partners along axes (N, A, 3) or (A, 3)."""
    return ((points - partners).unsqueeze(1) * axes).sum(-1)


def _system(
    points: Tensor, gaps: Tensor, axes: Tensor, weight: Tensor, middle: Tensor, size: Tensor
) -> tuple[Tensor, Tensor]:
    """The normal equations (7, 7) and (7,) of turn, shift and growth, per point.

    Turn and growth are about `middle`, in units of 1 / `size`.
    """
    arm = ((points - middle) / size).unsqueeze(1).expand(-1, *gaps.shape[1:], -1)
    axes = axes.expand_as(arm)
    along = (arm * axes).sum(-1, keepdim=True)
    rows = torch.cat([torch.linalg.cross(arm, axes), axes, along], -1)
    weighted = rows * (weight / max(1, len(points)))[:, None, None]
    return torch.einsum("nai,naj->ij", weighted, rows), torch.einsum("nai,na->i", weighted, gaps)
