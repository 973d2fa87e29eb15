"""Measure how far moved points lie from the surface that the target's points sample."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.neighbors import Index

# Points that are measured, and points that they are measured against.
_POINTS = 20_000
_AGAINST = 200_000
# Neighbours that a plane is fitted to.
_NEIGHBORS = 12


class SurfaceDistance(NamedTuple):
    """Distances of inliers to the target's surface, in the clouds' unit; NaN if there are none.

    The distance to the nearest point measures the spacing of the target's points as well. The
    distance to the plane through its neighbours does not.

    Attributes:
        rmse: root mean square.
        median: half of the inliers are nearer.
    """

    rmse: float
    median: float


def surface_distance(source: Tensor, target: Tensor, pose: Pose, radius: float) -> SurfaceDistance:
    """Point-to-plane distances of the source points that lie within `radius` of a target point.

    Args:
        source: (N, 3) float64.
        target: (M, 3) float64.
        pose: `target ~ R source + t`.
        radius: the inliers' distance.

    >>> plane = torch.cat([4 * torch.rand(4000, 2), torch.zeros(4000, 1)], 1).double()
    >>> above = plane[:500] + torch.tensor([0.0, 0, 0.01])
    >>> found = surface_distance(above, plane, Pose.identity(dtype=torch.float64), 0.1)
    >>> round(found.rmse, 6), round(found.median, 6)
    (0.01, 0.01)
    """
    centre = target.mean(0)
    onto = _some(target, _AGAINST) - centre
    moved = pose.apply(_some(source, _POINTS)) - centre
    count = min(_NEIGHBORS, len(onto))
    if count < 3:
        return SurfaceDistance(math.nan, math.nan)
    found = Index(onto).k_nearest(moved, count)
    near = found.squared_distance[:, 0] <= radius**2
    if not bool(near.any()):
        return SurfaceDistance(math.nan, math.nan)
    patches = onto[found.index[near]]
    middle = patches.mean(1, keepdim=True)
    spread = patches - middle
    # The plane's normal has the smallest eigenvalue of the neighbours' covariance.
    normals = torch.linalg.eigh(spread.mT @ spread).eigenvectors[..., 0]
    distance = ((moved[near] - middle.squeeze(1)) * normals).sum(-1).abs()
    return SurfaceDistance(float(distance.square().mean().sqrt()), float(distance.median()))


def _some(points: Tensor, most: int) -> Tensor:
    """At most `most` points, evenly subsampled."""
    if len(points) <= most:
        return points
    return points[torch.linspace(0, len(points) - 1, most, dtype=torch.float64).long()]
