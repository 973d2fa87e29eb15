"""Iterative closest point, for many pairs and from many starts at once.

Besl and McKay (1992), Chen and Medioni (1992); trimmed as by Chetverikov et al. (2002). In turn,
match each source point to the nearest target point, keep the matches that are close, and solve for
the pose:

    point to point    min  sum_i |R p_i + t - q_i|^2              by Kabsch
    point to plane    min  sum_i (n_i . (R p_i + t - q_i))^2      by a Gauss-Newton step

until the matches settle. All pairs of a batch and all starts of a pair run together; one that has
settled is taken out and costs nothing more.
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
    join,
    share,
    take,
)
from spoonful.classical.frame import Frame
from spoonful.classical.search import Search, indexed
from spoonful.data.normals import estimate_normals
from spoonful.geometry import Pose, gram_schmidt, kabsch, rotation_from_vector
from spoonful.geometry.exact import matmul3
from spoonful.registration import Registration

# Points, of both clouds and all starts, that are worked on at once: some hundred MB.
_BUDGET = 1 << 22
# Fewer matches do not fix a pose.
_FEWEST = 3


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
        if self.metric not in ("point", "plane"):
            raise ValueError(f"metric must be 'point' or 'plane', got {self.metric!r}")
        if self.iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {self.iterations}")
        if self.tolerance < 0:
            raise ValueError(f"tolerance must be at least 0, got {self.tolerance}")
        if self.max_distance is not None and not self.max_distance > 0:
            raise ValueError(f"max_distance must be above 0, got {self.max_distance}")
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must lie in [0, 1), got {self.trim}")
        if self.starts < 1:
            raise ValueError(f"starts must be at least 1, got {self.starts}")
        if not 0 < self.start_degrees <= 180:
            raise ValueError(f"start_degrees must lie in (0, 180], got {self.start_degrees}")
        if self.sample is not None and self.sample < _FEWEST:
            raise ValueError(f"sample must be at least {_FEWEST}, got {self.sample}")

    @classmethod
    def published(cls) -> Self:
        """ICP as in the comparisons of DCP and RPM-Net: Open3D's, point to point, from no motion.

        Both papers used Open3D's `registration_icp` with its criteria: at most 30 iterations, until
        the share of matches and their root mean square distance both change by less than 1e-6.
        RPM-Net's author names the one setting that has no default, a largest match distance of
        0.5 (github.com/yewzijian/RPMNet/issues/9), in clouds of radius 1. DCP's author says that
        theirs started from random rotations (github.com/WangYueFt/dcp/issues/15), which explains
        why ICP fails in that table; nobody would, and neither do these settings.
        """
        return cls(settings="published", iterations=30, tolerance=1e-6, max_distance=0.5)

    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        points = self.starts * batch.source.shape[1] + batch.target.shape[1]
        at_once = max(1, _BUDGET // points)
        rows = torch.arange(len(batch), device=batch.source.device)
        return join(
            [
                self._solve_some(
                    take(batch, some), None if init is None else Pose(*(p[some] for p in init))
                )
                for some in rows.split(at_once)
            ]
        )

    def _solve_some(self, batch: Batch, init: Pose | None) -> Registration:
        frame = Frame.of(batch)
        source, target = frame.enter(batch)
        mask, dtype = batch.source_mask, source.dtype
        normals = batch.target_normals if self.metric == "plane" else None
        if self.metric == "plane" and normals is None:
            normals = estimate_normals(target, mask=batch.target_mask)
        reach = (self.max_distance or torch.inf) / frame.length
        search = indexed(target, batch.target_mask, queries=source.shape[1])
        problem = _Problem(self, target, normals, reach, float(reach.amax()), search)

        start = (
            Pose.identity(len(batch), dtype=dtype, device=source.device) if init is None else init
        )
        start = frame.pose_in(start)
        some, some_mask = source, mask
        if self.sample is not None and self.sample < source.shape[1]:
            some, some_mask = spread_sample(source, mask, self.sample)
        if self.starts > 1:
            run = self._best_start(problem, some, some_mask, start)
        else:
            run = problem.descend(some, some_mask, problem.pairs, start)
        if some is not source:
            run = problem.descend(source, mask, problem.pairs, run.pose)

        within = self._inlier_distances(batch) / frame.length
        # Inliers may lie farther away than matches.
        problem = problem._replace(farthest=max(problem.farthest, float(within.amax())))
        final = problem.evaluate(source, mask, problem.pairs, run.pose)
        close = final.squared <= within.square().unsqueeze(-1)
        words = [OK if settled else NO_CONVERGENCE for settled in run.settled.tolist()]
        return Registration(
            frame.pose_out(run.pose),
            matches=batch.target.gather(1, final.place.unsqueeze(-1).expand(-1, -1, 3)),
            weights=final.keep.to(dtype),
            inlier_ratio=share(close, mask).to(dtype),
            status=tuple(
                NO_OVERLAP if empty else word
                for word, empty in zip(words, run.empty.tolist(), strict=True)
            ),
            extras={"residual": final.residual * frame.length},
        )

    def _best_start(
        self, problem: _Problem, source: Tensor, mask: Tensor | None, start: Pose
    ) -> _Run:
        """Descend from all starts of each pair, and keep where the best of them ended."""
        turns = spread_rotations(self.starts - 1, self.start_degrees).to(source)
        others = matmul3(turns, start.rotation.unsqueeze(1))
        starts = Pose(
            torch.cat([start.rotation.unsqueeze(1), others], 1).flatten(0, 1),
            # In the frame centroids are at zero, and so are the shifts of the other starts.
            torch.nn.functional.pad(
                start.translation.unsqueeze(1), (0, 0, 0, self.starts - 1)
            ).flatten(0, 1),
        )
        pair = problem.pairs.repeat_interleave(self.starts)
        source, mask = source[pair], None if mask is None else mask[pair]
        run = problem.descend(source, mask, pair, starts)
        residual = problem.evaluate(source, mask, pair, run.pose).residual
        # A start that lost all its matches is worse than any that has some.
        residual = residual.masked_fill(run.empty, torch.inf).view(-1, self.starts)
        best = residual.argmin(-1) + problem.pairs * self.starts
        return _Run(Pose(*(part[best] for part in run.pose)), run.settled[best], run.empty[best])

    def descents(self, target: Tensor) -> Callable[[Tensor, Pose], tuple[Pose, Tensor]]:
        """Prepare one target for descents from any poses: for searches that are built on ICP.

        Args:
            target: (M, 3), centred and about of size one.

        Returns:
            A function of a source (N, 3), like the target, and S starts, rotation (S, 3, 3), that
            returns where each ended, and its residual (S,).
        """
        reach = target.new_full((1,), self.max_distance or torch.inf)
        search = indexed(target.unsqueeze(0), queries=len(target))
        problem = _Problem(self, target.unsqueeze(0), None, reach, float(reach), search)

        def descend(source: Tensor, starts: Pose) -> tuple[Pose, Tensor]:
            pair = torch.zeros(len(starts.rotation), dtype=torch.long, device=source.device)
            points = source.expand(len(pair), *source.shape)
            pose = problem.descend(points, None, pair, starts).pose
            return pose, problem.evaluate(points, None, pair, pose).residual

        return descend


class _Run(NamedTuple):
    """Where R descents ended."""

    pose: Pose
    settled: Tensor
    empty: Tensor


class _Matches(NamedTuple):
    """The matches of R clouds.

    `place`, `squared` and `keep` are (R, N): the nearest target point, its squared distance, and
    whether it is used; `fitness`, `error` and `residual` are (R,): the share that is used, their
    root mean square distance, and the same where far matches count as if at the largest distance.
    """

    place: Tensor
    squared: Tensor
    keep: Tensor
    fitness: Tensor
    error: Tensor
    residual: Tensor


class _Problem(NamedTuple):
    """Targets in their frame, and how to match to them."""

    method: ICP
    target: Tensor
    normals: Tensor | None
    reach: Tensor
    farthest: float
    search: Search

    @property
    def pairs(self) -> Tensor:
        """The numbers of the pairs."""
        return torch.arange(len(self.target), device=self.target.device)

    def evaluate(self, source: Tensor, mask: Tensor | None, pair: Tensor, pose: Pose) -> _Matches:
        """Match R sources (R, N, 3) under their poses with the targets numbered `pair` (R,)."""
        near = self.search(pose.apply(source), pair, mask, self.farthest)
        squared = near.squared_distance
        limit = self.reach[pair].square().unsqueeze(-1)
        count = torch.full_like(pair, source.shape[1]) if mask is None else mask.sum(-1)
        kept = count
        keep = squared <= limit
        if mask is not None:
            keep &= mask
        if self.method.trim > 0:
            kept = untrimmed(count, self.method.trim)
            last = squared.sort(-1).values.gather(1, kept.unsqueeze(-1) - 1)
            keep &= squared <= last
        used = keep.sum(-1)
        total = squared.where(keep, 0.0).sum(-1)
        # Of the points that may not be trimmed, those without a match count as at the limit.
        missing = (kept - used).clamp_min(0)
        worst = limit.squeeze(-1).where(missing > 0, 0.0) * missing
        return _Matches(
            near.index,
            squared,
            keep,
            used / count,
            (total / used.clamp_min(1)).sqrt(),
            ((total + worst) / kept).sqrt(),
        )

    def descend(self, source: Tensor, mask: Tensor | None, pair: Tensor, start: Pose) -> _Run:
        """Run from R starts until each has settled; those that have are left out of the work."""
        rotation, translation = (part.clone() for part in start)
        settled = torch.zeros_like(pair, dtype=torch.bool)
        empty = torch.zeros_like(settled)
        # What is still under way: which rows, their points, and how they matched last.
        rows, pose = torch.arange(len(pair), device=pair.device), start
        points, valid, cloud = source, mask, pair
        fitness = source.new_full((len(pair),), torch.inf)
        error = fitness
        for iteration in range(self.method.iterations + 1):
            found = self.evaluate(points, valid, cloud, pose)
            tolerance = self.method.tolerance
            still = ((found.fitness - fitness).abs() < tolerance) & (
                (found.error - error).abs() < tolerance
            )
            lost = found.keep.sum(-1) < _FEWEST
            over = still | lost
            rotation[rows], translation[rows] = pose
            settled[rows], empty[rows] = still, lost
            finished = int(over.sum())
            if iteration == self.method.iterations or finished == len(rows):
                break
            fitness, error = found.fitness, found.error
            if finished > 0:
                go = (~over).nonzero().squeeze(-1)
                rows, cloud, points = rows[go], cloud[go], points[go]
                valid = None if valid is None else valid[go]
                pose = Pose(*(part[go] for part in pose))
                fitness, error = fitness[go], error[go]
                found = _Matches(*(part[go] for part in found))
            pose = self._solve(points, pose, found, cloud)
        return _Run(Pose(rotation, translation), settled, empty)

    def _solve(self, source: Tensor, pose: Pose, found: _Matches, pair: Tensor) -> Pose:
        """The pose that fits the matches best."""
        # Gathered from the clouds as they lie, without a copy of each start's target.
        place = found.place + (pair * self.target.shape[1]).unsqueeze(-1)
        matches = self.target.reshape(-1, 3)[place]
        if self.normals is None:
            return kabsch(source, matches, mask=found.keep)
        return plane_step(source, matches, self.normals.reshape(-1, 3)[place], pose, found.keep)


def untrimmed(count: Tensor, trim: float) -> Tensor:
    """How many of `count` points are left when a fraction is trimmed, at least three.

    >>> untrimmed(torch.tensor([100, 5, 3]), 0.3)
    tensor([70,  4,  3])
    """
    kept = (count.double() * (1 - trim) - 1e-9).ceil().long()
    return kept.clamp_min(_FEWEST).minimum(count)


def plane_step(source: Tensor, target: Tensor, normals: Tensor, pose: Pose, keep: Tensor) -> Pose:
    """One Gauss-Newton step on the distances of moved points to their matches' planes.

    With x = R p + t, a small turn a and shift b change the distance n . (x - q) by
    (x cross n) . a + n . b, so each match gives one row of a 6x6 system. What the planes leave
    undetermined, such as sliding along a single one, stays as it is.

    Args:
        source: (R, N, 3).
        target: (R, N, 3), their matches.
        normals: (R, N, 3), of the matches.
        pose: rotation (R, 3, 3), the poses so far.
        keep: (R, N) bool, which matches count.

    Returns:
        The new poses.

    >>> wall = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]])
    >>> up = torch.tensor([0.0, 0, 1]).expand_as(wall)
    >>> everything = torch.ones(1, 4, dtype=torch.bool)
    >>> plane_step(wall + 0.5, wall, up, Pose.identity(1), everything).translation
    tensor([[ 0.0000,  0.0000, -0.5000]])
    """
    moved = pose.apply(source)
    # float64 is exact enough for sums of squares, and no switch makes its products inexact.
    rows = torch.cat([torch.linalg.cross(moved, normals), normals], -1).double()
    rows = rows * keep.unsqueeze(-1)
    gaps = ((target - moved) * normals).sum(-1, keepdim=True).double()
    system, right = rows.mT @ rows, (rows.mT @ gaps)
    # Damped just so much that it can be solved: far below what a match contributes.
    size = system.diagonal(dim1=-2, dim2=-1).amax(-1)[..., None, None]
    eye = torch.eye(6, dtype=system.dtype, device=system.device)
    damped = system + eye * (1e-9 * size).clamp_min(torch.finfo(torch.float64).tiny)
    step = torch.linalg.solve(damped, right).squeeze(-1).to(source.dtype)
    turn = Pose(rotation_from_vector(step[..., :3]), step[..., 3:])
    better = turn.compose(pose)
    return Pose(gram_schmidt(better.rotation), better.translation)


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
