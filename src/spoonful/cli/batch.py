"""`spoonful batch`: register all pairs of a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from spoonful.cli.answer import wrapped
from spoonful.cli.evaluate import bar
from spoonful.cli.register import (
    DOUBTFUL,
    Device,
    Json,
    Method,
    Scale,
    Seed,
    Unit,
    UpAxis,
    Voxel,
)
from spoonful.pipeline.alignment import share_text
from spoonful.pipeline.batches import RESULTS, read_pairs, register_pairs
from spoonful.pipeline.overview import OVERVIEW
from spoonful.pipeline.parts import Row
from spoonful.pipeline.runner import Request, check_inputs
from spoonful.training.schedule import duration

# Pairs of each status that are named at the end.
NAMED = 5


def batch_command(
    pairs: Annotated[
        Path, typer.Argument(help="CSV table with columns source, target, and optionally id, init.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the results.")],
    reports: Annotated[
        bool, typer.Option("--reports", help="Write a page for each pair, and an index.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes at a time. Default: one per core.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="90s", help="Time limit for one pair.")
    ] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Run on a Ray cluster.")] = False,
    method: Method = "auto",
    voxel: Voxel = None,
    unit: Unit = "",
    scale: Scale = None,
    up: UpAxis = "",
    seed: Seed = 0,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Register all pairs of a table, several at a time.

    Results go to results.csv and results.json in the folder. Run the same command again to resume
    after a stop; pairs that failed or whose files changed are repeated. Exit code 0: all confident;
    3: some doubtful or failed; 2: bad input.

    [bold]Examples[/bold]

      spoonful batch pairs.csv --out results --reports

      spoonful batch pairs.csv --out results --workers 8 --timeout 90s
    """
    check_inputs(pairs)
    options: dict[str, Any] = {
        "method": method, "voxel": voxel, "unit": unit, "scale": scale, "up": up, "seed": seed,
        "device": device,
    }  # fmt: skip
    Request(source="", target="", **options)  # checks them before the table is read
    limit = None if timeout is None else duration(timeout, "--timeout")
    requests = read_pairs(pairs, **options)
    folder = out / "reports" if reports else None
    with bar(Console(stderr=True), "registering") as advance:
        rows = register_pairs(
            requests,
            out,
            reports=folder or "",
            workers=workers,
            timeout=limit,
            cluster=ray,
            progress=advance,
        )
    counts = Counter(row["status"] for row in rows)
    numbers = {name: counts[name] for name in ("confident", "doubtful", "failed")}
    page = None if folder is None else folder / OVERVIEW
    if as_json:
        written = {"out": str(out)} | ({} if page is None else {"index": str(page)})
        typer.echo(json.dumps({"pairs": len(rows), **numbers, **written}, indent=1))
    else:
        _show(rows, numbers)
        for path in (*(out / name for name in RESULTS), page):
            if path is not None and path.exists():
                typer.echo(f"wrote {path}")
    if counts["confident"] < len(rows):
        raise typer.Exit(DOUBTFUL)


def _show(rows: Sequence[Row], numbers: dict[str, int]) -> None:
    """Print a summary and the first pairs that failed or are doubtful."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    parts = [f"{count} {name}" for name, count in numbers.items() if count]
    console.print(f"{len(rows)} {'pair' if len(rows) == 1 else 'pairs'}: {', '.join(parts)}")
    for status in ("failed", "doubtful", "confident"):
        some = [row for row in rows if row["status"] == status and _remark(row)]
        for row in some[:NAMED]:
            console.print(wrapped(console, f"  {row['id']}: ", _remark(row), indent=4))
        if len(some) > NAMED:
            console.print(f"  and {len(some) - NAMED} more {status}")


def _remark(row: Row) -> str:
    """The reason why a pair needs attention; "" if there is none."""
    remarks = [row["message"]] if row["message"] else []
    if row["status"] == "doubtful":
        sure = f"doubtful, {share_text(row['confidence'])} likely right"
        remarks = [sure, *row["warnings"][:1], *remarks]
    return "; ".join(remarks)
