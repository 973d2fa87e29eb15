"""Register many pairs in parallel, and keep the rows of finished pairs in `parts/`.

Run the same batch again to resume it. A pair is repeated if it failed, or if its files or options
have changed. At the end all rows are written to `results.csv`, `results.json` and, if pyarrow is
installed, `results.parquet`, and to an index page of the reports.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from spoonful.extras import MissingExtra, require
from spoonful.files import check_folder, naming, write_whole
from spoonful.inputs import known_device
from spoonful.locking import locked
from spoonful.pipeline.cluster import run_on_cluster
from spoonful.pipeline.overview import report_name, write_overview
from spoonful.pipeline.parts import (
    COLUMNS,
    PARTS,
    Job,
    Row,
    Task,
    line_of,
    register_pair,
    rows_in,
    run_here,
)
from spoonful.pipeline.runner import Request

J = TypeVar("J", bound=Job)
# The options of a request that are written to results.json.
OPTIONS = ("method", "voxel", "seed", "unit", "up", "scale", "device")
# Processes at a time on a GPU by default: each takes about a gigabyte of its memory.
GPU_WORKERS = 4
RESULTS = ("results.csv", "results.json", "results.parquet")
TEXTS = ("id", "source", "target", "status", "message", "method")


def read_pairs(path: str | os.PathLike[str], **options: Any) -> list[Request]:
    """Read a CSV file with the columns `source` and `target`, and optionally `id` and `init`.

    Columns are separated by commas or semicolons; capitals in their names do not matter. Files are
    named relative to the folder of the CSV file. Without a column `id` the pairs are numbered from
    1.

    Args:
        path: the CSV file.
        options: fields of `Request` that all pairs have in common, such as `method="icp"`.

    Raises:
        ValueError: it is no such table; the message opens with the file's name and pair.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
        # Spreadsheets write semicolons in languages whose decimal point is a comma.
        comma = ";" if ";" in text.partition("\n")[0] else ","
        # newline="": the csv module handles line breaks within quotes.
        lines = io.StringIO(text, newline="")
        table = csv.DictReader(lines, delimiter=comma, skipinitialspace=True, strict=True)
        table.fieldnames = [name.strip().lower() for name in table.fieldnames or ()]
        rows, names = list(table), [name for name in table.fieldnames if name]
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a CSV file in UTF-8: save it as CSV UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path}: not a CSV file: {error}") from None
    missing = [name for name in ("source", "target") if name not in names]
    if names and missing:
        raise ValueError(
            f"{path}: its first line must name the columns source and target, "
            f"and may name id and init; it names {', '.join(names)}"
        )
    if not rows:
        raise ValueError(f"{path}: it has no pairs; write one per line below source,target")
    requests: dict[str, Request] = {}
    for i, row in enumerate(rows, start=1):
        cells = {name: (row.get(name) or "").strip() for name in ("id", "source", "target", "init")}
        for name in ("source", "target"):
            if not cells[name]:
                raise ValueError(f"{path}: pair {i} has no {name}")
        more = " ".join(row.get(None, ())).strip()
        if more:
            raise ValueError(f"{path}: pair {i} has more cells than the first line: {more}")
        files: dict[str, Any] = {
            name: str(path.parent / cells[name]) if cells[name] else ""
            for name in ("source", "target", "init")
        }
        request = Request(id=cells["id"] or str(i), **files, **options)
        if request.id in requests:
            raise ValueError(f"{path}: pair {i} has the id {request.id!r}, which is taken")
        requests[request.id] = request
    return list(requests.values())


def register_pairs(
    requests: Sequence[Request],
    out: str | os.PathLike[str],
    *,
    reports: str | os.PathLike[str] = "",
    workers: int | None = None,
    timeout: float | None = None,
    cluster: bool = False,
    progress: Callable[[int, int], None] | None = None,
    task: Task = register_pair,
) -> list[Row]:
    """Register all pairs that an earlier call with the same folder has not finished.

    Args:
        requests: with different ids.
        out: the folder for the results.
        reports: a folder for a page of each pair, `<id>.html`, and `index.html`, which links to
            them; "" writes none.
        workers: number of processes, with one thread each; None takes one per core, and on a GPU at
            most `GPU_WORKERS`.
        timeout: seconds after which a pair counts as failed; None for no limit.
        cluster: run on a Ray cluster whose machines share the files and the folder.
        progress: called with the number of finished pairs, and of all.
        task: the function that registers a pair, at the top level of a module.

    Returns:
        A row for each pair, in order, with the keys of `COLUMNS`. `status` is "confident",
        "doubtful" or "failed". A pair that fails, crashes or times out does not affect the others.

    Raises:
        FolderInUse: another process writes to the folder.
    """
    ids = {request.id for request in requests}
    if len(ids) < len(requests):
        raise ValueError(
            f"requests must have different ids, got {len(ids)} for {len(requests)} requests"
        )
    devices = {request.device for request in requests}
    if cluster and devices - {"cpu"}:
        raise ValueError(f"device must be cpu on a cluster, got {', '.join(sorted(devices))}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    if workers is None and any(known_device(name, "device").type == "cuda" for name in devices):
        workers = min(cores(), GPU_WORKERS)
    folder = Path(out)
    check_folder("out", folder)
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    with locked(folder):
        return _register_pairs(requests, folder, reports, workers, timeout, cluster, progress, task)


def _register_pairs(
    requests: Sequence[Request],
    folder: Path,
    reports: str | os.PathLike[str],
    workers: int | None,
    timeout: float | None,
    cluster: bool,
    progress: Callable[[int, int], None] | None,
    task: Task,
) -> list[Row]:
    if reports:
        requests = [
            replace(request, report=str(Path(reports) / report_name(request.id)))
            for request in requests
        ]
    keys = {request.id: _key(request) for request in requests}
    rows = run_jobs(
        requests, keys, folder, task,
        workers=workers, timeout=timeout, cluster=cluster, progress=progress,
    )  # fmt: skip
    merged = [
        {name: rows[request.id].get(name, default) for name, default in COLUMNS.items()}
        for request in requests
    ]
    write_results(folder, merged, _settings(requests, reports))
    if reports:
        units = {request.unit for request in requests}
        write_overview(reports, merged, units.pop() if len(units) == 1 else "")
    return merged


def run_jobs(
    jobs: Sequence[J],
    keys: Mapping[str, str],
    folder: Path,
    task: Callable[[J], Row],
    *,
    workers: int | None = None,
    timeout: float | None = None,
    cluster: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Row]:
    """Run the jobs that have no row in `parts/` of a folder yet, and keep their rows there.

    Args:
        jobs: with different ids.
        keys: a hash of all that each row depends on, by the job's id. A row with another key is not
            used.
        folder: the folder, which has a folder `parts`.
        task: the function to run, at the top level of a module; it returns a row.
        workers: processes at a time, of one thread each; None takes one per core.
        timeout: seconds after which a job counts as failed; None waits.
        cluster: run on a Ray cluster whose machines share the files and the folder.
        progress: called with the number of finished jobs, and of all.

    Returns:
        The row of each job, by id.
    """
    done = _finished(folder, keys)
    todo = [job for job in jobs if job.id not in done]
    counted = len(jobs) - len(todo)

    def tell(more: int = 0) -> None:
        nonlocal counted
        counted += more
        if progress is not None:
            progress(counted, len(jobs))

    tell()
    if todo and cluster:
        for size in run_on_cluster(todo, keys, folder, task, timeout):
            tell(size)
    elif todo:
        count = min(workers or cores(), len(todo))
        # A new file per run: the last line of a killed run may be incomplete.
        path = folder / PARTS / f"run-{time.time_ns()}-{os.getpid()}.jsonl"
        with path.open("w", encoding="utf-8") as part:
            for row in run_here(todo, task, count, timeout):
                with naming(path):
                    part.write(line_of(row | {"key": keys[row["id"]]}))
                    part.flush()
                tell(1)
    return _finished(folder, keys, failed=True)


def write_results(folder: Path, rows: Sequence[Row], settings: Mapping[str, Any]) -> None:
    """Write the results in each format, each file atomically."""
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(COLUMNS))
    writer.writeheader()
    for row in rows:
        matrix = _flat(row["T_target_source"])
        text = None if matrix is None else " ".join(f"{value:.17g}" for value in matrix)
        cells = row | {"warnings": " ".join(row["warnings"])}
        cells |= {name: _harmless(cells[name]) for name in (*TEXTS, "warnings")}
        writer.writerow(cells | {"T_target_source": text})
    write_whole(folder / "results.csv", table.getvalue().encode())
    whole = {"settings": settings, "pairs": [row | {} for row in rows]}
    write_whole(folder / "results.json", (json.dumps(whole, indent=1) + "\n").encode())
    try:
        pyarrow = require("pyarrow", extra="cluster", why="Writing Parquet files")
        parquet = require("pyarrow.parquet", extra="cluster", why="Writing Parquet files")
    except MissingExtra:
        return
    kinds = {name: pyarrow.string() if name in TEXTS else pyarrow.float64() for name in COLUMNS}
    kinds["T_target_source"] = pyarrow.list_(pyarrow.float64())
    kinds["warnings"] = pyarrow.list_(pyarrow.string())
    listed = [row | {"T_target_source": _flat(row["T_target_source"])} for row in rows]
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(listed, pyarrow.schema(kinds)), content)
    write_whole(folder / "results.parquet", content.getvalue())


def _harmless(text: str) -> str:
    """Text for a cell of a CSV file, quoted if a spreadsheet would run it as a formula.

    >>> _harmless("=HYPERLINK(1)"), _harmless("scan-1.ply")
    ("'=HYPERLINK(1)", 'scan-1.ply')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _settings(requests: Sequence[Request], reports: str | os.PathLike[str]) -> dict[str, Any]:
    """The options that all requests have in common."""
    common = {
        name: getattr(requests[0], name)
        for name in OPTIONS
        if len({getattr(request, name) for request in requests}) == 1
    }
    if "voxel" in common:
        common["voxel"] = requests[0].grid
    if "scale" in common:
        common["scale"] = requests[0].factor or common["scale"] or 1.0
    return common | {"reports": os.fspath(reports)}


def _flat(matrix: Iterable[Iterable[float]] | None) -> list[float] | None:
    return None if matrix is None else [value for row in matrix for value in row]


def _finished(folder: Path, keys: Mapping[str, str], *, failed: bool = False) -> dict[str, Row]:
    """The newest row of each pair, unless its files or options have changed since."""
    rows: dict[str, Row] = {}
    for part in sorted((folder / PARTS).glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns):
        for row in rows_in(part):
            if keys.get(row["id"]) == row["key"] and (failed or row["status"] != "failed"):
                rows[row["id"]] = row
    return rows


def _key(request: Request) -> str:
    """A hash of all that a row depends on: the files and the options, but not the device."""
    stamps = [stamp(path) for path in (request.source, request.target, request.init)]
    options = {name: value for name, value in asdict(request).items() if name != "device"}
    return hashlib.sha256(json.dumps([options, stamps]).encode()).hexdigest()[:32]


def stamp(path: str | os.PathLike[str]) -> list[int] | None:
    """The size and time of a file, which change with its content; None if there is no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns]


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
