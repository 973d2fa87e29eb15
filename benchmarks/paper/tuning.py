"""Find good settings for a classical method, on training pairs alone.

A search over a small grid of settings, `SPACES`, that begins with the published ones and those that
an earlier search found. The first half of the trials is drawn at random; each of the others changes
one setting of the best so far.
The score of some settings is the mean over pairs of the angle between the rotation found and the
true one, in degrees: the tables' isotropic error. It is robust, because no angle is above 180; a
pair without a finite pose counts 180.

Pairs are made from training shapes of training categories, by the steps of the protocol's test
items. A third of them ranks all trials; the best three are then compared with the published
settings on the others, pair by pair. The best of the three is taken if the 95 % interval of its
gain, by bootstrap over those pairs, lies above zero; else the published settings stay. So a lucky
trial is not taken for a good one.

In a process group of `torch.distributed` the pairs are shared out, and all processes find the same.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from spoonful.batch import Batch
from spoonful.classical import presets
from spoonful.classical.contract import ClassicalMethod, PairwiseMethod
from spoonful.classical.library import library_version
from spoonful.classical.presets import Tuned
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.evaluation.bootstrap import LEVEL, Interval, interval, replicate
from spoonful.evaluation.evaluate import rank_and_size
from spoonful.evaluation.provenance import fingerprint, machine, versions
from spoonful.metrics import rotation_error_degrees

WORST_DEGREES = 180.0
"""The score of a pair without a pose, and the largest of any pair."""
FINALISTS = 3
"""The number of trials compared on the pairs that ranked none."""

# Pairs between two looks at whether a trial can still be among the best: of methods that take
# one at a time, or on a CPU; and of batches on a GPU.
_FEW, _MANY = 8, 64

SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "icp": {
        "metric": ("point", "plane"),
        "iterations": (30, 60, 100),
        "max_distance": (None, 1.0, 0.5, 0.3, 0.2, 0.1),
        "trim": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
        "starts": (1, 8, 24),
        "start_degrees": (60.0, 90.0, 180.0),
        "sample": (None, 256),
    },
    "fgr": {
        "feature_radius": (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
        "max_distance": (0.005, 0.01, 0.02, 0.03, 0.05, 0.1),
        "absolute_scale": (False, True),
        "narrow": (False, True),
        "iterations": (64, 128),
        "tuple_scale": (0.8, 0.9, 0.95),
        "tuples": (300, 1000, 3000),
    },
    "goicp": {
        "trim": (0.0, 0.1, 0.2, 0.3, 0.4),
        "threshold": (3e-5, 1e-4, 3e-4, 1e-3),
        "translation": (0.25, 0.5, 1.0),
        "points": (100, 200, 400, None),
        "cells": (64, 128),
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
        "voxel": (None, 0.03, 0.04, 0.05, 0.06, 0.08, 0.12),
        "thin": (True, False),
        "normal_gain": (2.0, 3.0, 4.0, 5.0),
        "feature_gain": (4.0, 5.0, 7.0, 9.0),
        "pruning_gain": (0.5, 1.0, 2.0),
        "solver_gain": (0.5, 0.75, 1.5),
    },
}
"""The values to search, by the names of a method's settings."""


@dataclass(frozen=True)
class Trial:
    """Some settings, and their scores; infinite for a trial that was given up as no better.

    Attributes:
        number: 0 for the published settings.
        method: with its settings.
        score: on the third of the pairs that ranks, in degrees.
        final: on the others; None where it was not among the best.
        gain: by how much it is better there than the published settings, in degrees: the paired
            95 % interval; None where it was not compared.
        seconds: per pair, on average.
    """

    number: int
    method: ClassicalMethod
    score: float
    final: float | None = None
    gain: Interval | None = None
    seconds: float = math.nan


@dataclass(frozen=True)
class Search:
    """The result of `tune`: the best settings, as a preset, and all trials in their order."""

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
    fixed: Mapping[str, Any] | None = None,
    earlier: Sequence[Tuned] = (),
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
        items: training pairs, a third of them for ranking and the rest for the final comparison;
            one a shape at most.
        seed: of the pairs and of the settings drawn.
        device: where batched methods run.
        fixed: settings by name that all trials have, such as a limit on time that makes more of
            them possible. They are not searched, and the preset has the published ones.
        earlier: what other searches found, to be tried after the published settings.
        progress: called with each trial as it is done.

    >>> from spoonful.data import protocols, synthetic
    >>> corpus = synthetic.load("train", per_category=2, points=1024)
    >>> search = tune("icp", protocols.get("dcp-clean"), corpus, trials=2, items=4)
    >>> search.after <= search.before, len(search.trials)
    (True, 2)
    """
    if name not in SPACES:
        raise ValueError(f"there is nothing to tune in {name!r}; there are: {', '.join(SPACES)}")
    check_counts(trials, items)
    pairs = training_pairs(protocol, corpus, items, seed=seed, device=device)
    third = max(1, len(pairs) // 3)
    first, second = pairs[:third], pairs[third:]

    began = time.monotonic()
    published, fixed = presets.published(name), dict(fixed or {})
    draws = _Draws(replace(published, **fixed), SPACES[name], set(fixed), trials, seed)
    draws.put_first([replace(found.build(), **fixed) for found in earlier])
    done: list[Trial] = []
    while len(done) < trials and (method := draws.next(done)) is not None:
        # All processes stop where the first of them does.
        if done and _agreed(time.monotonic() - began > seconds):
            break
        best = sorted(trial.score for trial in done)[:FINALISTS]
        limit = best[-1] if len(best) == FINALISTS else math.inf
        start = time.monotonic()
        errors = _errors(method, first, limit)
        spent = (time.monotonic() - start) / len(first)
        if errors is None:
            done.append(Trial(len(done), method, math.inf))
        else:
            done.append(Trial(len(done), method, float(errors.mean()), seconds=spent))
        if progress is not None:
            progress(done[-1])

    done, winner = _final(done, second)
    return Search(
        Tuned(
            name,
            {**_plain(winner.method), **{key: getattr(published, key) for key in fixed}},
            {
                "protocol": protocol.name,
                "protocol_hash": protocol.hash,
                "split": "train",
                "data": corpus.name,
                "data_fingerprint": fingerprint(corpus),
                "items": len(pairs),
                "seed": seed,
                "trials": len(done),
                **({"fixed": fixed} if fixed else {}),
                "winner": winner.number,
                "score": "mean angle between rotations in degrees, on "
                f"{len(second)} training pairs that ranked no trial",
                "score_published": done[0].final,
                "score_tuned": winner.final,
                "finalists": [
                    {"trial": trial.number, "score": trial.final, "gain": list(trial.gain)}
                    for trial in done
                    if trial.gain is not None
                ],
                "created": datetime.now(UTC).date().isoformat(),
                "versions": {**versions(), **_library(winner.method)},
                "machine": machine(torch.device(device)),
            },
        ),
        tuple(done),
    )


def check_counts(trials: int, items: int) -> None:
    """Raise unless there are enough trials and training pairs for `tune`."""
    for what, value, least in (("trials", trials, 1), ("items", items, 2)):
        if value < least:
            raise ValueError(f"{what} must be at least {least}, got {value}")


def training_pairs(
    protocol: Protocol,
    corpus: Corpus,
    items: int,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> list[Batch]:
    """Pairs of training shapes, spread over the corpus; single ones, on `device`.

    They are validation items: shapes and categories of training, crops and poses drawn as for test
    items, whose published recipe differs from that of training in more than its seed.

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
    made = ProtocolDataset(protocol, corpus, split="validation")
    order = torch.randperm(len(made), generator=torch.Generator().manual_seed(seed))
    return [made[index].to(device) for index in order[:items].tolist()]


class _Draws:
    """Settings to try, none twice: published, then random ones, then neighbours of the best."""

    def __init__(
        self,
        published: ClassicalMethod,
        space: Mapping[str, tuple[Any, ...]],
        fixed: set[str],
        trials: int,
        seed: int,
    ) -> None:
        self._published = published
        self._space = {key: values for key, values in space.items() if key not in fixed}
        self._random = max(1, trials // 2)
        self._generator = torch.Generator().manual_seed(seed)
        self._seen = {str(_plain(self._published))}
        grid = list(itertools.product(*self._space.values()))
        self._grid = iter([grid[place] for place in self._shuffled(len(grid))])
        self._first: list[ClassicalMethod] = []

    def put_first(self, methods: Sequence[ClassicalMethod]) -> None:
        """Have methods tried right after the published settings, unless they are those."""
        for method in methods:
            if str(_plain(method)) not in self._seen:
                self._seen.add(str(_plain(method)))
                self._first.append(method)

    def next(self, done: Sequence[Trial]) -> ClassicalMethod | None:
        """The next settings, after the trials so far; None if there are no more."""
        if not done:
            return self._published
        if self._first:
            return self._first.pop(0)
        if len(done) >= self._random:
            for trial in sorted(done, key=lambda trial: (trial.score, trial.number))[:FINALISTS]:
                if (method := self._neighbour(trial.method)) is not None:
                    return method
        for values in self._grid:
            if (method := self._fresh(dict(zip(self._space, values, strict=True)))) is not None:
                return method
        return None

    def _neighbour(self, method: ClassicalMethod) -> ClassicalMethod | None:
        """The method with one setting changed."""
        changes = [(key, value) for key, values in self._space.items() for value in values]
        here = {key: getattr(method, key) for key in self._space}
        for place in self._shuffled(len(changes)):
            key, value = changes[place]
            if (found := self._fresh({**here, key: value})) is not None:
                return found
        return None

    def _fresh(self, values: dict[str, Any]) -> ClassicalMethod | None:
        """The method with these settings, unless they were tried or do not go together."""
        try:
            method = replace(self._published, settings="tuned", **values)
        except ValueError:
            return None
        if str(_plain(method)) in self._seen:
            return None
        self._seen.add(str(_plain(method)))
        return method

    def _shuffled(self, count: int) -> list[int]:
        return torch.randperm(count, generator=self._generator).tolist()


def _final(done: Sequence[Trial], pairs: Sequence[Batch]) -> tuple[list[Trial], Trial]:
    """All trials, the best of them compared with the published settings, and the winner."""
    done = list(done)
    ranked = sorted(done, key=lambda trial: (trial.score, trial.number))[:FINALISTS]
    finalists = {trial.number: trial for trial in (done[0], *ranked)}
    before: Tensor | None = None
    for number, trial in finalists.items():  # the published settings are the first
        errors = _errors(trial.method, pairs)
        assert errors is not None
        if before is None:
            before = errors
            done[number] = replace(trial, final=float(errors.mean()))
            continue
        # The same draws for both, so that what is hard for both does not blur their difference.
        means = [replicate({"": some})[""]["mean"] for some in (before, errors)]
        gain = interval(means[0] - means[1], LEVEL)
        done[number] = replace(trial, final=float(errors.mean()), gain=gain)
    better = [trial for trial in done if trial.gain is not None and trial.gain.low > 0]
    return done, min(better, key=lambda trial: trial.final or 0.0, default=done[0])


def _errors(
    method: ClassicalMethod, pairs: Sequence[Batch], limit: float = math.inf
) -> Tensor | None:
    """The errors of all pairs (K,) in degrees; None as soon as their mean must exceed `limit`."""
    rank, processes = rank_and_size()
    on_gpu = pairs[0].source.is_cuda and not isinstance(method, PairwiseMethod)
    size = _MANY if on_gpu else max(_FEW, 2 * processes)
    errors = torch.zeros(len(pairs), dtype=torch.float64)
    for first in range(0, len(pairs), size):
        places = range(first, min(first + size, len(pairs)))[rank::processes]
        if len(places) > 0:
            batch = collate([pairs[place] for place in places])
            assert batch.pose is not None
            degrees = rotation_error_degrees(method(batch).pose.rotation, batch.pose.rotation)
            errors[torch.tensor(places)] = degrees.nan_to_num(WORST_DEGREES).cpu()
        if processes > 1:  # what the others have not measured is zero here
            share = errors[first : first + size].clone()
            dist.all_reduce(share)
            errors[first : first + size] = share
        if float(errors.sum()) / len(pairs) > limit:
            return None
    return errors


def _agreed(mine: bool) -> bool:
    """The first process' value, on all processes."""
    _, processes = rank_and_size()
    if processes == 1:
        return mine
    said = torch.tensor([float(mine)])
    dist.broadcast(said, 0)
    return bool(said.item())


def _library(method: ClassicalMethod) -> dict[str, str]:
    """The version of the library that a method calls, if it calls one."""
    name = getattr(method, "library", None)
    return {} if name is None else {name: library_version(name)}


def _plain(method: ClassicalMethod) -> Mapping[str, Any]:
    """A method's settings by name, without the word for whose they are."""
    return {key: value for key, value in asdict(method).items() if key != "settings"}
