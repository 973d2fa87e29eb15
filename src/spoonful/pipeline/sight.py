"""Free space, ray by ray: how much of a scan lies where the other sensor looked through.

The depth map of `View` judges hundreds of poses, and is coarse. A few poses that fit about as well
are told apart here: each point of a scan is compared with the rays next to it. After a slide by one
door, the frames of the doors stand where a sensor saw the wall behind them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from spoonful.geometry import Pose
from spoonful.neighbors import Index

# The number of rays that a point is compared with, how many of them must be near, and how near, as
# a multiple of the usual distance between rays.
_RAYS, _FEWEST, _NEAR = 5, 3, 3.0
# A point is in free space if it is nearer to the sensor than what all these rays hit, by a margin
# in voxels plus a share of its distance. It is hidden if it is farther away by the margin.
_VOXELS, _SHARE = 0.3, 0.01
# Points of a scan that are compared, and those that the usual distance is found by.
_POINTS, _SAMPLE = 2000, 500
# If sensors see less of the other scan than this, looking through it says little.
_LEAST = 0.02


class Rays:
    """The rays of a sensor, one to each point of its scan.

    Args:
        points: (N, 3) the points of the scan, in voxels.
        eye: (3,) the position of the sensor.
    """

    def __init__(self, points: Tensor, eye: Tensor) -> None:
        self.eye = eye
        self.points = points[:: max(1, len(points) // _POINTS)]
        line = points - eye
        self.length = line.norm(dim=-1)
        self.ways = Index(normalize(line, dim=-1))
        some = self.ways.points[:: max(1, len(points) // _SAMPLE)]
        beside = self.ways.k_nearest(some, 2).squared_distance[:, 1]
        self.reach = _NEAR * float(beside.median().sqrt())

    def compare(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """The shares (H,) of places (H, N, 3) in free space, and where the rays ended."""
        line = places - self.eye
        away = line.norm(dim=-1)
        beside = self.ways.k_nearest(normalize(line, dim=-1), _RAYS, reach=self.reach)
        near, length = beside.squared_distance.isfinite(), self.length[beside.index]
        known = near.sum(-1) >= _FEWEST
        margin = _VOXELS + _SHARE * away
        before = known & (away < length.masked_fill(~near, torch.inf).amin(-1) - margin)
        behind = known & (away > length.masked_fill(~near, -torch.inf).amax(-1) + margin)
        on = known & ~before & ~behind
        return before.float().mean(-1), on.float().mean(-1)


def looked_through(source: Rays, target: Rays, pose: Pose) -> Tensor:
    """The share of what both sensors should see that they looked through, at poses (H, ...).

    It is of the points in free space and those where rays ended. Hidden points do not count.
    """
    there = target.compare(pose.apply(source.points))
    back = source.compare(pose.inverse().apply(target.points))
    before, on = (one + other for one, other in zip(there, back, strict=True))
    return before / (before + on).clamp_min(2 * _LEAST)
