"""`register`: two scans of unknown scale, density and overlap, aligned."""

from __future__ import annotations

import time

import torch

from spoonful.classical.consensus import consensus
from spoonful.classical.fpfh import fpfh
from spoonful.data.normals import estimate_normals
from spoonful.data.sampling import voxel_average
from spoonful.extras import require
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import Alignment, Candidate, Matches, check_pose
from spoonful.pipeline.inputs import as_cloud

METHODS = ("auto", "consensus", "icp", "fgr", "rpmnet", "dcp-v2", "small_gicp", "kiss-matcher")


def register(
    source: object,
    target: object,
    *,
    method: str = "auto",
    init: Pose | None = None,
    voxel: float | None = None,
    seed: int = 0,
    source_normals: object = None,
    target_normals: object = None,
) -> Alignment:
    """The pose that maps `source` onto `target`, and how far it can be trusted.

    Args:
        source: the cloud to move: anything `as_cloud` takes.
        target: the cloud to move it onto, likewise.
        method: one of `METHODS`.
        init: about where the source belongs; None searches everywhere.
        voxel: edge of the grid the search works on, in the clouds' unit; None chooses it.
        seed: of every random choice.
        source_normals: (N, 3) where the source does not carry its own.
        target_normals: (M, 3), likewise.
    """
    start = time.perf_counter()
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    one = as_cloud(source, name="source", normals=source_normals)
    two = as_cloud(target, name="target", normals=target_normals)
    first = Pose.identity(dtype=torch.float64) if init is None else check_pose(init, "init")
    if voxel is None:
        sizes = [torch.linalg.vector_norm(c.points.amax(0) - c.points.amin(0)) for c in (one, two)]
        voxel = float(max(sizes)) / 60
    grids = []
    for cloud in (one, two):
        normals = cloud.normals
        normals = estimate_normals(cloud.points) if normals is None else normals
        grids.append(voxel_average(cloud.points, voxel, normals))
    features = [
        torch.cat([fpfh(g.points, g.normals, r * voxel) for r in (5, 10)], 1)  # type: ignore[arg-type]
        for g in grids
    ]
    distance = torch.cdist(*features)
    there, back = distance.argmin(1), distance.argmin(0)
    mutual = back[there] == torch.arange(len(there))
    p, q = grids[0].points[mutual], grids[1].points[there[mutual]]
    found = consensus(p, q, 1.5 * voxel)
    best = Pose(found.pose.rotation[0], found.pose.translation[0])
    spatial = require("scipy.spatial", extra="scan", why="Registering scans")
    tree = spatial.cKDTree(grids[1].points.numpy())
    pose = best
    from spoonful.geometry import kabsch

    for _ in range(20):
        gap, near = tree.query(pose.apply(grids[0].points).numpy())
        keep = torch.from_numpy(gap) < 1.5 * voxel
        pose = kabsch(grids[0].points, grids[1].points[torch.from_numpy(near)], mask=keep)
    gap = torch.from_numpy(tree.query(pose.apply(grids[0].points).numpy())[0])
    inlier = gap < 1.5 * voxel
    ratio = float(inlier.double().mean())
    seconds = time.perf_counter() - start
    return Alignment(
        pose=pose,
        method="consensus",
        reason="The only method there is so far.",
        candidates=(Candidate("consensus", ratio, seconds, pose),),
        poses={"start": first, "global": best, "refined": pose, "final": pose},
        inlier_ratio=ratio,
        rmse=float(gap[inlier].square().mean().sqrt()) if bool(inlier.any()) else 0.0,
        radius=1.5 * voxel,
        overlap=ratio,
        confidence=ratio,
        warnings=(),
        seconds=seconds,
        units_hint="",
        matches=Matches(p, q, torch.ones(len(p), dtype=torch.float64)),
        source=one,
        target=two,
        voxel=voxel,
    )
