"""Poses of many scans from the poses of pairs, some of which are wrong.

A pose graph has a scan X_i at each node and a measured pose T_ij at each edge. Right edges agree:
X_i^-1 X_j = T_ij, up to their covariances. GTSAM finds poses on which most edges agree, by
graduated non-convexity (Yang, Antonante, Tzoumas and Carlone 2020). It starts from all edges, and
may fail on large rings. So the edges that agree with the tree of the best edges are found too, and
the heavier set is taken. The other edges are rejected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.extras import require
from spoonful.geometry import Pose, hat

# Edges less confident than this need a loop of three that closes.
CONFIDENT = 0.7
# Scans are joined if at least one of the edges between them is right with this probability.
JOINED = 0.9
# The quantile of 0.999 of a chi-square distribution with six degrees of freedom.
_CHI = 22.46
# No edge is surer than this.
_SUREST = 0.999
# Rounds of fitting edges that agree.
_ROUNDS = 10


@dataclass(frozen=True)
class Edge:
    """The measured pose between two scans.

    Attributes:
        source: the index of the scan to move.
        target: the index of the other scan.
        pose: float64, `target ~ R source + t`.
        covariance: (6, 6) of a small turn and shift in the source's frame, see
            `spoonful.align.pairs.covariance_of`.
        confidence: the probability that the pose is right.
    """

    source: int
    target: int
    pose: Pose
    covariance: Tensor
    confidence: float


@dataclass(frozen=True)
class Solution:
    """The connected groups of scans, and their poses.

    Attributes:
        groups: indices of scans, the largest group first.
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


def solve(count: int, edges: Sequence[Edge], first: int | None = None) -> Solution:
    """Find the groups of scans and the poses in each group.

    An edge is used if it is confident, or if a loop of three edges closes with it. Edges that
    disagree with the others are rejected. Two sets of scans are joined only if their edges make
    that probable enough, see `JOINED`.

    Args:
        count: how many scans there are.
        edges: at most one for each pair of scans.
        first: the scan that comes first in its group; None takes the lowest number.
    """
    votes = loop_votes(edges)
    used = [
        k
        for k, edge in enumerate(edges)
        if votes.closed[k] or (edge.confidence >= CONFIDENT and not votes.contradicted[k])
    ]
    weight = {k: evidence(edges[k].confidence) * (1 + votes.closed[k]) for k in used}
    agreed: list[int] = []
    for part in parts(count, [(edges[k].source, edges[k].target) for k in used]):
        own = sorted((k for k in used if edges[k].source in part), key=lambda k: -weight[k])
        if len(own) >= len(part):  # else there are no loops, and no two edges can disagree
            tree = _from_tree(part, edges, own)
            sets = [
                [own[k] for k in find(part, [edges[k] for k in own], tree)]
                for find in (_robust, _near_start)
            ]
            own = max(sets, key=lambda kept: sum(weight[k] for k in kept))
        agreed += own
    groups = _joined(count, [edges[k] for k in agreed], _chances(edges, votes, agreed))
    groups = [sorted(group, key=lambda scan: (scan != first, scan)) for group in groups]
    number = {scan: g for g, group in enumerate(groups) for scan in group}
    poses = [Pose.identity(dtype=torch.float64) for _ in range(count)]
    for group in groups:
        own = [k for k in agreed if {edges[k].source, edges[k].target} <= {*group}]
        # Doubtful edges are less exact, too: they count only if the others do not connect all.
        sure = [k for k in own if edges[k].confidence >= CONFIDENT]
        if _connect(group, [edges[k] for k in sure]):
            own = sure
        if own:
            tree = _from_tree(group, edges, sorted(own, key=lambda k: -weight[k]))
            for scan, pose in _optimise(group, [edges[k] for k in own], tree).items():
                poses[scan] = pose
    off: list[float | None] = [
        disagreement(edge, poses) if number[edge.source] == number[edge.target] else None
        for edge in edges
    ]
    limit = _CHI**0.5
    taken = set(agreed)
    keep = [k in taken and value is not None and value <= limit for k, value in enumerate(off)]
    return Solution(groups, poses, keep, off)


def evidence(confidence: float) -> float:
    """The weight of a pose: one that is surely right counts much more than many that are likely."""
    return -math.log1p(-min(confidence, _SUREST))


class Votes(NamedTuple):
    """The evidence of loops of three edges for and against each edge.

    Attributes:
        closed: for each edge, the number of loops through it that close.
        contradicted: for each edge, True if no loop through it closes, and two edges of closed
            loops contradict it.
    """

    closed: list[int]
    contradicted: list[bool]


def loop_votes(edges: Sequence[Edge]) -> Votes:
    """Check all loops of three edges.

    A loop closes if the product of its poses differs from the identity by no more than the sum of
    the covariances allows.
    """
    closed = [0] * len(edges)
    open_loops = []
    for sides, off in loop_errors(edges):
        if off > _CHI:
            open_loops.append(sides)
        else:
            for side in sides:
                closed[side] += 1
    contradicted = [False] * len(edges)
    for sides in open_loops:
        alone = [side for side in sides if closed[side] == 0]
        if len(alone) == 1:
            contradicted[alone[0]] = True
    return Votes(closed, contradicted)


def loop_errors(edges: Sequence[Edge]) -> list[tuple[list[int], float]]:
    """The edges of each loop of three, and the square of its error in standard deviations.

    The error is the difference of the product of its poses from the identity.
    """
    loops = _loops(edges)
    if not loops:
        return []
    # Each edge both ways; from i to j, to k, and back to i.
    ways = [_way(edge) for edge in edges] + [_way(edge, back=True) for edge in edges]
    turns, shifts, spreads = (torch.stack(parts) for parts in zip(*ways, strict=True))
    legs = torch.tensor([[side + len(edges) * back for side, back in loop] for loop in loops])
    poses = [Pose(turns[leg], shifts[leg]) for leg in legs.unbind(1)]
    around = poses[0]
    spread = spreads[legs[:, 0]]
    for leg, pose in zip(legs[:, 1:].unbind(1), poses[1:], strict=True):
        # T exp(x) S = T S exp(Ad(S^-1) x).
        carry = adjoint(around.inverse())
        spread = spread + carry @ spreads[leg] @ carry.mT
        around = pose.compose(around)
    error = small_motion(around).unsqueeze(-1)
    off = (error * torch.linalg.solve(spread, error)).sum((-2, -1))
    return [
        ([side for side, _ in loop], value) for loop, value in zip(loops, off.tolist(), strict=True)
    ]


def disagreement(edge: Edge, poses: Sequence[Pose] | Mapping[int, Pose]) -> float:
    """The distance of an edge from the poses of its scans, in standard deviations."""
    found = poses[edge.target].inverse().compose(poses[edge.source])
    error = small_motion(edge.pose.inverse().compose(found))
    return float((error @ torch.linalg.solve(edge.covariance, error)).clamp_min(0).sqrt())


def _loops(edges: Sequence[Edge]) -> list[list[tuple[int, bool]]]:
    """All loops of three edges: the edge of each leg, and if it is inverted."""
    number: dict[int, dict[int, int]] = {}
    for k, edge in enumerate(edges):
        number.setdefault(edge.source, {})[edge.target] = k
        number.setdefault(edge.target, {})[edge.source] = k
    found = []
    for i, near in sorted(number.items()):
        for j, k in itertools.combinations(sorted(scan for scan in near if scan > i), 2):
            if k in number[j]:
                legs = ((near[j], j), (number[j][k], k), (near[k], i))
                found.append([(side, edges[side].target != end) for side, end in legs])
    return found


def _way(edge: Edge, back: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Rotation, translation and covariance of an edge, or of its inverse."""
    if not back:
        return edge.pose.rotation, edge.pose.translation, edge.covariance
    inverse, carry = edge.pose.inverse(), adjoint(edge.pose)
    return inverse.rotation, inverse.translation, carry @ edge.covariance @ carry.mT


def adjoint(pose: Pose) -> Tensor:
    """(..., 6, 6) that carries a small motion (w, v) through a pose: T exp(x) = exp(Ad x) T."""
    rotation = pose.rotation
    found = rotation.new_zeros(*rotation.shape[:-2], 6, 6)
    found[..., :3, :3] = found[..., 3:, 3:] = rotation
    found[..., 3:, :3] = hat(pose.translation) @ rotation
    return found


def small_motion(pose: Pose) -> Tensor:
    """(..., 6) a small motion as (w, v): its turn, in radians, and its shift."""
    skew = (pose.rotation - pose.rotation.mT) / 2
    axis = torch.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], -1)
    sine = axis.norm(dim=-1, keepdim=True)
    cosine = (pose.rotation.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True) - 1) / 2
    turn = axis / sine.clamp_min(1e-12) * torch.atan2(sine, cosine)
    return torch.cat([turn, pose.translation], -1)


def parts(count: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The connected components of the scans, each sorted."""
    root = list(range(count))

    def find(scan: int) -> int:
        while root[scan] != scan:
            scan = root[scan]
        return scan

    for i, j in pairs:
        root[find(i)] = find(j)
    found: dict[int, list[int]] = {}
    for scan in range(count):
        found.setdefault(find(scan), []).append(scan)
    return list(found.values())


def _connect(group: Sequence[int], edges: Sequence[Edge]) -> bool:
    """True if the edges connect all scans of the group."""
    pairs = [(edge.source, edge.target) for edge in edges]
    return {*group} in [{*part} for part in parts(max(group) + 1, pairs)]


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
    """The indices of the edges that agree, by graduated non-convexity."""
    gtsam = _gtsam()
    graph, values = _problem(part, edges, start)
    params = gtsam.GncLMParams(gtsam.LevenbergMarquardtParams())
    params.setLossType(gtsam.GncLossType.TLS)
    params.setKnownInliers([len(edges)])  # the factor that holds the first scan
    # All weights are small at first: with the default they count as settled at once.
    params.setWeightsTol(1e-9)
    optimizer = gtsam.GncLMOptimizer(graph, values, params)
    optimizer.setInlierCostThresholds(_CHI / 2)  # GTSAM's errors have a factor 1/2
    optimizer.optimize()
    weights = optimizer.getWeights()
    return [k for k in range(len(edges)) if weights[k] > 0.5]


def _near_start(part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]) -> list[int]:
    """The indices of the edges that agree with the initial poses, refitted to these edges."""
    kept: list[int] = []
    poses = start
    for _ in range(_ROUNDS):
        before = kept
        kept = [k for k, edge in enumerate(edges) if disagreement(edge, poses) <= _CHI**0.5]
        if kept == before or not _connect(part, [edges[k] for k in kept]):
            break
        fitted = _optimise(part, [edges[k] for k in kept], poses)
        poses = {scan: fitted.get(scan, start[scan]) for scan in part}
    return kept


def _optimise(
    part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]
) -> dict[int, Pose]:
    """The poses that fit the edges best, by least squares."""
    graph, values = _problem(part, edges, start)
    found = _gtsam().LevenbergMarquardtOptimizer(graph, values).optimize()
    return {
        scan: Pose.from_matrix(torch.from_numpy(found.atPose3(scan).matrix().copy()))
        for scan in part[1:]
    }


def _problem(part: Sequence[int], edges: Sequence[Edge], start: dict[int, Pose]) -> tuple[Any, Any]:
    """A factor for each edge, a prior on the first scan, and the initial poses."""
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


def _chances(edges: Sequence[Edge], votes: Votes, agreed: Sequence[int]) -> list[float]:
    """The probability that each agreeing edge is right.

    An edge that is in no loop of edges that agreed is trusted less if many edges that are at least
    as confident turned out wrong.
    """
    taken = set(agreed)
    count = 1 + max((max(edge.source, edge.target) for edge in edges), default=0)
    chances = []
    for k in agreed:
        peers = [j for j, edge in enumerate(edges) if edge.confidence >= edges[k].confidence]
        honest = sum(j in taken for j in peers) / len(peers)
        looped = bool(votes.closed[k])
        if not looped and honest < 1:
            rest = [(edges[other].source, edges[other].target) for other in agreed if other != k]
            ends = {edges[k].source, edges[k].target}
            looped = any(ends <= {*part} for part in parts(count, rest))
        chances.append(edges[k].confidence * (1.0 if looped else honest))
    return chances


def _joined(count: int, edges: Sequence[Edge], chances: Sequence[float]) -> list[list[int]]:
    """Groups of scans, joined as long as an edge between two groups is probably right."""
    groups = [[scan] for scan in range(count)]
    while len(groups) > 1:
        number = {scan: g for g, group in enumerate(groups) for scan in group}
        wrong: dict[tuple[int, int], float] = {}
        for edge, chance in zip(edges, chances, strict=True):
            a, b = sorted((number[edge.source], number[edge.target]))
            if a != b:
                wrong[a, b] = wrong.get((a, b), 1.0) * (1 - chance)
        if not wrong:
            break
        a, b = min(wrong, key=lambda pair: wrong[pair])
        if wrong[a, b] > 1 - JOINED:
            break
        groups[a] += groups.pop(b)
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))
