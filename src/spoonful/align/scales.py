"""Scales of scans whose units are not known, before they are aligned.

The scale s_ij of each pair says log s_source - log s_target = log s_ij. Least squares with weights
that fall with the disagreement give the scale of each scan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spoonful.align.graph import CONFIDENT, parts
from spoonful.data.clouds import Cloud
from spoonful.pipeline.auto import register
from spoonful.pipeline.parts import Row

# Scales of pairs that differ by more than this, as a logarithm, hardly count.
_DISAGREE = 0.02
_ROUNDS = 20


@dataclass(frozen=True)
class ScaleJob:
    """Two scans whose scales are compared.

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
    """Find the factor that brings one scan to the scale of another, with its confidence."""
    clouds = [
        Cloud(torch.load(path, weights_only=True)["points"]) for path in (job.source, job.target)
    ]
    found = register(*clouds, method="consensus", scale="auto", seed=job.seed)
    return {"status": "compared", "scale": found.scale, "confidence": found.confidence}


def solve_scales(
    count: int, edges: Sequence[tuple[int, int, float, float]], first: int | None = None
) -> list[float]:
    """The factor of each scan that brings all that are connected to one scale.

    Args:
        count: how many scans there are.
        edges: source, target, the factor for the source, and the confidence.
        first: the scan whose factor is 1; None takes the first of those that are connected.

    >>> wrong = (2, 0, 7.0, 0.8)
    >>> right = [(1, 0, 0.5, 0.9), (2, 1, 4.0, 0.9), (3, 0, 1.0, 0.9), (3, 2, 0.5, 0.9)]
    >>> [round(scale, 3) for scale in solve_scales(5, [*right, wrong])]
    [1.0, 0.5, 2.0, 1.0, 1.0]
    """
    sure = [edge for edge in edges if edge[3] >= CONFIDENT]
    logs = torch.zeros(count, dtype=torch.float64)
    for part in parts(count, [edge[:2] for edge in sure]):
        own = [edge for edge in sure if edge[0] in part]
        if not own:
            continue
        part.sort(key=lambda scan: scan != first)
        place = {scan: k for k, scan in enumerate(part)}
        rows = torch.zeros(len(own), len(part), dtype=torch.float64)
        for row, (source, target, _, _) in zip(rows, own, strict=True):
            row[place[source]], row[place[target]] = 1.0, -1.0
        wanted = torch.tensor([math.log(edge[2]) for edge in own], dtype=torch.float64)
        trust = torch.tensor([edge[3] for edge in own], dtype=torch.float64)
        weight, limit = trust, 1.0
        for _ in range(_ROUNDS):
            system = rows[:, 1:].mT @ (weight[:, None] * rows[:, 1:])
            found = torch.linalg.solve(system, rows[:, 1:].mT @ (weight * wanted))
            off = rows[:, 1:] @ found - wanted
            # Large disagreements first, then smaller ones.
            limit = max(_DISAGREE, limit / 2)
            weight = trust / (1 + (off / limit).square()).square()
        logs[part[1:]] = found
    return logs.exp().tolist()
