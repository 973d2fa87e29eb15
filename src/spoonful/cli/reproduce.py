"""`spoonful reproduce`: a table of the paper beside our own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from spoonful.cli.compare import signed
from spoonful.cli.evaluate import heading, number, pick_device, span
from spoonful.evaluation import Reproduction, reproduce, tables
from spoonful.evaluation.reproduce import Cell, seconds_of, to_json
from spoonful.evaluation.result import write_text


def reproduce_command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=", ".join(tables.names()) + ".")],
    data: Annotated[
        str | None, typer.Option(help="A folder with data; without it, the embedded corpus.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where training runs and results are kept.")] = Path(
        "runs"
    ),
    budget: Annotated[
        str | None, typer.Option(help="Train for so long in all, as 10m or 2h; not in full.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Training runs a row.")] = None,
    row: Annotated[list[str] | None, typer.Option(help="Make this row; may be repeated.")] = None,
    train: Annotated[bool, typer.Option(help="Train what is missing.")] = True,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    limit: Annotated[int | None, typer.Option(help="Only the first so many items.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table as JSON, too.")] = None,
) -> None:
    """Print a table of the paper beside ours: train or load what is missing, and measure it.

    [bold]Examples[/bold]

      spoonful reproduce dcp-unseen --budget 10m

      spoonful reproduce rpm-crop --data modelnet40 --runs runs --device cuda

      spoonful reproduce initialization --seeds 3 --budget 2h
    """
    console = Console()
    errors = Console(stderr=True)
    with errors.status("starting") as status:
        found = reproduce(
            table,
            data=data,
            runs=runs,
            budget=None if budget is None else seconds_of(budget),
            seeds=seeds,
            rows=row,
            train=train,
            device=pick_device(device),
            limit=limit,
            progress=status.update,
        )
    show(console, found)
    if out is not None:
        console.print(f"wrote {write_text(out, to_json(found))}", highlight=False)


def show(console: Console, found: Reproduction) -> None:
    """Print a table of the paper, a line a number."""
    paper = found.table
    console.print(f"[bold]{paper.name}[/bold]: {paper.title} [dim]({paper.place})[/dim]")
    for remark in found.remarks:
        console.print(f"[yellow]{remark}[/yellow]", highlight=False)
    several = any(cell.spread is not None for row in found.rows for cell in row.cells)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("method", max_width=22)
    table.add_column("")
    for name in ("paper", "ours", "spread" if several else "95 % interval", "ours - paper"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ours from", max_width=24)
    for row in found.rows:
        for position, (column, cell) in enumerate(zip(paper.columns, row.cells, strict=True)):
            first = position == 0
            table.add_row(
                row.label if first else "",
                heading(column),
                _paper(cell),
                "-" if cell.ours is None else number(cell.ours),
                _sure(cell),
                "" if cell.difference is None else signed(cell.difference),
                row.ours_from if first else "",
                end_section=position == len(row.cells) - 1,
            )
    console.print(table)
    for note in paper.notes:
        console.print(f"[dim]{note}[/dim]", highlight=False)


def _paper(cell: Cell) -> str:
    spread = "" if cell.paper_spread is None else f" ± {number(cell.paper_spread)}"
    return number(cell.paper) + spread


def _sure(cell: Cell) -> str:
    if cell.spread is not None:
        return f"± {number(cell.spread)}"
    return "" if cell.interval is None else span(cell.interval)
