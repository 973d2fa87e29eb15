"""`spoonful compare`: two results on the same items, difference by difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spoonful.cli.evaluate import number, wide
from spoonful.evaluation import Comparison, Interval, Result, compare

_STATISTICS = {"mean": "mean", "rmse": "RMSE", "median": "median", "p95": "95th percentile"}
_ROOM = 100  # columns; with fewer, intervals are printed under the differences


def compare_command(
    first: Annotated[
        Path, typer.Argument(metavar="A.json", help="Result file of `spoonful evaluate`.")
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B.json", help="Another result file, of the same items.")
    ],
    metric: Annotated[
        list[str] | None, typer.Option(help="Only these metrics, with all statistics.")
    ] = None,
    finite_only: Annotated[
        bool, typer.Option("--finite-only", help="Leave out items with a non-finite pose.")
    ] = False,
) -> None:
    """Compare two results: paired differences, B - A, with 95 % intervals.

    [bold]Examples[/bold]

      spoonful compare results/base-rpm-crop.json results/ours-rpm-crop.json

      spoonful compare a.json b.json --metric rotation_degrees
    """
    found = compare(Result.load(first), Result.load(second), finite_only=finite_only)
    unknown = [name for name in metric or [] if name not in found.differences]
    if unknown:
        known = ", ".join(found.differences)
        raise ValueError(f"no metric {unknown[0]!r} in both results; there are: {known}")
    show(wide(Console()), found, metric)


def show(console: Console, found: Comparison, metrics: list[str] | None = None) -> None:
    """Print a comparison: means of all metrics, or all statistics of some."""
    left_out = f", {found.left_out} left out" if found.left_out else ""
    console.print(
        f"[bold]B - A[/bold] on {found.protocol}, {escape(found.data)}, "
        f"{found.items} items{left_out}\n"
        f"A = {escape(found.first)}\nB = {escape(found.second)}",
        highlight=False,
    )
    beside = console.width >= _ROOM
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("metric (mean)" if metrics is None else "", no_wrap=True)
    for name in ("A", "B", "B - A", *(["95 % interval"] if beside else []), "B better"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in metrics or found.differences:
        if metrics:
            table.add_row(f"[bold]{name}[/bold]")
        share, _ = found.better[name]
        for statistic in _STATISTICS if metrics else ("mean",):
            it = found.differences[name][statistic]
            color = ("green" if it.difference < 0 else "red") if it.decided else "default"
            difference = f"[{color}]{signed(it.difference)}[/{color}]"
            ends = interval(it.interval)
            table.add_row(
                f"  {_STATISTICS[statistic]}" if metrics else name,
                number(it.first),
                number(it.second),
                *((difference, ends) if beside else (f"{difference}\n{ends}",)),
                f"{100 * share:.0f} %" if statistic == "mean" else "",
            )
    console.print(table)
    console.print(
        "[dim]Smaller is better. Colour: the 95 % interval excludes zero (green: B is better; "
        "red: worse). Of twenty metrics, one does so by chance. B better: share of items.[/dim]"
    )


def interval(ends: Interval) -> str:
    """The interval of a difference."""
    return rf"[dim]\[{signed(ends.low)}, {signed(ends.high)}][/dim]"


def signed(value: float) -> str:
    """A difference, with its sign."""
    return number(value) if value <= 0 or value != value else f"+{number(value)}"
