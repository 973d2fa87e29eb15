"""`register`: align two scans with unknown pose, density and overlap.

prepare   put both clouds on one grid                             (prepare.py)
gather    propose poses from feature matches and other methods    (proposers.py)
judge     refine them, rank them by matches and by surfaces       (search.py)
compare   the best one with its rivals, on the fine grid          (lookalikes.py, rivals.py)
polish    point-to-plane ICP, finally on the clouds themselves    (polish.py)
rate      the motions that remain free, and the confidence        (freedom.py, confidence.py)
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose, Similarity
from spoonful.inputs import known_device, rigid_pose
from spoonful.neighbors import Index
from spoonful.pipeline.alignment import Alignment, Candidate, Matches
from spoonful.pipeline.confidence import (
    FitStatistics,
    confidence_of,
    notes_of,
    statistics_of,
    units_hint,
    warnings_of,
)
from spoonful.pipeline.freedom import Freedom, freedom_of, without_free
from spoonful.pipeline.gravity import UP, Narrowed, Upright, narrowed
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.lookalikes import with_lookalikes
from spoonful.pipeline.polish import polish, some_of
from spoonful.pipeline.prepare import Pair, prepare, size_of
from spoonful.pipeline.proposers import AUTO, LOCAL, PROPOSERS, from_start, gather
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.rivals import (
    best_relief_first,
    clear_first,
    most_exact_first,
    start_first,
)
from spoonful.pipeline.scale import register_scaled
from spoonful.pipeline.search import TOLERANCE, Judged, Proposal, Search

METHODS = ("auto", *PROPOSERS)
"""The values of `method` for `register` and the command."""

# Most points of the target for refining and measuring the result,
_TARGET_POINTS = 200_000
# and of the source for measuring it.
_MEASURE_POINTS = 20_000
_MATCHES_SHOWN = 400
# Half of the source's points this far away, over its size, are far from the initial pose.
_FAR = 0.3
_CANDIDATES_SHOWN = 8


def register(
    source: object,
    target: object,
    *,
    method: str = "auto",
    init: object = None,
    voxel: float | None = None,
    seed: int = 0,
    source_normals: object = None,
    target_normals: object = None,
    scale: str | None = None,
    up: str | None = None,
    device: str = "cpu",
) -> Alignment:
    """Find the pose that maps `source` onto `target`, with its confidence.

    Both must have the same unit, unless `scale` is "auto". Their density and overlap need not be
    known. Points are matched by features. Poses with many consistent matches are refined and scored
    by their surfaces. The best one is refined by point-to-plane ICP on all points.

    Args:
        source: the cloud to move: a path, an (N, 3) array or tensor, a cloud or mesh of Open3D,
            trimesh, PyVista or this package; see `as_cloud`.
        target: the cloud that stays fixed, of the same types.
        method: "auto", or one of `METHODS` to use only its poses.
        init: a rough pose of the source, a `Pose` or a 4x4 array. Of poses that fit about as well,
            one near it is taken. Local methods ("icp", "small_gicp") start from it. None is the
            identity.
        voxel: voxel size of the search, in the clouds' unit; None chooses it automatically.
        seed: random seed; the same seed gives the same result.
        source_normals: (N, 3), if the source has no normals. Normals are used if both clouds have
            them. They must then point to the same side of a surface in both.
        target_normals: (M, 3), if the target has no normals.
        scale: "auto" also estimates the scale of the source, `Alignment.scale`; `init` may then be
            a `Similarity`. None keeps the clouds' scales.
        up: the axis that points up in both clouds, such as "z" or "-y", or "auto" for the largest
            floor in each: poses that tilt the source are excluded. None allows all poses.
        device: "cpu", "cuda", or "auto" for CUDA if it is available. The result is the same up to
            rounding, and is on the CPU.

    Returns:
        `Alignment`: the pose with its confidence, measures, warnings and reason.

    Raises:
        ValueError: a cloud has fewer than three points, all points in one place, or the wrong
            shape; `init` is not a rigid motion; `voxel` is not positive; `method` is unknown;
            `device` is unknown or not available.
        TypeError: an argument has a type without points.

    >>> generator = torch.Generator().manual_seed(0)
    >>> x, y = 2 * torch.rand(2, 4000, generator=generator) - 1
    >>> height = 0.3 * torch.sin(4 * x + 1) * torch.cos(3 * y) + 0.2 * torch.sin(7 * y + 2 * x * x)
    >>> hills = torch.stack([x, y, height], 1)
    >>> scan, other = hills[x < 0.5], hills[x > -0.5]
    >>> found = register(scan + torch.tensor([1.0, 2, 3]), other)
    >>> found.pose.translation.round(decimals=1)
    tensor([-1., -2., -3.], dtype=torch.float64)
    >>> found.confident
    True
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if up is not None and up not in UP:
        raise ValueError(f"up must be one of {', '.join(UP)}, got {up!r}")
    if voxel is not None and not 0 < voxel < math.inf:
        raise ValueError(f"voxel must be positive and finite, got {voxel}")
    where = known_device(device, "device")
    clouds = (
        as_cloud(source, name="source", normals=source_normals, seed=seed),
        as_cloud(target, name="target", normals=target_normals, seed=seed),
    )
    sizes = _sizes(clouds)
    if scale is not None:
        if scale != "auto":
            raise ValueError(f"scale must be None or 'auto', got {scale!r}")
        near = init.rigid() if isinstance(init, Similarity) else init
        options: dict[str, Any] = {"init": near, "voxel": voxel, "seed": seed, "up": up}
        options["device"] = device
        first = 1.0 if init is not None else None
        first = float(init.scale) if isinstance(init, Similarity) else first
        rigid = partial(register, target=clouds[1], method=method, **options)
        scaled = register_scaled(*clouds, rigid, start=first, seed=seed)
        return replace(scaled, seconds=time.perf_counter() - began)
    matrix = init.matrix() if isinstance(init, Pose | Similarity) else init
    given = None if matrix is None else rigid_pose(matrix, "init")
    start = given or Pose.identity(dtype=torch.float64)

    with torch.no_grad():
        pair = prepare(*clouds, voxel, seed, where)
        search = Search(pair)
        searched = time.perf_counter() - began
        names = AUTO if method == "auto" else (method,)
        proposals, seconds = gather(search, names, given)
        if method == "auto" or not any(len(p.pose.rotation) for p in proposals):
            proposals += from_start(search, given)
        level = Narrowed(proposals)
        if up is not None:
            level = narrowed(search, proposals, up, names, given)
        found = ranked(search, level.proposals, given, level.upright, method not in LOCAL)
        judged, fit = found.judged, found.fit
        generator = torch.Generator().manual_seed(seed)
        points = pair.frame.source_in(clouds[0].points)
        others = some_of(clouds[1].points, _TARGET_POINTS, generator).to(where)
        onto = Index(pair.frame.target_in(others))
        refined, final, spread = polish(pair, points, onto, judged.pose.at(0), generator=generator)
        pose = pair.frame.pose_out(final)
        some = some_of(points, _MEASURE_POINTS, generator).to(where)
        inliers, rmse = _measure(some, onto, final)
        placed = pair.frame.pose_out(judged.pose)
        warnings = [*warnings_of(pair, fit, found.freedom, sizes), *level.warnings]
        if given is not None:
            warnings += _far_from(given, pose, clouds[0].points)

    return Alignment(
        pose=pose,
        method=judged.name[0],
        reason=_reason(search, fit),
        candidates=tuple(
            Candidate(
                judged.name[k],
                score,
                seconds.get(judged.name[k], 0.0) + searched,
                placed.at(k),
            )
            for k, score in enumerate(judged.score[:_CANDIDATES_SHOWN].tolist())
        ),
        poses={
            "start": start,
            "global": placed.at(0),
            "refined": pair.frame.pose_out(refined),
            "final": pose,
        },
        inlier_ratio=inliers,
        rmse=rmse * pair.voxel,
        radius=pair.voxel,
        overlap=fit.share,
        confidence=confidence_of(fit),
        warnings=tuple(warnings),
        seconds=time.perf_counter() - began,
        units_hint=units_hint(sizes),
        matches=_matches(pair, search, final),
        source=clouds[0],
        target=clouds[1],
        voxel=pair.voxel,
        notes=(*notes_of({"the source": clouds[0], "the target": clouds[1]}), *level.notes),
        covariance=pair.frame.covariance_out(without_free(spread, final.rotation, found.freedom)),
        free_axes=len(found.freedom.turns) + len(found.freedom.slides),
    )


class Ranked(NamedTuple):
    """The refined and ranked proposals, with the free motions and statistics of the best one."""

    judged: Judged
    freedom: Freedom
    fit: FitStatistics


def ranked(
    search: Search,
    proposals: list[Proposal],
    given: Pose | None = None,
    upright: Upright | None = None,
    everywhere: bool = True,
) -> Ranked:
    """Refine and rank proposals.

    Relief and exactness decide between poses that fit about as well, see `best_relief_first` and
    `most_exact_first`. With `everywhere` look-alikes of the best pose are compared as well, see
    `with_lookalikes`. If several poses fit equally well, one near `given` is first, the user's
    initial pose between the clouds; without it one near the identity.
    """
    judged = search.judge(proposals)
    if everywhere:
        judged = with_lookalikes(search, judged, upright)
    judged = best_relief_first(search, judged)
    judged = clear_first(search, judged)
    judged = start_first(search, judged, given)
    judged = most_exact_first(search.pair, judged)
    pose = judged.pose.at(0)
    relief = relief_of(search, pose)
    freedom = freedom_of(search, pose, relief)
    return Ranked(judged, freedom, statistics_of(search, judged, relief, freedom))


def _far_from(given: Pose, pose: Pose, points: Tensor) -> list[str]:
    """A warning if the pose moves points (N, 3) far from where the user's initial pose does."""
    points = points.double()
    away = float((given.apply(points) - pose.apply(points)).norm(dim=-1).median())
    if away < _FAR * size_of(points):
        return []
    return [
        f"far from the initial pose: half of the source's points are {away:.3g} or more away from "
        "where it puts them; --method icp stays near it"
    ]


def _sizes(clouds: tuple[Cloud, Cloud]) -> tuple[float, float]:
    """The sizes of both clouds; raises if a cloud cannot be registered."""
    for name, cloud in zip(("source", "target"), clouds, strict=True):
        if len(cloud) < 3:
            raise ValueError(f"{name} must have at least three finite points, got {len(cloud)}")
        if not bool((cloud.points != cloud.points[0]).any()):
            raise ValueError(f"{name} has all its {len(cloud)} points in one place")
    return size_of(clouds[0].points), size_of(clouds[1].points)


def _measure(source: Tensor, target: Index, pose: Pose) -> tuple[float, float]:
    """The share of source points within a voxel of a target point, and their RMSE."""
    squared = target.nearest(pose.apply(source), reach=1.0).squared_distance
    near = squared[squared.isfinite()]
    return len(near) / len(source), float(near.mean().sqrt()) if len(near) else math.nan


def _reason(search: Search, fit: FitStatistics) -> str:
    """The evidence for the pose, as text."""
    words = (
        f"{fit.support:.0f} of {len(search.evidence.source)} feature matches agree with the pose; "
        f"{fit.share:.0%} of the smaller cloud lies on the other; "
        f"{fit.agreement:.0%} of the surface agrees where the clouds meet, and "
        f"{fit.exactness:.0%} of the points there are within half a voxel of the other cloud"
    )
    next_best = max(fit.rivals, default=0.0)
    if next_best > 1:
        words += "; a pose that differs has a higher score"
    elif next_best > 0:
        words += f"; the next best pose that differs has {next_best:.0%} of its score"
    return f"{words}."


def _matches(pair: Pair, search: Search, pose: Pose) -> Matches:
    """The best matches that agree with the pose, in the clouds' own units."""
    pose = pose.to("cpu")
    p, q = (part.cpu().double() for part in (search.evidence.source, search.evidence.target))
    weight = (1 - (pose.apply(p) - q).square().sum(-1) / TOLERANCE**2).clamp_min(0)
    best = weight.argsort(descending=True)[:_MATCHES_SHOWN]
    best = best[weight[best] > 0]
    return Matches(
        p[best] * pair.voxel + pair.frame.source_center,
        q[best] * pair.voxel + pair.frame.target_center,
        weight[best],
    )
