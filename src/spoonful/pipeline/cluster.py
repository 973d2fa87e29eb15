"""Run many jobs with Ray, on every machine of a cluster.

The jobs are cut into blocks, and each block is a task. Ray repeats a task if its machine or
process is lost. Each block leaves one part file, named for its jobs and written atomically. A
repeated block finds that file, so each job is in the results once.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.pipeline.parts import PARTS, Job, Row, line_of, rows_in, run_here

J = TypeVar("J", bound=Job)

# Small enough to repeat soon if it is lost, large enough to make Ray's overhead negligible.
LARGEST_BLOCK = 64
# Machines that one block may lose before the run fails.
RETRIES = 10


@contextlib.contextmanager
def connected() -> Iterator[Any]:
    """Connect to the cluster that Ray finds, or start Ray on this machine alone."""
    ray = require("ray", extra="cluster", why="Registering on a cluster")
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, include_dashboard=False)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def run_on_cluster(
    todo: Sequence[J],
    keys: Mapping[str, str],
    folder: Path,
    task: Callable[[J], Row],
    timeout: float | None = None,
) -> Iterator[int]:
    """Run jobs on a cluster, see `connected`.

    Args:
        todo: the jobs.
        keys: the key of each job, by id, with which its row is marked.
        folder: the folder for results; all machines must see it under this path.
        task: as for `run_jobs`.
        timeout: as for `run_jobs`.

    Yields:
        The number of jobs in each finished block.
    """
    with connected() as ray:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Several blocks per core, so that no machine waits long for the last one.
        size = max(1, min(LARGEST_BLOCK, len(todo) // (4 * cores)))
        block = ray.remote(num_cpus=1, max_retries=RETRIES)(do_block)
        parts = (todo[i : i + size] for i in range(0, len(todo), size))
        waiting = [
            block.remote({keys[each.id]: each for each in part}, folder.resolve(), task, timeout)
            for part in parts
        ]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield sum(ray.get(done))


def do_block(
    jobs: Mapping[str, J], folder: Path, task: Callable[[J], Row], timeout: float | None = None
) -> int:
    """Run the jobs of one block, by key, write their rows to a part file, and count them."""
    digest = hashlib.sha256("\n".join(jobs).encode()).hexdigest()
    part = folder / PARTS / f"block-{digest[:32]}.jsonl"
    if not part.is_file() or any(row["status"] == "failed" for row in rows_in(part)):
        keys = {each.id: key for key, each in jobs.items()}
        rows = run_here(list(jobs.values()), task, 1, timeout)
        lines = [line_of(row | {"key": keys[row["id"]]}) for row in rows]
        write_whole(part, "".join(lines).encode())
    return len(jobs)
