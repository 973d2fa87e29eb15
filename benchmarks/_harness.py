"""Timing shared by the benchmarks: contenders side by side in one run, medians, ratios."""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "results"
NOTES = "## What was predicted and what came out"  # written by hand under a result, and kept


def machine(device: str) -> str:
    """The machine and the versions, in one line."""
    if device.startswith("cuda"):
        name = torch.cuda.get_device_name()
    else:
        name = f"{_cpu_name()}, {torch.get_num_threads()} threads"
    return (
        f"{name}; torch {torch.__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}; {date.today().isoformat()}"
    )


def race(
    contenders: dict[str, Callable[[], object]], *, device: str, seconds: float = 1.0
) -> dict[str, float]:
    """Median milliseconds of each contender, in rounds, so that a noisy moment hits all alike.

    Of two calls in a row the second counts: the first brings back what the others pushed out of
    the caches, which on a GPU's host can take longer than the work.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        for _ in range(3):
            run()
    finish = _finisher(device)
    deadline = time.perf_counter() + seconds * len(contenders)
    while time.perf_counter() < deadline or min(map(len, times.values())) < 5:
        for name, run in contenders.items():
            run()
            finish()
            start = time.perf_counter()
            run()
            finish()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def in_a_row(
    run: Callable[[], object], *, device: str, seconds: float = 1.0, calls: int = 1
) -> float:
    """Median milliseconds of a call, with nothing but other such calls around it.

    The device is waited for after so many calls. After one: how long a call takes. After many, as
    torch.utils.benchmark does it: how long a program that goes on is kept from its other work.
    """
    finish = _finisher(device)
    for _ in range(10):
        run()
    finish()
    times: list[float] = []
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline or len(times) < 5:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        finish()
        times.append(1e3 * (time.perf_counter() - start) / calls)
    return statistics.median(times)


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Keep all threads of this process on one core within this block (Linux; elsewhere nothing).

    Autograd goes backward in a thread of its own for each GPU while the calling one waits, so they
    lose nothing by sharing a core, and no sleeping one has to be woken.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    _pin({max(before)})
    try:
        yield
    finally:
        _pin(before)


def _pin(cores: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread.name), cores)


def captured(run: Callable[[], object]) -> Callable[[], object]:
    """The same work as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([line(header), line(rule), *map(line, rows)])


def save(name: str, text: str) -> Path:
    """Write a result where it is committed, above the notes that are there."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / name
    before = path.read_text() if path.is_file() else ""
    notes = f"\n{before[before.index(NOTES) :]}" if NOTES in before else ""
    path.write_text(text + notes)
    return path


def _finisher(device: str) -> Callable[[], None]:
    return torch.cuda.synchronize if device.startswith("cuda") else lambda: None


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
