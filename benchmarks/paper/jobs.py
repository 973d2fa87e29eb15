"""The training runs that a table needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from paper.tables import Recipe
from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.evaluation.sources import training_facts
from spoonful.models import RegistrationModel
from spoonful.training import (
    Config,
    build,
    checkpoint,
    corpora,
    load_model,
    override,
    presets,
    train,
)
from spoonful.training.config import Data
from spoonful.training.progress import Display
from spoonful.training.stopping import on_signals

# A run may exceed its share of a budget by this factor; then it is stopped where it is.
_PATIENCE = 1.5
# Validation pairs for a second of a budget, at least so many: before the first step and after the
# last one they should take a tenth of the time each, and a pair may take a second. Where it takes
# longer there are fewer, but two.
_VALIDATED, _FEWEST = 0.1, 8
_LEAST = 0.001  # of all shapes, as the configuration allows
# A pair in a training step takes so many times as long as one that is registered: on one core,
# RPM-Net's took 2 to 3 times as long, and one of the 32 of DCP 6 times.
_AND_BACK = 4.0


@dataclass(frozen=True)
class Job:
    """One training run that a table needs.

    Attributes:
        recipe: the model and its preset.
        seed: of the run.
        data: what to train on, as the training configuration names it.
        folder: where checkpoints are, or will be. A run that began there is resumed.
        budget: seconds to train for; None for the preset's full schedule.
        train: whether to train; otherwise a run that is not finished is left alone.
        device: to train on.
        layer: the mode of the refinement layer, for recipes that have one.
        settings: further settings of the training configuration, as "a.b=c".
        label: what it is called where its progress is shown.
        quiet: show no progress.
    """

    recipe: Recipe
    seed: int
    data: str
    folder: Path
    budget: float | None = None
    train: bool = True
    device: str = "cpu"
    layer: str = "source"
    settings: tuple[str, ...] = ()
    label: str = ""
    quiet: bool = False


class NoTime(Exception):
    """A budget has no room for a single training step; the message says what one would take."""


class Trained(NamedTuple):
    """A trained model, and how it was trained: plain values by name.

    `facts` has "steps"; where it is known "epochs"; and "of_epochs", those of the full schedule.
    """

    model: RegistrationModel
    facts: Mapping[str, Any]


def train_job(job: Job) -> Trained | None:
    """Load a job from its folder if it is finished; else train it, or return None if not asked to.

    With a budget, the run plans as many steps as fit, with the whole schedule of the learning rate
    in them. One that is still not done after half as long again is stopped, and taken as it is.

    Raises:
        KeyboardInterrupt: a signal stopped the run, which has its checkpoint: half a training is no
            row of a table.
        NoTime: on this CPU, one step takes longer than the budget.
    """
    if not (job.folder / checkpoint.RESULT).is_file():
        if not job.train:
            return None
        _train(job)
    full = presets.get(job.recipe.preset).budget.epochs
    return Trained(load_model(job.folder), {**training_facts(job.folder), "of_epochs": full})


def _train(job: Job) -> None:
    """Train a job, or go on with it."""
    config = config_of(job)
    card = build.protocol(config)
    if job.budget is not None and not checkpoint.found(job.folder):
        _check_time(config, job.budget)
    shapes = None
    if card.sampling != "given":
        shapes = _corpus(config.data.corpus, config.data.per_category)
        asked = any(setting.startswith("data.validation=") for setting in job.settings)
        if job.budget is not None and not asked:
            share = _validation(config, job, len(card.select(shapes, "train")))
            config = override(config, [f"data.validation={share}"])
    Display(job.label or config.name, quiet=job.quiet).say(f"training in {job.folder}")
    with on_signals() as stop:
        train(
            config,
            out=job.folder,
            corpus=shapes,
            seconds=None if job.budget is None else _PATIENCE * job.budget,
            quiet=job.quiet,
        )
    if stop.asked:
        raise KeyboardInterrupt


def config_of(job: Job) -> Config:
    """The configuration: the preset, changed by the table, then by the user."""
    full = {"seed": job.seed, "data.corpus": job.data, "runtime.device": job.device}
    if job.recipe.iterations is not None:
        full["refine.mode"] = job.layer
        full["refine.iterations"] = job.recipe.iterations
        full["refine.loss_on"] = job.recipe.loss_on
    if job.recipe.protocol is not None:
        full["data.protocol"] = job.recipe.protocol
    if job.budget is not None:
        full["budget.seconds"] = max(1.0, round(job.budget, 3))
    config = override(
        presets.get(job.recipe.preset), [f"{name}={value}" for name, value in full.items()]
    )
    return override(config, job.settings)


def _check_time(config: Config, budget: float) -> None:
    """Raise `NoTime` if a budget is too short for a single step."""
    step = _AND_BACK * config.data.batch_size * _pair_seconds(config)
    if step > budget:
        raise NoTime(
            f"not trained: one step takes about {max(step, 1):.0f} s on this CPU, and its share "
            f"of the budget is {budget:.3g} s"
        )


def _validation(config: Config, job: Job, shapes: int) -> float:
    """The share of the shapes to validate on within a budget."""
    if checkpoint.found(job.folder):  # it was chosen by the clock, and stays for the whole run
        return checkpoint.load(job.folder).config.data.validation
    assert job.budget is not None
    pairs = max(_FEWEST, _VALIDATED * job.budget)
    if pair := _pair_seconds(config):
        pairs = min(pairs, max(2.0, _VALIDATED * job.budget / pair))
    return min(config.data.validation, max(pairs / shapes, _LEAST))


def _pair_seconds(config: Config) -> float:
    """The seconds a CPU takes to register a pair; 0 for an accelerator, which is fast enough."""
    if config.runtime.device != "cpu":
        return 0.0
    return _timed(
        Config(
            model=config.model,
            data=Data(protocol=config.data.protocol, points=config.data.points),
            dcp=config.dcp,
            rpmnet=config.rpmnet,
            pointnetlk=config.pointnetlk,
        )
    )


@lru_cache
def _timed(network: Config) -> float:
    """The seconds an untrained network takes to register a pair here."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = build.model(network).eval()
        source, target = (torch.rand(1, size, 3) - 0.5 for size in build.protocol(network).sizes)
        batch = Batch(source, target)
        if model.needs_normals:
            batch = Batch(source, target, F.normalize(source, dim=-1), F.normalize(target, dim=-1))
        took = []
        for _ in range(2):  # the first time, kernels may be built
            began = perf_counter()
            model(batch)
            took.append(perf_counter() - began)
        return min(took)


@lru_cache(maxsize=1)
def _corpus(name: str, per_category: int | None) -> Corpus:
    """The training shapes; all runs of a table share them."""
    return corpora.load(name, "train", per_category=per_category)
