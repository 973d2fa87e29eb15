"""Poses of many scans from the poses of pairs, some of which are wrong.

A pose graph has a scan X_i at each node and a measured pose T_ij at each edge. Right edges agree:
X_i^-1 X_j = T_ij, up to their covariances. GTSAM finds the poses on which most edges agree, by
graduated non-convexity (Yang, Antonante, Tzoumas and Carlone 2020). The others are rejected.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spoonful.extras import require
from spoonful.geometry import Pose

# Edges less confident than this need a loop of three that closes.
CONFIDENT = 0.7
# Scans are joined if at least one of the edges between them is right with this probability.
JOINED = 0.9
# The quantile of 0.999 of a chi-square distribution with six degrees of freedom.
_CHI = 22.46


@dataclass(frozen=True)
class Edge:
    """The measured pose between two scans.

    Attributes:
        source: the number of the scan to move.
        target: the number of the other scan.
        pose: float64, `target ~ R source + t`.
        covariance: (6, 6) of a small turn and shift in the source's frame.
        confidence: the probability that the pose is right.
    """

    source: int
    target: int
    pose: Pose
    covariance: Tensor
    confidence: float


@dataclass(frozen=True)
class Solution:
    """The groups of scans that belong together, and their poses.

    Attributes:
        groups: numbers of scans, the largest group first.
        poses: for each scan the pose that maps it into its group's frame, which is that of the
            group's first scan.
        kept: for each edge, True if its scans are in one group and it agrees with their poses.
        off: for each edge, its disagreement with the poses in standard deviations; None between
            groups.
    """

    groups: list[list[int]]
    poses: list[Pose]
    kept: list[bool]
    off: list[float | None]


def solve(count: int, edges: Sequence[Edge]) -> Solution:
    """Find the groups of scans and the poses in each group.

    An edge is used if it is confident, or if a loop of three edges closes with it. Edges that
    disagree with the others are rejected. Two sets of scans are joined only if their edges make
    that probable enough, see `JOINED`.

    Args:
        count: how many scans there are.
        edges: at most one for each pair of scans.
    """
    votes = loop_votes(edges)
    used = [k for k, edge in enumerate(edges) if edge.confidence >= CONFIDENT or votes[k] > 0]
    weight = {k: edges[k].confidence * (1 + votes[k]) for k in used}
    agreed: list[int] = []
    for part in _parts(count, [(edges[k].source, edges[k].target) for k in used]):
        own = [k for k in used if edges[k].source in part]
        tree = _from_tree(part, edges, sorted(own, key=lambda k: -weight[k]))
        kept = _robust(part, [edges[k] for k in own], tree) if len(own) >= len(part) else own
        agreed += [own[k] for k in kept] if kept is not own else own
    groups = _joined(count, [edges[k] for k in agreed])
    number = {scan: g for g, group in enumerate(groups) for scan in group}
    poses = [Pose.identity(dtype=torch.float64) for _ in range(count)]
    for group in groups:
        own = [k for k in agreed if number[edges[k].source] == number[edges[k].target]]
        own = [k for k in own if edges[k].source in group]
        if own:
            tree = _from_tree(group, edges, sorted(own, key=lambda k: -weight[k]))
            found = _optimise(group, [edges[k] for k in own], tree)
            home = found[group[0]].inverse()
            for scan in group:
                poses[scan] = home.compose(found[scan])
    off: list[float | None] = [
        disagreement(edge, poses) if number[edge.source] == number[edge.target] else None
        for edge in edges
    ]
    limit = _CHI**0.5
    taken = set(agreed)
    keep = [k in taken and value is not None and value <= limit for k, value in enumerate(off)]
    return Solution(groups, poses, keep, off)


def loop_votes(edges: Sequence[Edge]) -> list[int]:
    """For each edge the number of loops of three edges that close with it.

    A loop closes if the product of its poses differs from the identity by no more than the sum of
    the covariances allows.
    """
    number = {frozenset((edge.source, edge.target)): k for k, edge in enumerate(edges)}
    votes = [0] * len(edges)
    scans = sorted({scan for edge in edges for scan in (edge.source, edge.target)})
    for i, j, k in itertools.combinations(scans, 3):
        sides = [number.get(frozenset(pair)) for pair in ((i, j), (j, k), (i, k))]
        if None in sides:
            continue
        a, b, c = (edges[side] for side in sides if side is not None)
        # From i to j, to k, and back to i.
        first, second, third = _towards(a, j), _towards(b, k), _towards(c, i)
        around = third.compose(second.compose(first))
        variance = sum(_spread(edge) for edge in (a, b, c))
        if float((_vector(around).square() / variance).sum()) <= _CHI:
            for side in sides:
                assert side is not None
                votes[side] += 1
    return votes


def disagreement(edge: Edge, poses: Sequence[Pose]) -> float:
    """The distance of an edge from the poses of its scans, in standard deviations."""
    found = poses[edge.target].inverse().compose(poses[edge.source])
    error = _vector(edge.pose.inverse().compose(found))
    return float((error @ torch.linalg.solve(edge.covariance, error)).clamp_min(0).sqrt())


def _vector(pose: Pose) -> Tensor:
    """A small motion as (w, v): its turn, in radians, and its shift."""
    skew = pose.rotation - pose.rotation.mT
    axis = torch.stack([skew[2, 1], skew[0, 2], skew[1, 0]])
    sine = axis.norm() / 2
    angle = torch.atan2(sine, (pose.rotation.trace() - 1) / 2)
    return torch.cat([axis / (2 * sine).clamp_min(1e-12) * angle, pose.translation])


def _towards(edge: Edge, scan: int) -> Pose:
    return edge.pose if edge.target == scan else edge.pose.inverse()


def _spread(edge: Edge) -> Tensor:
    """(6,) variances of a turn and a shift, whatever the axis."""
    turn, shift = edge.covariance.diagonal().split(3)
    return torch.cat([turn.max().expand(3), shift.max().expand(3)])


def _parts(count: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The sets of scans that the pairs connect, each in order."""
    root = list(range(count))

    def find(scan: int) -> int:
        while root[scan] != scan:
            scan = root[scan]
        return scan

    for i, j in pairs:
        root[find(i)] = find(j)
    parts: dict[int, list[int]] = {}
    for scan in range(count):
        parts.setdefault(find(scan), []).append(scan)
    return list(parts.values())


def _from_tree(part: Sequence[int], edges: Sequence[Edge], order: Sequence[int]) -> dict[int, Pose]:
    """Poses along the spanning tree of the edges that come first in `order`."""
    poses = {part[0]: Pose.identity(dtype=torch.float64)}
    while len(poses) < len(part):
        # The first edge, in order, between a scan that has its pose and one that has not.
        edge = next(
            edges[k] for k in order if (edges[k].source in poses) != (edges[k].target in poses)
        )
        if edge.target in poses:
            poses[edge.source] = poses[edge.target].compose(edge.pose)
        else:
            poses[edge.target] = poses[edge.source].compose(edge.pose.inverse())
    return poses


def _robust(part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]) -> list[int]:
    """The positions of the edges that agree, by graduated non-convexity."""
    gtsam = _gtsam()
    graph, values = _problem(part, edges, start)
    params = gtsam.GncLMParams(gtsam.LevenbergMarquardtParams())
    params.setLossType(gtsam.GncLossType.TLS)
    params.setKnownInliers([len(edges)])  # the factor that holds the first scan
    optimizer = gtsam.GncLMOptimizer(graph, values, params)
    optimizer.setInlierCostThresholds(_CHI / 2)  # GTSAM's errors have a factor 1/2
    optimizer.optimize()
    weights = optimizer.getWeights()
    return [k for k in range(len(edges)) if weights[k] > 0.5]


def _optimise(
    part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]
) -> dict[int, Pose]:
    """The poses that fit the edges best, by least squares."""
    gtsam = _gtsam()
    graph, values = _problem(part, edges, start)
    found = gtsam.LevenbergMarquardtOptimizer(graph, values).optimize()
    return {
        scan: Pose.from_matrix(torch.from_numpy(found.atPose3(scan).matrix().copy()))
        for scan in part
    }


def _problem(part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]) -> tuple[Any, Any]:
    """A factor for each edge, one that holds the first scan, and the poses to start from."""
    gtsam = _gtsam()
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    for edge in edges:
        noise = gtsam.noiseModel.Gaussian.Covariance(edge.covariance.numpy())
        pose = gtsam.Pose3(edge.pose.matrix().numpy())
        graph.add(gtsam.BetweenFactorPose3(edge.target, edge.source, pose, noise))
    for scan in part:
        values.insert(scan, gtsam.Pose3(start[scan].matrix().numpy()))
    first = values.atPose3(part[0])
    tight = gtsam.noiseModel.Isotropic.Sigma(6, 1e-6)
    graph.add(gtsam.PriorFactorPose3(part[0], first, tight))
    return graph, values


def _gtsam() -> Any:
    return require("gtsam", extra="align", why="Aligning several scans")


def _joined(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Groups of scans, joined as long as an edge between two groups is probably right."""
    groups = [[scan] for scan in range(count)]
    while len(groups) > 1:
        number = {scan: g for g, group in enumerate(groups) for scan in group}
        wrong: dict[tuple[int, int], float] = {}
        for edge in edges:
            a, b = sorted((number[edge.source], number[edge.target]))
            if a != b:
                wrong[a, b] = wrong.get((a, b), 1.0) * (1 - edge.confidence)
        if not wrong:
            break
        a, b = min(wrong, key=lambda pair: wrong[pair])
        if wrong[a, b] > 1 - JOINED:
            break
        groups[a] += groups.pop(b)
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))
