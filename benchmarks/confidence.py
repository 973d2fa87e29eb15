"""Fit the constants of `confidence_of`, and test them on sources that the fit has not seen.

    python benchmarks/confidence.py --data SCANS --rows rows.jsonl [--turns 3] [--simulated 150]

The pairs are those of scans.py without normals: `--simulated` of each simulated kind and as many of
round objects, from the seed `--first` on. Each simulated pair counts twice: in the coordinates of
its sensors, and with both scans moved far away, so that no sensor is known. Real sources are
turned `--turns` times, the others once. Then come pairs of scans whether or not they overlap: all
of ten bunny scans, of twenty kitchen fragments and of ten scans that share nothing, and `--scenes`
pairs of each of three large simulated scenes (align.py says what these sets are), all moved to
their centroids. Two of the scenes are in no fit: a second street, and a building whose rooms look
alike.

Each source is left out once: the constants are fitted to the others, and the table says how often
its results are right at about one confidence. A source is a kind of scan: a dataset, or a simulated
scene and its sensor. Then the constants are fitted to all, and tables count the sets with them. The
last table counts all pairs with the constants in use.

`--rows` keeps the statistics of each result in a line of JSON. A run reads them and computes only
what is missing, so it can be stopped at any time. `--part 1/2` computes every second pair, and
fits nothing: two processes can share the work and the file. `--simulated 0 --turns 0` computes
nothing. `--save` writes the tables to results/confidence.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

import align
from _harness import save, table
from scans import SETS, Pair, Row, interval, is_right, pairs, reliability, turned
from spoonful.data.clouds import Cloud
from spoonful.data.simulate import simulate
from spoonful.geometry import Pose
from spoonful.neighbors import Index
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.auto import ranked
from spoonful.pipeline.confidence import (
    LOOSE,
    FitStatistics,
    confidence_of,
    features_of,
)
from spoonful.pipeline.polish import polish
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.proposers import AUTO, from_start, gather
from spoonful.pipeline.rivals import AS_GOOD
from spoonful.pipeline.search import Search

# Large simulated scenes: kind, sensor and seed after `--first`. All but the first are tests.
SCENES = (("street", "lidar", 0), ("street", "lidar", 1), ("building", "camera", 0))
SCANS = 32  # of each scene
FAR = 1000.0  # metres
# Sets of made-up scans, of which there are as many as wanted.
MADE = ("simulated", "lumps")


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
        found = ranked(search, proposals)
        # The pose that `register` returns.
        frame, generator = search.pair.frame, torch.Generator().manual_seed(0)
        points, onto = frame.source_in(pair.source.points), frame.target_in(pair.target.points)
        judged = found.judged.pose.at(0)
        final = polish(search.pair, points, Index(onto), judged, generator=generator)[1]
    pose = frame.pose_out(final)
    right = is_right(pose.matrix().numpy(), pair)
    # Both sets of fragments are of one kitchen, and most of the pairs that share nothing.
    kitchen = pair.kind in ("3dmatch", "3dlomatch", "apart")
    origin = "kitchen" if kitchen else pair.origin or pair.kind
    return Example(key, pair.kind, origin, right, found.fit)


def every_pair(
    root: Path, kinds: Sequence[str], count: int, own: slice, done: Collection[str], first: int
) -> Iterator[Pair]:
    """Pairs of scans of one set, overlapping or not; about `count` of each simulated scene.

    `kinds` are sets of real scans, and `own` is the part of each set to take. Simulated pairs with
    a name in `done` are left out. `first` is added to the seeds of the scenes.
    """
    for kind in kinds:
        for a, b in [*itertools.combinations(getattr(align, kind)(root), 2)][own]:
            name, limits = f"{b.name} on {a.name}, {kind}", align.RIGHT.get(kind)
            yield between(f"every pair: {kind}", name, (b.cloud, b.pose), (a.cloud, a.pose), limits)
    for scene, sensor, seed in SCENES if count else ():
        group = scene_name(scene, sensor, seed, first)
        every = [*itertools.combinations(range(SCANS), 2)]
        names = {f"{j} on {i}, {group}": (i, j) for i, j in every[:: max(1, len(every) // count)]}
        left = [name for name in [*names][own] if name not in done]
        if left:
            made = simulate(scene, sensor, scans=SCANS, seed=first + seed)
        for name in left:
            target, source = ((made.clouds[k], made.poses.at(k)) for k in names[name])
            kind = f"every pair: simulated {group}"
            found = between(kind, name, source, target, align.SIMULATED)
            yield found._replace(origin=f"{scene} {sensor}")


def is_made(kind: str) -> bool:
    return any(word in kind for word in MADE)


def scene_name(scene: str, sensor: str, seed: int, first: int) -> str:
    return f"{scene} {sensor}, seed {first + seed}"


def with_and_without_sensor(pair: Pair) -> Iterator[Pair]:
    """The pair; of a simulated one also a copy with both clouds far from the origin.

    Clouds about their centroids would not do: some look like scans from there. The copy comes
    first, so a pair whose name is in the file of rows has its copy there, too.
    """
    if pair.kind.startswith("simulated"):
        here = Pose.identity(dtype=torch.float64)
        there = here if pair.truth is None else Pose.from_matrix(torch.from_numpy(pair.truth))
        limits = None if pair.truth is None else (pair.degrees, pair.distance)
        names = (f"{word}, no sensor" for word in (pair.kind, pair.name))
        found = between(*names, (pair.source, there), (pair.target, here), limits, away=FAR)
        yield found._replace(origin=pair.origin)
    yield pair


def between(
    kind: str,
    name: str,
    source: tuple[Cloud, Pose],
    target: tuple[Cloud, Pose],
    limits: tuple[float, float] | None,
    away: float = 0.0,
) -> Pair:
    """Two clouds, each about its centroid or `away` from there, so no sensor is at the origin."""
    clouds, poses = [], []
    for cloud, pose in (source, target):
        points = cloud.points.double()
        shift = points.mean(0) - away
        clouds.append(Cloud(points - shift))
        poses.append(pose.compose(Pose(torch.eye(3, dtype=torch.float64), shift)))
    truth = poses[1].inverse().compose(poses[0]).matrix().numpy() if limits else None
    middle = np.full(3, away)
    return Pair(kind, name, *clouds, truth, *(limits or (0.0, 0.0)), 0.0, middle, kind[12:])


def gathered(arguments: argparse.Namespace) -> list[Example]:
    """The results in the file of rows, and those that are missing there."""
    path = arguments.rows
    known: dict[str, Example] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            *facts, fit = json.loads(line)
            known[facts[0]] = Example(*facts, FitStatistics(**fit))
    sets = [kind for kind in SETS if arguments.turns or kind in MADE]
    part, parts = (int(number) for number in arguments.part.split("/"))
    done = {key.split("|")[1] for key in known}
    data, first = arguments.data, arguments.first
    seeds, own = range(first, first + arguments.simulated), slice(part - 1, None, parts)
    usual = pairs(data, sets, arguments.every, seeds, (part, parts), done, seeds)
    real = ("bunny", "kitchen", "apart") if arguments.turns else ()
    others = every_pair(data, real, arguments.scenes, own, done, first)
    usual = (each for pair in usual for each in with_and_without_sensor(pair))
    # Simulated pairs are last: a run that is stopped has all real ones.
    for pair in itertools.chain(others, usual):
        for turn in range(1 if is_made(pair.kind) else arguments.turns):
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
    features = torch.tensor([features_of(found.fit) for found in examples], dtype=torch.float64)
    # Weights of features with the same spread can be compared. The last feature is a constant.
    spread = torch.cat([features[:, :-1].std(0).clamp_min(1e-6), torch.ones(2)])
    start = [0.0] * features.shape[1] + [1.0]
    scaled = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([scaled], max_iter=500, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        chance = probability(examples, scaled / spread).clamp(1e-6, 1 - 1e-6)
        prior = scaled[:-2].square().sum() + (scaled[-1] - 1).square()
        value = torch.nn.functional.binary_cross_entropy(chance, right) + 1e-3 * prior
        value.backward()
        return value

    optimizer.step(loss)
    return (scaled / spread).detach()


def rows_of(examples: list[Example], constants: Tensor | None) -> list[Row]:
    """The results as rows of a table; None stands for the constants in use."""
    if constants is None:
        chances = [confidence_of(found.fit) for found in examples]
    else:
        chances = probability(examples, constants).tolist()
    return [
        Row(found.kind, pair_of(found.key), found.right, chance >= CONFIDENT, chance, 0.0, 0.0)
        for found, chance in zip(examples, chances, strict=True)
    ]


def pair_of(key: str) -> str:
    """The key without the turn."""
    return key.rpartition("|")[0]


def summary(rows: list[Row]) -> str:
    """A table of the sets, all the simulated ones and all the real ones together at the end.

    Turns of one pair are not independent: an interval is for the number of pairs. Doubt is not
    counted against right results of ambiguous pairs.
    """
    groups = {kind: [row for row in rows if row.kind == kind] for kind in {r.kind for r in rows}}
    groups = dict(sorted(groups.items()))
    groups["all real"] = [row for row in rows if not is_made(row.kind)]
    groups["all simulated"] = [row for row in rows if is_made(row.kind)]
    groups["that share nothing"] = [row for row in rows if "apart" in row.kind]
    lines = []
    for kind, own in groups.items():
        if not own:
            continue
        right = [row for row in own if row.right]
        wrong = sum(bool(row.confident) and not row.right for row in own)
        clear = [row for row in right if "ambiguous" not in row.kind]
        doubted = sum(not row.confident for row in clear)
        count, sure = (len({row.name for row in some}) for some in (own, clear))
        line = [kind, str(len(own)), str(len(right)), str(wrong)]
        line += [interval(wrong / len(own), count), str(doubted)]
        lines.append([*line, interval(doubted / len(clear), sure) if clear else "-"])
    head = ["pairs", "results", "right", "confidently wrong", "interval"]
    return table([*head, "right but doubted", "interval"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--rows", type=Path, required=True, help="file of the statistics")
    parser.add_argument("--turns", type=int, default=1, help="random rotations of each source")
    parser.add_argument("--every", type=int, default=4, help="take every n-th pair of 3DMatch")
    parser.add_argument("--simulated", type=int, default=10, help="pairs of each simulated kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed of simulated pairs")
    parser.add_argument("--scenes", type=int, default=0, help="pairs of each simulated large scene")
    parser.add_argument("--part", default="1/1", help="compute this part of the pairs only, as 1/2")
    parser.add_argument("--save", action="store_true", help="write results/confidence.md")
    arguments = parser.parse_args()
    examples = gathered(arguments)
    if arguments.part != "1/1":
        return print(f"{len(examples)} results; fit them without --part")

    tests = tuple(scene_name(*scene, arguments.first) for scene in SCENES[1:])
    test = [found for found in examples if found.kind.endswith(tests)]
    examples = [found for found in examples if not found.kind.endswith(tests)]
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
    if test:
        text += f"\nScenes that are in no fit:\n\n{summary(rows_of(test, best))}\n"
    used = rows_of([*examples, *test], None)
    text += f"\nAll pairs with the constants in use:\n\n{summary(used)}\n\n{reliability(used)}\n"
    print(text)
    if arguments.save:
        print(f"wrote {save('confidence.md', '# Confidence' + 2 * chr(10) + text)}")


if __name__ == "__main__":
    main()
