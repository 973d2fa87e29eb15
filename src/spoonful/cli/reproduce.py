"""`spoonful reproduce`: a table of the paper beside our own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spoonful.cli.compare import signed
from spoonful.cli.durations import duration
from spoonful.cli.evaluate import heading, number, pick_device, span, wide
from spoonful.evaluation import Reproduction, reproduce, tables
from spoonful.evaluation.reproduce import Cell, to_json
from spoonful.files import write_whole

_ROOM = 100  # columns; in fewer, what a row was made from is under the table instead of beside it


def reproduce_command(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help=", ".join(tables.names()) + ". Without one, they are listed."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="A folder with data; without it, the embedded corpus.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where training runs and results are kept.")] = Path(
        "runs"
    ),
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time to train the whole table, as 10m or 2h; measuring adds up to half of it."
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Training runs per row.")] = None,
    row: Annotated[list[str] | None, typer.Option(help="Make this row; may be repeated.")] = None,
    layer: Annotated[
        str, typer.Option(help="The layer: source, target, perturbed or detached.")
    ] = "source",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of all training runs, as dcp.emb_dims=128."),
    ] = None,
    train: Annotated[
        bool, typer.Option(help="Train what is missing; or take the package's weights.")
    ] = True,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    limit: Annotated[int | None, typer.Option(help="Measure the first N items only.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table as JSON, too.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Print a table of the paper beside ours: train or load what is missing, and measure it.

    [bold]Examples[/bold]

      spoonful reproduce                       list the tables

      spoonful reproduce rpm-crop --no-train   what needs no training

      spoonful reproduce dcp-unseen --budget 10m

      spoonful reproduce rpm-crop --data modelnet40 --runs runs --device cuda

      spoonful reproduce initialization --seeds 3 --budget 2h
    """
    console = wide(Console())
    if table is None:
        list_tables(console)
        return
    try:
        found = reproduce(
            table,
            data=data,
            runs=runs,
            budget=None if budget is None else duration(budget, "--budget"),
            seeds=seeds,
            rows=row,
            layer=layer,
            settings=settings or (),
            train=train,
            device=pick_device(device),
            limit=limit,
            quiet=quiet,
        )
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; run the same command to resume", highlight=False)
        raise
    show(console, found)
    if out is not None:
        console.print(f"wrote {write_whole(out, to_json(found))}", highlight=False)


def list_tables(console: Console) -> None:
    """Print which tables there are, a line each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", no_wrap=True)
    table.add_column("what it is about")
    table.add_column("trained", justify="right")
    table.add_column("data", no_wrap=True)
    for paper in map(tables.get, tables.names()):
        trained = paper.runs * len({row.recipe for row in paper.rows if row.recipe is not None})
        table.add_row(paper.name, escape(paper.title), str(trained), paper.data)
    console.print(table)
    console.print(
        "[dim]trained: networks that the whole table needs; some are shared by several tables. "
        "Each is trained in full unless there is a --budget.[/dim]",
        highlight=False,
    )


def show(console: Console, found: Reproduction) -> None:
    """Print a table of the paper, a line a number."""
    paper = found.table
    console.print(f"[bold]{paper.name}[/bold]: {paper.title} [dim]({paper.place})[/dim]")
    for remark in found.remarks:
        console.print(f"[yellow]{escape(remark)}[/yellow]", highlight=False)
    cells = [cell for row in found.rows for cell in row.cells]
    kinds = {
        "spread": any(cell.spread is not None for cell in cells),
        "95 % interval": any(cell.interval is not None for cell in cells),
    }
    sure = " or ".join(name for name, there in kinds.items() if there) or "95 % interval"
    table = Table(box=None, pad_edge=False, header_style="bold", show_lines=False)
    table.add_column("method", max_width=20)
    table.add_column("", no_wrap=True)
    # "Here", since "ours" is what the paper calls its own rows.
    for name in ("paper", "here", sure, "here - paper"):
        table.add_column(name, justify="right", no_wrap=True)
    beside = console.width >= _ROOM
    if beside:
        table.add_column("made from")
    headings = "\n".join(map(heading, paper.columns))
    for row in found.rows:
        table.add_row(
            row.label,
            headings,
            *("\n".join(map(shown, row.cells)) for shown in (_paper, _ours, _sure, _difference)),
            *([escape(row.ours_from)] if beside else []),
            end_section=True,
        )
    console.print(table)
    for row in [] if beside else found.rows:
        console.print(f"{escape(row.label)}: {escape(row.ours_from)}", highlight=False)
    for note in paper.notes:
        console.print(f"[dim]{escape(note)}[/dim]", highlight=False)


def _paper(cell: Cell) -> str:
    spread = "" if cell.paper_spread is None else f" ± {number(cell.paper_spread)}"
    return "" if cell.paper is None else number(cell.paper) + spread


def _ours(cell: Cell) -> str:
    return "-" if cell.ours is None else number(cell.ours)


def _difference(cell: Cell) -> str:
    return "" if cell.difference is None else signed(cell.difference)


def _sure(cell: Cell) -> str:
    if cell.spread is not None:
        return f"± {number(cell.spread)}"
    return "" if cell.interval is None else span(cell.interval)
