"""`spoonful evaluate`: methods on a protocol, one row each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import torch
import torch.distributed as dist
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from spoonful.data import protocols
from spoonful.evaluation import (
    Interval,
    Method,
    Result,
    evaluate,
    open_data,
    open_method,
    write_csv,
)
from spoonful.evaluation.columns import Column, columns
from spoonful.evaluation.result import Statistics
from spoonful.extras import MissingExtra
from spoonful.files import check_folder
from spoonful.geometry.checks import check_count
from spoonful.inputs import known_device

_WIDE = 120  # columns that hold a table without breaking its intervals
_SHORT = 12  # characters of settings that are never broken


def evaluate_command(
    method: Annotated[
        list[str],
        typer.Argument(
            metavar="METHOD",
            help="Names of methods, with tuned settings as icp@tuned; folders of training runs; or "
            "weights as dcp-v2:FILE. rpmnet+icp is a network with ICP after it. LABEL=METHOD "
            "renames a row.",
        ),
    ],
    protocol: Annotated[
        str, typer.Option(help="Protocol that defines the test pairs.")
    ] = "rpm-crop",
    data: Annotated[
        str, typer.Option(help="The shapes: synthetic, a dataset's name, a file or a folder.")
    ] = "synthetic",
    out: Annotated[
        Path | None, typer.Option(help="Folder for one JSON file per method and one CSV.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    batch_size: Annotated[int, typer.Option(help="Pairs at a time.")] = 16,
    limit: Annotated[int | None, typer.Option(help="Measure the first N items only.")] = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the test noise, instead of the protocol's."),
    ] = None,
    chamfer: Annotated[bool, typer.Option(help="Measure Chamfer distances.")] = True,
    full: Annotated[
        bool, typer.Option("--full", help="Also print all metrics and statistics.")
    ] = False,
    by_category: Annotated[
        bool, typer.Option("--by-category", help="Also print a table by category.")
    ] = False,
) -> None:
    """Measure methods on the test items of a protocol: one row each, with 95 % intervals.

    [bold]Examples[/bold]

      spoonful evaluate identity icp icp@tuned fgr rpm --protocol rpm-crop

      spoonful evaluate runs/mine dcp-v2:dcp_v2.t7 --data shapes --out results

      spoonful evaluate runs/mine --protocol dcp-clean --noise 0.02

      torchrun --no-python --nproc-per-node 2 spoonful evaluate runs/mine
    """
    check_count("--batch-size", batch_size)
    if limit is not None:
        check_count("--limit", limit)
    card = protocols.get(protocol)
    if noise is not None:
        card = card.with_noise(noise)
    check_folder("--out", out)
    with processes() as rank:
        console = wide(Console(quiet=rank != 0))
        chosen = [open_method(text, card.name) for text in method]
        if out is not None:
            _check_names(chosen)
        where = pick_device(device, rank)
        items = open_data(data, "test", card)
        results = []
        missing: list[Method] = []
        for one in chosen:  # before anything is measured
            try:
                one.check()
            except MissingExtra as error:
                missing.append(one)
                if len(missing) == len(chosen):
                    raise
                why = f"{one.name} cannot run: {error}"
                console.print(f"[yellow]{escape(why)}[/yellow]", highlight=False)
        for one in chosen:
            if one not in missing:
                with bar(console, one.name) as advance:
                    results.append(
                        evaluate(
                            one,
                            card,
                            items,
                            batch_size=batch_size,
                            device=where,
                            limit=limit,
                            chamfer=chamfer,
                            progress=advance,
                        )
                    )
        files = [] if out is None or rank != 0 else save(results, out, noise)
        show(console, results, noise, full=full, by_category=by_category, missing=missing)
        for file in files:
            console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def save(results: Sequence[Result], folder: Path, noise: float | None = None) -> list[Path]:
    """Write a JSON file for each result, and a CSV with all of them."""
    end = results[0].protocol + ("" if noise is None else f"-noise-{noise:g}")
    names = _stems([(result.method, result.settings) for result in results])
    files = [
        result.save(folder / f"{name}-{end}.json")
        for name, result in zip(names, results, strict=True)
    ]
    table = folder / f"{end}.csv"
    write_csv(results, table)
    return [*files, table]


def _stems(rows: Sequence[tuple[str, str]]) -> list[str]:
    """File names: the method, and its settings if the method is measured with several."""
    methods = [method for method, _ in rows]
    return [
        file_name(f"{method}@{settings}" if methods.count(method) > 1 else method)
        for method, settings in rows
    ]


def _check_names(chosen: Sequence[Method]) -> None:
    """Raise if two methods would write the same file."""
    stems = _stems([(one.name, one.settings) for one in chosen])
    for stem in stems:
        if stems.count(stem) > 1:
            raise ValueError(
                f"two methods would write the same file, of name {stem!r}: "
                "rename one as LABEL=METHOD"
            )


def show(
    console: Console,
    results: Sequence[Result],
    noise: float | None = None,
    *,
    full: bool = False,
    by_category: bool = False,
    missing: Sequence[Method] = (),
) -> None:
    """Print results of one protocol, with empty rows for the methods that are `missing`."""
    first = results[0]
    narrow = console.width < _WIDE - 20
    shown = [
        column
        for column in columns(protocols.get(first.protocol).metrics)
        if any(column.metric in result.errors for result in results)
    ]
    if all(column.metric != "rotation_degrees" for column in shown):
        shown.append(Column("iso. R", "rotation_degrees", "mean", "deg"))
    times = ["ms", "pairs/s"]
    # On a narrow terminal the settings stand under the name.
    settings = not narrow and any(result.settings for result in results)
    table = _table("method", *(["settings"] if settings else []), *map(heading, shown), *times)
    for result in results:
        cells = [
            with_interval(result.statistics[column.metric], column.statistic, narrow=narrow)
            if column.metric in result.errors
            else "-"
            for column in shown
        ]
        name = escape(result.method)
        if narrow and result.settings:
            name += f"\n[dim]{escape(result.settings)}[/dim]"
        if result.failures:
            name += f"\n[red]{result.failures} failed[/red]"
        timing = result.timing
        clock = ["-", "-"]
        if timing is not None:
            clock = [number(1000 * timing.single), number(timing.pairs_per_second)]
        table.add_row(name, *([result.settings] if settings else []), *cells, *clock)
    for one in missing:
        blank = ["-"] * (len(shown) + len(times))
        name = f"{escape(one.name)}\n[yellow]cannot run[/yellow]"
        table.add_row(name, *([one.settings] if settings else []), *blank)
    if settings:  # long names of weights may be broken, "published" may not
        table.columns[1].no_wrap = max(len(result.settings) for result in results) < _SHORT
    title = f"{first.protocol} ({first.protocol_hash}) on {escape(first.data.name)}"
    title += "" if noise is None else f", noise {noise:g}"
    of = "" if len(first) == first.data.items else f" of {first.data.items}"
    console.print(f"[bold]{title}[/bold], {len(first)}{of} items, {first.machine['device']}")
    console.print(table)
    if first.timing is not None:
        console.print(
            f"[dim]Intervals: 95 %, bootstrap over items. ms: one pair alone; pairs/s: in "
            f"batches of {first.timing.batch_size}.[/dim]"
        )
    if full:
        for result in results:
            console.print(f"\n[bold]{escape(result.method)}[/bold], all metrics")
            console.print(_all_metrics(result, narrow))
    if by_category:
        for result in results:
            console.print(f"\n[bold]{escape(result.method)}[/bold], by category")
            console.print(_categories(result, shown, narrow))


def _all_metrics(result: Result, narrow: bool) -> Table:
    table = _table("metric", "mean", "RMSE", "median", "95th percentile", "max")
    for name, found in result.statistics.items():
        keys = ("mean", "rmse", "median", "p95")
        cells = [with_interval(found, key, narrow=narrow) for key in keys]
        table.add_row(name, *cells, number(found.summary.max))
    return table


def _categories(result: Result, shown: Sequence[Column], narrow: bool) -> Table:
    table = _table("category", "items", *map(heading, shown))
    for category, found in result.by_category.items():
        some = [
            with_interval(found[column.metric], column.statistic, narrow=narrow) for column in shown
        ]
        table.add_row(category, str(found[shown[0].metric].summary.count), *some)
    return table


def wide(console: Console) -> Console:
    """The console; in a pipe or a file, wide enough that no interval is broken in two."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, _WIDE)
    return console


def _table(first: str, *rest: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column(first, overflow="fold", no_wrap=True)
    for name in rest:
        if name == "settings":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right")
    return table


def heading(column: Column) -> str:
    """A column's label with its unit."""
    return column.label + {"deg": " °", "deg2": " °²", "%": " %", "": ""}[column.unit]


def with_interval(found: Statistics, statistic: str, *, narrow: bool = False) -> str:
    """A statistic, and under it its interval, on two lines if `narrow`."""
    ends = span(found.intervals[statistic])
    ends = ends.replace(" – ", "–\n") if narrow else ends  # noqa: RUF001
    return f"{number(getattr(found.summary, statistic))}\n{ends}"


def span(interval: Interval) -> str:
    """An interval, dimmed, in three digits; "" if it is NaN."""
    if interval.low != interval.low:
        return ""
    return f"[dim]{number(interval.low, 3)} – {number(interval.high, 3)}[/dim]"  # noqa: RUF001


def number(value: float, digits: int = 4) -> str:
    """A number in `digits` significant digits, without an exponent if possible.

    >>> number(12.345678), number(0.00085123), number(1e-9), number(31234.5)
    ('12.35', '0.0008512', '1e-09', '31234')
    """
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def file_name(text: str) -> str:
    """A name for a file, of any text."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "result"


def pick_device(text: str, rank: int = 0) -> str:
    """The device for "auto" and other names; with several GPUs, one for each process.

    >>> pick_device("gpu")
    Traceback (most recent call last):
    ValueError: --device must be cpu, cuda or auto, got 'gpu'
    """
    text = str(known_device(text, "--device"))
    if text == "cuda" and torch.cuda.device_count() > 1:
        return f"cuda:{int(os.environ.get('LOCAL_RANK', rank)) % torch.cuda.device_count()}"
    return text


@contextmanager
def processes() -> Iterator[int]:
    """Join the other processes if torchrun started this one; yields this one's number."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or dist.is_initialized():
        yield 0
        return
    # Only numbers on the CPU are exchanged, so gloo works on every machine.
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


@contextmanager
def bar(console: Console, name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yields a function that sets it to N of M."""
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
