"""Many pairs: several at a time, each in the results once, whatever happens on the way.

What is finished is kept as it comes, in `parts/`: a run that was killed is started again with the
same words and goes on. A pair whose files or settings have changed, or that failed, is done again.
At the end all is put together: `results.csv`, `results.json` and, with pyarrow, `results.parquet`;
where there are reports, a page leads to them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from spoonful.data.clouds import Cloud
from spoonful.extras import MissingExtra, require
from spoonful.files import check_folder, plain, write_whole
from spoonful.pipeline import register
from spoonful.pipeline.inputs import as_cloud, scaled
from spoonful.pipeline.overview import report_name, write_overview
from spoonful.pipeline.posefile import read_pose
from spoonful.pipeline.report import turn_of, write_report
from spoonful.view.layers import Up
from spoonful.workers import TimeLimit, WarmWorker, Worker, WorkerDied

Row = dict[str, Any]
PARTS = "parts"
# What a process that registers needs, and takes seconds to import.
PRELOAD = (__name__, "scipy.spatial", "trimesh")
# The columns of the results, and what they hold where a pair failed.
COLUMNS: dict[str, Any] = {
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
    "T_target_source": None,
    "seconds": None,
    "warnings": (),
}


@dataclass(frozen=True)
class Pair:
    """Two files to register.

    Attributes:
        id: tells the pair from the others in the results.
        source: the file to move.
        target: the file to move it onto.
        init: a file with a pose to start from; "" searches everywhere.
    """

    id: str
    source: str
    target: str
    init: str = ""


@dataclass(frozen=True)
class Settings:
    """How all pairs are registered: the arguments of `register`.

    Attributes:
        method: one of `METHODS`.
        voxel: edge of the grid the search works on, in the files' units; None chooses it.
        seed: of every random choice.
        reports: a folder for a page of each pair, `<id>.html`, and `index.html`, which leads to
            them; "" writes none.
        unit: of the files, for the reports.
        up: the axis that points up in the reports.
        scale: what sources are multiplied by first; 0.001 for millimetres onto metres.
    """

    method: str = "auto"
    voxel: float | None = None
    seed: int = 0
    reports: str = ""
    unit: str = ""
    up: Up = "z"
    scale: float = 1.0


Task = Callable[[Pair, Settings], Row]


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Read a CSV file with the columns `source` and `target`, and perhaps `id` and `init`.

    Commas or semicolons separate them. Files are named relative to the CSV's own folder. Without a
    column `id` the pairs are numbered from 1.

    Raises:
        ValueError: it is no such table; the message opens with the file's name and line.
    """
    path = Path(path)
    try:
        # newline="": line breaks within quotes are the csv module's business.
        text = path.read_text("utf-8-sig")
        # Spreadsheets write semicolons where the comma is a decimal point.
        comma = ";" if ";" in text.partition("\n")[0] else ","
        lines = io.StringIO(text, newline="")
        rows = list(csv.DictReader(lines, delimiter=comma, skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not a CSV file: {error}") from None
    if not rows:
        raise ValueError(f"{path}: it has no pairs; wanted are lines under a line source,target")
    names = [name for name in rows[0] if name]
    missing = [name for name in ("source", "target") if name not in names]
    if missing:
        raise ValueError(
            f"{path}: its first line must name the columns source and target, "
            f"and may name id and init; it names {', '.join(names)}"
        )
    pairs: dict[str, Pair] = {}
    for i, row in enumerate(rows, start=1):
        cells = {name: (row.get(name) or "").strip() for name in ("id", "source", "target", "init")}
        for name in ("source", "target"):
            if not cells[name]:
                raise ValueError(f"{path}: pair {i} has no {name}")
        files = {
            name: str(path.parent / cells[name]) if cells[name] else ""
            for name in ("source", "target", "init")
        }
        pair = Pair(cells["id"] or str(i), **files)
        if pair.id in pairs:
            raise ValueError(f"{path}: pair {i} has the id {pair.id!r}, which is taken")
        pairs[pair.id] = pair
    return list(pairs.values())


def register_pair(pair: Pair, settings: Settings) -> Row:
    """Register one pair; a row of the results."""
    source: str | Cloud = pair.source
    if settings.scale != 1:
        source = scaled(as_cloud(source, name="source", seed=settings.seed), settings.scale)
    alignment = register(
        source,
        pair.target,
        method=settings.method,
        init=read_pose(pair.init) if pair.init else None,
        voxel=settings.voxel,
        seed=settings.seed,
    )
    if settings.reports:
        write_report(
            Path(settings.reports) / report_name(pair.id),
            alignment,
            names=(Path(pair.source).name, Path(pair.target).name),
            unit=settings.unit,
            up=settings.up,
        )
    summary = alignment.summary()
    row = {name: plain(summary[name]) for name in COLUMNS if name in summary}
    return row | {
        "status": "confident" if alignment.confident else "doubtful",
        "rotation_degrees": turn_of(alignment.pose.rotation).degrees,
    }


def register_pairs(
    pairs: Sequence[Pair],
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    workers: int | None = None,
    timeout: float | None = None,
    cluster: bool = False,
    progress: Callable[[int, int], None] | None = None,
    task: Task = register_pair,
) -> list[Row]:
    """Register all pairs, going on with what an earlier call left behind.

    Args:
        pairs: with different ids.
        out: the folder for the results.
        settings: None takes the defaults.
        workers: processes at a time, of one thread each; None takes one for each core.
        timeout: seconds after which a pair counts as failed; None waits.
        cluster: run on a Ray cluster whose machines share the files and the folder.
        progress: called with how many pairs are done, and of how many.
        task: what is done with a pair, at the top level of a module.

    Returns:
        A row for each pair, in order, with the keys of `COLUMNS`. `status` is "confident",
        "doubtful" or "failed"; a pair that fails, crashes or takes too long stops no other.
    """
    settings = settings or Settings()
    ids = {pair.id for pair in pairs}
    if len(ids) < len(pairs):
        raise ValueError(f"pairs must have different ids, got {len(ids)} for {len(pairs)} pairs")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    folder = Path(out)
    check_folder("out", folder)
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    keys = {pair.id: _key(pair, settings) for pair in pairs}
    done = _finished(folder, keys)
    todo = [pair for pair in pairs if pair.id not in done]
    counted = len(pairs) - len(todo)

    def tell(more: int = 0) -> None:
        nonlocal counted
        counted += more
        if progress is not None:
            progress(counted, len(pairs))

    tell()
    if todo and cluster:
        from spoonful.pipeline.cluster import run_on_cluster

        for size in run_on_cluster(todo, keys, folder, settings, task, timeout):
            tell(size)
    elif todo:
        count = min(workers or _cores(), len(todo))
        # A file of its own: the last line of a killed run may be torn.
        name = f"run-{time.time_ns()}-{os.getpid()}.jsonl"
        with (folder / PARTS / name).open("w", encoding="utf-8") as part:
            for row in run_here(todo, settings, task, count, timeout):
                part.write(line_of(row | {"key": keys[row["id"]]}))
                part.flush()
                tell(1)
    rows = _finished(folder, keys, failed=True)
    merged = [
        {name: rows[pair.id].get(name, default) for name, default in COLUMNS.items()}
        for pair in pairs
    ]
    write_results(folder, merged, settings)
    if settings.reports:
        write_overview(settings.reports, merged, settings.unit)
    return merged


def run_here(
    todo: Sequence[Pair], settings: Settings, task: Task, workers: int, timeout: float | None
) -> Iterator[Row]:
    """Rows as they are finished, by processes of this machine."""
    pool: list[Worker] = [WarmWorker(task, preload=PRELOAD) for _ in range(workers)]
    idle, busy = [*pool], dict[Any, tuple[Worker, Pair, float]]()
    queue = iter(todo)
    left = len(todo)
    try:
        for worker in pool:
            worker.start()  # all at once, rather than one after the other in `begin`
        while left:
            while idle and (pair := next(queue, None)) is not None:
                worker = idle.pop()
                try:
                    busy[worker.begin(pair, settings)] = (worker, pair, time.monotonic())
                except WorkerDied as error:
                    idle.append(worker)
                    left -= 1
                    yield failed(pair, error)
            if not busy:
                continue  # the last ones died at once, and nobody is left to be waited for
            ends = [began + timeout for _, _, began in busy.values()] if timeout else []
            rest = max(0.0, min(ends) - time.monotonic()) if ends else None
            ready = wait(list(busy), rest)
            now = time.monotonic()
            for pipe in [*busy]:
                worker, pair, began = busy[pipe]
                if pipe not in ready:
                    if timeout is None or now < began + timeout:
                        continue
                    worker.stop()
                    row = failed(pair, TimeLimit(f"stopped after {timeout:g} s"))
                else:
                    try:
                        row = completed(pair, worker.finish())
                    except Exception as error:
                        row = failed(pair, error)
                del busy[pipe]
                idle.append(worker)
                left -= 1
                yield row
    finally:
        for worker in pool:
            worker.stop()


def completed(pair: Pair, row: Row) -> Row:
    """The row of a pair that went well."""
    return {"id": pair.id, "source": pair.source, "target": pair.target, **row}


def failed(pair: Pair, error: Exception) -> Row:
    """The row of a pair that did not."""
    message = " ".join(str(error).split()) or type(error).__name__
    return completed(pair, {"status": "failed", "message": message})


def line_of(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def rows_in(path: Path) -> Iterator[Row]:
    """The whole rows of a part; what a kill has torn is left out."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and "id" in row and "key" in row:
            yield row


def write_results(folder: Path, rows: Sequence[Row], settings: Settings) -> None:
    """Write the results in each format, each file whole or not there."""
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(COLUMNS))
    writer.writeheader()
    for row in rows:
        matrix = _flat(row["T_target_source"])
        text = None if matrix is None else " ".join(f"{value:.17g}" for value in matrix)
        writer.writerow(row | {"T_target_source": text, "warnings": " ".join(row["warnings"])})
    write_whole(folder / "results.csv", table.getvalue().encode())
    whole = {"settings": asdict(settings), "pairs": [row | {} for row in rows]}
    write_whole(folder / "results.json", (json.dumps(whole, indent=1) + "\n").encode())
    try:
        pyarrow = require("pyarrow", extra="cluster", why="Writing Parquet files")
        parquet = require("pyarrow.parquet", extra="cluster", why="Writing Parquet files")
    except MissingExtra:
        return
    texts = ("id", "source", "target", "status", "message", "method")
    kinds = {name: pyarrow.string() if name in texts else pyarrow.float64() for name in COLUMNS}
    kinds["T_target_source"] = pyarrow.list_(pyarrow.float64())
    kinds["warnings"] = pyarrow.list_(pyarrow.string())
    listed = [row | {"T_target_source": _flat(row["T_target_source"])} for row in rows]
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(listed, pyarrow.schema(kinds)), content)
    write_whole(folder / "results.parquet", content.getvalue())


def _flat(matrix: Iterable[Iterable[float]] | None) -> list[float] | None:
    return None if matrix is None else [value for row in matrix for value in row]


def _finished(folder: Path, keys: Mapping[str, str], *, failed: bool = False) -> dict[str, Row]:
    """The newest row of each pair, unless it was made of other files or with other settings."""
    rows: dict[str, Row] = {}
    for part in sorted((folder / PARTS).glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns):
        for row in rows_in(part):
            if keys.get(row["id"]) == row["key"] and (failed or row["status"] != "failed"):
                rows[row["id"]] = row
    return rows


def _key(pair: Pair, settings: Settings) -> str:
    """What a row was made of: another key is another question."""
    stamps = [_stamp(path) for path in (pair.source, pair.target, pair.init)]
    asked = [asdict(pair), stamps, asdict(settings)]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]


def _stamp(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
