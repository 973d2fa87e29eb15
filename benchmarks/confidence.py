"""Fit the constants of `confidence_of`, and test them on sources that the fit has not seen.

    python benchmarks/confidence.py --data SCANS --rows rows.jsonl [--turns 3] [--simulated 150]

The pairs are those of scans.py, simulated ones included, without normals. Each source is left out
once: the constants are fitted to the others, and the table says how often its results are right at
about one confidence. A source is a kind of scan: a dataset, or a simulated scene and its sensor.
The constants printed last are fitted to all.

`--rows` keeps the statistics of each result in a line of JSON. A second run reads them, computes
only what is missing, and can be stopped at any time; `--simulated 0 --turns 0` computes nothing.
`--save` writes the tables to results/confidence.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).parent))

from scans import SETS, Pair, is_right, pairs, turned
from spoonful.geometry import Pose
from spoonful.pipeline.auto import ranked
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.proposers import AUTO, from_start, gather
from spoonful.pipeline.search import Search


class Example(NamedTuple):
    """The statistics of one result, and whether it is right."""

    key: str
    kind: str
    origin: str
    right: bool
    support: float
    agreement: float
    share: float
    rivals: list[float]
    loose: bool


def example(key: str, pair: Pair) -> Example:
    with torch.no_grad():
        search = Search(prepare(pair.source, pair.target))
        proposals = gather(search, AUTO, None)[0] + from_start(search, None)
        found = ranked(search, proposals, Pose.identity(dtype=torch.float64))
    pose = search.pair.frame.pose_out(found.judged.pose.at(0))
    right = is_right(pose.matrix().numpy(), pair)
    fit = found.fit
    numbers = fit.support, fit.agreement, fit.share, list(fit.rivals), fit.loose
    return Example(key, pair.kind, pair.origin or pair.kind, right, *numbers)


def gathered(arguments: argparse.Namespace) -> list[Example]:
    """The results in the file of rows, and those that are missing there."""
    path = arguments.rows
    lines = path.read_text().splitlines() if path and path.exists() else []
    known = {found.key: found for found in (Example(*json.loads(line)) for line in lines)}
    for pair in pairs(arguments.data, SETS, arguments.every, arguments.simulated):
        for turn in range(1 if pair.kind.startswith("simulated") else arguments.turns):
            key = f"{pair.kind}|{pair.name}|{turn}"
            if key not in known:
                known[key] = example(key, turned(pair, turn, normals=False))
                if path:
                    with path.open("a") as file:
                        file.write(json.dumps(known[key]) + "\n")
    return list(known.values())
