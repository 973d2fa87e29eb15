"""Solve the graph of all pairs, and again without the pairs that its solution speaks against.

Two kinds of wrong pairs agree with each other, so the graph keeps them:

- A part that is turned by half a turn fits the walls and floors of the others. Its relief does not
  fit, in several pairs. These pairs are left out, and the part is joined by others, or not at all.
- Places that look alike give pairs that are confident and wrong. If many confident pairs contradict
  the solution, only pairs with high overlap are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from spoonful.align.graph import CONFIDENT, Edge, Solution, solve
from spoonful.align.pairs import LEAST
from spoonful.align.places import LIKELY, listed, worst_part
from spoonful.geometry import Pose
from spoonful.pipeline.parts import Row

# A part is left out if several pairs hold it, and less of their relief agrees than this; than the
# second number if the positions of the sensors are known, because free space speaks against wrong
# pairs, too. The relief of one pair can be low by chance, and counts for the pair's confidence.
_SEVERAL, _RELIEF, _RELIEF_IF_SEEN = 2, 0.37, 0.30
# If more than this share of the confident pairs contradict the others, places look alike.
_CONTRADICT = 0.2
# Then only pairs with this overlap are used.
_MUCH = 0.75
# Pairs at least this confident are seldom wrong: a few that contradict are enough.
_SURE = 0.95


class _Loose(NamedTuple):
    """A part whose relief hardly agrees with the rest of its group.

    Attributes:
        pairs: the rows of the pairs that hold it.
        text: says so.
    """

    pairs: list[Row]
    text: str


def solve_pairs(
    rows: Sequence[Row], index: Mapping[str, int], first: int | None
) -> tuple[list[Row], Solution, list[str]]:
    """Solve the graph of all pairs, without those that cannot be trusted.

    Returns:
        The rows of the solution's edges, the solution, and the reasons to doubt it, one sentence
        each.
    """
    names = list(index)
    loose: list[_Loose] = []
    while True:
        used, solution, doubts = _solve_alike(rows, index, first)
        groups = [[names[scan] for scan in group] for group in solution.groups]
        kept = [row for row, right in zip(used, solution.kept, strict=True) if right]
        found = [part for group in groups if (part := _loose_part(group, kept))]
        if not found:
            break
        loose += found
        rows = [row for row in rows if not any(row in part.pairs for part in found)]
    number = {name: k for k, group in enumerate(groups) for name in group}
    for part in loose:
        source, target = (number[part.pairs[0][end]] for end in ("source", "target"))
        if source != target:
            doubts.append(part.text)
    return used, solution, doubts


def _loose_part(group: Sequence[str], kept: Sequence[Row]) -> _Loose | None:
    """The part of a group whose relief agrees least with the rest, if that is too little."""
    own = [row for row in kept if row["source"] in group]
    likely = [row for row in own if row["confidence"] >= LIKELY]
    likely.sort(key=lambda row: -row["confidence"])

    def disagreement(part: set[str]) -> float:
        pairs = _across(likely, part)
        least = _RELIEF_IF_SEEN if all(row["seen"] for row in pairs) else _RELIEF
        return (1 - _agreement(pairs)) / (1 - least) if len(pairs) >= _SEVERAL else 0.0

    joins = [(row["source"], row["target"]) for row in likely]
    worst, case = worst_part(group, joins, disagreement)
    if case <= 1:
        return None
    part, rest = ([name for name in group if (name in worst) == inside] for inside in (True, False))
    verb, pairs = "is" if len(part) == 1 else "are", _across(likely, worst)
    return _Loose(
        _across(own, worst),
        f"{listed(part)} {verb} not joined with {listed(rest)}: walls and floors fit, but in "
        f"{len(pairs)} pairs only {_agreement(pairs):.0%} of the other surface agrees",
    )


def _agreement(rows: Sequence[Row]) -> float:
    """The share of all their relief that agrees; 1 if there is none."""
    near, on = (sum(row["relief"][k] for row in rows) for k in (0, 1))
    return on / near if near else 1.0


def _across(rows: Sequence[Row], part: set[str]) -> list[Row]:
    """The pairs of a part with other scans."""
    return [row for row in rows if (row["source"] in part) != (row["target"] in part)]


def _solve_alike(
    rows: Sequence[Row], index: Mapping[str, int], first: int | None
) -> tuple[list[Row], Solution, list[str]]:
    """Solve the graph, with only pairs of high overlap if too many contradict the solution."""
    used = [row for row in rows if row["confidence"] >= LEAST]
    solution = solve(len(index), [edge_of(row, index) for row in used], first)
    sure = [k for k, row in enumerate(used) if row["confidence"] >= CONFIDENT]
    chances = {k: used[k]["confidence"] for k in sure}
    against = {k for k in sure if not solution.kept[k] and solution.off[k] is not None}
    surest = {k: chance for k, chance in chances.items() if chance >= _SURE}
    many = len(against) > _CONTRADICT * len(sure) and _surprising(chances, against)
    if not (many or _surprising(surest, against)):
        return used, solution, []
    used = [used[k] for k in sure if used[k]["overlap"] >= _MUCH]
    solution = solve(len(index), [edge_of(row, index) for row in used], first)
    doubt = (
        f"{len(against)} of {len(sure)} confident pairs contradict the others: places look alike, "
        f"and only pairs that overlap by {_MUCH:.0%} or more are used; give the scans in order "
        "with --order sequence, or rough poses with --init"
    )
    return used, solution, [doubt]


def edge_of(row: Row, index: Mapping[str, int]) -> Edge:
    """The edge of a registered pair."""
    return Edge(
        index[row["source"]],
        index[row["target"]],
        Pose.from_matrix(torch.tensor(row["pose"], dtype=torch.float64)),
        torch.tensor(row["covariance"], dtype=torch.float64),
        row["confidence"],
    )


def _surprising(chances: Mapping[int, float], wrong: set[int]) -> bool:
    """True if more edges are wrong than their confidences allow."""
    expected = sum(1 - chance for chance in chances.values())
    return len(wrong & set(chances)) > expected + 2 * math.sqrt(expected) + 1
