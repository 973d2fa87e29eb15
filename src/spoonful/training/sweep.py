"""Many independent runs: seeds, presets and grids of settings, several at a time.

Each run is a process of its own, in a folder of its own, and can be stopped at any moment. A sweep
that is started again skips finished runs and resumes the others.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.locking import locked
from spoonful.training import checkpoint
from spoonful.training.config import Config, override
from spoonful.training.journal import Journal
from spoonful.training.stopping import on_signals
from spoonful.workers import STOPPED

# Starting Python and writing a last checkpoint take some of a time limit.
_MARGIN = 3.0


@dataclass(frozen=True)
class Run:
    """One training run of a sweep, and the name of its folder."""

    name: str
    config: Config


@dataclass(frozen=True)
class RunState:
    """The state of a run.

    Attributes:
        name: the run's.
        state: "finished", "stopped" by the time limit or a signal, "waiting" if it was never
            started, or "failed".
        result: the content of `result.json`, or the log's last line.
        message: why it failed.
    """

    name: str
    state: str
    result: Mapping[str, Any]
    message: str = ""


def seed_list(text: str) -> list[int]:
    """Seeds: "3" is 0, 1, 2; "0,4,7" is a list; "10-12" is a range, and "4-4" one seed.

    >>> seed_list("3"), seed_list("0,4"), seed_list("10-12")
    ([0, 1, 2], [0, 4], [10, 11, 12])
    >>> seed_list("0")
    Traceback (most recent call last):
    ValueError: --seeds takes a count (3), a list (0,4,7) or a range (10-12); got '0'
    """
    found: list[int] = []
    try:
        if "," not in text and "-" not in text:
            found += range(int(text))
        else:
            for piece in text.split(","):
                first, _, last = piece.partition("-")
                found += range(int(first), int(last or first) + 1)
    except ValueError:
        pass
    if not found:
        raise ValueError(
            f"--seeds takes a count (3), a list (0,4,7) or a range (10-12); got {text!r}"
        )
    return found


def runs(
    configs: Iterable[Config],
    *,
    seeds: Sequence[int] | None = None,
    grid: Mapping[str, Sequence[str]] | None = None,
) -> list[Run]:
    """Every configuration with every seed and every combination of the grid's settings.

    Args:
        configs: the configurations to start from.
        seeds: None for the configurations' own.
        grid: values by the settings' names, {"refine.iterations": ["1", "2", "5", "10"]}.

    >>> from spoonful.training.presets import get
    >>> ablation = {"refine.iterations": ["1", "5"], "refine.loss_on": ["all", "last"]}
    >>> [run.name for run in runs([get("dcp/unseen+source")], grid=ablation)][:2]
    ['dcp-unseen-source-iterations=1-loss_on=all-seed0', ...]
    """
    made = []
    grid = grid or {}
    for config in configs:
        for values in itertools.product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            label = [f"{name.split('.')[-1]}={value}" for name, value in chosen.items()]
            settings = [f"{name}={value}" for name, value in chosen.items()]
            for seed in [config.seed] if seeds is None else seeds:
                one = override(config, [*settings, f"seed={seed}"])
                name = "-".join([config.name, *label, f"seed{seed}"])
                made.append(Run(re.sub(r"[^\w.=-]+", "-", name), one))
    twice = {run.name for run in made if sum(run.name == other.name for other in made) > 1}
    if twice:
        raise ValueError(f"two runs would share the folder {min(twice)!r}; name them apart")
    return made


def sweep(
    todo: Sequence[Run],
    out: str | Path,
    *,
    at_once: int = 1,
    seconds: float | None = None,
    cluster: bool = False,
    quiet: bool = False,
) -> list[RunState]:
    """Start the runs, and resume those of an earlier call.

    SIGINT (Ctrl-C) or SIGTERM stops all runs of this machine, with checkpoints.

    Args:
        todo: the runs.
        out: the folder that has, or gets, a folder for each.
        at_once: how many run at a time, on this machine, or on each GPU of a cluster.
        seconds: stop all runs after this time, with checkpoints.
        cluster: run on the machines of a Ray cluster that share the folder `out`.
        quiet: show no progress.

    Returns:
        The state of each run, in order. A run that fails does not stop the others.

    Raises:
        FolderInUse: another process runs a sweep in the folder.
    """
    if at_once < 1:
        raise ValueError(f"at_once must be at least 1, got {at_once}")
    out = Path(out)
    until = None if seconds is None else time.time() + seconds - _MARGIN

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    with locked(out):
        waiting = [run for run in todo if not _finished(out / run.name)]
        # Runs that have begun are finished first.
        waiting.sort(key=lambda run: not checkpoint.found(out / run.name))
        for run in waiting:
            write_whole(_settings(out, run), json.dumps(run.config.as_dict(), indent=1))
        if len(waiting) < len(todo):
            say(f"{len(todo) - len(waiting)} of {len(todo)} runs are finished already")
        if cluster:
            failed = _on_cluster(waiting, out, at_once, until)
        else:
            failed = _on_this_machine(waiting, out, at_once, until, say)
        states = [_state(out / run.name, run.name, failed.get(run.name)) for run in todo]
        write_whole(out / "sweep.json", json.dumps([vars(state) for state in states], indent=1))
    return states


def table(states: Sequence[RunState]) -> str:
    """The states as lines of text: name, state, steps, best validation errors."""
    width = max((len(run.name) for run in states), default=0)
    lines = []
    for run in states:
        best = run.result.get("best") or run.result.get("validation") or {}
        text = f"{run.name:{width}}  {run.state:8}  step {run.result.get('step', 0):>7}"
        if best.get("rotation_degrees") is not None:
            text += f"  {best['rotation_degrees']:8.3f}°  {best['translation']:.5f}"
        lines.append(f"{text}  {run.message}".rstrip())
    return "\n".join(lines)


def _on_this_machine(
    waiting: list[Run], out: Path, at_once: int, until: float | None, say: Callable[[str], None]
) -> dict[str, str]:
    """Run processes, `at_once` at a time; returns the reasons of those that failed."""
    environment = dict(os.environ)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    environment.setdefault("OMP_NUM_THREADS", str(max(1, (cores or 1) // at_once)))
    running: dict[str, subprocess.Popen[bytes]] = {}
    failed: dict[str, str] = {}
    queue = list(waiting)
    with on_signals() as stop:
        try:
            while (queue or running) and not stop.asked:
                while queue and len(running) < at_once and (until is None or time.time() < until):
                    run = queue.pop(0)
                    with open(out / run.name / "output.txt", "ab") as output:
                        running[run.name] = subprocess.Popen(
                            _command(run, out, until), stdout=output, stderr=output, env=environment
                        )
                    say(f"{run.name}: started")
                if not running:
                    break
                time.sleep(0.1)
                for name, process in list(running.items()):
                    if process.poll() is not None:
                        del running[name]
                        if process.returncode not in (0, STOPPED) and not stop.asked:
                            failed[name] = _last_line(out / name / "output.txt")
                        say(table([_state(out / name, name, failed.get(name))]))
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait()
    if stop.asked:
        say("a signal stopped the sweep; run the same command to resume")
    return failed


def _on_cluster(waiting: list[Run], out: Path, at_once: int, until: float | None) -> dict[str, str]:
    """The same through Ray, which decides where each process runs."""
    ray = require("ray", extra="cluster", why="Running a sweep on a cluster")
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False)
    gpus = ray.cluster_resources().get("GPU", 0)
    resources = {"num_gpus": 1 / at_once, "num_cpus": 0} if gpus else {"num_cpus": 1}

    def call(command: list[str], output: str) -> int:
        with open(output, "ab") as file:
            return subprocess.run(command, stdout=file, stderr=file, check=False).returncode

    try:
        remote = ray.remote(**resources)(call)
        folder = out.resolve()
        waits = {
            run.name: remote.remote(
                _command(run, folder, until), str(folder / run.name / "output.txt")
            )
            for run in waiting
        }
        codes = {name: ray.get(reference) for name, reference in waits.items()}
    finally:
        if started:
            ray.shutdown()
    return {
        name: _last_line(out / name / "output.txt")
        for name, code in codes.items()
        if code not in (0, STOPPED)
    }


def _command(run: Run, out: Path, until: float | None) -> list[str]:
    limit = [] if until is None else ["--until", f"{until:.3f}"]
    file = str(_settings(out, run))
    folder = str(out / run.name)
    return [sys.executable, "-m", "spoonful.training", "--config", file, "--out", folder, *limit]


def _settings(out: Path, run: Run) -> Path:
    return out / run.name / "config.json"


def _finished(folder: Path) -> bool:
    return (folder / checkpoint.RESULT).is_file()


def _state(folder: Path, name: str, failure: str | None) -> RunState:
    if _finished(folder):
        return RunState(name, "finished", json.loads((folder / checkpoint.RESULT).read_text()))
    lines = [line for line in Journal(folder).lines() if "validation" in line]
    result = lines[-1] if lines else {}
    checkpoints = checkpoint.found(folder)
    if checkpoints:  # the log is of whole epochs
        result = {**result, "step": int(checkpoints[-1].stem.removeprefix("step-"))}
    if failure is not None:
        return RunState(name, "failed", result, failure)
    return RunState(name, "stopped" if checkpoints else "waiting", result)


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines() if path.is_file() else []
    return lines[-1] if lines else "it left no output"
