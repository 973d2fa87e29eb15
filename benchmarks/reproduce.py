"""Print the paper's tables beside ours; train or load what is missing.

python benchmarks/reproduce.py                        # list the tables; or: spoonful reproduce
python benchmarks/reproduce.py rpm-crop --no-train    # what needs no training
python benchmarks/reproduce.py dcp-unseen --budget 10m
python benchmarks/reproduce.py rpm-crop --data modelnet40 --runs runs --device cuda
python benchmarks/reproduce.py initialization --seeds 3 --budget 2h
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path[:0] = [str(Path(__file__).parent)]

from paper import tables
from paper.reproduce import Cell, Reproduction, reproduce, to_json
from spoonful.cli.compare import signed
from spoonful.cli.evaluate import heading, number, pick_device, span, wide
from spoonful.files import write_whole
from spoonful.training.schedule import duration

_ROOM = 100  # columns; in fewer, what a row was made from is under the table instead of beside it


def main() -> None:
    options = _parser().parse_args()
    console = wide(Console())
    if options.table is None:
        list_tables(console)
        return
    try:
        found = reproduce(
            options.table,
            data=options.data,
            runs=options.runs,
            budget=None if options.budget is None else duration(options.budget, "--budget"),
            seeds=options.seeds,
            rows=options.row,
            layer=options.layer,
            settings=options.set,
            train=options.train,
            device=pick_device(options.device),
            limit=options.limit,
            quiet=options.quiet,
        )
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; run the same command to resume", highlight=False)
        raise
    show(console, found)
    if options.out is not None:
        console.print(f"wrote {write_whole(options.out, to_json(found))}", highlight=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spoonful reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("table", nargs="?", help=", ".join(tables.names()) + "; without one, they are listed")
    add("--data", help="a folder with data; without it, the built-in shapes")
    add("--runs", type=Path, default=Path("runs"), help="where runs and results are kept")
    add("--budget", help="time to train the whole table, as 10m or 2h; measuring adds up to half")
    add("--seeds", type=int, help="training runs per row")
    add("--row", action="append", help="make this row; may be repeated")
    add("--layer", default="source", help="source, target, perturbed or detached")
    add(
        "--set",
        action="append",
        default=[],
        metavar="A.B=C",
        help="a setting of all training runs, as dcp.emb_dims=128",
    )
    add(
        "--train",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="train what is missing; or take the package's weights",
    )
    add("--device", default="auto", help="cpu, cuda, or auto")
    add("--limit", type=int, help="measure the first N items only")
    add("--out", type=Path, help="write the table as JSON, too")
    add("--quiet", action="store_true", help="show no progress")
    return parser


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


if __name__ == "__main__":
    main()
