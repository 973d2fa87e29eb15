"""Many pairs over Ray Data: the same function on each block, on every machine of a cluster.

Ray does a block again when the machine or the process that had it is lost. Each block leaves one
part file, whole or not there, named for the pairs in it: a block that is done again finds it, and
no pair comes twice into the results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.pipeline.batches import (
    PARTS,
    PRELOAD,
    Pair,
    Settings,
    Task,
    completed,
    failed,
    line_of,
    rows_in,
)
from spoonful.workers import WarmWorker, Worker

# Few enough that a lost block is soon done again, enough that what Ray adds to each is not felt.
LARGEST_BLOCK = 64
# Of this process of Ray's, kept from block to block: it takes seconds to start.
_WORKERS: dict[Task, Worker] = {}


def run_on_cluster(
    todo: Sequence[Pair],
    keys: Mapping[str, str],
    folder: Path,
    settings: Settings,
    task: Task,
    timeout: float | None = None,
) -> Iterator[int]:
    """Do the pairs on the cluster that Ray finds, or on this machine alone.

    Args:
        todo: the pairs.
        keys: what each pair's row is marked with, by id.
        folder: where the results go; all machines must see it under this path.
        settings: as for `register_pairs`.
        task: as for `register_pairs`.
        timeout: as for `register_pairs`.

    Yields:
        The number of pairs in each block that is done.
    """
    ray = require("ray", extra="cluster", why="Registering on a cluster")
    data = require("ray.data", extra="cluster", why="Registering on a cluster")
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, include_dashboard=False)
    context = data.DataContext.get_current()
    bars, context.enable_progress_bars = context.enable_progress_bars, False
    try:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Several blocks for each core: no machine waits long for the last.
        size = max(1, min(LARGEST_BLOCK, len(todo) // (4 * cores)))
        items = [asdict(pair) | {"key": keys[pair.id]} for pair in todo]
        blocks = -(-len(items) // size)
        dataset = data.from_items(items, override_num_blocks=blocks).map_batches(
            do_block,
            batch_size=None,
            batch_format="pyarrow",
            fn_args=(str(folder.resolve()), settings, task, timeout),
            num_cpus=1,
        )
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield len(batch)
    finally:
        context.enable_progress_bars = bars
        if started:
            ray.shutdown()


def do_block(
    block: Any, folder: str, settings: Settings, task: Task, timeout: float | None = None
) -> Any:
    """Do the pairs of one block, an Arrow table, and leave them in one part file."""
    asked = block.to_pylist()
    digest = hashlib.sha256("\n".join(item["key"] for item in asked).encode()).hexdigest()
    part = Path(folder) / PARTS / f"block-{digest[:32]}.jsonl"
    if not part.is_file() or any(row["status"] == "failed" for row in rows_in(part)):
        worker = _WORKERS.setdefault(task, WarmWorker(task, preload=PRELOAD))
        lines = []
        for item in asked:
            key = item.pop("key")
            pair = Pair(**item)
            try:
                row = completed(pair, worker(pair, settings, timeout=timeout))
            except Exception as error:
                row = failed(pair, error)
            lines.append(line_of(row | {"key": key}))
        write_whole(part, "".join(lines).encode())
    return block.select(["id"])
