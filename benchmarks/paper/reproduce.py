"""A table of the paper beside our own numbers: train or load what is missing, measure, subtract."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple, Protocol

import torch

from paper.jobs import Job, NoTime, Trained, config_of, train_job
from paper.tables import PaperTable, Recipe, Row, get
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.evaluation import methods
from spoonful.evaluation.bootstrap import Interval
from spoonful.evaluation.columns import Column
from spoonful.evaluation.evaluate import evaluate, name_of
from spoonful.evaluation.methods import Method
from spoonful.evaluation.provenance import fingerprint
from spoonful.evaluation.result import Result, strict_json
from spoonful.evaluation.sources import open_data, open_method
from spoonful.extras import MissingExtra
from spoonful.geometry.checks import check_choice
from spoonful.training import shipped
from spoonful.training.corpora import SYNTHETIC, find_data
from spoonful.training.progress import Display
from spoonful.training.schedule import clock

# A row of fewer training steps is no result.
_HARDLY = 100
# The modes of the refinement layer, but for none.
_LAYERS = ("source", "target", "perturbed", "detached")
# Methods that are measured only where a row of theirs is asked for.
_SLOW = {"goicp"}
# Measuring may take this share of a training budget; a row has at least this many items.
_MEASURING, _FEWEST = 0.5, 4


class Trainer(Protocol):
    """Whatever trains: `train_job` is the real one."""

    def __call__(self, job: Job) -> Trained | None:
        """Load the job from its folder if it is finished; else train it, or None if not asked.

        Raises:
            NoTime: there is no time to train it.
        """


class Cell(NamedTuple):
    """One number of the paper, and ours.

    Attributes:
        paper: as printed; None in rows that the paper does not have.
        paper_spread: its standard deviation over training runs, where the paper has it.
        ours: the same statistic of ours; None where there is none.
        interval: 95 %, over test items, where ours is one run.
        spread: standard deviation over training runs, where there are several.
    """

    paper: float | None
    paper_spread: float | None = None
    ours: float | None = None
    interval: Interval | None = None
    spread: float | None = None

    @property
    def difference(self) -> float | None:
        """`ours - paper`."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper


@dataclass(frozen=True)
class ReproducedRow:
    """A row of the table.

    Attributes:
        label: as in the paper, or the name of weights that come with the package.
        cells: in the order of the table's columns.
        ours_from: what ours was trained and measured on, in words; why there is none otherwise.
        results: the results behind it, one for each training run.
    """

    label: str
    cells: tuple[Cell, ...]
    ours_from: str
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """A table of the paper beside ours.

    Attributes:
        table: the paper's.
        rows: ours beside it.
        data: the name of the data ours is measured on.
        remarks: what a reader must know: other data, less training, fewer runs.
    """

    table: PaperTable
    rows: tuple[ReproducedRow, ...]
    data: str
    remarks: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "table": self.table.name,
            "paper_data": self.table.data,
            "our_data": self.data,
            "remarks": list(self.remarks),
            "notes": list(self.table.notes),
            "rows": [
                {
                    "label": row.label,
                    "ours_from": row.ours_from,
                    "weights_sha256": [result.weights for result in row.results],
                    "protocol_hash": sorted({result.protocol_hash for result in row.results}),
                    "data_fingerprint": sorted({r.data.fingerprint for r in row.results}),
                    "seeds": [result.seed for result in row.results],
                    "numbers": {
                        column.label: {**cell._asdict(), "difference": cell.difference}
                        for column, cell in zip(self.table.columns, row.cells, strict=True)
                    },
                }
                for row in self.rows
            ],
        }


def reproduce(
    table: str | PaperTable,
    *,
    data: str | None = None,
    runs: str | Path = "runs",
    budget: float | None = None,
    seeds: int | None = None,
    rows: Sequence[str] | None = None,
    layer: str = "source",
    settings: Sequence[str] = (),
    train: bool = True,
    device: str = "cpu",
    batch_size: int = 16,
    limit: int | None = None,
    test: Corpus | Sequence[Any] | None = None,
    trainer: Trainer | None = None,
    quiet: bool = False,
) -> Reproduction:
    """Make the numbers of one of the paper's tables.

    Models that `runs` lacks are trained, and stay there for the next time. Results stay there
    too, and are made again when the protocol or the data changes.

    Args:
        table: its name, see `paper.tables.names`.
        data: the data's name, see `open_data`; None for the built-in shapes.
        runs: the folder of training runs.
        budget: seconds of training for the whole table, in equal shares; None to train in full.
            A run that was trained in full before is preferred to a short one. A network that
            cannot take one step in its share is left out. Measuring takes up to half of this time
            in addition, on fewer test items if need be.
        seeds: training runs for each row; None for as many as the paper has.
        rows: the labels of the rows to make; None for all of them. The others are still shown.
        layer: the mode of the refinement layer in rows that have one; "source" is what the
            published function does unless it is asked for "target".
        settings: further settings of all training runs, as "dcp.emb_dims=128".
        train: whether to train what is missing; otherwise its rows stay empty, and networks of
            the same kind whose weights come with the package have rows of their own.
        device: where to train and to measure.
        batch_size: of the measurement.
        limit: measure on this many test items, the first ones.
        test: the test data, if it is in memory already.
        trainer: what trains; None for `spoonful.training`.
        quiet: show no progress.

    Returns:
        The `Reproduction`.
    """
    paper = get(table) if isinstance(table, str) else table
    for label in rows or ():
        paper.row(label)
    if budget is not None and budget <= 0:
        raise ValueError(f"budget must be positive, got {budget} seconds")
    count = paper.runs if seeds is None else seeds
    if count < 1:
        raise ValueError(f"seeds must be at least 1, got {count}")
    check_choice("layer", layer, _LAYERS)
    wanted = [row for row in paper.rows if rows is None or _named(row, rows)]
    for row in wanted:
        if row.recipe is not None:  # validate settings before loading data
            config_of(Job(row.recipe, 0, SYNTHETIC, Path(), layer=layer, settings=(*settings,)))
    found = _not_made(wanted, asked=rows is not None)
    for label, (_, reason) in found.items():
        Display(label, quiet=quiet).say(reason)
    name = SYNTHETIC if data is None else data
    protocol = protocols.get(paper.protocol)
    if test is None:
        with Display(paper.name, quiet=quiet) as display:
            display.now(f"opening {name}")
            test = open_data(name, "test", protocol)
    scans = not isinstance(test, Corpus)
    if scans and train and "{split}" not in name:
        raise ValueError(
            f"table {paper.name} trains and tests on scans, which must not be the same: put "
            "{split} in data, for train and test, or do not train"
        )
    protocol.check(test)
    own = _weights_for(wanted) if not train and rows is None and not scans else ()
    jobs = sum(count for row in wanted if row.recipe is not None)
    measured = jobs + sum(row.method is not None for row in wanted) - len(found)
    maker = _Maker(
        protocol=protocol,
        test=test,
        fingerprint=fingerprint(test),
        data=find_data(name.replace("{split}", "train") if scans else name),
        runs=Path(runs),
        budget=budget,
        share=None if budget is None or not jobs else budget / jobs,
        shares=_Shares(None if budget is None else _MEASURING * budget, measured + len(own)),
        layer=layer,
        settings=tuple(settings),
        train=train,
        trainer=trainer or train_job,
        device=device,
        batch_size=batch_size,
        limit=limit,
        quiet=quiet,
    )
    # Rows that need training come first: time that is not used for training is for measuring.
    for row in sorted(wanted, key=lambda row: row.recipe is None):
        if row.recipe is not None:
            found[row.label] = _trained(maker, row.label, row.recipe, count)
        elif row.method is not None and row.label not in found:
            found[row.label] = _Found((maker.baseline(row.method),), "")
    made = []
    for row in paper.rows:
        results, reason = found.get(row.label, _Found((), "not asked for"))
        spreads = row.spreads or (None,) * len(row.values)
        cells = tuple(
            _cell(*printed, results)
            for printed in zip(paper.columns, row.values, spreads, strict=True)
        )
        made.append(ReproducedRow(row.label, cells, _ours_from(results, limit) or reason, results))
    for weights in own:
        results = (maker.baseline(weights),)
        cells = tuple(_cell(column, None, None, results) for column in paper.columns)
        about = shipped.card(weights)
        words = f"; trained on {about.data}, {about.protocol['name']}, {about.steps} steps"
        made.append(ReproducedRow(weights, cells, _ours_from(results, limit) + words, results))
    remarks = _remarks(paper, name_of(test), budget, count, limit, layer, settings, made)
    return Reproduction(paper, tuple(made), name, remarks)


class _Found(NamedTuple):
    """The results of a row, or none and the reason."""

    results: tuple[Result, ...]
    reason: str


class _Shares:
    """Results that are made in turn, and the time to measure them in.

    Each has an equal share of the time that is left; `seconds` None sets no limit.
    """

    def __init__(self, seconds: float | None, parts: int) -> None:
        self._seconds, self._parts, self._done = seconds, parts, 0

    def __str__(self) -> str:
        return f"{self._done} of {self._parts}"

    def next(self) -> float | None:
        """The seconds for the next result."""
        left = max(self._parts - self._done, 1)
        self._done += 1
        return None if self._seconds is None else max(self._seconds / left, 1e-3)

    def add(self, seconds: float) -> None:
        """Add time, or remove it if negative."""
        if self._seconds is not None:
            self._seconds += seconds


@dataclass(frozen=True)
class _Maker:
    """Makes results for a table, or finds them where an earlier call left them."""

    protocol: protocols.Protocol
    test: Corpus | Sequence[Any]
    fingerprint: str
    data: str
    runs: Path
    budget: float | None
    share: float | None
    shares: _Shares
    layer: str
    settings: tuple[str, ...]
    train: bool
    trainer: Trainer
    device: str
    batch_size: int
    limit: int | None
    quiet: bool

    def baseline(self, name: str) -> Result:
        """The result of a method that is not trained here."""
        weights = shipped.DEFAULTS.get(name, name)
        if weights in shipped.names():  # another version of this package may have others
            weights = f"{weights}-{shipped.card(weights).sha256[:6]}"
        folder = self.runs / "methods" / weights
        share = self.shares.next()
        return self._kept(folder) or self._measured(open_method(name), folder, share)

    def trained(self, label: str, recipe: Recipe, seed: int) -> Result | None:
        """The result of a training run; None if it must not be trained and has not been."""
        data = f"{_safe(self.data)}-{self.fingerprint[:6]}"
        if self.settings:
            data += "-" + hashlib.sha256("\n".join(self.settings).encode()).hexdigest()[:6]
        base = self.runs / recipe.slug(self.layer) / data
        folder = full = base / f"seed-{seed}"
        if self.share is not None:
            folder = base / f"seed-{seed}-for-{self.share:.0f}s"
        share = self.shares.next()
        if kept := self._kept(full) or self._kept(folder):
            return kept
        job = Job(
            recipe=recipe,
            seed=seed,
            data=self.data,
            folder=folder,
            budget=self.share,
            train=self.train,
            device=self.device,
            layer=self.layer,
            settings=self.settings,
            label=f"{label}, seed {seed}",
            quiet=self.quiet,
        )
        try:
            found = self.trainer(job)
        except NoTime as error:
            Display(job.label, quiet=self.quiet).say(str(error))
            self.shares.add(self.share or 0.0)
            raise
        if found is None:
            return None
        model, facts = found
        facts = {**facts, "recipe": recipe.slug(self.layer), "budget_s": self.share}
        method = methods.of_model(label, model.eval(), seed=seed, training=facts)
        return self._measured(method, folder, share)

    def _file(self, folder: Path, *, short: bool = False) -> Path:
        part = "" if self.limit is None else f"-first-{self.limit}"
        part += f"-for-{self.budget:.0f}s" if short else ""
        name = f"{self.protocol.name}-{self.protocol.hash}-{self.fingerprint}{part}.json"
        return folder / "results" / name

    def _kept(self, folder: Path) -> Result | None:
        for short in (False,) if self.budget is None else (False, True):
            file = self._file(folder, short=short)
            if file.is_file():
                return Result.load(file)
        return None

    def _measured(self, method: Method, folder: Path, seconds: float | None) -> Result:
        began = time.monotonic()
        small = seconds is not None and torch.device(self.device).type == "cpu"

        def show(done: int, total: int) -> None:
            left = (time.monotonic() - began) * (total - done) / done
            if seconds is not None:
                left = min(left, max(0.0, began + seconds - time.monotonic()))
            rest = "" if left is None or done == total else f"  {clock(left)} left"
            display.now(f"{done}/{total} items measured{rest}", last=done == total)

        with Display(f"{method.name} ({self.shares})", quiet=self.quiet) as display:
            display.now(f"measuring on {self.protocol.name}")
            result = evaluate(
                method,
                self.protocol,
                self.test,
                batch_size=min(self.batch_size, _FEWEST) if small else self.batch_size,
                device=self.device,
                limit=self.limit,
                seconds=seconds,
                progress=show,
            )
            if short := _short(result, self.limit):
                display.say(f"measured on {short}, for lack of time")
        self.shares.add(began - time.monotonic())
        result.save(self._file(folder, short=bool(short)))
        return result


def _trained(maker: _Maker, label: str, recipe: Recipe, count: int) -> _Found:
    """The results of a row's training runs."""
    results = []
    reason = "not trained yet"
    for seed in range(count):
        try:
            results.append(maker.trained(label, recipe, seed))
        except NoTime as error:
            reason = str(error)
    return _Found(tuple(result for result in results if result is not None), reason)


def _not_made(rows: Sequence[Row], *, asked: bool) -> dict[str, _Found]:
    """The reasons of the rows without training that cannot be made, by label.

    `asked` says that the user asked for these rows: then slow methods are run, too.
    """
    found = {}
    for row in rows:
        if row.method is None:
            continue
        if row.method in _SLOW and not asked:
            reason = f"ask for it by --row: {row.method} takes up to a minute per pair"
            found[row.label] = _Found((), reason)
            continue
        try:
            open_method(row.method).check()
        except MissingExtra as error:
            found[row.label] = _Found((), str(error))
        except ValueError as error:  # a network whose weights do not come with the package
            if row.method in methods.names():
                raise
            found[row.label] = _Found((), str(error))
    return found


def _named(row: Row, labels: Sequence[str]) -> bool:
    return row.label.lower() in {label.lower() for label in labels}


def _weights_for(rows: Sequence[Row]) -> tuple[str, ...]:
    """The weights in the package of networks that these rows train without the layer."""
    plain = [row.recipe for row in rows if row.recipe and not row.recipe.iterations]
    kinds = {recipe.preset.split("/")[0] for recipe in plain}
    there = [name for name in shipped.DEFAULTS.values() if name in shipped.names()]
    return tuple(name for name in there if shipped.card(name).config["model"] in kinds)


def _cell(
    column: Column, paper: float | None, spread: float | None, results: Sequence[Result]
) -> Cell:
    cell = Cell(paper, spread)
    have = [result for result in results if column.metric in result.errors]
    if not have:
        return cell
    values = [
        column.scale * getattr(result[column.metric].summary, column.statistic) for result in have
    ]
    if len(have) > 1:
        finite = all(map(math.isfinite, values))
        return cell._replace(ours=fmean(values), spread=stdev(values) if finite else math.nan)
    low, high = have[0][column.metric].intervals[column.statistic]
    return cell._replace(ours=values[0], interval=Interval(column.scale * low, column.scale * high))


def _short(result: Result, limit: int | None) -> str:
    """The number of items measured, in words, if there was no time for all; "" otherwise."""
    items = result.data.items if limit is None else min(limit, result.data.items)
    return "" if len(result) >= items else f"{len(result)} of {items} items"


def _ours_from(results: Sequence[Result], limit: int | None) -> str:
    """The data and training behind our numbers, in a few words."""
    if not results:
        return ""
    training = results[0].training
    words = [results[0].data.name]
    if "of_epochs" in training:
        # Without a number of epochs there is not one whole epoch.
        done = [round(float(result.training.get("epochs", 0)), 1) for result in results]
        low, high = min(done), max(done)
        span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        if high == 0:
            span = f"under 1 (step {training.get('steps', 0)})"
        words.append(f"{span} of {training['of_epochs']:g} epochs")
    if len(results) > 1:
        words.append(f"{len(results)} runs")
    words += sorted({short for result in results if (short := _short(result, limit))})
    failures = sum(result.failures for result in results)
    if failures:
        words.append(f"{failures} failures")
    return ", ".join(words)


def _remarks(
    paper: PaperTable,
    name: str,
    budget: float | None,
    count: int,
    limit: int | None,
    layer: str,
    settings: Sequence[str],
    rows: Sequence[ReproducedRow],
) -> tuple[str, ...]:
    remarks = []
    items = next((row.results[0].data.items for row in rows if row.results), None)
    size = "" if items is None else f", {items} test items"
    if name.startswith(SYNTHETIC):
        remarks.append(
            f"Trained and tested here on the embedded synthetic shapes{size}, not on "
            f"{paper.data}: compare rows with each other, not with the paper."
        )
    elif name.split("/")[0].lower() != paper.data.lower():
        remarks.append(
            f"Trained and tested here on {name}{size}; the paper's is on {paper.data}: compare "
            "rows with each other first."
        )
    elif items is not None and paper.items not in (None, items):
        remarks.append(f"Only a part of {paper.data} is here: {items} test items of {paper.items}.")
    if limit is not None:
        remarks.append(f"Measured on the first {limit} items only.")
    cut = any(result.training.get("budget_s") for row in rows for result in row.results)
    if budget is not None and cut:
        remarks.append(
            f"Training was cut to {_duration(budget)} for the whole table: these models are far "
            "from trained in full."
        )
    if any(_short(result, limit) for row in rows for result in row.results):
        remarks.append(
            "Where there was no time to measure all test items, a row is of some, drawn from all "
            "categories: mind the intervals."
        )
    hardly = [
        row.label
        for row in rows
        if any(result.training.get("steps", _HARDLY) < _HARDLY for result in row.results)
    ]
    if hardly:
        remarks.append(
            f"Fewer than {_HARDLY} training steps, which say little about the method: "
            f"{', '.join(hardly)}."
        )
    if layer != "source":
        remarks.append(f"The layer is in the mode {layer!r}.")
    if settings:
        remarks.append(f"Trained with other settings than the paper's: {', '.join(settings)}.")
    if any(_bf16(result.training) for row in rows for result in row.results):
        remarks.append(
            "Networks were trained in bf16, the paper's in float32: --set "
            "runtime.precision=float32 does that."
        )
    if count != paper.runs and any(row.results for row in rows):
        remarks.append(f"{count} training runs a row; the paper has {paper.runs}.")
    return tuple(remarks)


def _bf16(training: Mapping[str, Any]) -> bool:
    """True if a network of the table was trained in bf16, which "auto" means except on a CPU."""
    runtime = training.get("config", {}).get("runtime", {}) if "recipe" in training else {}
    automatic = runtime.get("precision") == "auto" and not runtime["device"].startswith("cpu")
    return automatic or runtime.get("precision") == "bf16"


def _duration(seconds: float) -> str:
    """A duration in words.

    >>> _duration(600), _duration(100)
    ('10 min', '100 s')
    """
    return f"{seconds:g} s" if seconds % 60 else f"{seconds / 60:g} min"


def _safe(name: str) -> str:
    """A dataset's name as the name of a folder."""
    return re.sub(r"[^\w.-]+", "-", Path(name).name or name)


def to_json(reproduction: Reproduction) -> str:
    """The table as strict JSON."""
    return strict_json(reproduction.as_dict(), indent=1)
