"""The last step of a registration: a few rounds of ICP with all points.

A network sees about a thousand points, and its pose is good to a degree or so. ICP improves it,
first on samples of the clouds, then on all points.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.frame import Frame
from spoonful.geometry import Pose
from spoonful.icp import Matches, descend
from spoonful.neighbors import Index

# Samples of the first rounds: large enough for a good pose.
_SOURCE_SAMPLE = 4096
_TARGET_SAMPLE = 16384
# Matches farther than this many median distances are taken for outliers.
_REACH = 3.0
# Rounds with all points, each started from a pose that is already close.
_FULL_ROUNDS = 3
# ICP ends when distances, in radii of the larger cloud, change by less.
_TOLERANCE = 1e-7


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
    frame = Frame.of(source, target)
    if not frame.scale > 0:
        return pose
    source, target = frame.source_in(source), frame.target_in(target)
    some_source = _sample(source, _SOURCE_SAMPLE, generator)
    some_target = _sample(target, _TARGET_SAMPLE, generator)
    index = Index(some_target)
    start = frame.pose_in(pose).to(source.dtype)
    better = _icp(some_source, index, start, math.inf, iterations)
    before, after = (_median_distance(some_source, index, found) for found in (start, better))
    if len(some_source) < len(source) or len(some_target) < len(target):
        better = _icp(source, Index(target), better, _REACH * after, _FULL_ROUNDS)
        after = _median_distance(some_source, index, better)
    return frame.pose_out(better).to(pose.rotation.dtype) if after <= before else pose


def _icp(source: Tensor, index: Index, pose: Pose, reach: float, rounds: int) -> Pose:
    """ICP with matches within `reach`, or within three median distances if it is infinite."""

    def matcher(moved: Tensor, rows: Tensor) -> Matches:
        near = index.nearest(moved, reach=reach)
        squared = near.squared_distance
        keep = squared < torch.inf
        if math.isinf(reach):
            keep = squared <= _REACH**2 * squared.median()
        return Matches(index.points[near.index], squared, keep)

    start = Pose(*(part.unsqueeze(0) for part in pose))
    return descend(source, start, matcher, rounds=rounds, tolerance=_TOLERANCE).pose.at(0)


def _median_distance(source: Tensor, index: Index, pose: Pose) -> float:
    return float(index.nearest(pose.apply(source)).squared_distance.median().sqrt())


def _sample(points: Tensor, most: int, generator: torch.Generator | None) -> Tensor:
    if len(points) <= most:
        return points
    chosen = torch.randperm(len(points), generator=generator)[:most]
    return points[chosen.to(points.device)]
