"""Fit the constants of `confidence_of`, and test them on sources that the fit has not seen.

    python benchmarks/confidence.py --data SCANS --rows rows.jsonl [--turns 3] [--simulated 150]

The pairs are those of scans.py, simulated ones included, without normals. Each source is left out
once: the constants are fitted to the others, and the table says how often its results are right at
about one confidence. A source is a kind of scan: a dataset, or a simulated scene and its sensor.
The constants printed last are fitted to all, and the last table counts the sets with them.

`--rows` keeps the statistics of each result in a line of JSON. A run reads them and computes only
what is missing, so it can be stopped at any time. `--part 1/2` computes every second pair, and
fits nothing: two processes can share the work and the file. `--simulated 0 --turns 0` computes
nothing. `--save` writes the tables to results/confidence.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from _harness import save, table
from scans import SETS, Pair, Row, interval, is_right, pairs, reliability, turned
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.auto import ranked
from spoonful.pipeline.confidence import AS_GOOD, LOOSE, FitStatistics, features_of
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.proposers import AUTO, from_start, gather
from spoonful.pipeline.search import Search


class Example(NamedTuple):
    """The statistics of one result, and whether it is right."""

    key: str
    kind: str
    origin: str
    right: bool
    fit: FitStatistics


def example(key: str, pair: Pair) -> Example:
    with torch.no_grad():
        search = Search(prepare(pair.source, pair.target))
        proposals = gather(search, AUTO, None)[0] + from_start(search, None)
        found = ranked(search, proposals, Pose.identity(dtype=torch.float64))
    pose = search.pair.frame.pose_out(found.judged.pose.at(0))
    right = is_right(pose.matrix().numpy(), pair)
    return Example(key, pair.kind, pair.origin or pair.kind, right, found.fit)


def gathered(arguments: argparse.Namespace) -> list[Example]:
    """The results in the file of rows, and those that are missing there."""
    path = arguments.rows
    known: dict[str, Example] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            *facts, fit = json.loads(line)
            known[facts[0]] = Example(*facts, FitStatistics(**fit))
    sets = [kind for kind in SETS if arguments.turns or kind == "simulated"]
    part, parts = (int(number) for number in arguments.part.split("/"))
    done = {key.split("|")[1] for key in known}
    for pair in pairs(
        arguments.data, sets, arguments.every, arguments.simulated, (part, parts), done
    ):
        for turn in range(1 if "simulated" in pair.kind else arguments.turns):
            key = f"{pair.kind}|{pair.name}|{turn}"
            if key not in known:
                known[key] = example(key, turned(pair, turn, normals=False))
                with path.open("a") as file:
                    file.write(json.dumps([*known[key][:-1], known[key].fit._asdict()]) + "\n")
    return list(known.values())


def probability(examples: list[Example], constants: Tensor) -> Tensor:
    """`confidence_of` for many results: weights of the features, then the log of the rivalry."""
    features = torch.tensor([features_of(found.fit) for found in examples], dtype=torch.float64)
    most = max(1, *(len(found.fit.rivals) for found in examples))
    rivals = torch.tensor(
        [[*found.fit.rivals, *[0.0] * (most - len(found.fit.rivals))] for found in examples],
        dtype=torch.float64,
    )
    rivals = torch.where(rivals >= AS_GOOD, 1.0, rivals).clamp_min(1e-9)
    rivalry = (constants[-1].exp() * rivals.log()).exp().sum(1)
    loose = torch.tensor([LOOSE if found.fit.loose else 1.0 for found in examples])
    return (features @ constants[:-1]).sigmoid() / (1 + rivalry) * loose


def fitted(examples: list[Example]) -> Tensor:
    """The constants of greatest likelihood, drawn a little towards zero and a rivalry of e."""
    right = torch.tensor([found.right for found in examples], dtype=torch.float64)
    start = [0.0] * len(features_of(examples[0].fit)) + [1.0]
    constants = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([constants], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        chance = probability(examples, constants).clamp(1e-6, 1 - 1e-6)
        prior = constants[:2].square().sum() + (constants[-1] - 1).square()
        # `through` is a small number, and its weight a large one.
        prior = prior + (constants[2] / 50).square()
        value = torch.nn.functional.binary_cross_entropy(chance, right) + 1e-3 * prior
        value.backward()
        return value

    optimizer.step(loss)
    return constants.detach()


def rows_of(examples: list[Example], constants: Tensor) -> list[Row]:
    chances = probability(examples, constants).tolist()
    return [
        Row(found.kind, found.origin, found.right, chance >= CONFIDENT, chance, 0.0, 0.0)
        for found, chance in zip(examples, chances, strict=True)
    ]


def summary(rows: list[Row]) -> str:
    """A table of the sets, all the simulated ones and all the real ones together at the end."""
    groups = {kind: [row for row in rows if row.kind == kind] for kind in {r.kind for r in rows}}
    groups = dict(sorted(groups.items()))
    groups["all real"] = [row for row in rows if "simulated" not in row.kind]
    groups["all simulated"] = [row for row in rows if "simulated" in row.kind]
    lines = []
    for kind, own in groups.items():
        right = [row for row in own if row.right]
        wrong = sum(bool(row.confident) and not row.right for row in own)
        doubted = sum(not row.confident for row in right)
        line = [kind, str(len(own)), str(len(right)), str(wrong)]
        line += [interval(wrong / len(own), len(own)) if own else "-", str(doubted)]
        lines.append([*line, interval(doubted / len(right), len(right)) if right else "-"])
    head = ["pairs", "results", "right", "confidently wrong", "interval"]
    return table([*head, "right but doubted", "interval"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--rows", type=Path, required=True, help="file of the statistics")
    parser.add_argument("--turns", type=int, default=1, help="random rotations of each source")
    parser.add_argument("--every", type=int, default=4, help="take every n-th pair of 3DMatch")
    parser.add_argument("--simulated", type=int, default=10, help="pairs of each simulated kind")
    parser.add_argument("--part", default="1/1", help="compute this part of the pairs only, as 1/2")
    parser.add_argument("--save", action="store_true", help="write results/confidence.md")
    arguments = parser.parse_args()
    examples = gathered(arguments)
    if arguments.part != "1/1":
        return print(f"{len(examples)} results; fit them without --part")

    unseen: list[Row] = []
    for origin in sorted({found.origin for found in examples}):
        others = [found for found in examples if found.origin != origin]
        own = [found for found in examples if found.origin == origin]
        unseen += rows_of(own, fitted(others))
    best = fitted(examples)
    *weights, log_rivalry = best.tolist()
    constants = ", ".join(f"{weight:.2f}" for weight in weights)
    text = (
        f"Each source left out of its own fit:\n\n{summary(unseen)}\n\n{reliability(unseen)}\n\n"
        f"Fitted to all: `_WEIGHTS, _RIVALRY = ({constants}), {math.exp(log_rivalry):.2f}`\n\n"
        f"With these constants:\n\n{summary(rows_of(examples, best))}\n"
    )
    print(text)
    if arguments.save:
        print(f"wrote {save('confidence.md', '# Confidence' + 2 * chr(10) + text)}")


if __name__ == "__main__":
    main()
