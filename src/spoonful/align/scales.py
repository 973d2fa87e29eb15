"""Estimate the scales of scans in unknown units, before they are aligned.

The scale s_ij of each pair says log s_source - log s_target = log s_ij. Least squares with weights
that fall with the disagreement give the scale of each scan, and its standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from spoonful.align.graph import CONFIDENT, parts
from spoonful.data.clouds import Cloud
from spoonful.pipeline.auto import register
from spoonful.pipeline.parts import Row

# Pairs whose scale is off by more than this many standard deviations hardly count.
_DISAGREE = 3.0
_ROUNDS = 20
# No scale is known better than this.
_LEAST = 1e-3


@dataclass(frozen=True)
class ScaleJob:
    """A job: compare the scales of two scans.

    Attributes:
        id: their names.
        source: the file that `read_scan` stored.
        target: that of the other scan.
        seed: of the random choices.
    """

    id: str
    source: str
    target: str
    seed: int


def compare_scales(job: ScaleJob) -> Row:
    """Estimate the scale of one scan relative to another, with its confidence."""
    clouds = [
        Cloud(torch.load(path, weights_only=True)["points"]) for path in (job.source, job.target)
    ]
    found = register(*clouds, method="consensus", scale="auto", seed=job.seed)
    return {
        "status": "compared",
        "scale": found.scale,
        "deviation": found.scale_deviation,
        "confidence": found.confidence,
    }


class PairScale(NamedTuple):
    """The estimated scale of one scan relative to another.

    Attributes:
        source: the number of the scan to scale.
        target: the number of the other scan.
        scale: the factor for the source.
        deviation: its standard deviation, as a share of it.
        confidence: the probability that it is right.
    """

    source: int
    target: int
    scale: float
    deviation: float
    confidence: float


def solve_scales(
    count: int, edges: Sequence[PairScale], first: int | None = None
) -> tuple[list[float], list[float]]:
    """Estimate a common scale for all connected scans.

    Args:
        count: the number of scans.
        edges: the scales of pairs.
        first: the scan whose factor is 1; None takes the first of those that are connected.

    Returns:
        The factor of each scan, and its standard deviation against the mean of those connected.

    >>> right = [(1, 0, 0.5), (2, 1, 4.0), (3, 0, 1.0), (3, 2, 0.5)]
    >>> edges = [PairScale(*each, 0.01, 0.9) for each in [*right, (2, 0, 7.0)]]
    >>> scales, deviations = solve_scales(5, edges)
    >>> [round(scale, 3) for scale in scales], [round(each, 3) for each in deviations]
    ([1.0, 0.5, 2.0, 1.0, 1.0], [0.006, 0.006, 0.006, 0.006, 0.0])
    """
    sure = [edge for edge in edges if edge.confidence >= CONFIDENT]
    logs, deviations = torch.zeros(2, count, dtype=torch.float64)
    for part in parts(count, [edge[:2] for edge in sure]):
        own = [edge for edge in sure if edge.source in part]
        if not own:
            continue
        part.sort(key=lambda scan: scan != first)
        place = {scan: k for k, scan in enumerate(part)}
        rows = torch.zeros(len(own), len(part), dtype=torch.float64)
        for row, edge in zip(rows, own, strict=True):
            row[place[edge.source]], row[place[edge.target]] = 1.0, -1.0
        wanted = torch.tensor([edge.scale for edge in own], dtype=torch.float64).log()
        spread = torch.tensor([edge.deviation for edge in own], dtype=torch.float64)
        spread = spread.clamp_min(_LEAST)
        trust = spread.pow(-2)
        weight, limit = trust, 1 / spread
        for _ in range(_ROUNDS):
            system = torch.linalg.pinv(rows.mT @ (weight[:, None] * rows), hermitian=True)
            found = system @ rows.mT @ (weight * wanted)
            off = (rows @ found - wanted) / spread
            # Large disagreements first, then smaller ones.
            limit = (limit / 2).clamp_min(_DISAGREE)
            weight = trust / (1 + (off / limit).square()).square()
        logs[part] = found - found[0]
        deviations[part] = system.diagonal().sqrt()
    return logs.exp().tolist(), deviations.tolist()
