"""small_gicp in the helper."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

small_gicp: Any = None


def load() -> None:
    """Import the library."""
    global small_gicp
    small_gicp = importlib.import_module("small_gicp")


def align(
    source: Any,
    target: Any,
    start: Any,
    *,
    kind: str,
    voxel: float | None,
    neighbors: int,
    max_distance: float,
    iterations: int,
    turn_tolerance: float,
    shift_tolerance: float,
) -> tuple[Any, str]:
    """See `spoonful.classical.small_gicp`."""
    clouds = []
    for points in (target, source):
        cloud = small_gicp.PointCloud(points)
        if voxel is not None:
            cloud = small_gicp.voxelgrid_sampling(cloud, voxel)
        tree = small_gicp.KdTree(cloud)
        small_gicp.estimate_normals_covariances(cloud, tree, min(neighbors, cloud.size()))
        clouds.append((cloud, tree))
    (fixed, tree), (moving, _) = clouds
    found = small_gicp.align(
        fixed,
        moving,
        tree,
        init_T_target_source=start,
        registration_type=kind,
        max_correspondence_distance=max_distance,
        max_iterations=iterations,
        rotation_epsilon=math.radians(turn_tolerance),
        translation_epsilon=shift_tolerance,
    )
    if found.num_inliers < 3:
        return None, "no-overlap"
    return np.array(found.T_target_source), "ok" if found.converged else "no-convergence"
