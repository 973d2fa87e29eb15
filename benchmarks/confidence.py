"""Fit the constants of `confidence_of`, and test them on sources that the fit has not seen.

    python benchmarks/confidence.py --data SCANS [--turns 3] [--rows rows.json]

The pairs are those of scans.py, without normals. Each source is left out once: the constants are
fitted to the others, and the table says how often its results are right at about one confidence.
The constants printed last are fitted to all. `--rows` keeps the statistics of the results, and
reads them if the file exists, so that a second run takes a second.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from scans import SETS, Pair, Row, is_right, pairs, reliability, turned
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.auto import ranked
from spoonful.pipeline.confidence import AS_GOOD
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.proposers import AUTO, from_start, gather
from spoonful.pipeline.search import Search


class Example(NamedTuple):
    """The statistics of one result, and whether it is right."""

    origin: str
    right: bool
    support: float
    agreement: float
    rivals: list[float]


def example(pair: Pair) -> Example:
    with torch.no_grad():
        search = Search(prepare(pair.source, pair.target))
        proposals = gather(search, AUTO, None)[0] + from_start(search, None)
        found = ranked(search, proposals, Pose.identity(dtype=torch.float64))
    pose = search.pair.frame.pose_out(found.judged.pose.at(0))
    right = is_right(pose.matrix().numpy(), pair)
    fit = found.fit
    return Example(pair.origin or pair.kind, right, fit.support, fit.agreement, list(fit.rivals))


def probability(examples: list[Example], constants: Tensor) -> Tensor:
    """`confidence_of` for many results: constants are support, agreement, bias, log rivalry."""
    support, agreement = (
        torch.tensor([getattr(e, name) for e in examples], dtype=torch.float64)
        for name in ("support", "agreement")
    )
    most = max(1, *(len(e.rivals) for e in examples))
    rivals = torch.tensor([e.rivals + [0.0] * (most - len(e.rivals)) for e in examples])
    value = constants[0] * (support + 1).log() + constants[1] * (agreement + 0.01).log()
    rivals = torch.where(rivals >= AS_GOOD, 1.0, rivals.double()).clamp_min(1e-9)
    rivalry = (constants[3].exp() * rivals.log()).exp().sum(1)
    return (value + constants[2]).sigmoid() / (1 + rivalry)


def fitted(examples: list[Example]) -> Tensor:
    """The constants of greatest likelihood, drawn a little towards zero and a rivalry of e."""
    right = torch.tensor([e.right for e in examples], dtype=torch.float64)
    constants = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([constants], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        chance = probability(examples, constants).clamp(1e-6, 1 - 1e-6)
        prior = constants[:2].square().sum() + (constants[3] - 1).square()
        value = torch.nn.functional.binary_cross_entropy(chance, right) + 1e-3 * prior
        value.backward()
        return value

    optimizer.step(loss)
    return constants.detach()


def rows_of(examples: list[Example], constants: Tensor) -> list[Row]:
    chances = probability(examples, constants).tolist()
    return [
        Row(e.origin, "", e.right, chance >= CONFIDENT, chance, 0.0, 0.0)
        for e, chance in zip(examples, chances, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--turns", type=int, default=1, help="random rotations of each source")
    parser.add_argument("--every", type=int, default=8, help="take every n-th pair of 3DMatch")
    parser.add_argument("--rows", type=Path, default=None, help="keep the statistics here")
    arguments = parser.parse_args()
    if arguments.rows and arguments.rows.exists():
        examples = [Example(*row) for row in json.loads(arguments.rows.read_text())]
    else:
        examples = [
            example(turned(pair, turn, normals=False))
            for pair in pairs(arguments.data, SETS, arguments.every)
            for turn in range(arguments.turns)
        ]
        if arguments.rows:
            arguments.rows.write_text(json.dumps(examples))

    unseen: list[Row] = []
    for origin in sorted({e.origin for e in examples}):
        others = [e for e in examples if e.origin != origin]
        unseen += rows_of([e for e in examples if e.origin == origin], fitted(others))
    wrong = [row for row in unseen if not row.right]
    right = [row for row in unseen if row.right]
    print(f"Each source left out of its own fit:\n\n{reliability(unseen)}\n")
    print(f"Confidently wrong: {sum(bool(row.confident) for row in wrong)} of {len(wrong)}.")
    print(f"Right but doubted: {sum(not row.confident for row in right)} of {len(right)}.\n")
    support, agreement, bias, log_rivalry = fitted(examples)
    print("_SUPPORT, _AGREEMENT, _BIAS, _RIVALRY = ", end="")
    print(f"{support:.2f}, {agreement:.2f}, {bias:.2f}, {log_rivalry.exp():.2f}")


if __name__ == "__main__":
    main()
