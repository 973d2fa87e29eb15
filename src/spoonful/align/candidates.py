"""Choose the pairs to try, and the grid of each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.classical.consensus import compatible
from spoonful.classical.fpfh import mutual_matches
from spoonful.pipeline.parts import Row
from spoonful.pipeline.prepare import POINTS, Edges, common_edge

# In a sequence each scan is registered with this many before it: two, so that loops can close.
BEFORE = 2
# A scan with fewer voxels on a pair's grid is never placed with confidence.
_FEW = 150
# Voxels filled for each point of a scan, at most; see `suitable_edges`.
_FILLED = 0.6
# A grid suits a pair whose own choice differs by at most this factor.
_SUITS = 1.35
# Edges of grids are powers of this.
_STEP = 2**0.125
# Pairs are compared if the counts of features of both scans are among so many most alike.
_SHORTLIST = 200
# Features that are counted.
_USUAL = 256
# Points of a scan that are compared.
_POINTS = 300
# Distances of two points in both scans are equal up to this, in voxels.
_EQUAL = 1.5
# Sketches that a process keeps in memory, of 50 KB each.
_KEPT = 1000


class Sketch(NamedTuple):
    """A subsample of a scan, to compare it with others.

    Attributes:
        points: (N, 3), in the files' unit.
        normals: (N, 3) unit vectors.
        features: (N, D).
        edge: of the grid, in the files' unit.
    """

    points: Tensor
    normals: Tensor
    features: Tensor
    edge: float


@dataclass(frozen=True)
class CompareJob:
    """A job: compare a scan with others.

    Attributes:
        id: the scan's name.
        source: the file with its description.
        others: those of the other scans.
    """

    id: str
    source: str
    others: list[str]
    target: str = ""


def compare(job: CompareJob) -> Row:
    """The `agreement` of one scan with each of the others."""
    one = _sketch(job.source)
    found = [agreement(one, _sketch(other)) for other in job.others]
    return {"status": "compared", "agreement": found}


def similar(
    described: Mapping[str, str],
    most: int,
    run: Callable[[Sequence[CompareJob], Callable[[CompareJob], Row]], Mapping[str, Row]],
) -> list[tuple[int, int]]:
    """The pairs of each scan with those that have the most consistent matches with it.

    Histograms of features shortlist the scans. Then some points are matched by their features, and
    the matches that preserve distances are counted.

    Args:
        described: the file with the description of each scan, by name.
        most: the number of pairs per scan.
        run: runs jobs in processes, and returns the row of each by its id.

    Returns:
        Pairs of indices of scans, the smaller one first, sorted.
    """
    names, files = list(described), list(described.values())
    alike = torch.full((len(files), len(files)), -torch.inf)
    listed: dict[int, list[int]] = {}
    for i, j in best(_counts_alike([_sketch(path).features.sqrt() for path in files]), _SHORTLIST):
        listed.setdefault(i, []).append(j)
    jobs = [CompareJob(names[i], files[i], [files[j] for j in js]) for i, js in listed.items()]
    rows = run(jobs, compare)
    for i, others in listed.items():
        found = torch.tensor(rows[names[i]]["agreement"])
        alike[i, others] = alike[others, i] = found
    return best(alike, most)


@functools.lru_cache(maxsize=_KEPT)
def _sketch(path: str) -> Sketch:
    """An even subsample of a stored description."""
    found = torch.load(path, weights_only=True, mmap=True)
    step = max(1, len(found["grid"]) // _POINTS)
    points, normals, features = (
        found[name][::step][:_POINTS].clone() for name in ("grid", "normals", "features")
    )
    return Sketch(points * found["edge"], normals, features, found["edge"])


def agreement(one: Sketch, other: Sketch) -> float:
    """The approximate size of the largest set of matches that preserve distances."""
    here, there = mutual_matches(one.features, other.features, 1)
    agree = compatible(
        one.points[here],
        other.points[there],
        _EQUAL * max(one.edge, other.edge),
        source_normals=one.normals[here],
        target_normals=other.normals[there],
    )
    # Triangles of matches: two that agree by chance have few others in common.
    common = agree * (agree @ agree)
    return float(common.sum(1).max().sqrt()) if len(here) else 0.0


def best(alike: Tensor, most: int) -> list[tuple[int, int]]:
    """The pairs of each scan with the `most` most similar scans, from an (S, S) table."""
    alike = alike.clone().fill_diagonal_(-torch.inf)
    chosen = alike.topk(min(most, len(alike) - 1), dim=1).indices
    pairs = {(min(i, j), max(i, j)) for i, row in enumerate(chosen.tolist()) for j in row}
    return sorted(pairs)


def _counts_alike(some: Sequence[Tensor]) -> Tensor:
    """(S, S) likeness of scans by how often they have features like each of some usual ones."""
    every = torch.cat(list(some))
    generator = torch.Generator().manual_seed(0)
    usual = every[torch.randperm(len(every), generator=generator)[:_USUAL]]
    counts = torch.stack(
        [(own @ usual.mT).argmax(1).bincount(minlength=len(usual)).float() for own in some]
    )
    # What all scans have tells little.
    rare = (len(some) / (counts > 0).sum(0).clamp_min(1)).log1p()
    rows = torch.nn.functional.normalize(counts.sqrt() * rare, dim=1)
    return rows @ rows.mT


def in_sequence(count: int) -> list[tuple[int, int]]:
    """Each scan with those before it."""
    return [(i, j) for j in range(count) for i in range(max(0, j - BEFORE), j)]


def suitable_grids(pairs: Sequence[tuple[Row, Row]]) -> list[float]:
    """A suitable grid edge for each pair of scans, with as few different edges as possible."""
    wanted, least = [], []
    for pair in pairs:
        edges = [Edges(row["apt"], row["least"]) for row in pair]
        wanted.append(common_edge(*edges))
        least.append(max(edge.least for edge in edges))
    found = [0.0] * len(pairs)
    left = list(range(len(pairs)))
    while left:
        # The coarsest first: the choice for some scans does not depend on much smaller ones.
        coarse = max(wanted[k] for k in left) / _SUITS**2
        alike = sorted(wanted[k] for k in left if wanted[k] >= coarse)
        middle = alike[len(alike) // 2]
        # In small steps, so that one scan more seldom changes the grids of all others.
        edge = _STEP ** math.ceil(math.log(middle, _STEP) - 1e-9)
        near = [k for k in left if wanted[k] / _SUITS <= edge <= wanted[k] * _SUITS]
        near = [k for k in near if edge >= least[k] or wanted[k] == middle]
        for k in near:
            found[k] = edge
        left = [k for k in left if found[k] == 0]
    return found


def comparable(*pair: Row) -> bool:
    """True if both scans have enough voxels on a grid that suits both."""
    edge = common_edge(*(Edges(row["apt"], row["least"]) for row in pair))
    counts = [min(POINTS, _FILLED * row["points"]) * (row["apt"] / edge) ** 2 for row in pair]
    return min(counts) >= _FEW
