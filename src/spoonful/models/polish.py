"""The last step of a registration: a few rounds of ICP with all points.

A network sees about a thousand points, and its pose is good to a degree or so. ICP improves it,
first on samples of the clouds, then on all points.

Each target point is matched once, with the nearest of the source points that chose it. Where the
source has a part that the target lacks, many of its points choose one point at the target's edge,
and together they would pull the pose away. But such matches lead to the pose from nearby only. So
ICP runs from the network's pose, and from where ICP with all nearest points ends, and the better
pose is taken.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.frame import Frame
from spoonful.geometry import Pose
from spoonful.icp import Matches, descend, tukey
from spoonful.neighbors import Index

# Samples of the first rounds: large enough for a good pose.
_SOURCE_SAMPLE = 4096
_TARGET_SAMPLE = 16384
# Matches farther than this many median distances are taken for outliers,
_REACH = 2.0
# and if all nearest points are matched, those farther than this many.
_FAR_REACH = 3.0
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
    """Improve a pose by ICP, on samples of the clouds and then on all points.

    Args:
        source: (N, 3).
        target: (M, 3).
        pose: rotation (3, 3), about right.
        iterations: rounds with samples of the clouds, at most, each way; 0 returns `pose`.
        generator: chooses the samples.

    Returns:
        Of `pose` and what ICP makes of it, the pose that the most points of the samples support.

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
    wide = _icp(some_source, index, start, iterations, once=False)
    ends = [_icp(some_source, index, one, iterations) for one in (start, wide)]
    best = _most_supported(some_source, index, [start, *ends])
    if len(some_source) < len(source) or len(some_target) < len(target):
        full = _icp(source, Index(target), best, _FULL_ROUNDS)
        best = _most_supported(some_source, index, [best, full])
    return pose if best is start else frame.pose_out(best).to(pose.rotation.dtype)


def _icp(source: Tensor, index: Index, start: Pose, rounds: int, *, once: bool = True) -> Pose:
    """ICP from a pose.

    Args:
        source: (N, 3).
        index: of the target.
        start: rotation (3, 3).
        rounds: at most.
        once: whether a target point is matched once only.
    """

    def matcher(moved: Tensor, rows: Tensor) -> Matches:
        near = index.nearest(moved)
        squared = near.squared_distance
        if once:
            weight = _weights(near.index[0], squared[0], _reach(squared)).unsqueeze(0)
        else:
            weight = squared <= _FAR_REACH**2 * squared.median()
        return Matches(index.points[near.index], squared, weight)

    poses = Pose(*(part.unsqueeze(0) for part in start))
    return descend(source, poses, matcher, rounds=rounds, tolerance=_TOLERANCE).pose.at(0)


def _weights(index: Tensor, squared: Tensor, reach: float) -> Tensor:
    """(N,) weights of matches by distance; zero if another has the same target and is nearer."""
    least = squared.new_full((int(index.max()) + 1,), torch.inf)
    least.scatter_reduce_(0, index, squared, "amin")
    return tukey(squared.sqrt(), reach) * (squared <= least[index])


def _reach(squared: Tensor) -> float:
    """The greatest distance of a match, from all squared distances; never zero."""
    return max(_REACH * float(squared.median().sqrt()), _TOLERANCE)


def _most_supported(source: Tensor, index: Index, poses: list[Pose]) -> Pose:
    """The pose with the greatest sum of weights, all with the same reach; the first of equals."""
    found = [index.nearest(pose.apply(source)) for pose in poses]
    reach = min(_reach(near.squared_distance) for near in found)
    sums = [float(_weights(near.index, near.squared_distance, reach).sum()) for near in found]
    return poses[sums.index(max(sums))]


def _sample(points: Tensor, most: int, generator: torch.Generator | None) -> Tensor:
    if len(points) <= most:
        return points
    chosen = torch.randperm(len(points), generator=generator)[:most]
    return points[chosen.to(points.device)]
