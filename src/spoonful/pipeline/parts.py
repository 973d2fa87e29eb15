"""Register pairs in worker processes, and keep the rows of results in part files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol, TypeVar

from spoonful.pipeline.runner import PRELOAD, Request, run
from spoonful.workers import TimeLimit, WarmWorker, Worker, WorkerDied

Row = dict[str, Any]
Task = Callable[[Request], Row]


class Job(Protocol):
    """A job for a worker process: a name and its files."""

    @property
    def id(self) -> str:
        """The unique name of the job."""

    @property
    def source(self) -> str:
        """The file to work on."""

    @property
    def target(self) -> str:
        """The other file, or the file to write."""


J = TypeVar("J", bound=Job)
PARTS = "parts"
# The columns of the results, and their values for a pair that failed.
COLUMNS: Row = {
    "id": "",
    "source": "",
    "target": "",
    "status": "failed",
    "message": "",
    "method": "",
    "confidence": None,
    "inlier_ratio": None,
    "rmse": None,
    "radius": None,
    "overlap": None,
    "rotation_degrees": None,
    "source_scale": None,
    "scale": None,
    "scale_deviation": None,
    "T_target_source": None,
    "seconds": None,
    "warnings": (),
}


def register_pair(request: Request) -> Row:
    """Register one pair; the columns of its record, with a status and a message."""
    outputs = run(request)
    row = {name: outputs.record[name] for name in COLUMNS if name in outputs.record}
    row["status"] = "confident" if outputs.alignment.confident else "doubtful"
    # A page that cannot be written does not lose the pose.
    row["message"] = "; ".join(
        f"no {name}: {_message(error)}" for name, error in outputs.failures.items()
    )
    return row


def run_here(
    todo: Sequence[J], task: Callable[[J], Row], workers: int, timeout: float | None
) -> Iterator[Row]:
    """Run jobs in processes of this machine; yields rows in the order in which they finish."""
    pool: list[Worker] = [WarmWorker(task, preload=PRELOAD) for _ in range(workers)]
    idle, busy = [*pool], dict[Any, tuple[Worker, J, float]]()
    queue = iter(todo)
    left = len(todo)
    try:
        for worker in pool:
            worker.start()  # all at once, rather than one after the other in `begin`
        while left:
            while idle and (request := next(queue, None)) is not None:
                worker = idle.pop()
                try:
                    busy[worker.begin(request)] = (worker, request, time.monotonic())
                except WorkerDied as error:
                    idle.append(worker)
                    left -= 1
                    yield _failed(request, error)
            if not busy:
                continue  # all that were left died at once
            ends = [began + timeout for _, _, began in busy.values()] if timeout else []
            rest = max(0.0, min(ends) - time.monotonic()) if ends else None
            ready = wait(list(busy), rest)
            now = time.monotonic()
            for pipe in [*busy]:
                worker, request, began = busy[pipe]
                if pipe not in ready:
                    if timeout is None or now < began + timeout:
                        continue
                    worker.stop()
                    row = _failed(request, TimeLimit(f"stopped after {timeout:g} s"))
                else:
                    try:
                        row = _row(request, worker.finish())
                    except Exception as error:
                        row = _failed(request, error)
                del busy[pipe]
                idle.append(worker)
                left -= 1
                yield row
    finally:
        for worker in pool:
            worker.stop()


def line_of(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def rows_in(path: Path) -> Iterator[Row]:
    """The complete rows of a part file; an incomplete last line is skipped."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and "id" in row and "key" in row:
            yield row


def _row(request: Job, row: Row) -> Row:
    return {"id": request.id, "source": request.source, "target": request.target, **row}


def _failed(request: Job, error: Exception) -> Row:
    return _row(request, {"status": "failed", "message": _message(error)})


def _message(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
