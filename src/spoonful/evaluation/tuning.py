"""Find good settings for a classical method, on training pairs alone.

A random search over a small grid of settings, `SPACES`, which always includes the published ones.
The score of some settings is the mean over pairs of the angle between the rotation found and the
true one, in degrees: the tables' isotropic error. It is robust, because no angle is above 180; a
pair without a finite pose counts 180.

Pairs are made from training shapes, by the protocol's own steps. A third of them ranks all trials;
the best three and the published settings are then compared on the others, which gives the winner
and the two scores that are reported. So a lucky trial is not taken for a good one, and the
published settings stay where nothing is better.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import torch

from spoonful.batch import Batch
from spoonful.classical import presets
from spoonful.classical.contract import ClassicalMethod
from spoonful.classical.presets import Tuned
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.evaluation.provenance import fingerprint, machine, versions
from spoonful.metrics import PoseErrors

WORST_DEGREES = 180.0
"""What a pair without a pose counts in a score, and the most that any does."""
FINALISTS = 3
"""How many trials are compared on the pairs that ranked none."""

# Pairs between two looks at the clock and at whether a trial can still be among the best.
_AT_ONCE = 8

SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "icp": {
        "metric": ("point", "plane"),
        "iterations": (30, 60, 100),
        "max_distance": (None, 1.0, 0.5, 0.3, 0.2, 0.1),
        "trim": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    },
    "icp-open3d": {
        "metric": ("point", "plane"),
        "iterations": (30, 60, 100),
        "max_distance": (1.0, 0.5, 0.3, 0.2, 0.1),
    },
    "fgr": {
        "feature_radius": (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
        "neighbors": (64, 128, 256),
        "max_distance": (0.005, 0.01, 0.02, 0.03, 0.05, 0.1),
        "absolute_scale": (False, True),
        "narrow": (False, True),
        "iterations": (64, 128),
        "tuple_scale": (0.8, 0.9, 0.95),
        "tuples": (300, 1000, 3000),
    },
    "goicp": {
        "trim": (0.0, 0.1, 0.2, 0.3, 0.4),
        "threshold": (3e-4, 1e-3, 3e-3),
        "points": (100, 200, 400),
        "time_limit": (5.0, 20.0),
    },
    "rpm": {
        "beta": (1.0, 2.0, 5.0, 10.0, 20.0),
        "last_beta": (300.0, 1000.0, 3000.0),
        "growth": (1.3, 1.6),
        "outlier_distance": (0.05, 0.1, 0.15, 0.2, 0.3),
        "rounds": (1, 2),
    },
    "small_gicp": {
        "kind": ("GICP", "PLANE_ICP", "ICP"),
        "voxel": (None, 0.05, 0.1),
        "neighbors": (5, 10, 20, 30),
        "max_distance": (0.1, 0.2, 0.3, 0.5, 1.0, 2.0),
        "iterations": (20, 50, 100),
    },
    "kiss-matcher": {
        "voxel": (None, 0.05, 0.08, 0.12, 0.16),
        "thin": (True, False),
        "normal_gain": (2.0, 3.0, 4.0),
        "feature_gain": (4.0, 5.0, 7.0),
        "pruning_gain": (0.5, 1.0, 2.0),
        "solver_gain": (0.5, 0.75, 1.5),
    },
}
"""What is searched: values by the names of a method's settings."""


@dataclass(frozen=True)
class Trial:
    """Some settings, and their scores; infinite for a trial that was given up as no better.

    Attributes:
        number: 0 for the published settings.
        method: with its settings.
        score: on the third of the pairs that ranks, in degrees.
        final: on the others; None where it was not among the best.
        seconds: spent on a pair, on average.
    """

    number: int
    method: ClassicalMethod
    score: float
    final: float | None = None
    seconds: float = math.nan


@dataclass(frozen=True)
class Search:
    """What `tune` found: the best settings, as a preset, and all trials in their order."""

    tuned: Tuned
    trials: tuple[Trial, ...]

    @property
    def before(self) -> float:
        """The score of the published settings, on the pairs that ranked no trial."""
        return float(self.tuned.search["score_published"])

    @property
    def after(self) -> float:
        """The score of the best settings on the same pairs."""
        return float(self.tuned.search["score_tuned"])


def tune(
    name: str,
    protocol: Protocol,
    corpus: Corpus,
    *,
    trials: int = 20,
    seconds: float = math.inf,
    items: int = 64,
    seed: int = 0,
    device: torch.device | str = "cpu",
    progress: Callable[[Trial], None] | None = None,
) -> Search:
    """Search for settings of a classical method.

    Args:
        name: of the method, one of `SPACES`.
        protocol: the pairs to be good at.
        corpus: the training shapes. One whose name says that it is a test split is refused.
        trials: settings to try, the published ones among them. Fewer where there are no more.
        seconds: begin no further trial after this time. With the same number of trials done, the
            result is the same.
        items: training pairs, a third of them for ranking and the rest for the final comparison.
        seed: of the pairs and of the settings drawn.
        device: where batched methods run.
        progress: called with each trial as it is done.

    >>> from spoonful.data import protocols, synthetic
    >>> corpus = synthetic.load("train", per_category=2, points=1024)
    >>> search = tune("icp", protocols.get("dcp-clean"), corpus, trials=2, items=4)
    >>> search.after <= search.before, len(search.trials)
    (True, 2)
    """
    if name not in SPACES:
        raise ValueError(f"there is nothing to tune in {name!r}; there are: {', '.join(SPACES)}")
    for what, value, least in (("trials", trials, 1), ("items", items, 2)):
        if value < least:
            raise ValueError(f"{what} must be at least {least}, got {value}")
    pairs = training_pairs(protocol, corpus, items, seed=seed, device=device)
    third = max(1, len(pairs) // 3)
    first, second = pairs[:third], pairs[third:]

    began = time.monotonic()
    done: list[Trial] = []
    for number, method in enumerate(_candidates(name, trials, seed)):
        if number > 0 and time.monotonic() - began > seconds:
            break
        best = sorted(trial.score for trial in done)[:FINALISTS]
        limit = best[-1] if len(best) == FINALISTS else math.inf
        start = time.monotonic()
        score = _score(method, first, limit)
        spent = (time.monotonic() - start) / len(first) if math.isfinite(score) else math.nan
        done.append(Trial(number, method, score, seconds=spent))
        if progress is not None:
            progress(done[-1])

    ranked = sorted(done, key=lambda trial: (trial.score, trial.number))[:FINALISTS]
    finalists = {trial.number: trial for trial in (done[0], *ranked)}
    for number, trial in finalists.items():
        finalists[number] = done[number] = replace(trial, final=_score(trial.method, second))
    # The published settings come first, so that they stay where nothing is better.
    winner = min(finalists.values(), key=lambda trial: (trial.final, trial.number))
    return Search(
        Tuned(
            name,
            _plain(winner.method),
            {
                "protocol": protocol.name,
                "protocol_hash": protocol.hash,
                "split": "train",
                "data": corpus.name,
                "data_fingerprint": fingerprint(corpus),
                "items": len(pairs),
                "seed": seed,
                "trials": len(done),
                "winner": winner.number,
                "score": "mean angle between rotations in degrees, on "
                f"{len(second)} training pairs that ranked no trial",
                "score_published": done[0].final,
                "score_tuned": winner.final,
                "created": datetime.now(UTC).date().isoformat(),
                "versions": {**versions(), **_library(winner.method)},
                "machine": machine(torch.device(device)),
            },
        ),
        tuple(done),
    )


def training_pairs(
    protocol: Protocol,
    corpus: Corpus,
    items: int,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> list[Batch]:
    """Pairs of training shapes, spread over the corpus; single ones, on `device`.

    Raises:
        ValueError: the corpus is a test split.
    """
    from spoonful.data.items import ProtocolDataset  # needs numpy

    if not isinstance(corpus, Corpus):
        raise TypeError(f"corpus must be a Corpus of shapes, got a {type(corpus).__name__}")
    if corpus.name.split("/")[-1] == "test":
        raise ValueError(
            f"settings are tuned on training shapes, but corpus {corpus.name!r} is a test split"
        )
    made = ProtocolDataset(protocol, corpus, split="train", seed=seed)
    order = torch.randperm(len(made), generator=torch.Generator().manual_seed(seed))
    return [made[index].to(device) for index in order[:items].tolist()]


def _candidates(name: str, count: int, seed: int) -> list[ClassicalMethod]:
    """The published settings, then others drawn from the grid, none twice."""
    method = presets.published(name)
    known = set(asdict(method))
    space = {key: values for key, values in SPACES[name].items() if key in known}
    every = math.prod(map(len, space.values()))
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(every, generator=generator).tolist()
    grid = list(itertools.product(*space.values()))
    found = [method]
    for place in order:
        if len(found) == count:
            break
        values = dict(zip(space, grid[place], strict=True))
        try:
            drawn = replace(method, settings="tuned", **values)
        except ValueError:  # values that do not go together
            continue
        if _plain(drawn) != _plain(method):
            found.append(drawn)
    return found


def _score(method: ClassicalMethod, pairs: Sequence[Batch], limit: float = math.inf) -> float:
    """The robust mean error; infinite as soon as it must exceed `limit`."""
    total = 0.0
    for first in range(0, len(pairs), _AT_ONCE):
        batch = collate(pairs[first : first + _AT_ONCE])
        errors = PoseErrors(chamfer=False)
        errors.update(method(batch), batch)
        values = errors.values("rotation_degrees").nan_to_num(WORST_DEGREES)
        total += float(values.clamp(max=WORST_DEGREES).sum())
        if total / len(pairs) > limit:
            return math.inf
    return total / len(pairs)


def _library(method: ClassicalMethod) -> dict[str, str]:
    """The version of the library that a method calls, if it calls one."""
    name = getattr(method, "library", None)
    if name is None:
        return {}
    try:
        return {name: metadata.version(name)}
    except metadata.PackageNotFoundError:  # under another name, as open3d-cpu is
        return {name: "unknown"}


def _plain(method: ClassicalMethod) -> Mapping[str, Any]:
    """A method's settings by name, without the word for whose they are."""
    return {key: value for key, value in asdict(method).items() if key != "settings"}
