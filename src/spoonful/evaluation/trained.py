"""What `spoonful.training` trained, as methods and as jobs of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from spoonful.data.corpus import Corpus
from spoonful.evaluation.methods import Method, of_model
from spoonful.evaluation.tables import Recipe
from spoonful.models import RegistrationModel
from spoonful.training import build, checkpoint, corpora, load_model, override, presets, train
from spoonful.training.journal import Journal
from spoonful.training.stopping import on_signals

# A run may exceed its share of a budget by this factor; then it is stopped where it is.
_PATIENCE = 1.5
# Validation pairs for a second of a budget, at least so many: on a CPU a pair takes up to a second,
# and before the first step and after the last one they should take a tenth of the time each.
_VALIDATED, _FEWEST = 0.1, 8
_LEAST = 0.001  # of all shapes, as the configuration allows


@dataclass(frozen=True)
class Job:
    """One training run that a table needs.

    Attributes:
        recipe: the model and its preset.
        seed: of the run.
        data: what to train on, as the training configuration names it.
        folder: where checkpoints are, or will be. A run that began there goes on from there.
        budget: seconds to train for; None for the preset's full schedule.
        train: whether to train; otherwise a run that is not finished is left alone.
        device: to train on.
        layer: the mode of the refinement layer, for recipes that have one.
        settings: further settings of the training configuration, as "a.b=c".
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
    quiet: bool = False


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
    """
    base = presets.get(job.recipe.preset)
    full = {"seed": job.seed, "data.corpus": job.data, "runtime.device": job.device}
    if job.recipe.iterations is not None:
        full["refine.mode"] = job.layer
        full["refine.iterations"] = job.recipe.iterations
        full["refine.loss_on"] = job.recipe.loss_on
    if job.recipe.protocol is not None:
        full["data.protocol"] = job.recipe.protocol
    if job.budget is not None:
        full["budget.seconds"] = max(1.0, round(job.budget, 3))
    config = override(base, [f"{name}={value}" for name, value in full.items()])
    config = override(config, job.settings)

    finished = job.folder / checkpoint.RESULT
    if not finished.is_file():
        if not job.train:
            return None
        card = build.protocol(config)
        scans = card.sampling == "given"
        shapes = None if scans else _corpus(config.data.corpus, config.data.per_category)
        asked = any(setting.startswith("data.validation=") for setting in job.settings)
        if shapes is not None and job.budget is not None and not asked:
            enough = max(_FEWEST, _VALIDATED * job.budget) / len(card.select(shapes, "train"))
            share = min(config.data.validation, max(enough, _LEAST))
            config = override(config, [f"data.validation={share}"])
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
    facts = {**_facts(job.folder), "of_epochs": base.budget.epochs}
    return Trained(load_model(job.folder), facts)


def open_trained(path: Path) -> Method:
    """The model of a training run's folder or checkpoint."""
    model = load_model(path)
    facts = _facts(path)
    name = path.name if path.is_dir() else path.parent.name
    return of_model(name, model, seed=facts["config"]["seed"], training=facts)


def open_corpus(name: str, split: str) -> Corpus:
    """A corpus by the names that the training configuration takes."""
    corpus: Corpus = corpora.load(name, split)
    return corpus


@lru_cache(maxsize=1)
def _corpus(name: str, per_category: int | None) -> Corpus:
    """The training shapes; all runs of a table share them."""
    corpus: Corpus = corpora.load(name, "train", per_category=per_category)
    return corpus


def _facts(path: Path) -> dict[str, Any]:
    """How far a run is, and all its settings."""
    found = checkpoint.load(path)
    facts: dict[str, Any] = {
        "steps": found.progress.step,
        "seconds": found.progress.seconds,
        "best_epoch": found.progress.best_epoch,
        "validation": found.metrics,
        "protocol": found.protocol,
        "config": found.config.as_dict(),
    }
    folder = path if path.is_dir() else path.parent
    lines = Journal(folder).lines()
    steps = [line["step"] for line in lines if "step" in line]
    if steps and found.progress.step > steps[0]:  # an epoch with steps after it was a whole one
        facts["epochs"] = found.progress.step / steps[0]
    return facts
