"""Time whole training epochs: pairs per second, and where the time goes.

    python benchmarks/training.py --device cuda --save            # or: spoonful bench training
    python benchmarks/training.py --device cuda --models dcp --epochs 1
    python benchmarks/training.py --device cuda --data data/shapes
    python benchmarks/training.py --shapes 300 --models rpmnet --set data.batch_size=4   # on a CPU

The trainer of `spoonful train` trains for a few epochs of ModelNet40's length (9,840 shapes; a
smaller corpus is repeated, each copy stretched in its own way) in batches of 32, with the layer,
validation after every epoch, the log, TensorBoard where it is installed, and a checkpoint at the
end. What is compiled and recorded beforehand does not count, nor does the validation before the
first step, nor the steps after the last epoch that counts, which are profiled. On a CUDA device
networks are compiled, and steps are replayed as CUDA graphs.

Steps (forward, backward, Adam), the network's forward pass on validation pairs, and the making of
pairs are timed on the device, by events around them; the rest by the host's clock, with the device
at rest. "Other" is what is left: batches copied to where the graph reads them, losses copied to
the host, the device waiting for the host. Then a profiler watches some further steps and tells
what else ran on the device, and what the host did.

The first run compiles. To keep what was compiled, for another process or machine of the same kind:

    TORCHINDUCTOR_CACHE_DIR=compiled python benchmarks/training.py --device cuda
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import itertools
import json
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "src"))

from _harness import machine, save, table
from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.training import Config, corpora, distributed, override, presets
from spoonful.training.graphed import GraphedSteps
from spoonful.training.journal import Journal
from spoonful.training.tensorboard_log import TensorBoardLog
from spoonful.training.trainer import Trainer, fast_products

PRESETS = {"dcp": "dcp/unseen+source", "rpmnet": "rpmnet/crop+source"}
AIMS = {"dcp": 1500, "rpmnet": 1000}
# Steps between the last epoch that counts and the profiler, and before anything is measured.
LEAD_IN, WARM_UP = 12, 8


def corpus_of(data: str, shapes: int) -> Corpus:
    """`shapes` shapes: those of a corpus again and again, each stretched in its own way."""
    base = corpora.load(data, per_category=5 if data == "synthetic" else None)
    generator = torch.Generator().manual_seed(0)
    index = torch.arange(shapes) % len(base)
    stretch = 0.75 + 0.5 * torch.rand(shapes, 1, 3, generator=generator)
    points = base.points[index] * stretch
    points /= points.norm(dim=-1).amax(1)[:, None, None]
    normals = None
    if base.normals is not None:
        normals = F.normalize(base.normals[index] / stretch, dim=-1)
    return Corpus(base.name, points, normals, base.labels[index], base.categories)


class Clock:
    """Times of parts of epochs, by epoch and name; nothing counts until there is an epoch.

    Args:
        device: where the parts timed by `on_device` run.
    """

    def __init__(self, device: torch.device) -> None:
        self.epoch: int | None = None
        self._cuda = device.type == "cuda"
        self._host: dict[tuple[int, str], float] = defaultdict(float)
        self._events: list[tuple[int, str, Any, Any]] = []

    @contextlib.contextmanager
    def on_device(self, name: str) -> Iterator[None]:
        """Time what the device is asked for."""
        if not self._cuda:
            with self.on_host(name):
                yield
            return
        if self.epoch is None:
            yield
            return
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        yield
        end.record()
        self._events.append((self.epoch, name, start, end))

    @contextlib.contextmanager
    def on_host(self, name: str) -> Iterator[None]:
        """Time what the host does."""
        epoch, start = self.epoch, time.perf_counter()
        yield
        if epoch is not None:
            self._host[epoch, name] += time.perf_counter() - start

    def seconds(self, epoch: int) -> dict[str, float]:
        """The time of each part of an epoch; the device must have finished it."""
        found: dict[str, float] = defaultdict(float)
        for (number, name), spent in self._host.items():
            if number == epoch:
                found[name] += spent
        for number, name, start, end in self._events:
            if number == epoch:
                found[name] += start.elapsed_time(end) / 1e3
        return found


@dataclass
class Epoch:
    """The times of an epoch, in seconds.

    Attributes:
        whole: everything, from the first pair to the line in the log.
        steps: how many steps.
        parts: "step", "pairs", "validation", within it "forward", and "log".
    """

    whole: float
    steps: int
    parts: dict[str, float]

    @property
    def without(self) -> float:
        """The time without validation and its histograms."""
        return self.whole - self.parts["validation"] - self.parts["board"]


@dataclass
class Measured:
    """One model."""

    label: str
    batch: int
    validate_every: int
    validated: int
    epochs: list[Epoch]
    checkpoint: float
    start: float
    peak_gib: float | None
    profile: str = ""
    settings: str = ""

    def mean(self, value: Callable[[Epoch], float]) -> float:
        """The mean over the epochs."""
        return sum(map(value, self.epochs)) / len(self.epochs)

    @property
    def speed(self) -> float:
        """Pairs a second, with everything."""
        return self.mean(lambda epoch: epoch.steps * self.batch / epoch.whole)


def config_of(model: str, device: torch.device, settings: list[str]) -> Config:
    """A preset with everything on, and perhaps further settings."""
    return override(
        presets.get(PRESETS[model]),
        [
            "data.batch_size=32",
            f"runtime.device={device}",
            *settings,
        ],
    )


def measure(
    model: str,
    corpus: Corpus,
    device: torch.device,
    *,
    epochs: int = 2,
    profiled: int = 40,
    settings: list[str] | None = None,
) -> Measured:
    """Train for a few epochs and see what they take."""
    group, device = distributed.join(str(device))
    config = config_of(model, device, settings or [])
    on_cuda, often = device.type == "cuda", config.runtime.validate_every
    config = override(config, ["runtime.validate_every=1"])
    profiled = profiled if on_cuda else 0
    if on_cuda:  # recordings count: a graph's memory is taken when it is recorded
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated() if on_cuda else 0
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as undo:
        trainer = Trainer(config, Path(folder), corpus, group, device, quiet=True)
        length = len(trainer.pairs)
        profiled = min(profiled, length)
        total = epochs * length + (min(LEAD_IN + profiled, length) if profiled else 0)
        trainer.progress.total = total
        clock = Clock(device)
        watch = instrument(trainer, clock, undo)
        warm_up(trainer)
        profiler = Profiled(trainer, total - profiled, profiled) if profiled else None
        start = time.perf_counter() - began
        trainer.run()
        source = trainer.pairs.validation[0].source
        return Measured(
            label=f"{config.name} {config.data.batch_size}x{source.shape[1]}",
            batch=config.data.batch_size,
            validate_every=often,
            validated=sum(map(len, trainer.pairs.validation)),
            epochs=watch.epochs[:epochs],
            checkpoint=watch.checkpoint,
            start=start,
            peak_gib=(watch.peaks[epochs - 1] - held) / 2**30 if on_cuda else None,
            profile="" if profiler is None else profiler.text,
            settings=" ".join(settings or []),
        )


@dataclass
class Watch:
    """The measurements of `instrument`."""

    epochs: list[Epoch] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    checkpoint: float = math.nan


def instrument(trainer: Trainer, clock: Clock, undo: contextlib.ExitStack) -> Watch:
    """Time the trainer's parts as it goes."""
    watch = Watch()
    state = {"began": 0.0, "first": 0, "validating": False, "inside": False}

    def put(owner: Any, name: str, changed: Any) -> None:
        if name in vars(owner):
            undo.callback(setattr, owner, name, vars(owner)[name])
        else:
            undo.callback(delattr, owner, name)
        setattr(owner, name, changed)

    def timed(owner: Any, name: str, part: str) -> None:
        plain = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if state["inside"]:
                return plain(*arguments, **options)
            state["inside"] = True
            with clock.on_host(part):
                result = plain(*arguments, **options)
            state["inside"] = False
            return result

        put(owner, name, call)

    def network(plain: Callable[..., Any], part: str | None) -> Callable[..., Any]:
        """Time it as "forward" in a validation, and otherwise as `part`."""

        def call(*arguments: Any) -> Any:
            name = "forward" if state["validating"] else part
            with clock.on_device(name) if name else contextlib.nullcontext():
                return plain(*arguments)

        return call

    stepper = trainer.stepper
    if trainer._forward is not None:
        put(torch.cuda.CUDAGraph, "replay", network(torch.cuda.CUDAGraph.replay, "step"))
    else:
        put(stepper, "step", network(stepper.step, "step"))
        put(stepper, "forward", network(stepper.forward, None))
    epoch, end_epoch, validate, save_all = (
        trainer.pairs.epoch,
        trainer._end_epoch,
        trainer._validate,
        trainer._save,
    )

    def pairs(skip: int = 0) -> Iterator[Batch]:
        clock.epoch = len(watch.epochs)
        state["began"], state["first"] = time.perf_counter(), trainer.progress.step
        batches = epoch(skip)
        while True:
            with clock.on_device("pairs"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def end(duration: float, steps: int) -> None:
        end_epoch(duration, steps)
        clock.epoch = None
        if trainer.device.type == "cuda":
            torch.cuda.synchronize()
        whole = time.perf_counter() - state["began"]
        one = Epoch(whole, trainer.progress.step - state["first"], clock.seconds(len(watch.epochs)))
        watch.epochs.append(one)
        if trainer.device.type == "cuda":
            watch.peaks.append(torch.cuda.max_memory_allocated())
        print(
            f"{trainer.config.name}, epoch of {one.steps} steps: {whole:.2f} s, "
            f"{1e3 * one.parts['step'] / one.steps:.2f} ms a step, "
            f"{one.parts['step'] / whole:.1%} in steps, "
            f"{one.parts['validation']:.2f} s validation",
            flush=True,
        )

    def validated() -> Any:
        state["validating"] = True
        with clock.on_host("validation"):
            found = validate()
        state["validating"] = False
        return found

    def saved() -> None:
        start = time.perf_counter()
        save_all()
        watch.checkpoint = time.perf_counter() - start

    for owner, name, changed in (
        (trainer.pairs, "epoch", pairs),
        (trainer, "_end_epoch", end),
        (trainer, "_validate", validated),
        (trainer, "_save", saved),
    ):
        put(owner, name, changed)
    timed(TensorBoardLog, "validation", "board")
    timed(TensorBoardLog, "scalars", "log")
    timed(Journal, "add", "log")
    return watch


def warm_up(trainer: Trainer) -> None:
    """Compile and record everything."""
    with fast_products(trainer.tf32):
        trainer._validate()
        for batch in itertools.islice(type(trainer.pairs).epoch(trainer.pairs), WARM_UP):
            trainer._take(trainer.group.slice(batch), 1e-6)
        trainer._validate()
    if trainer.device.type == "cuda":
        torch.cuda.synchronize()


class Profiled:
    """Some of a trainer's last steps, under torch's profiler.

    A step is recorded anew under it: graphs from before a profiler's start may not bear it.

    Args:
        trainer: about to run.
        first: the number of steps before these.
        count: how many.
    """

    def __init__(self, trainer: Trainer, first: int, count: int) -> None:
        self.text = ""
        self._left, self._count = first, count
        self._trainer, self._take = trainer, trainer._take
        kinds = torch.profiler.ProfilerActivity
        self._profiler = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA])
        trainer._take = self  # type: ignore[assignment]

    def __call__(self, batch: Batch, lr: float) -> Any:
        """Take a step."""
        if self._left == 0:
            torch.cuda.synchronize()
            self._profiler.start()
            if isinstance(self._take, GraphedSteps):
                self._take = GraphedSteps(self._trainer.stepper)
        self._left -= 1
        outcome = self._take(batch, lr)
        if self._left == -self._count:
            torch.cuda.synchronize()
            self._profiler.stop()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                self._profiler.export_chrome_trace(str(path))
                events = json.loads(path.read_text())["traceEvents"]
            self.text = timeline(events)
        return outcome


def timeline(events: list[dict[str, Any]]) -> str:
    """The times between replayed steps in a trace, from the second replay on.

    Kernels of a graph carry the number of the call that launched it.
    """
    whole = [event for event in events if event.get("ph") == "X"]
    calls = [event for event in whole if event.get("cat") in ("cuda_runtime", "cuda_driver")]
    work = [event for event in whole if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    replays = sorted((e for e in calls if "GraphLaunch" in e["name"]), key=lambda e: e["ts"])[1:]
    launches = {_number(event) for event in replays}
    began = min((e["ts"] for e in work if _number(e) in launches), default=None)
    if began is None:
        return "The profiler saw no replayed steps."
    work = [event for event in work if event["ts"] >= began]
    calls = [event for event in calls if event["ts"] >= replays[0]["ts"]]
    steps = len(replays)
    spans: dict[Any, tuple[float, float]] = {}
    other: Counter[str] = Counter()
    times: Counter[str] = Counter()
    busy = 0.0
    for event in work:
        start, number = float(event["ts"]), _number(event)
        end = start + float(event["dur"])
        if number in launches:
            before = spans.get(number, (start, end))
            spans[number] = (min(before[0], start), max(before[1], end))
            busy += end - start
        else:
            other[_short(event["name"])] += event["dur"]
            times[_short(event["name"])] += 1
    window = max(float(e["ts"]) + e["dur"] for e in work) - began
    inside = sum(end - start for start, end in spans.values())
    between = sum(other.values())
    rows = [
        ("replayed steps", inside, len(spans)),
        ("of that, kernels at work", busy, len(work) - sum(times.values())),
        ("other kernels and copies", between, sum(times.values())),
        ("nothing", window - inside - between, 0),
    ]
    rows += [(f"other: {name}", spent, times[name]) for name, spent in other.most_common(8)]
    device = table(
        ["on the device", "ms a step", "share", "a step"],
        [
            [name, f"{spent / steps / 1e3:.3f}", f"{spent / window:.1%}", f"{count / steps:.1f}"]
            for name, spent, count in rows
        ],
    )
    spent, count = Counter[str](), Counter[str]()
    for event in calls:
        spent[event["name"]] += event["dur"]
        count[event["name"]] += 1
    host = table(
        ["calls of the host", "ms a step", "a step"],
        [
            [name, f"{taken / steps / 1e3:.3f}", f"{count[name] / steps:.2f}"]
            for name, taken in spent.most_common(8)
        ],
    )
    return f"{steps} steps.\n\n{device}\n\n{host}"


def _number(event: dict[str, Any]) -> Any:
    """The number that links a call to the work it launched."""
    return event.get("args", {}).get("correlation")


def _short(name: str) -> str:
    """A kernel's name without its types."""
    name = (
        name.removeprefix("void ")
        .replace("at::native::", "")
        .replace("(anonymous namespace)::", "")
    )
    return name if len(name) <= 60 else name[:57] + "..."


def report(measured: list[Measured], device: str, command: str, shapes: int, data: str) -> str:
    """Everything in Markdown."""

    def row(name: str, value: Callable[[Measured], str]) -> list[str]:
        return [name, *map(value, measured)]

    def share(m: Measured, part: Callable[[Epoch], float]) -> str:
        return f"{m.mean(lambda e: part(e) / e.whole):.1%}"

    def preset(m: Measured) -> str:
        """The network's share if validation comes as seldom as the preset says."""
        part = 1 / m.validate_every
        value = m.mean(
            lambda e: (
                (e.parts["step"] + part * e.parts["forward"])
                / (e.without + part * (e.whole - e.without))
            )
        )
        return f"{value:.1%} ({m.validate_every})"

    rows = [
        row("steps in an epoch", lambda m: f"{m.mean(lambda e: e.steps):,.0f}"),
        row("pairs it is validated on", lambda m: f"{m.validated:,}"),
        row("epochs measured", lambda m: str(len(m.epochs))),
        row("an epoch, s", lambda m: f"{m.mean(lambda e: e.whole):.2f}"),
        row("**pairs/s**", lambda m: f"**{m.speed:,.0f}**"),
        row(
            "pairs/s without validation",
            lambda m: f"{m.mean(lambda e: e.steps * m.batch / e.without):,.0f}",
        ),
        row(
            "a step on the device, ms",
            lambda m: f"{m.mean(lambda e: 1e3 * e.parts['step'] / e.steps):.2f}",
        ),
        row("share of the time: steps", lambda m: share(m, lambda e: e.parts["step"])),
        row("validation, the network", lambda m: share(m, lambda e: e.parts["forward"])),
        row(
            "**both: forward and backward**",
            lambda m: f"**{share(m, lambda e: e.parts['step'] + e.parts['forward'])}**",
        ),
        row("validation as often as the preset has it", preset),
        row(
            "validation, errors and layer",
            lambda m: share(m, lambda e: e.parts["validation"] - e.parts["forward"]),
        ),
        row("making pairs", lambda m: share(m, lambda e: e.parts["pairs"])),
        row("log and TensorBoard", lambda m: share(m, lambda e: e.parts["log"] + e.parts["board"])),
        row(
            "other",
            lambda m: share(
                m,
                lambda e: (
                    e.whole
                    - sum(e.parts[name] for name in ("step", "validation", "pairs", "log", "board"))
                ),
            ),
        ),
        row(
            "a checkpoint, s (share if one a minute)",
            lambda m: f"{m.checkpoint:.2f} ({m.checkpoint / 60:.1%})",
        ),
        row("peak GiB", lambda m: "-" if m.peak_gib is None else f"{m.peak_gib:.1f}"),
        row("compiling and recording, s", lambda m: f"{m.start:.0f}"),
    ]
    board = "with" if importlib.util.find_spec("tensorboard") is not None else "without"
    parts = [
        "# Training with everything on",
        f"{machine(device)}; {board} TensorBoard. `{command}`. {shapes:,} shapes made from "
        f"{data}; each epoch with its validation. The head of the script says what is timed how.",
        table(["", *(m.label for m in measured)], rows),
    ]
    for m in measured:
        if m.settings:
            parts.append(f"Settings besides the preset's: `{m.settings}`.")
            break
    for m in measured:
        if m.profile:
            parts += [f"## {m.label}: steps under the profiler", m.profile]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="spoonful bench training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--device", default="cpu")
    add("--models", default=",".join(PRESETS), help="dcp, rpmnet, or both with a comma between")
    add("--data", default="synthetic", help="corpus: a folder, a file, or synthetic")
    add("--shapes", type=int, default=9840, help="repeat the corpus to so many")
    add("--epochs", type=int, default=2, help="how many to measure")
    add("--profile", type=int, default=40, help="steps to profile on a CUDA device; 0 for none")
    add("--set", action="append", default=[], metavar="A.B=C", help="a setting of the training")
    add("--save", action="store_true", help="write to benchmarks/results")
    options = parser.parse_args()
    unknown = set(options.models.split(",")) - PRESETS.keys()
    if unknown:
        parser.error(f"--models must be of {', '.join(PRESETS)}; got {', '.join(sorted(unknown))}")
    device = torch.device(options.device)
    corpus = corpus_of(options.data, options.shapes)
    measured = []
    for model in options.models.split(","):
        torch.compiler.reset()
        one = measure(
            model,
            corpus,
            device,
            epochs=options.epochs,
            profiled=options.profile,
            settings=options.set,
        )
        measured.append(one)
        print(
            f"{one.label}: {one.speed:,.0f} pairs/s (aim on an H200: {AIMS[model]:,})", flush=True
        )
    command = " ".join(["python benchmarks/training.py", *sys.argv[1:]])
    text = report(measured, options.device, command, options.shapes, corpus.name)
    print(f"\n{text}")
    if options.save:
        name = f"training-{device.type}.md"
        print("written to", save(name, text))


if __name__ == "__main__":
    main()
