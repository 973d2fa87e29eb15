"""The last step of a registration: a few rounds of ICP with all the points there are.

A network sees about a thousand points. Its pose is good to a degree or so, and the rest of the
points know better. Rounds of "match each point to the nearest, keep the close ones, solve for
the pose" run first on samples, then on the full clouds, where only points within reach of each
other are compared: time and memory grow with the size of the clouds, not with its square.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry import Pose, kabsch, nearest

# Samples of the first rounds: large enough for a good pose, small enough to compare everything.
_SOURCE_SAMPLE = 4096
_TARGET_SAMPLE = 16384
# Matches farther than this many median distances are taken for outliers.
_REACH = 3.0
# Rounds with all points, each started from a pose that is already close.
_FULL_ROUNDS = 3
# Queries searched together among the points near them.
_CHUNK = 1024


def polish(
    source: Tensor,
    target: Tensor,
    pose: Pose,
    *,
    iterations: int = 20,
    generator: torch.Generator | None = None,
) -> Pose:
    """Improve a pose by matching each source point to the nearest target point.

    Args:
        source: (N, 3).
        target: (M, 3).
        pose: rotation (3, 3), about right.
        iterations: rounds with samples of the clouds, at most; 0 returns `pose`.
        generator: chooses the samples.

    Returns:
        A pose whose median distance from source to target is not larger than that of `pose`,
        measured on the samples.

    >>> generator = torch.Generator().manual_seed(0)
    >>> cloud = torch.rand(500, 3, generator=generator)
    >>> better = polish(cloud, cloud + 0.01, Pose.identity())
    >>> bool((better.translation - 0.01).abs().max() < 1e-5)
    True
    """
    if iterations <= 0:
        return pose
    some_source = _sample(source, _SOURCE_SAMPLE, generator)
    some_target = _sample(target, _TARGET_SAMPLE, generator)
    before = _median_distance(some_source, some_target, pose)
    better = pose
    for _ in range(iterations):
        near = nearest(better.apply(some_source), some_target)
        distance = near.squared_distance.sqrt()
        close = distance <= _REACH * distance.median()
        last, better = better, kabsch(some_source, some_target[near.index], mask=close)
        if _moves_nothing(last, better, some_source):
            break
    if len(some_source) < len(source) or len(some_target) < len(target):
        reach = _REACH * _median_distance(some_source, some_target, better)
        for _ in range(_FULL_ROUNDS):
            index, found = nearest_within(better.apply(source), target, reach)
            if not bool(found.any()):
                break
            better = kabsch(source, target[index], mask=found)
    return better if _median_distance(some_source, some_target, better) <= before else pose


def nearest_within(query: Tensor, points: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """For each query point its nearest point, where that is no farther than `reach`.

    Queries are taken in chunks that lie close together, each compared only with the points of
    its bounding box widened by `reach`.

    Args:
        query: (N, 3).
        points: (M, 3).
        reach: a scalar.

    Returns:
        index (N,), and found (N,) bool; where nothing is within reach, the index means nothing.
    """
    index = torch.zeros(len(query), dtype=torch.int64, device=query.device)
    found = torch.zeros(len(query), dtype=torch.bool, device=query.device)
    for chunk in _along_a_curve(query).split(_CHUNK):
        part = query[chunk]
        low, high = part.amin(0) - reach, part.amax(0) + reach
        candidates = ((points >= low) & (points <= high)).all(-1).nonzero().squeeze(-1)
        if len(candidates) == 0:
            continue
        near = nearest(part, points[candidates])
        index[chunk] = candidates[near.index]
        found[chunk] = near.squared_distance <= reach.square()
    return index, found


def _along_a_curve(points: Tensor) -> Tensor:
    """Positions of points along a Z-order curve: neighbours on it are neighbours in space."""
    low, high = points.amin(0), points.amax(0)
    size = (high - low).amax().clamp_min(torch.finfo(points.dtype).tiny)
    cell = ((points - low) / size * 1023).long()
    code = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code.argsort()


def _median_distance(source: Tensor, target: Tensor, pose: Pose) -> Tensor:
    return nearest(pose.apply(source), target).squared_distance.median().sqrt()


def _moves_nothing(last: Pose, new: Pose, source: Tensor) -> bool:
    """Whether the step is lost in rounding at the size of the cloud."""
    moved = (new.apply(source) - last.apply(source)).norm(dim=-1).amax()
    return bool(moved <= 1e-6 * (source.amax(0) - source.amin(0)).norm())


def _sample(points: Tensor, most: int, generator: torch.Generator | None) -> Tensor:
    if len(points) <= most:
        return points
    chosen = torch.randperm(len(points), generator=generator)[:most]
    return points[chosen.to(points.device)]
