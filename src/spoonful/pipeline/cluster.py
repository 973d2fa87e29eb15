"""Register many pairs with Ray Data, on every machine of a cluster.

Ray repeats a block if its machine or process is lost. Each block leaves one part file, named for
its pairs and written atomically. A repeated block finds that file, so each pair is in the results
once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.pipeline.parts import PARTS, Task, line_of, rows_in, run_here
from spoonful.pipeline.runner import Request

# Small enough to repeat soon if it is lost, large enough to make Ray's overhead negligible.
LARGEST_BLOCK = 64


def run_on_cluster(
    todo: Sequence[Request],
    keys: Mapping[str, str],
    folder: Path,
    task: Task,
    timeout: float | None = None,
) -> Iterator[int]:
    """Register the pairs on the cluster that Ray finds, or on this machine alone.

    Args:
        todo: the requests.
        keys: the key of each request, by id, with which its row is marked.
        folder: the folder for results; all machines must see it under this path.
        task: as for `register_pairs`.
        timeout: as for `register_pairs`.

    Yields:
        The number of pairs in each finished block.
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
        # Several blocks per core, so that no machine waits long for the last one.
        size = max(1, min(LARGEST_BLOCK, len(todo) // (4 * cores)))
        items = [
            {"id": each.id, "key": keys[each.id], "request": json.dumps(asdict(each))}
            for each in todo
        ]
        blocks = -(-len(items) // size)
        dataset = data.from_items(items, override_num_blocks=blocks).map_batches(
            do_block,
            batch_size=None,
            batch_format="pyarrow",
            fn_args=(str(folder.resolve()), task, timeout),
            num_cpus=1,
        )
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield len(batch)
    finally:
        context.enable_progress_bars = bars
        if started:
            ray.shutdown()


def do_block(block: Any, folder: str, task: Task, timeout: float | None = None) -> Any:
    """Register the pairs of one block, an Arrow table, and write their rows to one part file."""
    keys = {item["id"]: item["key"] for item in block.to_pylist()}
    digest = hashlib.sha256("\n".join(keys.values()).encode()).hexdigest()
    part = Path(folder) / PARTS / f"block-{digest[:32]}.jsonl"
    if not part.is_file() or any(row["status"] == "failed" for row in rows_in(part)):
        requests = [Request(**json.loads(text)) for text in block["request"].to_pylist()]
        rows = run_here(requests, task, 1, timeout)
        lines = [line_of(row | {"key": keys[row["id"]]}) for row in rows]
        write_whole(part, "".join(lines).encode())
    return block.select(["id"])
