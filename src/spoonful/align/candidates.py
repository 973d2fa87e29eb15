"""Choose the pairs to try if there are too many scans to try all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from spoonful.align.scans import features

# Pairs are chosen from so many for each scan, which have about the same counts of features.
_SHORTLIST = 40
# Features that are counted.
_USUAL = 256
# Points of a scan that likeness of scans is computed from.
_LIKENESS = 400


def similar(described: Sequence[str], most: int) -> list[tuple[int, int]]:
    """The pairs of each scan with those whose features are most like its own.

    The counts of common features shortlist the scans, and the features themselves decide.

    Args:
        described: the files with the descriptions of the scans.
        most: how many pairs each scan asks for.

    Returns:
        Pairs of numbers of scans, the smaller one first, in order.
    """
    some = []
    for path in described:
        found = features(path)
        some.append(found[:: max(1, len(found) // _LIKENESS)][:_LIKENESS].sqrt())
    alike = torch.full((len(some), len(some)), -torch.inf)
    for i, j in best(_counts_alike(some), _SHORTLIST):
        likeness = some[i] @ some[j].mT
        alike[i, j] = alike[j, i] = likeness.amax(1).mean() + likeness.amax(0).mean()
    return best(alike, most)


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


def best(alike: Tensor, most: int) -> list[tuple[int, int]]:
    """The pairs of each scan with the `most` scans that it is most like, by an (S, S) table."""
    alike = alike.clone().fill_diagonal_(-torch.inf)
    best = alike.topk(min(most, len(alike) - 1), dim=1).indices
    pairs = {(min(i, j), max(i, j)) for i, row in enumerate(best.tolist()) for j in row}
    return sorted(pairs)
