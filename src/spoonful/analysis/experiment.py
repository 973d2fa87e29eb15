"""A controlled experiment: the same training, with one thing changed at a time.

Every condition trains the same network from the same seeds on the same pairs for as many steps;
what differs is the pose loss. The weights of the last step are tested, none are picked. All runs
share a process, in which the network is compiled once.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
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
from spoonful.evaluation.bootstrap import Interval
from spoonful.files import plain, write_whole
from spoonful.metrics import PoseErrors
from spoonful.models import RegistrationModel
from spoonful.names import named
from spoonful.registration import Registration
from spoonful.training import checkpoint, corpora, distributed, presets
from spoonful.training.config import Config, override
from spoonful.training.journal import Journal
from spoonful.training.stopping import on_signals
from spoonful.training.trainer import Result, Trainer, fast_products
from spoonful.training.validation import behaviour

BASELINE = "kabsch"

CONDITIONS: dict[str, tuple[str, ...]] = {
    # The first four answer the question; the others say which part of the answer matters.
    BASELINE: (),
    "perturbed-60": ("refine=perturbed", "refine.max_degrees=60"),
    "source": ("refine=source",),
    "target": ("refine=target",),
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
    "matches-1": ("loss.matches=1",),
    "extent-1": ("loss.extent=1",),
}
"""Settings by name of the condition, the most telling first."""

# How many conditions come, with all their seeds, before any other one.
_FIRST = 4

MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    # Squeezed into a short run, the published schedule lowers the rate long before the loss has
    # come down: of 3000 steps, all but the first 900 changed next to nothing.
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
# Where a table goes in a page.
_MARKS = ("<!-- experiment -->", "<!-- end -->")
# What the table has a column for, and what a run's file says of each test.
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
        """Of its file.

        >>> Job("dcp", "perturbed-60", 2).name
        'dcp-perturbed-60-seed2'
        """
        return f"{self.model}-{self.condition}-seed{self.seed}"


def grid(
    models: Sequence[str] = tuple(MODELS), seeds: int = 3, only: Sequence[str] = ()
) -> list[Job]:
    """All runs, the most telling first: the main conditions of each model, then the rest.

    Args:
        models: of `MODELS`.
        seeds: how many.
        only: conditions, or models and conditions as "dcp-kabsch"; all of them if empty.

    >>> [job.name for job in grid(["dcp"], seeds=2)][:3]
    ['dcp-kabsch-seed0', 'dcp-perturbed-60-seed0', 'dcp-source-seed0']
    """
    for model in models:
        named(model, MODELS, what="model")
    of_models = {f"{model}-{name}" for model in MODELS for name in CONDITIONS}
    for name in only:
        if name not in of_models:
            named(name, CONDITIONS, what="condition")
    names = list(CONDITIONS)
    found = []
    for part in (names[:_FIRST], names[_FIRST:]):
        for model in models:
            chosen = [n for n in part if not only or n in only or f"{model}-{n}" in only]
            found += [Job(model, name, seed) for seed in range(seeds) for name in chosen]
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
            "runtime.checkpoint_seconds=1e9",
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
    """Train and test, in this process and one after the other, what is not done yet.

    SIGINT (Ctrl-C) or SIGTERM ends all of it: a training stops with a checkpoint, a test with its
    file, and no other run begins. The same call goes on from there.

    Args:
        todo: the runs, in their order.
        out: gets a JSON file for each.
        data: the corpus to train on; its other categories are for test. A folder, a file, or
            "synthetic".
        other: a second corpus, for test alone.
        steps: of each run.
        seconds: no run begins that is not likely to end before this time is over.
        device: "auto", "cpu", "cuda".
        settings: of all runs alike, "dcp.emb_dims=64".
        limit: at most so many test pairs of each kind; None for all.
        done: further folders of results: what is in one of them is not run again.
        work: where a run keeps its checkpoint until it is finished.
        keep_weights: names of runs whose weights are written beside their result.
        say: is told what happens.

    Returns:
        The runs that are left to do.
    """
    out, work = Path(out), Path(work)
    pace = _Pace(seconds)
    left = [job for job in todo if not any(_there(folder, job) for folder in (out, *done))]
    say(f"{len(todo) - len(left)} of {len(todo)} runs are there already")
    shapes = _Shapes.load(data, other, limit)
    with on_signals() as stop:  # while a run is tested, too: then its file is written first
        while left and not stop.asked and pace.has_time_for(left[0].model):
            job, began, remaining = left[0], time.monotonic(), pace.remaining()
            config = config_of(
                job, steps=steps, corpus=shapes.train, device=device, settings=settings
            )
            trainer = _trainer(config, work / job.name, shapes.train)
            result = trainer.run(None if remaining == math.inf else remaining)
            if not result.finished:
                why = "a signal" if stop.asked else "the time limit"
                say(f"{job.name}: stopped by {why} at step {result.step}")
                break
            trained = time.monotonic()
            tests = shapes.tests(job.model, config, trainer.device)
            content = _content(job, trainer, result, tests)
            _write(job, content, trainer, result, out, weights=job.name in keep_weights)
            del trainer  # before the next one, which may need its memory
            left.pop(0)
            ended = time.monotonic()
            pace.took(job.model, ended - began)
            say(
                f"{job.name}: {_errors(content)} ({trained - began:.0f} s training, "
                f"{ended - trained:.0f} s test, {len(left)} to go)"
            )
    if stop.asked and left:
        say("a signal stopped the experiment; the same command goes on")
    return left


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
    """What a run's file says of each test, for a network that is trained already.

    Args:
        model: of `MODELS`; says which tests there are.
        network: in eval mode.
        data: the corpus whose other categories are for test.
        other: a second corpus.
        device: "auto", "cpu", "cuda".
        settings: those of the runs to compare it with, "data.points=512".
        limit: at most so many test pairs of each kind; None for all.
    """
    job = grid([model], 1, [BASELINE])[0]
    shapes = _Shapes.load(data, other, limit)
    config = config_of(job, steps=1, corpus=shapes.train, device=device, settings=settings)
    _, place = distributed.join(config.runtime.device)
    network = network.to(place)
    tests = shapes.tests(model, config, place)
    return {name: _measured(network, some) for name, some in tests.items()}


class _Pace:
    """Whether there is time for one more run, by how long those before took.

    Args:
        seconds: for all of them, from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._usual: dict[str, float] = {}

    def remaining(self) -> float:
        """Seconds that are left."""
        return self._until - time.monotonic()

    def has_time_for(self, model: str) -> bool:
        """Whether another run of a model is likely to end in time."""
        return self.remaining() >= self._usual.get(model, 0.0)

    def took(self, model: str, seconds: float) -> None:
        """A run of a model has taken so long."""
        # The first one compiles; the shortest says what the next will take.
        self._usual[model] = min(1.1 * seconds, self._usual.get(model, math.inf))


@dataclass(frozen=True)
class _Shapes:
    """What all runs train on and are tested on.

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
        """By the names of the corpora."""
        train, test = corpora.load(data), corpora.load(data, "test")
        return _Shapes(train, test, None if other is None else corpora.load(other, "test"), limit)

    def tests(self, model: str, config: Config, device: torch.device) -> dict[str, list[Batch]]:
        """A model's test batches by name, made once for all its runs."""
        if model not in self._made:
            self._made[model] = _tests(
                config, self.train, self.test, self.other, self.limit, device
            )
        return self._made[model]


def _trainer(config: Config, folder: Path, corpus: Corpus) -> Trainer:
    """A run, or the rest of one that was stopped."""
    if (folder / checkpoint.RESULT).is_file():  # stopped between training and test
        shutil.rmtree(folder)
    group, device = distributed.join(config.runtime.device)
    return Trainer(config, folder, corpus, group, device, quiet=True)


def _content(
    job: Job, trainer: Trainer, result: Result, tests: Mapping[str, Sequence[Batch]]
) -> dict[str, Any]:
    """What a run's file says: how it trained, and how its last weights do in all tests."""
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
    result: Result,
    out: Path,
    *,
    weights: bool,
) -> None:
    """Write a run's file, and its weights if they are wanted; then its checkpoint can go."""
    assert trainer.folder is not None
    out.mkdir(parents=True, exist_ok=True)
    if weights:
        last = (trainer.progress, result.last, trainer.stepper.weights())
        path = checkpoint.save_weights(trainer.folder, trainer.config, trainer.protocol, *last)
        shutil.copyfile(path, out / f"{job.name}.safetensors")
    write_whole(out / f"{job.name}.json", json.dumps(plain(content)))
    shutil.rmtree(trainer.folder, ignore_errors=True)


def _errors(content: Mapping[str, Any]) -> str:
    """The mean error of each test, in a line."""
    return ", ".join(
        f"{name} {found['rotation_degrees']['mean']:.2f}°"
        for name, found in content["tests"].items()
    )


def _there(folder: str | Path, job: Job) -> bool:
    return (Path(folder) / f"{job.name}.json").is_file()


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
    """What `_measured` finds of a network in training, in the precision that it trains in."""

    def forward(batch: Batch) -> Registration:
        with trainer.stepper.network():
            return trainer.model(batch)

    trainer.model.eval()
    with trainer.stepper.averaged(), fast_products(trainer.bf16):
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


# --- tables ---


def results(folders: Iterable[str | Path]) -> list[dict[str, Any]]:
    """The files of finished runs, in the order of models, conditions and seeds.

    A run that is in several folders is taken from the first.
    """
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("*-seed*.json")):
            found.setdefault(path.stem, json.loads(path.read_text()))
    order = {name: rank for rank, name in enumerate(CONDITIONS)}
    return sorted(
        found.values(),
        key=lambda run: (run["model"], order.get(run["condition"], len(order)), run["seed"]),
    )


def table(runs: Sequence[Mapping[str, Any]], *, resamples: int = 1000) -> str:
    """Markdown: for each model, mean and spread over seeds, and differences to Kabsch alone.

    The difference is of the mean rotation error in degrees, paired by seed and test pair, with a
    95 % interval: seeds and pairs are both drawn again, so it covers both kinds of chance as far
    as so few seeds can tell. "!" marks intervals without zero.
    """
    if not runs:
        raise ValueError("there are no results in these folders")
    parts = []
    for model in sorted({run["model"] for run in runs}):
        mine = [run for run in runs if run["model"] == model]
        parts.append(_table_of(model, mine, resamples))
    return "\n\n".join(parts)


def put_into(text: str, path: str | Path) -> None:
    """Put a table into a file, between its lines `<!-- experiment -->` and `<!-- end -->`."""
    path = Path(path)
    before, mark, rest = path.read_text(encoding="utf-8").partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not mark or not end:
        raise ValueError(f"{path} must have lines {_MARKS[0]} and {_MARKS[1]} to put it between")
    path.write_text(f"{before}{mark}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _table_of(model: str, runs: Sequence[Mapping[str, Any]], resamples: int) -> str:
    by_condition: dict[str, dict[int, Mapping[str, Any]]] = {}
    for run in runs:
        by_condition.setdefault(run["condition"], {})[run["seed"]] = run
    steps = sorted({run["steps"] for run in runs})
    data = runs[0]["config"]["data"]
    parts = [
        f"**{model}**: {' or '.join(map(str, steps))} steps of {data['batch_size']} pairs"
        f"{_size(runs[0])} on {data['corpus']}. Rotation error in degrees, mean ± standard "
        "deviation over seeds; below it the paired difference to Kabsch alone and its 95 % "
        "interval."
    ]
    tests = list(runs[0]["tests"])
    # Those of another corpus have its name after a comma, and a table of their own.
    for some in ([t for t in tests if "," not in t], [t for t in tests if "," in t]):
        if not some:
            continue
        titles = [f"{name} ({runs[0]['tests'][name]['count']} pairs)" for name in some]
        own = "," not in some[0]
        titles += ["match error", "extent ratio", "rho"] if own else []
        lines = [
            f"| training | seeds | {' | '.join(titles)} |",
            f"|---|---|{'---|' * len(titles)}",
        ]
        for condition, seeds in by_condition.items():
            base = {} if condition == BASELINE else by_condition.get(BASELINE, {})
            cells = [_compared(seeds, base, name, resamples) for name in some]
            for value, digits, kind in (
                ("correspondence", 3, "mean"),
                ("extent_ratio", 2, "median"),
                ("rho_source", 2, "median"),
            )[: 3 if own else 0]:
                found = [run["tests"][some[0]][value][kind] for run in seeds.values()]
                cells.append(_spread(found, digits))
            lines.append(f"| {condition} | {len(seeds)} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _compared(
    seeds: Mapping[int, Mapping[str, Any]],
    base: Mapping[int, Mapping[str, Any]],
    test: str,
    resamples: int,
) -> str:
    """A test's mean and spread over seeds, and its paired difference to `base` if there is one."""
    means = [run["tests"][test]["rotation_degrees"]["mean"] for run in seeds.values()]
    cell = _spread(means, 2)
    found = _difference(seeds, base, test, resamples)
    if found is None:
        return cell
    mean, (low, high) = found
    mark = " !" if low > 0 or high < 0 else ""
    return f"{cell}<br>{mean:+.2f} [{low:+.2f}, {high:+.2f}]{mark}"


def difference(
    runs: Sequence[Mapping[str, Any]], condition: str, test: str, *, resamples: int = 1000
) -> tuple[float, Interval] | None:
    """How much a condition changes the mean error of a test, against Kabsch alone.

    Args:
        runs: of one model.
        condition: of `CONDITIONS`.
        test: a name of their tests.
        resamples: for the interval; see `paired`.

    Returns:
        The mean difference and its interval, in degrees; None without seeds in common.
    """
    of = {
        name: {run["seed"]: run for run in runs if run["condition"] == name}
        for name in (condition, BASELINE)
    }
    return _difference(of[condition], of[BASELINE], test, resamples)


def _difference(
    seeds: Mapping[int, Mapping[str, Any]],
    base: Mapping[int, Mapping[str, Any]],
    test: str,
    resamples: int,
) -> tuple[float, Interval] | None:
    common = sorted(seeds.keys() & base.keys())
    if not common:
        return None
    errors = [
        [
            torch.tensor(some[s]["tests"][test]["items"]["rotation_degrees"])
            for some in (seeds, base)
        ]
        for s in common
    ]
    return paired([a - b for a, b in errors], resamples=resamples)


def _size(run: Mapping[str, Any]) -> str:
    """Of its clouds, before they are cropped, if it is not the protocol's own."""
    points = run["config"]["data"]["points"]
    return "" if points is None else f" of {points} points"


def _spread(values: Sequence[float | None], digits: int) -> str:
    kept = [value for value in values if value is not None]
    if not kept:
        return "-"
    mean = f"{statistics.mean(kept):.{digits}f}"
    return mean if len(kept) == 1 else f"{mean} ± {statistics.stdev(kept):.{digits}f}"


def paired(
    differences: Sequence[Tensor], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, Interval]:
    """The mean of paired differences over seeds and items, and its bootstrap interval.

    Args:
        differences: for each seed (K,), of the same K items.
        resamples: how often seeds, and items, are drawn again with replacement.
        level: of the interval.
        seed: of the draws.

    >>> mean, (low, high) = paired([torch.tensor([1.0, 1.2]), torch.tensor([0.8, 1.0])])
    >>> round(mean, 3), low < mean < high
    (1.0, True)
    """
    values = torch.stack([each.double() for each in differences])
    seeds, items = values.shape
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(seeds, (resamples, seeds), generator=generator)
    chosen = torch.nn.functional.one_hot(drawn, seeds).double().mean(1)  # (resamples, seeds)
    means = torch.empty(resamples, dtype=torch.float64)
    for i in range(resamples):
        which = torch.randint(items, (items,), generator=generator)
        means[i] = chosen[i] @ values[:, which].mean(1)
    tail = (1 - level) / 2
    low, high = torch.quantile(means, torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return float(values.mean()), Interval(low, high)
