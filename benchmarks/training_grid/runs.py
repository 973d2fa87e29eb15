"""The runs: the same training under many conditions, one thing changed at a time.

Every condition trains the same network from the same seeds on the same pairs, for the same number
of steps. Only the pose loss differs. The weights of the last step are tested; none are selected.
Runs of one process share what was compiled. Several processes can share the work: each run belongs
to the process that claims it first.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.files import json_ready, write_whole
from spoonful.geometry import SpoonfulLayer
from spoonful.metrics import PoseErrors
from spoonful.models import RegistrationModel
from spoonful.names import named
from spoonful.registration import Registration
from spoonful.training import checkpoint, corpora, distributed, presets
from spoonful.training.config import Config, override
from spoonful.training.journal import Journal
from spoonful.training.stopping import on_signals
from spoonful.training.trainer import Trainer, TrainingResult, fast_products
from spoonful.training.validation import behaviour
from training_grid.looks import ObservedTrainer
from training_grid.published_layer import PublishedLayer

BASELINE = "kabsch"

CONDITIONS: dict[str, tuple[str, ...]] = {
    BASELINE: (),
    "published-target": ("refine=target",),
    "target": ("refine=target",),
    "published-source": ("refine=source",),
    "source": ("refine=source",),
    "perturbed-60": ("refine=perturbed", "refine.max_degrees=60"),
    "matches-1": ("loss.matches=1",),
    "matches-1-target": ("loss.matches=1", "refine=target"),
    "matches": ("loss.matches=0.1",),
    "extent": ("loss.extent=0.1",),
    "perturbed-30": ("refine=perturbed", "refine.max_degrees=30"),
    "perturbed-90": ("refine=perturbed", "refine.max_degrees=90"),
    "perturbed-15": ("refine=perturbed", "refine.max_degrees=15"),
    "perturbed-60-shrinking": (
        "refine=perturbed",
        "refine.max_degrees=60",
        "refine.schedule=shrinking",
    ),
    "perturbed-60-4-starts": ("refine=perturbed", "refine.max_degrees=60", "refine.starts=4"),
    "detached": ("refine=detached",),
    "target-float64": ("refine=target", "refine.precision=float64"),
    "source-float64": ("refine=source", "refine.precision=float64"),
    "extent-1": ("loss.extent=1",),
}
"""Settings by name of the condition, in the order in which they run.

"published-..." replaces the layer by `PublishedLayer`: the same function in the published
arithmetic.
"""

MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    # In a short run the published schedule lowers the rate long before the loss has come down: of
    # 3000 steps, all but the first 900 changed next to nothing. Runs of 12,000 steps have it.
    "dcp": ("dcp/unseen", ("optimizer.milestones=0.7,0.9",)),
    # The published batches of 8 leave a GPU idle. Four times as many pairs in a step, four times
    # the rate, and an end to it, so that a short run settles.
    "rpmnet": (
        "rpmnet/crop",
        (
            "data.batch_size=32",
            "optimizer.lr=4e-4",
            "optimizer.milestones=0.6,0.85",
            "optimizer.clip=1",
        ),
    ),
}
"""Preset and settings by name of the model."""

_VALIDATED = 96  # pairs at most; whole batches, as a smaller last one would be compiled anew
_LOOKS = 12  # validations of a run
# No run begins with less time than this: starting it takes most of a minute.
_START = 60.0
# The values of each test in a run's file.
_VALUES = (
    "rotation_degrees",
    "translation",
    "mean_point_distance",
    "correspondence",
    "extent_ratio",
    "rho_source",
    "rho_target",
    "divergence_source",
    "divergence_target",
)


@dataclass(frozen=True)
class Job:
    """One run: a model under a condition, from a seed."""

    model: str
    condition: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its file.

        >>> Job("dcp", "perturbed-60", 2).name
        'dcp-perturbed-60-seed2'
        """
        return f"{self.model}-{self.condition}-seed{self.seed}"


def grid(
    models: Sequence[str] = tuple(MODELS),
    seeds: Sequence[int] = (0, 1, 2),
    only: Sequence[str] = (),
) -> list[Job]:
    """All runs in their order: model by model, and for each seed all conditions.

    Args:
        models: of `MODELS`.
        seeds: of the runs.
        only: conditions, or models and conditions as "dcp-kabsch", in the order in which they
            run; all conditions if empty.

    >>> [job.name for job in grid(["dcp"], seeds=[0, 1], only=["target", "kabsch"])][:3]
    ['dcp-target-seed0', 'dcp-kabsch-seed0', 'dcp-target-seed1']
    """
    for model in models:
        named(model, MODELS, what="model")
    of_models = {f"{model}-{name}": name for model in MODELS for name in CONDITIONS}
    for name in only:
        if name not in of_models:
            named(name, CONDITIONS, what="condition")
    found = []
    for model in models:
        wanted = [
            of_models.get(name, name)
            for name in only
            if name in CONDITIONS or name.startswith(f"{model}-")
        ]
        chosen = wanted if only else list(CONDITIONS)
        found += [Job(model, name, seed) for seed in seeds for name in chosen]
    return found


def config_of(
    job: Job, *, steps: int, corpus: Corpus, device: str = "auto", settings: Iterable[str] = ()
) -> Config:
    """The configuration of a run.

    Args:
        job: which.
        steps: how long.
        corpus: the training shapes; how many decides on how many are for validation.
        device: where it trains.
        settings: further ones, of all runs alike.
    """
    preset, own = MODELS[job.model]
    base = override(presets.get(preset), [*own, *settings])
    shapes = len(protocols.get(base.data.protocol).select(corpus, "train"))
    batch = base.data.batch_size
    kept = min(_VALIDATED, shapes // 4) // batch * batch  # none: too few shapes to be choosy
    validation = kept / shapes if kept else base.data.validation
    epochs = steps / max(1, (shapes - kept) // batch)
    return override(
        base,
        [
            f"name={job.condition}",
            f"seed={job.seed}",
            f"budget.steps={steps}",
            f"data.corpus={corpus.name}",
            f"data.validation={validation}",
            f"runtime.device={device}",
            f"runtime.validate_every={max(1, round(epochs / _LOOKS))}",
            "runtime.tensorboard=false",
            "runtime.checkpoint_seconds=60",
            "runtime.keep=1",
            *CONDITIONS[job.condition],
            *settings,
        ],
    )


def run(
    todo: Sequence[Job],
    out: str | Path,
    *,
    data: str,
    other: str | None = None,
    steps: int = 1500,
    seconds: float = math.inf,
    device: str = "auto",
    settings: Sequence[str] = (),
    limit: int | None = None,
    done: Sequence[str | Path] = (),
    work: str | Path = "runs/experiment",
    keep_weights: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> list[Job]:
    """Train and test the runs that are not done yet, one after the other.

    SIGINT (Ctrl-C), SIGTERM or the time limit stops a training with a checkpoint; a test that is
    under way still writes its file. The same call resumes. Runs that another process with the same
    `work` has claimed are left to it.

    Args:
        todo: the runs, in their order.
        out: the folder for a JSON file per run.
        data: the corpus to train on; its other categories are for test. A folder, a file, or
            "synthetic".
        other: a second corpus, for test alone.
        steps: of each run.
        seconds: the time limit.
        device: "auto", "cpu", "cuda".
        settings: of all runs alike, "dcp.emb_dims=64".
        limit: at most so many test pairs of each kind; None for all.
        done: further folders of results: runs with a file in one of them are not repeated.
        work: where a run keeps its checkpoint until it is finished.
        keep_weights: names of runs whose weights are written beside their result.
        say: is called with each line of progress.

    Returns:
        The runs without a result file.
    """
    out, work = Path(out), Path(work)
    until = time.monotonic() + seconds
    folders = (out, *done)
    left = [job for job in todo if not _there(folders, job)]
    say(f"{len(todo) - len(left)} of {len(todo)} runs are there already")
    shapes = _Shapes.load(data, other, limit)
    with on_signals() as stop:  # while a run is tested, too: then its file is written first
        for job in left:
            if stop.asked or until - time.monotonic() < _START:
                break
            with _claimed(work, job) as mine:
                if not mine or _there(folders, job):
                    continue
                began = time.monotonic()
                config = config_of(
                    job, steps=steps, corpus=shapes.train, device=device, settings=settings
                )
                trainer = _trainer(job, config, work / job.name, shapes.train, say)
                result = trainer.run(None if until == math.inf else until - began)
                if not result.finished:
                    why = "a signal" if stop.asked else "the time limit"
                    say(f"{job.name}: stopped by {why} at step {result.step}")
                    break
                trained = time.monotonic()
                tests = shapes.tests(job.model, config, trainer.device)
                content = _content(job, trainer, result, tests)
                _write(job, content, trainer, result, out, weights=job.name in keep_weights)
                del trainer  # before the next one, which may need its memory
            say(
                f"{job.name}: {_errors(content)} ({trained - began:.0f} s training, "
                f"{time.monotonic() - trained:.0f} s test)"
            )
    left = [job for job in left if not _there(folders, job)]
    if stop.asked and left:
        say("stopped by a signal; run the same command to resume")
    return left


@contextlib.contextmanager
def _claimed(work: Path, job: Job) -> Iterator[bool]:
    """True if this process got the run; no other gets it while this one lives."""
    path = work / f"{job.name}.claim"
    work.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError, ValueError):
        if not _alive(int(path.read_text())):
            path.unlink(missing_ok=True)
    try:
        with open(path, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def measure(
    model: str,
    network: RegistrationModel,
    *,
    data: str,
    other: str | None = None,
    device: str = "auto",
    settings: Sequence[str] = (),
    limit: int | None = None,
) -> dict[str, Any]:
    """The tests' part of a run's file, for a network that is trained already.

    Args:
        model: of `MODELS`; says which tests there are.
        network: in eval mode.
        data: the corpus whose other categories are for test.
        other: a second corpus.
        device: "auto", "cpu", "cuda".
        settings: those of the runs to compare it with, "data.points=512".
        limit: at most so many test pairs of each kind; None for all.
    """
    job = Job(model, BASELINE, 0)
    named(model, MODELS, what="model")
    shapes = _Shapes.load(data, other, limit)
    config = config_of(job, steps=1, corpus=shapes.train, device=device, settings=settings)
    _, place = distributed.join(config.runtime.device)
    network = network.to(place)
    tests = shapes.tests(model, config, place)
    return {name: _measured(network, some) for name, some in tests.items()}


@dataclass(frozen=True)
class _Shapes:
    """The shapes for training and testing that all runs share.

    Attributes:
        train: the training file of the corpus.
        test: its test file.
        other: a second corpus, for test alone.
        limit: test pairs of each kind at most.
    """

    train: Corpus
    test: Corpus
    other: Corpus | None
    limit: int | None
    _made: dict[str, dict[str, list[Batch]]] = field(default_factory=dict)

    @staticmethod
    def load(data: str, other: str | None, limit: int | None) -> _Shapes:
        """The shapes, loaded by the names of the corpora."""
        train, test = corpora.load(data), corpora.load(data, "test")
        return _Shapes(train, test, None if other is None else corpora.load(other, "test"), limit)

    def tests(self, model: str, config: Config, device: torch.device) -> dict[str, list[Batch]]:
        """A model's test batches by name, made once for all its runs."""
        if model not in self._made:
            self._made[model] = _tests(
                config, self.train, self.test, self.other, self.limit, device
            )
        return self._made[model]


def _trainer(
    job: Job, config: Config, folder: Path, corpus: Corpus, say: Callable[[str], None]
) -> Trainer:
    """A run, or the rest of one that was stopped."""

    def told(step: int, speed: float, errors: Mapping[str, float]) -> None:
        names = ["rotation_degrees", "correspondence", "extent_ratio", "rho_target"]
        names += ["divergence_target", "divergence_published_target"]
        text = ", ".join(f"{name} {errors[name]:.3g}" for name in names if name in errors)
        say(f"{job.name}: step {step}, {speed:.1f} steps/s, {text}")

    if (folder / checkpoint.RESULT).is_file():  # stopped between training and test
        shutil.rmtree(folder)
    group, device = distributed.join(config.runtime.device)
    trainer = ObservedTrainer(config, folder, corpus, group, device, quiet=True, told=told)
    if job.condition.startswith("published-"):
        own = trainer.model.refine
        assert isinstance(own, SpoonfulLayer)
        trainer.model.refine = PublishedLayer(own.iterations, own.form)
    return trainer


def _content(
    job: Job, trainer: Trainer, result: TrainingResult, tests: Mapping[str, Sequence[Batch]]
) -> dict[str, Any]:
    """The content of a run's file: its training, and all tests of its last weights."""
    assert trainer.folder is not None
    return {
        "model": job.model,
        "condition": job.condition,
        "seed": job.seed,
        "steps": result.step,
        "seconds": round(result.seconds, 1),
        "skipped": result.skipped,
        "validation": result.last,
        "untrained": result.untrained,
        "tests": {name: _test(trainer, some) for name, some in tests.items()},
        "log": [_short(line) for line in Journal(trainer.folder).lines()],
        "device": torch.cuda.get_device_name() if trainer.device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "config": trainer.config.as_dict(),
    }


def _write(
    job: Job,
    content: Mapping[str, Any],
    trainer: Trainer,
    result: TrainingResult,
    out: Path,
    *,
    weights: bool,
) -> None:
    """Write a run's file, and its weights if they are wanted; then its checkpoint can go."""
    assert trainer.folder is not None
    out.mkdir(parents=True, exist_ok=True)
    if weights:
        last = (trainer.progress, result.last, trainer.stepper.weights())
        about = (trainer.folder, trainer.config, trainer.protocol)
        path = checkpoint.save(*about, *last, best=True)
        shutil.copyfile(path, out / f"{job.name}.safetensors")
    write_whole(out / f"{job.name}.json", json.dumps(json_ready(content)))
    shutil.rmtree(trainer.folder, ignore_errors=True)


def _errors(content: Mapping[str, Any]) -> str:
    """The mean error of each test, in a line."""
    return ", ".join(
        f"{name} {found['rotation_degrees']['mean']:.2f}°"
        for name, found in content["tests"].items()
    )


def _there(folders: Iterable[str | Path], job: Job) -> bool:
    return any((Path(folder) / f"{job.name}.json").is_file() for folder in folders)


def _short(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the log with what the figures need."""
    kept = {name: line[name] for name in ("epoch", "step", "loss", "gradient_norm") if name in line}
    return kept | ({"validation": line["validation"]} if "validation" in line else {})


def _tests(
    config: Config,
    train: Corpus,
    test: Corpus,
    other: Corpus | None,
    limit: int | None,
    device: torch.device,
) -> dict[str, list[Batch]]:
    """Test batches by name, all of one size and on the device.

    Categories that were not trained on are new in both files of the corpus, so both are tested.
    """
    card = protocols.get(config.data.protocol)
    points = config.data.points or card.sizes[0]
    unseen = Corpus(
        f"{train.name}+{test.name}",
        torch.cat([train.points, test.points]),
        None
        if train.normals is None or test.normals is None
        else torch.cat([train.normals, test.normals]),
        torch.cat([train.labels, test.labels]),
        train.categories,
    )
    cards = {
        "clean": protocols.get("dcp-clean"),
        "noise": protocols.get("dcp-noise"),
        "twice-sampled": protocols.get("dcp-twice-sampled"),
    }
    # As many points in every cloud as in training: networks are compiled for one size.
    cards = {name: replace(some, points=points) for name, some in cards.items()}
    if card.crop is not None:
        whole = config.data.points or card.points
        cards = {"crop": replace(protocols.get("rpm-crop"), points=whole)} | cards
        points = cards["crop"].sizes[0]
        cards |= {n: replace(c, points=points) for n, c in cards.items() if n != "crop"}
    size = config.data.batch_size
    normals = config.model == "rpmnet" and "ppf" in config.rpmnet.features
    made = {}
    for name, some in cards.items():
        halves = replace(some, categories="halves")
        made[name] = list(_batches(halves, unseen, size, limit, normals, device))
        if other is not None:
            everything = replace(some, categories="all")
            batches = _batches(everything, other, size, limit, normals, device)
            made[f"{name}, {other.name.split('/')[0]}"] = list(batches)
    return made


def _batches(
    card: protocols.Protocol,
    corpus: Corpus,
    size: int,
    limit: int | None,
    normals: bool,
    device: torch.device,
) -> Iterator[Batch]:
    """Test items in batches of one size: the last is filled up with items that came before."""
    from spoonful.data.items import test_items  # needs numpy, which the tables do not

    items = test_items(card, corpus)
    count = len(items) if limit is None else min(limit, len(items))
    numbers = list(range(count)) + list(range(-count % size))
    for first in range(0, len(numbers), size):
        batch = collate([items[number % count] for number in numbers[first : first + size]])
        batch = replace(batch, clean=None)
        if not normals:
            batch = replace(batch, source_normals=None, target_normals=None)
        yield batch.to(device)


@torch.no_grad()
def _test(trainer: Trainer, batches: Sequence[Batch]) -> dict[str, Any]:
    """The result of `_measured` for a network in training, in its training precision."""

    def forward(batch: Batch) -> Registration:
        with trainer.stepper.network():
            return trainer.model(batch)

    trainer.model.eval()
    with trainer.stepper.averaged(), fast_products(trainer.tf32):
        return _measured(forward, batches)


@torch.no_grad()
def _measured(forward: Callable[[Batch], Registration], batches: Sequence[Batch]) -> dict[str, Any]:
    """Means and medians of the errors over all items, and the errors of each."""
    errors = PoseErrors(chamfer=False)
    extra: dict[str, dict[int, float]] = {}
    for batch in batches:
        found = forward(batch)
        errors.update(found, batch)
        assert batch.index is not None
        numbers = batch.index.tolist()
        for name, values in behaviour(found, batch).items():
            extra.setdefault(name, {}).update(zip(numbers, values.tolist(), strict=True))
    columns = {name: errors.values(name) for name in _VALUES if name in errors.names}
    columns |= {
        name: torch.tensor([values[i] for i in errors.index.tolist()], dtype=torch.float64)
        for name, values in extra.items()
    }
    report = {
        name: {"mean": float(values.mean()), "median": float(values.nanmedian())}
        for name, values in columns.items()
    }
    items = _rounded(columns["rotation_degrees"])
    return {"count": len(errors), **report, "items": {"rotation_degrees": items}}


def _rounded(values: Tensor) -> list[float]:
    return [float(f"{value:.4g}") for value in values.tolist()]
