"""Open3D in the helper: ICP and fast global registration."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

o3d: Any = None


def load() -> None:
    """Import the library."""
    global o3d
    o3d = importlib.import_module("open3d")
    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)


def icp(
    source: Any,
    target: Any,
    source_normals: Any,
    target_normals: Any,
    start: Any,
    *,
    metric: str,
    iterations: int,
    tolerance: float,
    max_distance: float,
) -> tuple[Any, Any, str]:
    """See `spoonful.classical.open3d_icp`."""
    library = o3d.pipelines.registration
    moving, fixed = _cloud(source, None), _cloud(target, target_normals)
    if metric == "plane":
        if target_normals is None:
            _estimate_normals(fixed, 30)
        how = library.TransformationEstimationPointToPlane()
    else:
        how = library.TransformationEstimationPointToPoint()
    found = library.registration_icp(
        moving,
        fixed,
        max_distance,
        start,
        how,
        library.ICPConvergenceCriteria(tolerance, tolerance, iterations),
    )
    place = np.full(len(source), -1, dtype=np.int64)
    pairs = np.asarray(found.correspondence_set)
    if len(pairs):
        place[pairs[:, 0]] = pairs[:, 1]
    status = "ok" if len(pairs) >= 3 else "no-overlap"
    return np.array(found.transformation), place, status


def fgr(
    source: Any,
    target: Any,
    source_normals: Any,
    target_normals: Any,
    start: Any,
    *,
    feature_radius: float,
    neighbors: int,
    max_distance: float,
    estimate: bool,
    normal_neighbors: int,
    division_factor: float,
    absolute_scale: bool,
    narrow: bool,
    iterations: int,
    tuple_scale: float,
    tuples: int,
    seed: int,
) -> tuple[Any, Any, str]:
    """See `spoonful.classical.fgr`."""
    library = o3d.pipelines.registration
    o3d.utility.random.seed(seed)
    # Both clouds or none: features by given normals do not match those by estimated ones.
    estimate = estimate or source_normals is None or target_normals is None
    clouds = _cloud(source, source_normals), _cloud(target, target_normals)
    around = o3d.geometry.KDTreeSearchParamHybrid(radius=feature_radius, max_nn=neighbors)
    features = []
    for cloud in clouds:
        if estimate:
            _estimate_normals(cloud, normal_neighbors)
        features.append(library.compute_fpfh_feature(cloud, around))
    option = library.FastGlobalRegistrationOption(
        division_factor=division_factor,
        use_absolute_scale=absolute_scale,
        decrease_mu=narrow,
        maximum_correspondence_distance=max_distance,
        iteration_number=iterations,
        tuple_scale=tuple_scale,
        maximum_tuple_count=max(tuples, 1),
        tuple_test=tuples > 0,
    )
    found = library.registration_fgr_based_on_feature_matching(*clouds, *features, option)
    matrix = np.array(found.transformation)
    # Open3D answers with no motion where it finds too few matches.
    return matrix, None, "no-overlap" if np.array_equal(matrix, np.eye(4)) else "ok"


def _cloud(points: Any, normals: Any) -> Any:
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    if normals is not None:
        cloud.normals = o3d.utility.Vector3dVector(normals)
    return cloud


def _estimate_normals(cloud: Any, neighbors: int) -> None:
    """Normals that point away from the centroid: which way they point is part of a feature."""
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(neighbors))
    points, normals = np.asarray(cloud.points), np.asarray(cloud.normals)
    inward = ((points - points.mean(0)) * normals).sum(1) < 0
    cloud.normals = o3d.utility.Vector3dVector(np.where(inward[:, None], -normals, normals))
