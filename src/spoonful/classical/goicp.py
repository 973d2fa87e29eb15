"""Go-ICP: the globally best pose, by branch and bound over all rotations and translations.

Yang, Li, Campbell and Jia (2016). A box of poses, rotations within a cube of angle-axis vectors of
half side a about r and translations within one of half side b about t, moves no point p farther
from its place under the box's centre than

    2 sin(min(sqrt(3) a, pi) / 2) |p|   +   sqrt(3) b,

so distances to the target, less that much, bound the error of every pose in the box from below.
Boxes whose bound is above the best error so far, less a threshold, are dropped, the others divided;
the centres' own errors show where to start ICP, which lowers the best error.

The published program nests a search over translations in one over rotations. This one has a single
list of boxes and bounds thousands of them at once. Its bounds allow for the error of the table of
distances, so that the answer is within the threshold of the best.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from spoonful.classical.contract import OK, TIME_LIMIT, PairwiseMethod
from spoonful.classical.distance_field import DistanceField, distance_field
from spoonful.classical.icp import ICP, spread_rotations, spread_sample, untrimmed
from spoonful.frame import Frame
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.geometry.checks import check_count
from spoonful.neighbors import Index
from spoonful.registration import Registration

# Distances looked up at once: a tenth of a second on one CPU core, little on a GPU.
_AT_ONCE = {"cpu": 1 << 20}
_AT_ONCE_ELSEWHERE = 1 << 24
# With more boxes waiting than this the smallest are taken first, which adds hardly any more.
_WAITING = 1 << 22
# Poses that ICP starts from: before the search, and in each of its rounds. On a GPU, which waits
# for each step of a descent, many cost what a few do.
_FIRST_STARTS = 24
_STARTS = {"cpu": 4}
_STARTS_ELSEWHERE = 64


@dataclass(frozen=True, kw_only=True)
class GoICP(PairwiseMethod):
    """Globally optimal ICP.

    Lengths are in radii of the larger cloud, whatever the clouds' own unit is; `init` is
    disregarded. The status is "ok" where the pose is proved to be within `threshold` of the best
    there is, and "time-limit" where time ran out before. `extras["mse"]` is the mean squared
    distance of the searched points to the target, `extras["lower_bound"]` a lower bound of it for
    any pose, and `extras["gap"]` their difference.

    Attributes:
        threshold: how far from the least mean squared distance the answer may be.
        trim: the fraction of the source points, those farthest from the target, that is left out.
        translation: how far the centroids may come to lie apart along each axis.
        points: how many of the source points to search with; None for all. The pose is improved
            with all of them at the end.
        cells: a side of the table of distances, a power of two up to 256.
        time_limit: seconds per pair.

    >>> cloud = torch.rand(30, 3, generator=torch.Generator().manual_seed(0))
    >>> turned = cloud @ rotation_from_vector(torch.tensor([0.5, 2.0, 1.0])).mT + 1
    >>> found = GoICP(cells=32).register(cloud, turned)
    >>> found.status, bool(found.extras["mse"] < 1e-6)
    (('ok',), True)
    """

    name: ClassVar[str] = "goicp"

    threshold: float = 1e-3
    trim: float = 0.0
    translation: float = 0.5
    points: int | None = 200
    cells: int = 64
    time_limit: float = 10.0

    def __post_init__(self) -> None:
        for name in ("threshold", "translation", "time_limit"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must lie in [0, 1), got {self.trim}")
        if self.points is not None:
            check_count("points", self.points, least=3)
        if not 2 <= self.cells <= 256 or self.cells & (self.cells - 1):
            raise ValueError(f"cells must be a power of two from 2 to 256, got {self.cells}")

    @classmethod
    def published(cls) -> Self:
        """The settings of the published program: all points, no trimming, a threshold of 0.001.

        Its configuration also has translations within 0.5 along each axis and a table of 300 cells
        a side over twice the target's extent (github.com/yangjiaolong/Go-ICP, demo/config.txt);
        128 cells over the extent itself are about as fine. The limit on time is ours.
        """
        return cls(settings="published", points=None, cells=128, time_limit=60.0)

    def _solve_pair(self, source: Tensor, target: Tensor, init: Pose | None) -> Registration:
        deadline = time.monotonic() + self.time_limit
        frame = Frame.of(source, target)
        all_points, whole = frame.source_in(source), frame.target_in(target)
        points = all_points
        if self.points is not None and self.points < len(source):
            points = spread_sample(all_points.unsqueeze(0), None, self.points)[0].squeeze(0)
        found = self._search(points, whole, deadline)

        pose = found.pose
        if points is not all_points:
            pose, _ = ICP(trim=self.trim).descents(whole)(all_points, pose)
        area = float(frame.scale) ** 2
        return Registration(
            frame.pose_out(pose.at(0)).to(source.dtype),
            status=(OK if found.proved else TIME_LIMIT,),
            extras={
                "mse": source.new_tensor(found.error * area),
                "lower_bound": source.new_tensor(found.bound * area),
                "gap": source.new_tensor((found.error - found.bound) * area),
            },
        )

    def _search(self, source: Tensor, target: Tensor, deadline: float) -> _Best:
        """The best pose of points in their frame."""
        descend = ICP(trim=self.trim, iterations=20).descents(target)
        turns = spread_rotations(_FIRST_STARTS).to(source)
        turns = torch.cat([torch.eye(3).to(source).unsqueeze(0), turns])
        best, error = _lowest(*descend(source, Pose(turns, torch.zeros_like(turns[:, 0]))))
        goal = error - self.threshold
        if goal <= 0:  # no pose has a negative error: nothing to search for
            return _Best(best, error, 0.0, proved=True)

        kept = int(untrimmed(torch.tensor(len(source)), self.trim))
        index = Index(target)
        scene = _Scene(source, distance_field(index, self.cells), index, kept)
        most = _AT_ONCE.get(source.device.type, _AT_ONCE_ELSEWHERE) // (8 * len(source))
        starts = _STARTS.get(source.device.type, _STARTS_ELSEWHERE)
        boxes = _Boxes.whole(self.translation, source)
        while len(boxes.bound) > 0:
            if time.monotonic() > deadline:
                return _Best(best, error, min(float(boxes.bound.amin()), goal), proved=False)
            first, boxes = boxes.pick(max(1, most))
            parts = first.divide(scene.radius)
            bound, centre_error = scene.bounds(parts)
            parts = parts._replace(bound=bound.maximum(parts.bound))

            promising = centre_error.topk(min(starts, len(centre_error)), largest=False).indices
            pose, new = _lowest(*descend(source, parts.take(promising).centres()))
            if new < error:
                best, error, goal = pose, new, new - self.threshold
            boxes = boxes.join(parts)
            boxes = boxes.take((boxes.bound < goal).nonzero().squeeze(-1))
        return _Best(best, error, max(goal, 0.0), proved=True)


class _Best(NamedTuple):
    """A pose (1, 3, 3), its error, and a lower bound on the error of any pose."""

    pose: Pose
    error: float
    bound: float
    proved: bool


class _Boxes(NamedTuple):
    """Boxes of poses.

    Attributes:
        turn: (K, 3) the middle of the angle-axis cube.
        shift: (K, 3) the middle of the translation cube.
        half_turn: (K,) half the side of the first.
        half_shift: (K,) half the side of the second.
        bound: (K,) what the error of all their poses is at least.
    """

    turn: Tensor
    shift: Tensor
    half_turn: Tensor
    half_shift: Tensor
    bound: Tensor

    @classmethod
    def whole(cls, translation: float, like: Tensor) -> _Boxes:
        """One box, of all rotations and the translations within a cube."""
        zero, one = like.new_zeros(1, 3), like.new_ones(1)
        return cls(zero, zero, math.pi * one, translation * one, 0 * one)

    def take(self, rows: Tensor) -> _Boxes:
        return _Boxes(*(part[rows] for part in self))

    def join(self, others: _Boxes) -> _Boxes:
        return _Boxes(*(torch.cat(both) for both in zip(self, others, strict=True)))

    def pick(self, count: int) -> tuple[_Boxes, _Boxes]:
        """The most promising boxes, and the rest."""
        key = self.bound if len(self.bound) < _WAITING else self.half_turn + self.half_shift
        if count >= len(key):
            return self, self.take(torch.arange(0, device=key.device))
        rows = key.topk(count, largest=False).indices
        rest = torch.ones_like(key, dtype=torch.bool)
        rest[rows] = False
        return self.take(rows), self.take(rest.nonzero().squeeze(-1))

    def divide(self, radius: float) -> _Boxes:
        """Eight boxes of each: the rotations halved along each axis, or the translations.

        Args:
            radius: of the points; halved is what moves points at that distance farther.
        """
        by_turn = (_swing(self.half_turn) * radius > math.sqrt(3) * self.half_shift).unsqueeze(-1)
        eighths = torch.tensor([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]) * 2 - 1
        step = eighths.to(self.turn).unsqueeze(0)

        def spread_out(middle: Tensor, half: Tensor, chosen: Tensor) -> Tensor:
            offset = (0.5 * half)[:, None, None] * step * chosen.unsqueeze(-1)
            return (middle.unsqueeze(1) + offset).flatten(0, 1)

        parts = _Boxes(
            spread_out(self.turn, self.half_turn, by_turn),
            spread_out(self.shift, self.half_shift, ~by_turn),
            (self.half_turn * (1 - 0.5 * by_turn.squeeze(-1).to(step))).repeat_interleave(8),
            (self.half_shift * (1 - 0.5 * (~by_turn).squeeze(-1).to(step))).repeat_interleave(8),
            self.bound.repeat_interleave(8),
        )
        # Angle-axis vectors longer than pi are rotations that others are, too.
        nearest = parts.turn.norm(dim=-1) - math.sqrt(3) * parts.half_turn
        return parts.take((nearest <= math.pi).nonzero().squeeze(-1))

    def centres(self) -> Pose:
        """The poses in the middle."""
        return Pose(rotation_from_vector(self.turn), self.shift)


class _Scene(NamedTuple):
    """The problem: source points, the target's distances, and how many points count."""

    points: Tensor
    field: DistanceField
    search: Index
    kept: int

    @property
    def radius(self) -> float:
        return float(self.points.norm(dim=-1).square().mean().sqrt())

    def bounds(self, boxes: _Boxes) -> tuple[Tensor, Tensor]:
        """A lower bound of each box's errors, and about the error at its centre."""
        moved = boxes.centres().apply(self.points)
        swing = _swing(boxes.half_turn).unsqueeze(-1) * self.points.norm(dim=-1)
        sway = math.sqrt(3) * boxes.half_shift
        distance = self.field.lower_bound(moved)
        slack = torch.full_like(sway, self.field.slack)
        # In boxes so small that the table's error decides, the distances themselves are looked for.
        small = (swing.mean(-1) + sway < 2 * self.field.slack).nonzero().squeeze(-1)
        if len(small) > 0:
            distance[small] = self.search.nearest(moved[small]).squared_distance.sqrt()
            slack[small] = 0
        closest = (distance - swing - (sway + slack).unsqueeze(-1)).clamp_min(0)
        return self._error(closest), self._error(distance)

    def _error(self, distance: Tensor) -> Tensor:
        if self.kept < distance.shape[-1]:
            distance = distance.topk(self.kept, largest=False, sorted=False).values
        return distance.square().mean(-1)


def _swing(half_turn: Tensor) -> Tensor:
    """The largest distance between images of a point at distance 1 under a cube's rotations."""
    return 2 * torch.sin((math.sqrt(3) * half_turn).clamp_max(math.pi) / 2)


def _lowest(poses: Pose, residual: Tensor) -> tuple[Pose, float]:
    """The pose with the least residual, (1, 3, 3), and its mean squared distance."""
    row = int(residual.argmin())
    return Pose(*(part[row : row + 1] for part in poses)), float(residual[row]) ** 2
