"""`register`: two scans of unknown scale, density and overlap, aligned."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import Alignment, Candidate, Matches, check_pose
from spoonful.pipeline.doubt import confidence_of, freedom_of, signs_of
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.polish import polish, some_of
from spoonful.pipeline.prepare import Pair, prepare, tree_of
from spoonful.pipeline.search import TOLERANCE, Judged, Search, propose

METHODS = ("auto", "consensus", "icp", "fgr", "rpmnet", "dcp-v2", "small_gicp", "kiss-matcher")
# Points by which the result is measured.
_MEASURE_POINTS = 20_000
_MATCHES_SHOWN = 400


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
    pair = prepare(one, two, voxel, seed)
    search = Search(pair)
    judged = search.judge(propose(search))
    begun = time.perf_counter() - start
    best = Pose(judged.pose.rotation[0], judged.pose.translation[0])
    generator = torch.Generator().manual_seed(seed)
    refined, final = polish(pair, one.points, two.points, best, generator=generator)
    signs = signs_of(search, judged)
    pose = pair.outside(final)
    measured = measure(pair, one, two, pose, generator)
    share = min(1.0, signs.share)
    return Alignment(
        pose=pose,
        method=judged.name[0],
        reason="",
        candidates=tuple(
            Candidate(judged.name[k], float(judged.score[k]), begun, _at(pair, judged, k))
            for k in range(min(5, len(judged.name)))
        ),
        poses={
            "start": first,
            "global": pair.outside(best),
            "refined": pair.outside(refined),
            "final": pose,
        },
        inlier_ratio=measured.inlier_ratio,
        rmse=measured.rmse,
        radius=pair.voxel,
        overlap=share,
        confidence=confidence_of(signs),
        warnings=(),
        seconds=time.perf_counter() - start,
        units_hint="",
        matches=_matches(pair, search, final, int(judged.side[0])),
        source=one,
        target=two,
        voxel=pair.voxel,
    )


@dataclass(frozen=True)
class _Measured:
    inlier_ratio: float
    rmse: float


def measure(
    pair: Pair, source: Cloud, target: Cloud, pose: Pose, generator: torch.Generator
) -> _Measured:
    """Distances of source points to the target's points under `pose`."""
    some = some_of(source.points, _MEASURE_POINTS, generator)
    onto = some_of(target.points, 10 * _MEASURE_POINTS, generator)
    distance, _ = tree_of(onto).query(pose.apply(some).numpy(), distance_upper_bound=pair.voxel)
    near = torch.from_numpy(distance)
    near = near[near < pair.voxel]
    rmse = float(near.square().mean().sqrt()) if len(near) else float("nan")
    return _Measured(len(near) / len(some), rmse)


def _at(pair: Pair, judged: Judged, k: int) -> Pose:
    return pair.outside(Pose(judged.pose.rotation[k], judged.pose.translation[k]))


def _matches(pair: Pair, search: Search, pose: Pose, side: int) -> Matches:
    """The matches that agree with the pose, the best of them, in the clouds' own units."""
    found = next(e for e in search.evidence if e.side == side)
    p, q = found.source.double(), found.target.double()
    weight = (1 - (pose.apply(p) - q).square().sum(-1) / TOLERANCE**2).clamp_min(0)
    best = weight.argsort(descending=True)[:_MATCHES_SHOWN]
    best = best[weight[best] > 0]
    return Matches(
        _outside(p[best], pair.voxel, pair.source.centre),
        _outside(q[best], pair.voxel, pair.target.centre),
        weight[best],
    )


def _outside(points: Tensor, voxel: float, centre: Tensor) -> Tensor:
    return points * voxel + centre
