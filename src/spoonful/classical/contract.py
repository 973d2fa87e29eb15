"""The contract of classical registration methods: that of the learned models, without training.

A method is a frozen dataclass: its fields are its settings, so that it can be printed, compared and
kept beside a result. It registers a padded batch, `method(batch)`, or one pair of any size,
`method.register(source, target)`, and returns a `Registration` either way.

Everything that methods share is here. Wrong arguments raise errors that name them. A degenerate
cloud (fewer than three points, or all in one place or on a line) fixes no rotation. Its pair gets
the shift between the centroids, without a turn, and the status "degenerate"; no method sees it.
Nothing a method returns is NaN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.frame import Frame, centroid
from spoonful.geometry import Pose
from spoonful.neighbors import Index
from spoonful.registration import Registration

OK: Final = "ok"
"""The method ended as it is meant to."""
DEGENERATE: Final = "degenerate"
"""A cloud has fewer than three points, or all of them in one place or on a line."""
NO_OVERLAP: Final = "no-overlap"
"""Nothing could be matched; the pose is where the method started."""
NO_CONVERGENCE: Final = "no-convergence"
"""The method ran out of iterations; the pose is its last."""
TIME_LIMIT: Final = "time-limit"
"""The method ran out of time; the pose is the best it had."""
FAILED: Final = "failed"
"""A library underneath gave up or crashed; the pose is where the method started."""

# Points of the target whose distance to their neighbours stands for that of all.
_SPACING_SAMPLE = 256
# On a surface sampled at random 99.8 % of all places have a sample within three median spacings.
_SPACINGS = 3.0


@dataclass(frozen=True, kw_only=True)
class ClassicalMethod(ABC):
    """A method without weights, with its settings.

    To write one, make a frozen dataclass with a `name` and implement `_solve`; a method that takes
    one pair at a time is a `PairwiseMethod` and implements `_solve_pair`.

    Attributes:
        settings: whose settings these are: "default", "published", "tuned", or "custom".
        inlier_distance: distance below which a source point counts as an inlier, in the clouds'
            unit; None for three times the mean distance of neighbouring target points.
    """

    name: ClassVar[str]
    """The name that users type."""

    settings: str = "custom"
    inlier_distance: float | None = None

    @classmethod
    def default(cls) -> Self:
        """Settings that serve most pairs."""
        return cls(settings="default")

    def __call__(self, batch: Batch, *, init: Pose | None = None) -> Registration:
        """Register every pair of the batch, padding left out of everything.

        Args:
            batch: the pairs. `batch.pose` is never looked at.
            init: where to start, rotation (B, 3, 3) and translation (B, 3); None for no motion,
                unless the method says otherwise. Global methods, which start nowhere, disregard it.

        Returns:
            `Registration` on the batch's device, in float32 (float64 if the clouds are), with
            `status` and `inlier_ratio`, and `matches` and `weights` where the method has any.

        Raises:
            ValueError: shapes do not fit, or values are not finite.
            TypeError: clouds are not floating point.
        """
        with torch.no_grad():
            return self._on_sound_pairs(_clean(batch), _clean_pose(init, batch))

    def register(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_normals: Tensor | None = None,
        target_normals: Tensor | None = None,
        init: Pose | None = None,
    ) -> Registration:
        """Register one pair of clouds of any size and scale.

        Args:
            source: (N, 3).
            target: (M, 3), on the same device.
            source_normals: (N, 3) unit normals, for methods that read them.
            target_normals: (M, 3), likewise.
            init: where to start, rotation (3, 3) and translation (3,), as above.

        Returns:
            `Registration` without batch dimension; `status` has one word.

        Raises:
            ValueError: a cloud is not (N, 3), is empty or has values that are not finite.
            TypeError: a cloud is not a floating-point tensor.
        """
        given = {
            "source": source,
            "target": target,
            "source_normals": source_normals,
            "target_normals": target_normals,
        }
        for name, points in given.items():
            if points is not None and not isinstance(points, Tensor):
                raise TypeError(f"{name} must be a torch.Tensor, got {type(points).__name__}")
            if points is not None and points.ndim != 2:
                raise ValueError(f"{name} must be one cloud, (N, 3), got {tuple(points.shape)}")
        batch = Batch(
            source.unsqueeze(0),
            target.unsqueeze(0),
            None if source_normals is None else source_normals.unsqueeze(0),
            None if target_normals is None else target_normals.unsqueeze(0),
        )
        start = None if init is None else Pose(*(part.unsqueeze(0) for part in init))
        with torch.no_grad():
            found = self._on_sound_pairs(_clean(batch, "{}"), _clean_pose(start, batch))
        return found.apply(lambda value: value.squeeze(0))

    @abstractmethod
    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        """Register pairs that are sound.

        Args:
            batch: float32 or float64, finite, B >= 1, nothing degenerate, padding zero.
            init: rotation (B, 3, 3), or None.

        Returns:
            `Registration` with one status per pair. An `inlier_ratio` of None is filled in.
            Every tensor has the batch as its first dimension.
        """

    def _on_sound_pairs(self, batch: Batch, init: Pose | None) -> Registration:
        """Solve what can be solved, and put the pairs that cannot back among them."""
        sound = ~(
            _degenerate(batch.source, batch.source_mask)
            | _degenerate(batch.target, batch.target_mask)
        )
        rows = sound.nonzero().squeeze(-1)
        if len(rows) == len(batch):
            return self._with_inliers(self._solve(batch, init), batch)
        rest = (~sound).nonzero().squeeze(-1)
        lost = batch.part(rest)
        shifted = self._with_inliers(_shift_centroids(lost), lost)
        if len(rows) == 0:
            return shifted
        some = batch.part(rows)
        start = None if init is None else init.at(rows)
        solved = self._with_inliers(self._solve(some, start), some)
        return _merge(solved, rows, shifted, rest)

    def _with_inliers(self, found: Registration, batch: Batch) -> Registration:
        if found.inlier_ratio is not None:
            return found
        within = self._inlier_distances(batch)
        index = Index(batch.target, batch.target_mask)
        moved = found.pose.apply(batch.source)
        near = index.nearest(moved, mask=batch.source_mask, reach=float(within.amax()))
        close = near.squared_distance <= within.square().unsqueeze(-1)
        return replace(found, inlier_ratio=share(close, batch.source_mask))

    def _inlier_distances(self, batch: Batch) -> Tensor:
        """`inlier_distance` of each pair, (B,)."""
        if self.inlier_distance is not None:
            return batch.source.new_full((len(batch),), self.inlier_distance)
        return spacing(batch.target, batch.target_mask) * _SPACINGS


@dataclass(frozen=True, kw_only=True)
class PairwiseMethod(ClassicalMethod):
    """A method that takes one pair at a time, without padding and normals."""

    @abstractmethod
    def _solve_pair(self, source: Tensor, target: Tensor, init: Pose | None) -> Registration:
        """Register one sound pair.

        Args:
            source: (N, 3), float32 or float64, on any device.
            target: (M, 3).
            init: rotation (3, 3), or None.

        Returns:
            `Registration` without batch dimension, with one status.
        """

    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        found = []
        for row in range(len(batch)):
            one = self._solve_pair(*batch.pair(row), None if init is None else init.at(row))
            if batch.source_mask is not None:
                one = replace(
                    one,
                    matches=_padded(one.matches, batch.source_mask[row]),
                    weights=_padded(one.weights, batch.source_mask[row]),
                )
            found.append(one)
        return Registration.joined([one.apply(lambda value: value.unsqueeze(0)) for one in found])


def in_parts(
    solve: Callable[[Batch, Pose | None], Registration],
    batch: Batch,
    init: Pose | None,
    at_once: int,
) -> Registration:
    """Solve a batch `at_once` pairs at a time, to bound the memory."""
    rows = torch.arange(len(batch), device=batch.source.device)
    return Registration.joined(
        [
            solve(batch.part(some), None if init is None else init.at(some))
            for some in rows.split(at_once)
        ]
    )


def frame_of(batch: Batch) -> Frame:
    """The frame of a batch's clouds."""
    return Frame.of(
        batch.source,
        batch.target,
        source_mask=batch.source_mask,
        target_mask=batch.target_mask,
    )


def into(frame: Frame, batch: Batch) -> tuple[Tensor, Tensor]:
    """The sources and targets in the frame; padding is zero again."""
    source, target = frame.source_in(batch.source), frame.target_in(batch.target)
    if batch.source_mask is not None:
        source = source.masked_fill(~batch.source_mask.unsqueeze(-1), 0.0)
    if batch.target_mask is not None:
        target = target.masked_fill(~batch.target_mask.unsqueeze(-1), 0.0)
    return source, target


def share(chosen: Tensor, mask: Tensor | None) -> Tensor:
    """The share of True among points that are not padding, (..., N) to (...).

    >>> share(torch.tensor([True, False, True, True]), torch.tensor([True, True, False, False]))
    tensor(0.5000)
    """
    if mask is None:
        return chosen.float().mean(-1)
    return (chosen & mask).sum(-1) / mask.sum(-1).clamp_min(1)


def spacing(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The mean distance of a point to its nearest other point, measured on a sample of points.

    Points in the same place are not each other's neighbours.

    Args:
        points: (B, M, 3).
        mask: (B, M) bool, False for padding.

    Returns:
        (B,); 0 where all points coincide.

    >>> spacing(torch.tensor([[[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [3, 0, 0]]]))
    tensor([1.2500])
    """
    count = points.shape[1]
    some = torch.arange(0, count, -(-count // _SPACING_SAMPLE), device=points.device)
    query = points[:, some]
    gaps = torch.cdist(query, points, compute_mode="donot_use_mm_for_euclid_dist")
    gaps = gaps.masked_fill(gaps == 0, torch.inf)
    if mask is not None:
        gaps = gaps.masked_fill(~mask.unsqueeze(1), torch.inf)
        gaps = gaps.masked_fill(~mask[:, some].unsqueeze(2), torch.inf)
    least = gaps.amin(-1)
    there = least.isfinite()
    return least.where(there, 0.0).sum(-1) / there.sum(-1).clamp_min(1)


def _clean(batch: Batch, called: str = "batch.{}") -> Batch:
    """The batch with its points checked, in at least float32 and padding put to zero."""
    batch.check(called)
    if len(batch) == 0:
        raise ValueError("batch must hold at least one pair, got none")
    dtype = torch.promote_types(batch.source.dtype, batch.target.dtype)
    dtype = torch.promote_types(dtype, torch.float32)
    clean: dict[str, Any] = {}
    for name in ("source", "target", "source_normals", "target_normals"):
        values = getattr(batch, name)
        mask = batch.source_mask if name.startswith("source") else batch.target_mask
        if values is not None:
            _check_finite(called.format(name), values, mask, one=called == "{}")
            values = values.detach().to(dtype)
            values = values if mask is None else values.masked_fill(~mask.unsqueeze(-1), 0.0)
        clean[name] = values
    return replace(batch, **clean, pose=None, clean=None, label=None, index=None)


def _check_finite(label: str, values: Tensor, mask: Tensor | None, *, one: bool) -> None:
    bad = ~values.isfinite().all(-1)
    if mask is not None:
        bad = bad & mask
    if not bool(bad.any()):
        return
    where = ""
    if not one:
        rows = bad.any(-1).nonzero().squeeze(-1).tolist()
        where = f" (in {'pairs' if len(rows) > 1 else 'pair'} {', '.join(map(str, rows[:8]))})"
    raise ValueError(
        f"{label} must be finite, but {int(bad.sum())} of {bad.numel()} points are not{where}"
    )


def _clean_pose(init: Pose | None, batch: Batch) -> Pose | None:
    """`init` in the clouds' precision, checked."""
    if init is None:
        return None
    rotation, translation = init
    if rotation.shape[-2:] != (3, 3) or translation.shape[-1:] != (3,):
        raise ValueError(
            "init must be a Pose of rotation (..., 3, 3) and translation (..., 3), "
            f"got {tuple(rotation.shape)} and {tuple(translation.shape)}"
        )
    for name, part, tail in (("rotation", rotation, (3, 3)), ("translation", translation, (3,))):
        if part.shape != (len(batch.source), *tail):
            raise ValueError(
                f"init.{name} must have one per pair, {(len(batch.source), *tail)}, "
                f"got {tuple(part.shape)}"
            )
        if not bool(part.isfinite().all()):
            raise ValueError(f"init.{name} must be finite")
    dtype = torch.promote_types(batch.source.dtype, batch.target.dtype)
    dtype = torch.promote_types(dtype, torch.float32)
    return Pose(
        rotation.detach().to(batch.source.device, dtype),
        translation.detach().to(batch.source.device, dtype),
    )


def _degenerate(points: Tensor, mask: Tensor | None) -> Tensor:
    """True for clouds (B, N, 3) that fix no rotation: few points, in one place or on a line."""
    centred = points - centroid(points, mask).to(points.dtype).unsqueeze(1)
    if mask is not None:
        centred = centred.masked_fill(~mask.unsqueeze(-1), 0.0)
    length, farthest = centred.norm(dim=-1).max(-1)
    axis = centred.gather(1, farthest[:, None, None].expand(-1, 1, 3))
    axis = axis / length.clamp_min(torch.finfo(points.dtype).tiny)[:, None, None]
    width = torch.linalg.cross(centred, axis.expand_as(centred)).norm(dim=-1).amax(-1)
    # Coordinates are rounded at their own size, which may be far above the cloud's.
    size = points.abs().amax((1, 2)) + length
    flat = width <= 16 * torch.finfo(points.dtype).eps * size
    if mask is None:
        return flat if points.shape[1] >= 3 else torch.ones_like(flat)
    return flat | (mask.sum(-1) < 3)


def _shift_centroids(batch: Batch) -> Registration:
    """The answer for degenerate pairs: centroid to centroid; no motion where a cloud is empty."""
    shift = centroid(batch.target, batch.target_mask) - centroid(batch.source, batch.source_mask)
    shift = shift.to(batch.source.dtype)
    pose = Pose.identity(len(batch), dtype=shift.dtype, device=shift.device)
    for mask in (batch.source_mask, batch.target_mask):
        if mask is not None:
            shift = shift.where(mask.any(-1, keepdim=True), 0.0)
    return Registration(Pose(pose.rotation, shift), status=(DEGENERATE,) * len(batch))


def _padded(values: Tensor | None, mask: Tensor) -> Tensor | None:
    """Values of a cloud's points among its padding again."""
    if values is None:
        return None
    whole = values.new_zeros(len(mask), *values.shape[1:])
    whole[mask] = values
    return whole


def _merge(a: Registration, rows: Tensor, b: Registration, rest: Tensor) -> Registration:
    """Two results as one of all pairs; values that `b` lacks are zero."""
    theirs = b.tensors()
    for name, values in a.tensors().items():
        if name.startswith("poses."):
            last = theirs[name.replace("poses.", "pose.")]
            theirs[name] = last.unsqueeze(1).repeat_interleave(values.shape[1], 1)
        elif name not in theirs:
            theirs[name] = values.new_zeros(len(rest), *values.shape[1:])
    both = Registration.joined([a, Registration.of(theirs, b.status)])
    order = torch.cat([rows, rest]).argsort()
    status = tuple(both.status[place] for place in order.tolist())
    return replace(both.apply(lambda value: value[order]), status=status)
