"""Pairs of scans with a known pose.

A pair is two clouds of the same number of points, each a voxel average of its scan. One common
scale brings them into the unit ball. The true pose is in that frame, the overlap at that pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from spoonful.data.sampling import VoxelAverage, voxel_average, voxel_average_to
from spoonful.frame import Frame
from spoonful.geometry import Pose
from spoonful.neighbors import Index

# 3DMatch's fragments are compared at 25 mm; a point has a partner within one and a half voxels.
VOXELS_OF_RADIUS = 1.5


@dataclass(frozen=True, eq=False)
class ScanPair:
    """Two scans in the unit ball and the true pose between them.

    Attributes:
        name: where the pair comes from, "7-scenes-redkitchen/0-1".
        source: (P, 3) float32, in the unit ball.
        target: (P, 3) float32, in the unit ball.
        pose: the true pose, source to target, in the unit ball's frame; rotation (3, 3).
        overlap: the share of either scan that the other has too (see `overlap`), 0 to 1.
        frame: the way back to the scans' own units: `frame.pose_out(pose)`.
    """

    name: str
    source: Tensor
    target: Tensor
    pose: Pose
    overlap: float
    frame: Frame


class PairMaker:
    """Makes pairs of scans that occur in several pairs, averaging each scan once.

    Args:
        read: gives the points of a scan, (N, 3), from its name.
        points: how many each scan is averaged down to.
        radius: the distance within which a point has a partner, for the overlap.

    >>> wall = torch.rand(3000, 3, generator=torch.Generator().manual_seed(0))
    >>> scans = {"a": wall, "b": wall + torch.tensor([10.0, 0, 0])}
    >>> moved = Pose(torch.eye(3), torch.tensor([10.0, 0, 0]))
    >>> maker = PairMaker(scans.__getitem__, points=512, radius=0.1)
    >>> pair = maker.make("a", "b", moved, name="wall")
    >>> pair.source.shape, pair.overlap
    (torch.Size([512, 3]), 1.0)
    >>> pair.frame.pose_out(pair.pose).translation.round(decimals=3)
    tensor([10.,  0.,  0.], dtype=torch.float64)
    """

    def __init__(self, read: Callable[[str], Tensor], *, points: int = 1024, radius: float) -> None:
        if not 0 < radius < torch.inf:
            raise ValueError(f"radius must be positive and finite, got {radius}")
        self._read = lru_cache(maxsize=64)(read)
        self._small = lru_cache(maxsize=None)(self._averaged)
        self._thin = lru_cache(maxsize=256)(self._thinned)
        self._points = points
        self._radius = radius

    def make(
        self, source: str, target: str, pose: Pose, *, name: str, share: float | None = None
    ) -> ScanPair:
        """The pair of two scans, given by name, with the pose from the first to the second.

        The `share` is their overlap, which is computed if it is None.
        """
        pose = pose.to(torch.float64)
        if share is None:
            share = overlap(self._thin(source), self._thin(target), pose, self._radius)
        first, second = (self._small(scan).points.to(torch.float32) for scan in (source, target))
        frame = Frame.of(first, second)
        if not bool((frame.scale > 0) & frame.scale.isfinite()):
            raise ValueError(f"{name}: all points of the scans are in one place, or not finite")
        # Slightly above the radius, so that rounding to float32 leaves no point outside the ball.
        frame = frame._replace(scale=frame.scale * (1 + 4 * torch.finfo(torch.float32).eps))
        inside = frame.source_in(first), frame.target_in(second)
        return ScanPair(name, *inside, frame.pose_in(pose).to(torch.float32), share, frame)

    def _averaged(self, scan: str) -> VoxelAverage:
        # If no grid leaves exactly as many points, a fixed random subset is drawn.
        return voxel_average_to(
            self._read(scan), self._points, generator=torch.Generator().manual_seed(0)
        )

    def _thinned(self, scan: str) -> Tensor:
        return voxel_average(self._read(scan), self._radius / VOXELS_OF_RADIUS).points


def overlap(source: Tensor, target: Tensor, pose: Pose, radius: float) -> float:
    """The overlap of two scans at a pose: the smaller of two shares.

    The share of a scan is that of its points which, at the pose, have a point of the other scan
    within `radius`. The smaller of the two is taken: a small scan that lies wholly within a
    large one shares all of itself but little of the other. Scans are best averaged on a grid
    first (`PairMaker` does, with voxels of two thirds of the radius), or dense places count more
    than sparse ones.

    Args:
        source: (N, 3), in its own units.
        target: (M, 3).
        pose: from the source's frame to the target's.
        radius: in these units; 3DMatch's is 0.0375 m.

    >>> plane = torch.rand(4000, 3, generator=torch.Generator().manual_seed(0))
    >>> plane = plane * torch.tensor([1.0, 1, 0])
    >>> half = Pose(torch.eye(3), torch.tensor([0.5, 0, 0]))
    >>> round(overlap(plane, plane, half, radius=0.03), 1)
    0.5
    """
    moved, still = pose.to(torch.float64).apply(source.double()), target.double()
    found = (
        Index(points).nearest(query, reach=radius).squared_distance.isfinite()
        for query, points in ((moved, still), (still, moved))
    )
    return min(float(near.double().mean()) for near in found)
