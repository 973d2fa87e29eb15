"""The iterative closest point loop, for many poses at once and any way of finding matches.

Besl and McKay (1992), Chen and Medioni (1992). In turn, match the moved source points with target
points and solve for the pose:

    point to point    min  sum_i w_i |R p_i + t - q_i|^2              by Kabsch
    point to plane    min  sum_i w_i (n_i . (R p_i + t - q_i))^2      by a Gauss-Newton step

until the matches settle. Poses that have settled are left out of the work. `descend` is the loop;
`icp_layer` is a differentiable layer around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import (
    Pose,
    gram_schmidt,
    kabsch,
    kernels,
    nearest,
    plane_minimum,
    rotation_from_vector,
)
from spoonful.geometry.checks import check_tensor, working_dtype
from spoonful.geometry.exact import dot3, matmul3, matvec3
from spoonful.geometry.head import unit_of

# Fewer matches do not fix a pose.
FEWEST = 3
# The equations of up to this many poses are solved on the CPU: a GPU takes longer to start the
# operations, one for each few numbers.
_FEW_POSES = 64


class Matches(NamedTuple):
    """The matches of R moved clouds.

    Attributes:
        points: (R, N, 3) the target point that each source point is matched with.
        squared: (R, N) the squared distances.
        weight: (R, N) bool or >= 0; a match with weight zero (False) is not used.
        normals: (R, N, 3) unit normals at `points` for point to plane; None for point to point.
    """

    points: Tensor
    squared: Tensor
    weight: Tensor
    normals: Tensor | None = None

    def take(self, rows: Tensor) -> Matches:
        """The matches of some of the clouds."""
        normals = None if self.normals is None else self.normals[rows]
        return Matches(self.points[rows], self.squared[rows], self.weight[rows], normals)


Matcher = Callable[[Tensor, Tensor], Matches]
"""`matcher(moved, rows)` matches the moved clouds (R', N, 3). `rows` (R',) says which of the poses
that the loop was started with they belong to."""


class Descent(NamedTuple):
    """The end of R descents.

    Attributes:
        pose: rotation (R, 3, 3), the last poses.
        settled: (R,) bool, whether the matches settled.
        empty: (R,) bool, whether fewer than three matches were left.
    """

    pose: Pose
    settled: Tensor
    empty: Tensor


def descend(
    source: Tensor,
    start: Pose,
    matcher: Matcher,
    *,
    rounds: int,
    tolerance: float = 1e-6,
    damping: float = 1e-9,
) -> Descent:
    """Improve poses by ICP.

    Args:
        source: (N, 3) the points of all poses, or (R, N, 3) points of each.
        start: rotation (R, 3, 3).
        matcher: finds the matches of moved points, see `Matcher`.
        rounds: poses solved for, at most.
        tolerance: a pose has settled when the share of points with a match and the root mean
            square distance of matches both change by less; 0 runs all rounds.
        damping: of point to plane, see `plane_step`.

    Returns:
        `Descent`. A pose that loses its matches stays where it lost them.

    >>> from spoonful.neighbors import Index
    >>> target = torch.rand(300, 3, generator=torch.Generator().manual_seed(0))
    >>> index = Index(target)
    >>> def matcher(moved, rows):
    ...     near = index.nearest(moved)
    ...     return Matches(target[near.index], near.squared_distance, near.squared_distance < 0.01)
    >>> found = descend(target - 0.02, Pose.identity(1), matcher, rounds=30)
    >>> found.pose.translation.round(decimals=4), found.settled
    (tensor([[0.0200, 0.0200, 0.0200]]), tensor([True]))
    """
    rotation, translation = (part.clone() for part in start)
    count, device = len(rotation), rotation.device
    settled = torch.zeros(count, dtype=torch.bool)
    empty = torch.zeros_like(settled)
    # What is still under way: which rows, their points, and how they matched last.
    rows, pose, points = torch.arange(count, device=device), start, source
    share = error = torch.full((count,), torch.inf)
    for step in range(rounds + 1):
        moved = pose.apply(points)
        found = matcher(moved, rows)
        new_share, new_error, lost = _summary(found)
        still = ((new_share - share).abs() < tolerance) & ((new_error - error).abs() < tolerance)
        over = still | lost
        finished = int(over.sum())
        if finished > 0 or step == rounds:
            rotation[rows], translation[rows] = pose
            own = rows.cpu()
            settled[own], empty[own] = still, lost
        if step == rounds or finished == len(rows):
            break
        share, error = new_share, new_error
        if finished > 0:
            go = (~over).nonzero().squeeze(-1)
            share, error, go = share[go], error[go], go.to(device)
            rows, pose, moved, found = rows[go], pose.at(go), moved[go], found.take(go)
            points = points if source.ndim == 2 else points[go]
        if found.normals is None:
            pose = _point_step(points, found)
        else:
            pose = plane_step(moved, found, pose, damping=damping)
    return Descent(Pose(rotation, translation), settled.to(device), empty.to(device))


def _summary(found: Matches) -> tuple[Tensor, Tensor, Tensor]:
    """(R,) share of points with a match, root mean square distance, and whether few are left.

    They are computed on the CPU, from sums that come in one copy.
    """
    used = found.weight > 0
    squared = found.weight * found.squared.where(used, 0.0)
    count, total, squares = torch.stack([used, found.weight, squared]).sum(-1).cpu()
    return count / used.shape[-1], (squares / total.clamp_min(1e-12)).sqrt(), count < FEWEST


def icp_layer(
    source: Tensor,
    target: Tensor,
    start: Pose | None = None,
    *,
    reach: float = torch.inf,
    normals: Tensor | None = None,
    rounds: int = 50,
    mask: Tensor | None = None,
    target_mask: Tensor | None = None,
) -> Pose:
    """The pose that ICP settles at, with the gradient of that fixed point by both clouds.

    The loop runs without gradients. Its last matches are constants for the gradient, which is that
    of one fit to them (`kabsch`, or `plane_minimum` with normals). It costs the same for any number
    of rounds. Differentiable twice, and in forward mode. The loop's length depends on the points,
    so it does not run in `torch.func.vmap` or `torch.compile`: use leading dimensions instead.

    Args:
        source: (..., N, 3).
        target: (..., M, 3), with the same leading dimensions.
        start: rotation (..., 3, 3); the identity if None.
        reach: matches farther apart are not used.
        normals: (..., M, 3) unit normals of the target, for point to plane; None is point to point.
        rounds: poses solved for, at most.
        mask: (..., N) bool; False removes a source point (padding).
        target_mask: (..., M) bool; False removes a target point (padding).

    Returns:
        `Pose`, rotation (..., 3, 3). With fewer than three matches in reach it is where they were
        lost, without gradient. NaN without gradient if a cloud has NaN or inf.

    >>> target = torch.rand(2, 100, 3, generator=torch.Generator().manual_seed(0))
    >>> icp_layer(target + 0.01, target).translation.round(decimals=4)
    tensor([[-0.0100, -0.0100, -0.0100],
            [-0.0100, -0.0100, -0.0100]])
    """
    check_tensor("source", source, "N", 3)
    check_tensor("target", target, "M", 3)
    batch = source.shape[:-2]
    if target.shape[:-2] != batch:
        raise ValueError(
            f"target must have the leading dimensions of source, {tuple(batch)}, "
            f"got shape {tuple(target.shape)}"
        )
    if normals is not None:
        check_tensor("normals", normals, *target.shape[-2:])
    dtype = working_dtype(source, target)
    if start is None:
        start = Pose.identity(*batch, dtype=dtype, device=source.device)
    # In one batch dimension, as the loop has it, and of a size whose squares are numbers.
    kept_source, kept_target = (
        torch.ones_like(x[..., 0], dtype=torch.bool) if kept is None else kept.expand(x.shape[:-1])
        for x, kept in ((source, mask), (target, target_mask))
    )
    kept_source, kept_target = (x.reshape(-1, x.shape[-1]) for x in (kept_source, kept_target))
    source, target = (
        torch.where(kept.unsqueeze(-1), x.to(dtype).reshape(-1, *x.shape[-2:]), 0)
        for x, kept in ((source, kept_source), (target, kept_target))
    )
    size = torch.maximum(*(x.detach().abs().amax((-1, -2)) for x in (source, target)))
    unit, unsound = unit_of(size)
    source, target = (
        torch.where(unsound[:, None, None], 0, unit[:, None, None] * x) for x in (source, target)
    )
    reaches = (reach * unit).square().unsqueeze(-1)
    planes = None if normals is None else normals.to(dtype).expand(*batch, -1, 3)
    planes = None if planes is None else planes.reshape(target.shape)
    start = Pose(start.rotation.reshape(-1, 3, 3), start.translation.reshape(-1, 3)).to(dtype)
    start = Pose(start.rotation, unit.unsqueeze(-1) * start.translation).detach()

    def matches(moved: Tensor, rows: Tensor, target: Tensor) -> Matches:
        some = target[rows]
        near = nearest(moved, some.detach(), mask=kept_target[rows])
        index = near.index.unsqueeze(-1).expand(-1, -1, 3)
        along = None if planes is None else planes[rows].gather(-2, index)
        kept = (near.squared_distance <= reaches[rows]) & kept_source[rows]
        kept &= kept_target[rows].any(-1, keepdim=True)
        return Matches(some.gather(-2, index), near.squared_distance, kept, along)

    def matcher(moved: Tensor, rows: Tensor) -> Matches:
        return matches(moved, rows, target.detach())

    with torch.no_grad():
        found = descend(source.detach(), start, matcher, rounds=rounds, tolerance=1e-7)
    every = torch.arange(len(source), device=source.device)
    last = matches(found.pose.apply(source.detach()), every, target)
    if last.normals is None:
        pose = kabsch(source, last.points, mask=last.weight)
    else:
        pose = plane_minimum(source, last.points, last.normals, found.pose, mask=last.weight)
    rotation, translation = (
        torch.where(_like(unsound, new), torch.nan, torch.where(_like(found.empty, new), old, new))
        for old, new in zip(found.pose, pose, strict=True)
    )
    translation = translation / unit.unsqueeze(-1)
    return Pose(rotation.reshape(*batch, 3, 3), translation.reshape(*batch, 3))


def _like(condition: Tensor, values: Tensor) -> Tensor:
    """A condition for each cloud, to be broadcast with the clouds' values."""
    return condition.reshape(-1, *[1] * (values.ndim - 1))


def _point_step(points: Tensor, found: Matches) -> Pose:
    points = points.expand_as(found.points)
    if found.weight.dtype == torch.bool:
        return kabsch(points, found.points, mask=found.weight)
    return kabsch(points, found.points, found.weight)


def plane_step(moved: Tensor, found: Matches, pose: Pose, *, damping: float = 1e-9) -> Pose:
    """One Gauss-Newton step on the distances of moved points to their matches' planes.

    With x a moved point and m their weighted mean, a small turn a about m and a shift b change the
    distance n . (x - q) by ((x - m) cross n) . a + n . b, so each match gives one row of a 6x6
    system. Turns are in units of the points' spread, so that all six unknowns are lengths. Motions
    that the planes leave undetermined, such as sliding along a single one, are zero. A pose with
    fewer than three matches stays where it is.

    Args:
        moved: (R, N, 3) source points under `pose`.
        found: their matches, with normals.
        pose: rotation (R, 3, 3), the poses so far.
        damping: added to the system's diagonal, relative to the total weight. Larger values
            suppress motions that the planes determine badly.

    Returns:
        The new poses.

    >>> wall = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]])
    >>> up = torch.tensor([0.0, 0, 1]).expand_as(wall)
    >>> found = Matches(wall, torch.full((1, 4), 0.75), torch.ones(1, 4), up)
    >>> plane_step(wall + 0.5, found, Pose.identity(1)).translation.round(decimals=4)
    tensor([[ 0.0000,  0.0000, -0.5000]])
    """
    assert found.normals is not None
    normals, weight = found.normals, found.weight.to(moved.dtype)
    if moved.is_cuda and damping >= 1e-6 and kernels.usable(moved, normals, weight, None):
        from spoonful.geometry.kernels import plane_step_triton as kernel

        facts = (moved, found.points, normals, weight, *pose)
        return Pose(*kernel.plane_step(*facts, damping, FEWEST))
    used = (weight > 0).sum(-1, keepdim=True)
    total = weight.sum(-1, keepdim=True).clamp_min(1e-6)
    middle = (weight.unsqueeze(-2) @ moved).squeeze(-2) / total
    arm = moved - middle.unsqueeze(-2)
    gaps = dot3(found.points - moved, normals).unsqueeze(-1)
    rows = torch.cat([torch.linalg.cross(arm, normals), normals, gaps, arm], -1)
    # float32 cannot hold less damping than this; it is enough for strongly damped steps.
    rows = rows.double() if damping < 1e-6 else rows
    sums = (rows * weight.unsqueeze(-1)).mT @ rows
    # All that is needed from here on, in one tensor: copying it once takes less time.
    parts = (sums.flatten(1), used, total, middle, pose.rotation.flatten(1), pose.translation)
    packed = torch.cat(parts, 1)
    packed = packed.cpu() if len(packed) <= _FEW_POSES else packed
    sums, used, total, middle, rotation, translation = packed.split([100, 1, 1, 3, 9, 3], 1)
    sums, rotation = sums.unflatten(1, (10, 10)), rotation.unflatten(1, (3, 3))
    size = (sums[:, 7:, 7:].diagonal(0, 1, 2).sum(-1, keepdim=True) / total).sqrt()
    # Without matches the size is zero, and dividing by it would make the system singular.
    size = size.where(size > 0, 1.0)
    units = torch.cat([1 / size.expand(-1, 3), torch.ones_like(middle)], 1).unsqueeze(-1)
    eye = torch.eye(6, dtype=sums.dtype, device=sums.device)
    system = units * sums[:, :6, :6] * units.mT + damping * total.unsqueeze(-1) * eye
    step = torch.linalg.solve(system, units * sums[:, :6, 6:7])
    vector, shift = (units * step).squeeze(-1).split(3, -1)
    # Linearised steps beyond half a radian are wrong anyway.
    turn = rotation_from_vector(vector.clamp(-0.5, 0.5))
    new = gram_schmidt(matmul3(turn, rotation))
    shift = matvec3(turn, translation - middle) + middle + shift
    held = used >= FEWEST
    new, shift = new.where(held.unsqueeze(-1), rotation), shift.where(held, translation)
    return Pose.from_matrix(torch.cat([new, shift.unsqueeze(-1)], -1).to(moved))


def tukey(distance: Tensor, reach: float) -> Tensor:
    """Tukey's biweight (1 - (distance / reach)^2)^2, zero beyond `reach`.

    >>> tukey(torch.tensor([0.0, 0.5, 2.0]), 1.0)
    tensor([1.0000, 0.5625, 0.0000])
    """
    return (1 - (distance / reach).square()).clamp_min(0).square()
