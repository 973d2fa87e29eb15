"""The classical methods' tables: tune every method, measure all of them, write docs/baselines.md.

    python benchmarks/baselines.py run --data 'data/shapes-{split}.pt' --device cuda --out DIR
    python benchmarks/baselines.py collect DIR           # into results/baselines.json
    python benchmarks/baselines.py table --into results/baselines.md docs/baselines.md

`run` works in lanes, side by side. Methods of compiled libraries share the processor's cores, one
pinned process each. ICP, RPM and the networks whose weights come with the package, which take
batches, have one process on the device, and Go-ICP has several, since it takes a pair at a time and
waits for its own small steps. A lane tunes its methods on training pairs, then measures them on
test items, as far as `--seconds` go. When all are done, a last lane measures times, with nothing
else at work on the machine. What its folder has already is not done again, so that several runs can
share the work.

`collect` keeps what the tables print and where it is from; `collect --presets` also puts the tuned
settings into the package. Needs torch and numpy; methods whose libraries are missing are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from _harness import RESULTS, machine
from paper import tables
from paper.tuning import tune
from spoonful.batch import Batch
from spoonful.classical import presets
from spoonful.classical.fgr import FGR
from spoonful.classical.library import LibraryMethod, library_version
from spoonful.classical.presets import Tuned
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.evaluation import Method, Result, evaluate, methods, open_method
from spoonful.evaluation.result import strict_json
from spoonful.extras import MissingExtra
from spoonful.files import write_whole
from spoonful.registration import Registration
from spoonful.training import corpora, shipped

PROTOCOLS = ("rpm-crop", "dcp-clean", "rpm-jitter", "dcp-unseen", "dcp-noise")
TUNED_ON = {
    "rpm-crop": "rpm-crop",
    "rpm-jitter": "rpm-jitter",
    "dcp-clean": "dcp-clean",
    "dcp-unseen": "dcp-clean",
}
"""Whose tuned settings a protocol takes. The noise of dcp-noise is in no training pair."""
LANES = ("library", "batched", "goicp", "times")
SUMMARY = RESULTS / "baselines.json"
ESTIMATED = "published, normals estimated"
MARKS = "<!-- baselines: {} -->", "<!-- end -->"


@dataclass(frozen=True)
class Tune:
    """Search settings of a method for a protocol.

    No trial begins after `share` of the lane's time, or after `seconds` where they are given.
    """

    method: str
    protocol: str
    trials: int
    items: int
    share: float
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class Measure:
    """Measure a method on a protocol; `limit` is how many items at most."""

    method: str
    settings: str
    protocol: str
    limit: int | None = None
    batch: int = 16
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Lane:
    """Steps that some processes do together, one after the other."""

    name: str
    processes: int
    device: str
    steps: tuple[Tune | Measure, ...]


def lanes(options: argparse.Namespace, cores: int) -> list[Lane]:
    """The jobs of each lane and its number of processes; the last lane measures times, alone."""
    device = options.device
    three, two = ("rpm-crop", "dcp-clean", "rpm-jitter"), ("rpm-crop", "dcp-clean")
    quick = {"seconds": options.pair_seconds}  # settings that take longer are none to choose
    library: tuple[Tune | Measure, ...] = (
        *(Tune("kiss-matcher", on, 64, 120, 0.09, quick) for on in two),
        *(Tune("small_gicp", on, 64, 288, 0.04, quick) for on in two),
        *(Tune("fgr", on, 48, 144, 0.07) for on in two),
        *_measured("kiss-matcher", two),
        *_measured("small_gicp", two),
        *_measured("fgr", two),
        *(Measure("fgr", ESTIMATED, on) for on in ("rpm-crop", "rpm-jitter")),
    )
    batched: tuple[Tune | Measure, ...] = (
        *(Tune("icp", on, 96, 600, 0.06) for on in three),
        *(Tune("rpm", on, 64, 384, 0.10) for on in three),
        *_measured("identity", tuned_on=(), batch=128),
        *_measured("icp", batch=128),
        *_measured("rpm", batch=128),
    )
    networks = [name for name, weights in shipped.DEFAULTS.items() if weights in shipped.names()]
    for network in networks:
        batched += tuple(_measured(network, tuned_on=(), batch=16))
    # Less time in trials, of which there are many.
    short, long = ({"time_limit": share * options.goicp_seconds} for share in (0.5, 1.0))
    waiting_too: tuple[Tune | Measure, ...] = (
        *(Tune("goicp", on, 40, 36, 0.17, short) for on in two),
        *_measured("goicp", tuned_on=two, limit=60, batch=1, fixed=long),
    )
    one_by_one = ("small_gicp", "kiss-matcher")
    together = 8 if torch.device(device).type == "cpu" else 64
    times = tuple(
        Measure(name, settings, on, *((8, 1) if name in one_by_one else (together, together)))
        for name in (*one_by_one, "fgr", "icp", "rpm", *networks)
        for on in two
        for settings in ("published", "tuned")
        if settings == "published" or name not in networks
    )
    waiting = max(1, min(5, cores // 3))
    found = [
        Lane("library", max(1, cores - waiting - 1), "cpu", _ordered(library)),
        Lane("batched", 1, device, _ordered(batched)),
        Lane("goicp", waiting, device, _ordered(waiting_too)),
        Lane("times", 1, device, times),
    ]
    found = [_chosen(lane, options) for lane in found]
    return [_rehearsed(lane) for lane in found] if options.rehearse else found


def _chosen(lane: Lane, options: argparse.Namespace) -> Lane:
    """The steps of the methods that were asked for, with the trials and items that were."""
    steps: list[Tune | Measure] = []
    for step in lane.steps:
        if options.methods and step.method not in options.methods:
            continue
        if lane.name == "times":
            if step.method not in options.untimed:
                steps.append(step)
        elif isinstance(step, Tune):
            if options.tune_for and step.protocol not in options.tune_for:
                continue
            if step.method in options.search:
                trials, items, seconds = options.search[step.method]
                step = replace(step, trials=int(trials), items=int(items), seconds=seconds)
            steps.append(step)
        elif not options.measure_on or step.protocol in options.measure_on:
            limit = options.limit.get(step.method, options.limit.get("all", step.limit))
            # One at a time, so that what is asked for again is known.
            batch = 1 if step.method in options.untimed else step.batch
            steps.append(replace(step, limit=limit, batch=batch))
    return replace(lane, steps=tuple(steps))


def _ordered(steps: Sequence[Tune | Measure]) -> tuple[Tune | Measure, ...]:
    """The jobs in order: those without tuning, then tuning, then tuned methods."""

    def when(step: Tune | Measure) -> int:
        return 1 if isinstance(step, Tune) else 2 * (step.settings == "tuned")

    return tuple(sorted(steps, key=when))


def _rehearsed(lane: Lane) -> Lane:
    """The same with next to no trials and items."""
    return replace(
        lane,
        steps=tuple(
            replace(step, trials=2, items=3)
            if isinstance(step, Tune)
            else replace(step, limit=2, batch=2)
            for step in lane.steps
        ),
    )


def _measured(
    method: str, tuned_on: Sequence[str] = tuple(TUNED_ON.values()), **how: Any
) -> Iterator[Measure]:
    """A method on all protocols, as published, and tuned where it was tuned for them."""
    for protocol in PROTOCOLS:
        yield Measure(method, "published", protocol, **how)
        if TUNED_ON.get(protocol, "") in tuned_on:
            yield Measure(method, "tuned", protocol, **how)


def run(options: argparse.Namespace) -> int:
    """Start the lanes and wait for them; returns how many failed."""
    cores = sorted(os.sched_getaffinity(0))
    chosen = [lane for lane in lanes(options, len(cores)) if lane.name in options.lanes]
    if not chosen:
        raise ValueError(f"--lanes must name some of {', '.join(LANES)}, got {options.lanes}")
    options.out.mkdir(parents=True, exist_ok=True)
    about = {"processor": machine("cpu"), "device": machine(options.device)}
    libraries = {n: library_version(n) for n in ("small_gicp", "kiss_matcher")}
    about["libraries"] = ", ".join(f"{n} {v}" for n, v in libraries.items() if v != "none")
    write_whole(options.out / "machine.json", strict_json(about))
    began = time.time()
    until = began + options.seconds
    failed = _run_lanes([lane for lane in chosen if lane.name != "times"], options, until, cores)
    print(f"all but the times: {time.time() - began:.0f} s", flush=True)
    last = [lane for lane in chosen if lane.name == "times"]
    failed += _run_lanes(last, options, time.time() + options.seconds, cores)
    print(f"done in {time.time() - began:.0f} s; {failed} lanes failed", flush=True)
    return 1 if failed else 0


def _run_lanes(
    some: Sequence[Lane], options: argparse.Namespace, until: float, cores: list[int]
) -> int:
    """Run lanes side by side; those of a lane that fails, or takes far too long, are ended."""
    free = list(cores)
    work: dict[str, list[subprocess.Popen[bytes]]] = {}
    for lane in some:
        meeting = options.out.resolve() / f".meeting-{lane.name}"
        meeting.unlink(missing_ok=True)
        work[lane.name] = []
        for rank in range(lane.processes):
            core = free.pop(0) if free else cores[rank % len(cores)]
            command = [sys.executable, __file__, "lane", lane.name, str(rank), str(core)]
            command += ["--data", options.data, "--device", options.device]
            command += ["--out", str(options.out), "--until", str(until)]
            command += ["--cores", str(len(cores)), *_shared(options)]
            work[lane.name].append(subprocess.Popen(command))
    failed: set[str] = set()
    while any(one.poll() is None for group in work.values() for one in group):
        for name, group in work.items():
            codes = [one.poll() for one in group]
            late = time.time() > until + 60 and None in codes
            if late or any(code not in (None, 0) for code in codes):
                failed.add(name)
                for one in group:
                    one.kill()
        time.sleep(0.2)
    return len(failed | {name for name, group in work.items() if any(p.returncode for p in group)})


def _shared(options: argparse.Namespace) -> list[str]:
    """The options that `run` passes on to its lanes."""
    given = ["--goicp-seconds", str(options.goicp_seconds)]
    given += ["--pair-seconds", str(options.pair_seconds)]
    given += ["--methods", *options.methods, "--untimed", *options.untimed]
    given += ["--tune-for", *options.tune_for, "--measure-on", *options.measure_on]
    given += ["--limit", *(f"{name}={count}" for name, count in options.limit.items())]
    given += ["--search"]
    given += [f"{name}={','.join(map(str, how))}" for name, how in options.search.items()]
    return [*given, "--rehearse"] if options.rehearse else given


def work_in_lane(options: argparse.Namespace) -> int:
    """One process of a lane."""
    torch.set_num_threads(1)
    lane = next(one for one in lanes(options, options.cores) if one.name == options.lane)
    os.sched_setaffinity(0, {options.core})  # libraries then have one thread, as the tables say
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # they meet on this machine
    if lane.processes > 1:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{options.out.resolve()}/.meeting-{lane.name}",
            rank=options.rank,
            world_size=lane.processes,
            timeout=timedelta(seconds=120),
        )
    shapes = {split: corpora.load(options.data, split) for split in ("train", "test")}
    span = options.until - time.time()
    for step in lane.steps:
        began = time.time()
        if _from_first(began > options.until):
            _say(options, f"{lane.name}: no time for {step}")
            continue
        try:
            if isinstance(step, Tune):
                seconds = step.share * span if step.seconds is None else step.seconds
                said = tune_step(step, shapes["train"], options, seconds)
            else:
                said = measure_step(step, lane, shapes["test"], options)
        except MissingExtra as error:
            said = str(error)
        name = f"{step.method} {getattr(step, 'settings', 'tune')} on {step.protocol}"
        _say(options, f"{lane.name} {time.time() - began:5.1f} s  {name}: {said}")
    if lane.processes > 1:
        dist.barrier()
        dist.destroy_process_group()
    return 0


def tune_step(step: Tune, shapes: Corpus, options: argparse.Namespace, seconds: float) -> str:
    """Search, and write what was found."""
    file = options.out / "tuned" / f"{step.method}@{step.protocol}.json"
    if _from_first(file.is_file()):
        return "there already"
    _check(presets.published(step.method))
    found = tune(
        step.method,
        protocols.get(step.protocol),
        shapes,
        trials=step.trials,
        items=step.items,
        seconds=seconds,
        device="cpu" if _by_library(step.method) else options.device,
        fixed=step.fixed,
        earlier=_earlier(step),
    )
    if options.rank == 0:
        write_whole(file, found.tuned.as_json())
    if dist.is_initialized():
        dist.barrier()
    return f"{found.before:.3f} to {found.after:.3f} in {len(found.trials)} trials"


def _earlier(step: Tune) -> list[Tuned]:
    """The package's default settings, and those tuned for the protocol where there are any."""
    default = asdict(presets.kind(step.method).default())
    del default["settings"]
    there = step.protocol in presets.tuned_on(step.method)
    found = [presets.tuned(step.method, step.protocol)] if there else []
    return [Tuned(step.method, default), *found]


def measure_step(step: Measure, lane: Lane, shapes: Corpus, options: argparse.Namespace) -> str:
    """Measure, and write the result."""
    name = f"{step.method}@{step.settings}".replace(", ", "-").replace(" ", "-")
    folder = options.out / ("times" if lane.name == "times" else "results")
    file = folder / f"{name}-{step.protocol}.json"
    if _from_first(file.is_file()):
        return "there already"
    method = _method(step, options.out)
    if method is None:
        return "the same as published, or not tuned"
    _check(method.run)
    on_cpu = _by_library(step.method)
    # What takes as long as it is let, or is not timed, is not run again for its time.
    untimed = "time_limit" in step.fixed or step.method in options.untimed
    device = "cpu" if on_cpu else lane.device
    found = evaluate(
        replace(method, run=_Once(method.run, device)) if untimed else method,
        protocols.get(step.protocol),
        shapes,
        batch_size=step.batch,
        device=device,
        limit=step.limit,
        chamfer=False,
    )
    if options.rank == 0:
        # Without categories, whose intervals are most of the file.
        slim = replace(found, labels=None, categories=())
        slim = replace(slim, timing=None) if untimed else slim
        slim.save(file)
    return f"{found['rotation_degrees'].summary.mean:.3f} over {len(found)} items"


class _Once:
    """A method that answers from memory when it is asked for the same items again."""

    def __init__(self, run: Callable[[Batch], Registration], device: str) -> None:
        # `evaluate` prepares models, and does not see that this is one.
        self._run = run.to(device).eval() if isinstance(run, torch.nn.Module) else run
        self._known: dict[tuple[int, ...], Registration] = {}

    def __call__(self, batch: Batch) -> Registration:
        assert batch.index is not None
        items = tuple(batch.index.tolist())
        if items not in self._known:
            self._known[items] = self._run(batch)
        return self._known[items]


def _method(step: Measure, out: Path) -> Method | None:
    """The method of a step; None where its tuned settings are the published ones, or missing."""
    if step.method not in presets.names():
        return open_method(step.method)
    if step.settings == ESTIMATED:
        return methods.of_classical(
            replace(FGR.published(), normals="estimated", settings=ESTIMATED)
        )
    if step.settings == "published":
        return methods.of_classical(replace(presets.published(step.method), **step.fixed))
    on = TUNED_ON[step.protocol]
    file = out / "tuned" / f"{step.method}@{on}.json"
    if file.is_file():
        found = Tuned.load(file)
    elif on in presets.tuned_on(step.method):
        found = presets.tuned(step.method, on)
    else:
        return None
    if found.search["winner"] == 0:
        return None
    method = replace(found.build(), **step.fixed)
    return methods.of_classical(method, search=dict(found.search))


def _by_library(name: str) -> bool:
    return name in presets.names() and issubclass(presets.kind(name), LibraryMethod)


def _check(method: Any) -> None:
    """Raise a `MissingExtra` where the method's library is missing."""
    if isinstance(method, LibraryMethod):
        method.check()


def _from_first(mine: bool) -> bool:
    """The argument that the lane's first process gives, in all its processes."""
    if not dist.is_initialized():
        return mine
    said = torch.tensor([float(mine)])
    dist.broadcast(said, 0)
    return bool(said.item())


def _say(options: argparse.Namespace, text: str) -> None:
    if options.rank == 0:
        print(text, flush=True)


def collect(options: argparse.Namespace) -> int:
    """Write the numbers that the tables print, from the results in some folders, to one file."""
    rows, times, searches, machines = [], {}, {}, []
    for folder in options.folders:
        if (folder / "machine.json").is_file():
            machines.append(json.loads((folder / "machine.json").read_text(encoding="utf-8")))
        for path in sorted(folder.glob("results/*.json")):
            rows.append(_row(Result.load(path)))
        for path in sorted(folder.glob("times/*.json")):
            found = Result.load(path)
            assert found.timing is not None
            times[f"{found.method}@{found.settings}@{found.protocol}"] = {
                "ms_single": 1e3 * found.timing.single,
                "ms_in_batches": 1e3 / found.timing.pairs_per_second,
                "batch": found.timing.batch_size,
                "device": found.machine["device"],
            }
        for path in sorted(folder.glob("tuned/*.json")):
            searches[path.stem] = _search(Tuned.load(path))
            if options.presets:
                write_whole(presets.FOLDER / path.name, path.read_text(encoding="utf-8"))
    if not rows:
        raise ValueError(f"no results in {', '.join(map(str, options.folders))}")
    if options.keep:
        before = json.loads(options.summary.read_text(encoding="utf-8"))
        new = {_name_of(row) for row in rows}
        rows = [row for row in before["rows"] if _name_of(row) not in new] + rows
        machines = before["machines"] + machines
        searches, times = before["searches"] | searches, before["times"] | times
    content = {"machines": machines, "searches": searches, "rows": rows, "times": times}
    print("wrote", write_whole(options.summary, strict_json(content, indent=1)))
    return 0


def _name_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["method"], row["settings"], row["protocol"]


def _search(found: Tuned) -> dict[str, Any]:
    """A description of the search for settings, and those that differ from the published ones."""
    published = presets.published(found.method)
    changed = {
        name: value for name, value in found.settings.items() if value != getattr(published, name)
    }
    kept = ("items", "trials", "winner", "score_published", "score_tuned", "finalists")
    return {**{name: found.search[name] for name in kept}, "changed": changed}


def _row(found: Result) -> dict[str, Any]:
    settings = found.training.get("settings", {})
    return {
        "method": found.method,
        "settings": found.settings,
        "seconds": settings.get("time_limit"),
        "protocol": found.protocol,
        "hash": found.protocol_hash,
        "data": found.data.name,
        "fingerprint": found.data.fingerprint,
        "items": len(found),
        "of": found.data.items,
        "statistics": {
            metric: {
                **{name: getattr(summary, name) for name in ("mean", "rmse", "median")},
                "interval": list(intervals["mean"]),
            }
            for metric, (summary, intervals) in found.statistics.items()
            if metric in _METRICS
        },
        # How many pairs end beyond so many degrees; what is not finite is beyond all.
        "beyond": {
            f"{degrees:g}": int((~(found.errors["rotation_degrees"] <= degrees)).sum())
            for degrees in _BEYOND
        },
        "created": found.created,
        "versions": dict(found.versions),
        "machine": dict(found.machine),
    }


_BEYOND = (0.005, 0.2, 1, 5, 90, 150)
_METRICS = (
    *("rotation_rpmnet_degrees", "rotation_dcp_degrees", "rotation_degrees"),
    *("translation", "translation_axes"),
)


def table(options: argparse.Namespace) -> int:
    """Write the tables between the marks of a file, or print them."""
    content = json.loads(options.summary.read_text(encoding="utf-8"))
    texts = {name: render(name, content) for name in PROTOCOLS}
    texts["searches"] = render_searches(content["searches"])
    texts["machine"] = render_machine(content)
    if not options.into:
        print("\n\n".join(f"### {name}\n\n{text}" for name, text in texts.items()))
        return 0
    for page in options.into:
        page.write_text(put(page.read_text(encoding="utf-8"), texts), encoding="utf-8")
        print("wrote", page)
    return 0


def put(text: str, parts: Mapping[str, str]) -> str:
    """`text` with each part that it has a mark for, between this mark and the next end."""
    for name, part in parts.items():
        before, mark, rest = text.partition(MARKS[0].format(name))
        if not mark:
            continue
        _, end, after = rest.partition(MARKS[1])
        if not end:
            raise ValueError(f"there is no {MARKS[1]} after {mark}")
        text = f"{before}{mark}\n\n{part}\n\n{end}{after}"
    return text


def render(protocol: str, content: Mapping[str, Any]) -> str:
    """The table of a protocol, in Markdown."""
    rows = sorted((r for r in content["rows"] if r["protocol"] == protocol), key=_order)
    paper = tables.get(protocol)
    shown = {row["method"].removesuffix("-open3d") for row in rows}
    printed = {
        name: row.values
        for row in paper.rows
        if (name := row.method or _TRAINED.get(row.label)) in shown
    }
    rpm = protocols.get(protocol).metrics == "rpmnet"
    keys = (
        [("aniso. R °", "rotation_rpmnet_degrees", "mean")]
        if rpm
        else [
            ("RMSE(R) °", "rotation_dcp_degrees", "rmse"),
            ("MAE(R) °", "rotation_dcp_degrees", "mean"),
        ]
    )
    in_paper = ["iso. R"] if rpm else ["RMSE(R)", "MAE(R)"]
    places = [[c.label for c in paper.columns].index(label) for label in in_paper]
    head = ["method", "settings", "items", *(label for label, _, _ in keys)]
    head += ["iso. R ° (95 %)", "median °", "iso. t", "ms", f"paper: {', '.join(in_paper)} °"]
    if not printed:
        head = head[:-1]
    real = [row for row in rows if row["method"] != "identity"]
    least = {
        name: min((_number(row["statistics"]["rotation_degrees"][name]) for row in real), default=0)
        for name in ("mean", "median")
    }
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        found = row["statistics"]
        angle = found["rotation_degrees"]
        low, high = map(_short, angle["interval"])
        mean, middle = (
            f"**{_short(angle[name])}**"
            if _short(angle[name]) == _short(least[name]) and row in real
            else _short(angle[name])
            for name in ("mean", "median")
        )
        cells = [
            "no motion" if row["method"] == "identity" else row["method"],
            _settings(row, content["searches"]),
            str(row["items"]),
            *(_short(found[metric][statistic]) for _, metric, statistic in keys),
            f"{mean} ({low} – {high})",  # noqa: RUF001
            middle,
            _short(found["translation"]["mean"]),
            _milliseconds(content["times"].get(f"{row['method']}@{row['settings']}@{protocol}")),
        ]
        if printed:
            values = printed.get(row["method"].removesuffix("-open3d"))
            cells.append("" if values is None else ", ".join(_short(values[p]) for p in places))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def render_machine(content: Mapping[str, Any]) -> str:
    """On what, and on which data."""
    lines = []
    for one in content["machines"]:
        device = "" if one["device"] == one["processor"] else f"; device: {one['device']}"
        libraries = f"; {one['libraries']}" if one["libraries"] else ""
        lines.append(f"- processor: {one['processor']}{device}{libraries}")
    lines = list(dict.fromkeys(lines))
    data = {f"{row['data']} ({row['fingerprint']})" for row in content["rows"]}
    cards = {f"{row['protocol']} ({row['hash']})" for row in content["rows"]}
    lines.append(f"- data: {', '.join(sorted(data))}; protocols: {', '.join(sorted(cards))}")
    return "\n".join(lines)


def render_searches(searches: Mapping[str, Any]) -> str:
    """The tuned settings, in Markdown."""
    lines = [
        "| method | protocol | trials | pairs | published ° | tuned ° | gain ° (95 %) | settings |",
        "|" + "---|" * 8,
    ]
    for name, found in sorted(searches.items()):
        method, _, protocol = name.partition("@")
        gain = next((f["gain"] for f in found["finalists"] if f["trial"] == found["winner"]), None)
        lines.append(
            f"| {method} | {protocol} | {found['trials']} | {found['items']} "
            f"| {_short(found['score_published'])} | {_short(found['score_tuned'])} "
            f"| {'' if gain is None else ' – '.join(map(_short, gain))} "  # noqa: RUF001
            f"| {', '.join(f'{k} {v}' for k, v in found['changed'].items()) or 'as published'} |"
        )
    return "\n".join(lines)


_ORDER = (
    *("identity", "icp", "icp-open3d", "small_gicp", "goicp", "rpm", "fgr", "fgr-open3d"),
    *("kiss-matcher", "pointnetlk", "dcp-v2", "rpmnet"),
)
_TRAINED = {"DCP-v2": "dcp-v2", "RPM-Net": "rpmnet"}
"""The paper's rows of trained networks without its layer, and whose they are."""


def _order(row: Mapping[str, Any]) -> tuple[int, bool, str]:
    place = _ORDER.index(row["method"]) if row["method"] in _ORDER else len(_ORDER)
    return place, row["settings"] == "tuned", row["settings"]


def _settings(row: Mapping[str, Any], searches: Mapping[str, Any]) -> str:
    """Whose settings, and where tuning found no better ones, that it did not."""
    words = [row["settings"]] if row["settings"] else []
    search = searches.get(f"{row['method']}@{TUNED_ON.get(row['protocol'])}")
    if row["settings"] == "published" and search is not None and search["winner"] == 0:
        words.append("none better")
    if row["seconds"]:
        words.append(f"{row['seconds']:g} s")
    return ", ".join(words)


def _milliseconds(times: Mapping[str, Any] | None) -> str:
    """Milliseconds per pair: alone, and in batches for methods that take them."""
    if times is None:
        return ""
    mean = _short(times["ms_in_batches"])
    return mean if times["batch"] == 1 else f"{_short(times['ms_single'])}, {mean}"


def _number(value: float | str) -> float:
    return float(value)


def _short(value: float | str) -> str:
    """Three digits, without an exponent.

    >>> _short(12.345), _short(0.0123456), _short(0.0000004), _short(1234.5), _short("inf")
    ('12.3', '0.0123', '0.00000', '1234', 'inf')
    """
    number = _number(value)
    if abs(number) < 5e-6:
        return "0.00000"
    text = f"{number:#.3g}".rstrip(".")
    return text if "e" not in text else f"{number:.{0 if abs(number) > 1 else 5}f}"


class _ByMethod(argparse.Action):
    """Numbers by method, from words such as rpm=40: one, or three after each other."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        wanted = 1 if self.dest == "limit" else 3
        found: dict[str, Any] = {}
        for word in values:
            name, _, text = word.partition("=")
            try:
                numbers = [float(part) for part in text.split(",")]
            except ValueError:
                numbers = []
            if len(numbers) != wanted or name not in ("all", *presets.names(), "identity"):
                parser.error(
                    f"{option_string}: {word!r} is not METHOD=NUMBER{',NUMBER' * (wanted - 1)}"
                )
            found[name] = int(numbers[0]) if wanted == 1 else tuple(numbers)
        setattr(namespace, self.dest, found)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = found.add_subparsers(required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data", default="data/shapes", help="a corpus, as `spoonful train` has it"
    )
    shared.add_argument("--device", default="cpu")
    shared.add_argument("--out", type=Path, required=True)
    shared.add_argument("--goicp-seconds", type=float, default=1.0, help="Go-ICP's, for a pair")
    shared.add_argument(
        "--pair-seconds", type=float, default=2.0, help="of a library's in a search, for a pair"
    )
    shared.add_argument("--methods", nargs="*", default=[], help="these only")
    shared.add_argument("--tune-for", nargs="*", default=[], help="these protocols only")
    shared.add_argument("--measure-on", nargs="*", default=[], help="these protocols only")
    shared.add_argument(
        "--limit",
        nargs="*",
        default={},
        action=_ByMethod,
        help="items to measure at most, as all=100 rpm=40",
    )
    shared.add_argument(
        "--search",
        nargs="*",
        default={},
        action=_ByMethod,
        help="trials, pairs and seconds of a search, as rpm=12,36,300",
    )
    shared.add_argument(
        "--untimed",
        nargs="*",
        default=[],
        help="methods whose times say nothing, as under an emulator",
    )
    shared.add_argument("--rehearse", action="store_true", help="next to no trials and items")
    one = commands.add_parser("run", parents=[shared], help="tune and measure")
    one.add_argument("--seconds", type=float, default=110.0, help="begin no step after this time")
    one.add_argument("--lanes", nargs="+", default=LANES, help=", ".join(LANES))
    one.set_defaults(do=run)
    one = commands.add_parser("lane", parents=[shared], help="one process of `run`")
    for name, kind in (("lane", str), ("rank", int), ("core", int)):
        one.add_argument(name, type=kind)
    one.add_argument("--until", type=float, required=True)
    one.add_argument("--cores", type=int, required=True)
    one.set_defaults(do=work_in_lane)
    one = commands.add_parser("collect", help="keep what the tables print")
    one.add_argument("folders", nargs="+", type=Path)
    one.add_argument("--summary", type=Path, default=SUMMARY)
    one.add_argument("--keep", action="store_true", help="rows that the folders do not have stay")
    one.add_argument("--presets", action="store_true", help="tuned settings into the package, too")
    one.set_defaults(do=collect)
    one = commands.add_parser("table", help="write the tables")
    one.add_argument("--summary", type=Path, default=SUMMARY)
    one.add_argument("--into", type=Path, nargs="+", help="pages with marks for the tables")
    one.set_defaults(do=table)
    return found


def main() -> int:
    """Run the command."""
    options = parser().parse_args()
    done: int = options.do(options)
    return done


if __name__ == "__main__":
    sys.exit(main())
