"""Iterative closest point as a method: for many pairs and from many starts at once.

The loop itself is `spoonful.icp`. Each source point is matched with the nearest target point; only
close matches are kept, and the farthest are trimmed as by Chetverikov et al. (2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.classical.contract import (
    NO_CONVERGENCE,
    NO_OVERLAP,
    OK,
    ClassicalMethod,
    frame_of,
    in_parts,
    into,
    share,
)
from spoonful.data.normals import estimate_normals
from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice, check_count
from spoonful.geometry.exact import matmul3
from spoonful.icp import FEWEST, Descent, Matches, descend
from spoonful.neighbors import Index
from spoonful.registration import Registration

# Points, of both clouds and all starts, that are worked on at once: some hundred MB.
_BUDGET = 1 << 22


@dataclass(frozen=True, kw_only=True)
class ICP(ClassicalMethod):
    """Iterative closest point.

    `inlier_ratio` is the share of source points within `inlier_distance` of the target. The status
    is "ok" where matches settled, "no-convergence" where iterations ran out, and "no-overlap" where
    fewer than three points came within `max_distance`. `weights` are 1 for the matches that the
    pose rests on, else 0. `extras["residual"]` is the root mean square distance of the matches
    that are not trimmed, where none counts more than `max_distance`.

    Attributes:
        metric: "point" to point, or point to "plane". The plane is that of the target's normals;
            where a batch has none they are estimated.
        iterations: poses solved for, at most.
        tolerance: stop when the share of points that have a match, and the root mean square
            distance of matches, in radii of the larger cloud, change by less.
        max_distance: matches farther than this are not used, in the clouds' own unit.
        trim: the fraction of the source points, those farthest from the target, that is left out.
        starts: how many poses to start from: the given one, then others with the centroids on each
            other and turns spread evenly. The best by residual is returned.
        start_degrees: how far the starts turn away from the given one, at most; 180 for all
            rotations there are.
        sample: settle on this many of the source points before all of them are used; None for all
            from the beginning. It makes many starts, and large clouds, affordable.

    >>> cloud = torch.rand(200, 3, generator=torch.Generator().manual_seed(0))
    >>> found = ICP.default().register(cloud, cloud + 0.02)
    >>> found.pose.translation.round(decimals=4), found.status
    (tensor([0.0200, 0.0200, 0.0200]), ('ok',))
    """

    name: ClassVar[str] = "icp"

    metric: Literal["point", "plane"] = "point"
    iterations: int = 50
    tolerance: float = 1e-6
    max_distance: float | None = None
    trim: float = 0.0
    starts: int = 1
    start_degrees: float = 180.0
    sample: int | None = None

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, ("point", "plane"))
        check_count("iterations", self.iterations)
        check_count("starts", self.starts)
        if self.sample is not None:
            check_count("sample", self.sample, least=FEWEST)
        if self.tolerance < 0:
            raise ValueError(f"tolerance must be at least 0, got {self.tolerance}")
        if self.max_distance is not None and not self.max_distance > 0:
            raise ValueError(f"max_distance must be above 0, got {self.max_distance}")
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must lie in [0, 1), got {self.trim}")
        if not 0 < self.start_degrees <= 180:
            raise ValueError(f"start_degrees must lie in (0, 180], got {self.start_degrees}")

    @classmethod
    def published(cls) -> Self:
        """ICP as in the comparisons of DCP and RPM-Net: Open3D's, point to point, from no motion.

        Both papers used Open3D's `registration_icp` with its criteria: at most 30 iterations, until
        the share of matches and their root mean square distance both change by less than 1e-6.
        RPM-Net's author names the one setting that has no default, a largest match distance of
        0.5 (github.com/yewzijian/RPMNet/issues/9), in clouds of radius 1. DCP's author says that
        theirs started from random rotations (github.com/WangYueFt/dcp/issues/15), which explains
        why ICP fails in that table. These settings start from no motion.
        """
        return cls(settings="published", iterations=30, tolerance=1e-6, max_distance=0.5)

    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        points = self.starts * batch.source.shape[1] + batch.target.shape[1]
        at_once = max(1, _BUDGET // points)
        return in_parts(self._solve_some, batch, init, at_once)

    def _solve_some(self, batch: Batch, init: Pose | None) -> Registration:
        frame = frame_of(batch)
        source, target = into(frame, batch)
        mask, dtype = batch.source_mask, source.dtype
        normals = batch.target_normals if self.metric == "plane" else None
        if self.metric == "plane" and normals is None:
            normals = estimate_normals(target, mask=batch.target_mask)
        length = frame.scale.to(dtype)
        reach = (self.max_distance or torch.inf) / length
        targets = _Targets(target, normals, Index(target, batch.target_mask), reach, self.trim)

        start = (
            Pose.identity(len(batch), dtype=dtype, device=source.device) if init is None else init
        )
        start = frame.pose_in(start).to(dtype)
        pairs = torch.arange(len(batch), device=source.device)
        some, some_mask = source, mask
        if self.sample is not None and self.sample < source.shape[1]:
            some, some_mask = spread_sample(source, mask, self.sample)
        if self.starts > 1:
            run = self._best_start(targets, some, some_mask, start)
        else:
            run = self._descend(targets, some, some_mask, pairs, start)
        if some is not source:
            run = self._descend(targets, source, mask, pairs, run.pose)

        within = self._inlier_distances(batch) / length
        # Inliers may lie farther away than matches.
        farthest = float(torch.maximum(within, reach).amax())
        final = targets.fit(run.pose.apply(source), mask, pairs, farthest)
        close = final.squared <= within.square().unsqueeze(-1)
        words = [OK if settled else NO_CONVERGENCE for settled in run.settled.tolist()]
        return Registration(
            frame.pose_out(run.pose).to(dtype),
            matches=batch.target.gather(1, final.place.unsqueeze(-1).expand(-1, -1, 3)),
            weights=final.keep.to(dtype),
            inlier_ratio=share(close, mask).to(dtype),
            status=tuple(
                NO_OVERLAP if empty else word
                for word, empty in zip(words, run.empty.tolist(), strict=True)
            ),
            extras={"residual": final.residual * length},
        )

    def _descend(
        self, targets: _Targets, source: Tensor, mask: Tensor | None, pair: Tensor, start: Pose
    ) -> Descent:
        """ICP from R starts of sources (N, 3) or (R, N, 3) to the targets numbered `pair` (R,)."""

        def matcher(moved: Tensor, rows: Tensor) -> Matches:
            return targets.match(moved, None if mask is None else mask[rows], pair[rows])

        return descend(source, start, matcher, rounds=self.iterations, tolerance=self.tolerance)

    def _best_start(
        self, targets: _Targets, source: Tensor, mask: Tensor | None, start: Pose
    ) -> Descent:
        """Descend from all starts of each pair, and keep the best end."""
        turns = spread_rotations(self.starts - 1, self.start_degrees).to(source)
        others = matmul3(turns, start.rotation.unsqueeze(1))
        starts = Pose(
            torch.cat([start.rotation.unsqueeze(1), others], 1).flatten(0, 1),
            # In the frame centroids are at zero, and so are the shifts of the other starts.
            torch.nn.functional.pad(
                start.translation.unsqueeze(1), (0, 0, 0, self.starts - 1)
            ).flatten(0, 1),
        )
        pairs = torch.arange(len(source), device=source.device)
        pair = pairs.repeat_interleave(self.starts)
        source, mask = source[pair], None if mask is None else mask[pair]
        run = self._descend(targets, source, mask, pair, starts)
        residual = targets.fit(run.pose.apply(source), mask, pair).residual
        # A start that lost all its matches is worse than any that has some.
        residual = residual.masked_fill(run.empty, torch.inf).view(-1, self.starts)
        best = residual.argmin(-1) + pairs * self.starts
        return Descent(run.pose.at(best), run.settled[best], run.empty[best])

    def descents(self, target: Tensor) -> Callable[[Tensor, Pose], tuple[Pose, Tensor]]:
        """Prepare one target for descents from any poses: for searches that are built on ICP.

        Args:
            target: (M, 3), centred and about of size one.

        Returns:
            A function of a source (N, 3), like the target, and S starts, rotation (S, 3, 3), that
            returns the last poses and their residuals (S,).
        """
        one = target.unsqueeze(0)
        reach = target.new_full((1,), self.max_distance or torch.inf)
        targets = _Targets(one, None, Index(one), reach, self.trim)

        def run(source: Tensor, starts: Pose) -> tuple[Pose, Tensor]:
            pair = torch.zeros(len(starts.rotation), dtype=torch.long, device=source.device)
            pose = self._descend(targets, source, None, pair, starts).pose
            return pose, targets.fit(pose.apply(source), None, pair).residual

        return run


class _Fit(NamedTuple):
    """The fit of R moved clouds to their targets.

    `place`, `squared` and `keep` are (R, N): the nearest target point, its squared distance, and
    whether it is used. `residual` (R,) is the root mean square distance of the matches that are
    not trimmed, where none counts more than the largest distance.
    """

    place: Tensor
    squared: Tensor
    keep: Tensor
    residual: Tensor


class _Targets(NamedTuple):
    """B targets in their frame, and the rule by which matches are kept.

    `reach` (B,) is the largest distance of a match and `trim` the fraction that is left out.
    """

    points: Tensor
    normals: Tensor | None
    search: Index
    reach: Tensor
    trim: float

    def fit(
        self, moved: Tensor, mask: Tensor | None, pair: Tensor, farthest: float | None = None
    ) -> _Fit:
        """Match moved clouds (R, N, 3) with the targets numbered `pair` (R,).

        `farthest` is how far to search; by default, as far as any match may be.
        """
        farthest = float(self.reach.amax()) if farthest is None else farthest
        near = self.search.nearest(moved, cloud=pair, mask=mask, reach=farthest)
        squared = near.squared_distance
        limit = self.reach[pair].square().unsqueeze(-1)
        kept = torch.full_like(pair, moved.shape[1]) if mask is None else mask.sum(-1)
        keep = squared <= limit
        if mask is not None:
            keep &= mask
        if self.trim > 0:
            kept = untrimmed(kept, self.trim)
            last = squared.sort(-1).values.gather(1, kept.unsqueeze(-1) - 1)
            keep &= squared <= last
        # Of the points that may not be trimmed, those without a match count as at the limit.
        missing = (kept - keep.sum(-1)).clamp_min(0)
        worst = limit.squeeze(-1).where(missing > 0, 0.0) * missing
        total = squared.where(keep, 0.0).sum(-1)
        return _Fit(near.index, squared, keep, ((total + worst) / kept).sqrt())

    def match(self, moved: Tensor, mask: Tensor | None, pair: Tensor) -> Matches:
        """The matches of moved clouds (R, N, 3) with the targets numbered `pair` (R,)."""
        found = self.fit(moved, mask, pair)
        # Gathered from the clouds as they lie, without a copy of each start's target.
        place = found.place + (pair * self.points.shape[1]).unsqueeze(-1)
        normals = None if self.normals is None else self.normals.reshape(-1, 3)[place]
        return Matches(self.points.reshape(-1, 3)[place], found.squared, found.keep, normals)


def untrimmed(count: Tensor, trim: float) -> Tensor:
    """The number of points left of `count` when a fraction is trimmed, at least three.

    >>> untrimmed(torch.tensor([100, 5, 3]), 0.3)
    tensor([70,  4,  3])
    """
    kept = (count.double() * (1 - trim) - 1e-9).ceil().long()
    return kept.clamp_min(FEWEST).minimum(count)


def spread_rotations(count: int, max_degrees: float = 180.0) -> Tensor:
    """Rotations spread evenly over SO(3), the same every time: a super-Fibonacci spiral.

    Alexa, "Super-Fibonacci Spirals: Fast, Low-Discrepancy Sampling of SO(3)", CVPR 2022.

    Args:
        count: how many.
        max_degrees: only rotations by angles up to this.

    Returns:
        (count, 3, 3) float64.

    >>> bool(spread_rotations(100).mean(0).abs().max() < 0.02)
    True
    >>> spread_rotations(100, max_degrees=30.0).shape
    torch.Size([100, 3, 3])
    """
    angle = math.radians(max_degrees)
    # The share of all rotations that turn less; a few more, so that enough are among them.
    share_of_all = (angle - math.sin(angle)) / math.pi
    total = count if max_degrees == 180 else math.ceil(1.5 * count / share_of_all) + 64
    step = torch.arange(total, dtype=torch.float64) + 0.5
    inner, outer = (step / total).sqrt(), (1 - step / total).sqrt()
    # The paper's pair of irrational numbers: sqrt(2), and the positive root of x^4 = x + 4.
    alpha = 2 * math.pi * step / math.sqrt(2)
    beta = 2 * math.pi * step / 1.533751168755204288118041
    x, y = inner * alpha.sin(), inner * alpha.cos()
    z, w = outer * beta.sin(), outer * beta.cos()
    rotations = torch.stack(
        [
            *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ],
        dim=-1,
    ).reshape(total, 3, 3)
    few = w.abs() >= math.cos(angle / 2) - 1e-12
    chosen = few.nonzero().squeeze(-1)
    return rotations[chosen[torch.arange(count) * len(chosen) // max(count, 1)]]


def spread_sample(points: Tensor, mask: Tensor | None, count: int) -> tuple[Tensor, Tensor | None]:
    """`count` points of each cloud, evenly spaced in its order; fewer where it has fewer."""
    step = torch.arange(count, device=points.device)
    if mask is None:
        return points[:, step * points.shape[1] // count], None
    size = mask.sum(-1, keepdim=True)
    order = (~mask).to(torch.uint8).argsort(dim=-1, stable=True)  # points first, then padding
    there = step < size
    place = order.gather(1, (step * size.clamp_min(count) // count).where(there, 0))
    return points.gather(1, place.unsqueeze(-1).expand(-1, -1, 3)), there
