"""Register two described scans: the pose, its confidence and its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spoonful.align.scans import Described, load
from spoonful.frame import Frame
from spoonful.geometry import Pose
from spoonful.inputs import rigid_pose
from spoonful.pipeline.confidence import confidence_of, statistics_of
from spoonful.pipeline.freedom import freedom_of
from spoonful.pipeline.gravity import Narrowed, narrowed
from spoonful.pipeline.lookalikes import with_lookalikes
from spoonful.pipeline.parts import Row
from spoonful.pipeline.polish import polish, some_of
from spoonful.pipeline.prepare import Pair
from spoonful.pipeline.proposers import AUTO, from_start, gather
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.rivals import most_exact_first, start_first
from spoonful.pipeline.search import Search

# Less confident poses than this are not polished: the graph does not use them.
LEAST = 0.1
# Points that the covariance is computed from.
_POINTS = 2000
# Neighbouring points share their errors: so many of them count as one.
_ALIKE = 10.0
# No distance to a surface is known better than this, in voxels,
_NOISE = 0.1
# and no pose better than this: scans are bent, and grids are coarse.
_FLOOR = 0.5


@dataclass(frozen=True)
class PairJob:
    """Two scans to register.

    Attributes:
        id: their names.
        source: the file with the description of the scan to move.
        target: the file of the other one, on the same grid.
        seed: of the random choices.
        start: a 4x4 between the files' frames to try as well, or None.
        up: the axis that points up in both scans, "auto", or None.
        growth: the standard deviations of the scales of source and target; None is zero.
    """

    id: str
    source: str
    target: str
    seed: int
    start: list[list[float]] | None = None
    up: str | None = None
    growth: tuple[float, float] | None = None


def register_described(job: PairJob) -> Row:
    """Register two described scans.

    Returns:
        A row with `pose`, the 4x4 between the scans about their centres, in the files' unit;
        `covariance`, see `covariance_of`; `confidence`, `overlap`, `rmse`; `relief`, the number of
        points of relief that come near the other scan, and of those that lie on it; and `seen`,
        whether the positions of both sensors are known.
    """
    source, target = load(job.source), load(job.target)
    scale = torch.tensor(source.edge, dtype=torch.float64)
    pair = Pair(source.scan, target.scan, Frame(source.center, target.center, scale))
    generator = torch.Generator().manual_seed(job.seed)
    with torch.no_grad():
        search = Search(pair, source.description, target.description)
        proposals, _ = gather(search, AUTO, None)
        start = None if job.start is None else rigid_pose(job.start, "start")
        proposals += from_start(search, start)
        level = Narrowed(proposals)
        if job.up is not None:
            level = narrowed(search, proposals, job.up, AUTO, start)
        judged = with_lookalikes(search, search.judge(level.proposals), level.upright)
        if start is not None:
            judged = start_first(search, judged, start)
        judged = most_exact_first(pair, judged)
        pose = judged.pose.at(0)
        relief = relief_of(search, pose)
        fit = statistics_of(search, judged, relief, freedom_of(search, pose, relief))
        confidence = confidence_of(fit)
        if confidence >= LEAST:
            pose = polish(pair, source.cloud.points, target.cloud, pose, generator=generator)[1]
        pose = pose.to(torch.float64)
        covariance, rmse = covariance_of(source, target, pose, generator, job.growth)
    return {
        "status": "registered",
        "pose": Pose(pose.rotation, pose.translation * source.edge).matrix().tolist(),
        "covariance": covariance.tolist(),
        "confidence": confidence,
        "overlap": fit.share,
        "rmse": rmse,
        "relief": [relief.near, len(relief.points)],
        "seen": fit.seen,
    }


def covariance_of(
    source: Described,
    target: Described,
    pose: Pose,
    generator: torch.Generator,
    growth: tuple[float, float] | None = None,
) -> tuple[Tensor, float]:
    """The covariance of a pose from the distances of points to planes, and their rms.

    With p a point of the source and m its partner's normal in the source's frame, a small motion
    (w, v) of the source changes the distance to the plane by (p x m) . w + m . v. The inverse of
    the sum of products of these rows, times the variance of distances, is the covariance.

    If a scan is too large by a share g, its points are off by g p, and the best motion makes up
    for that: it moves a scan that meets the other far from its centre. `growth` has the standard
    deviations of both shares.

    Returns:
        (6, 6) float64 of (w, v), turn in radians and shift in the files' unit, in the source's
        frame; and the root mean square distance in that unit.
    """
    points = some_of(source.scan.fine.points, _POINTS, generator).double()
    near = target.scan.fine.nearest(pose.apply(points).float(), reach=1.0)
    on = near.squared_distance.isfinite()
    index = near.index[on]
    assert target.scan.fine_normals is not None
    normal = target.scan.fine_normals[index].double()
    partner = target.scan.fine.points[index].double()
    gap = ((pose.apply(points[on]) - partner) * normal).sum(-1)
    rms = float(gap.square().mean().sqrt()) if len(gap) else 1.0
    back = normal @ pose.rotation  # rows m = R^T n
    arm = points[on]
    rows = torch.cat([torch.linalg.cross(arm, back), back], -1)
    size = source.size / source.edge
    # Before anything is seen: any turn, and a shift of the scan's own size.
    prior = torch.tensor([1.0] * 3 + [size] * 3, dtype=torch.float64)
    information = rows.mT @ rows / (max(rms, _NOISE) ** 2 * _ALIKE) + prior.pow(-2).diag()
    floor = torch.tensor([_FLOOR / size] * 3 + [_FLOOR] * 3, dtype=torch.float64)
    covariance = torch.linalg.inv(information)
    longer = torch.stack([(arm * back).sum(-1), (pose.apply(arm) * normal).sum(-1)], -1)
    moves = covariance @ rows.mT @ longer / (max(rms, _NOISE) ** 2 * _ALIKE)
    moves = moves * torch.tensor(growth or (0.0, 0.0), dtype=torch.float64)
    covariance = covariance + moves @ moves.mT + floor.square().diag()
    unit = torch.tensor([1.0] * 3 + [source.edge] * 3, dtype=torch.float64)
    return covariance * unit * unit[:, None], rms * source.edge
