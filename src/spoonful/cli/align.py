"""`spoonful align`: put any number of scans together."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spoonful.align.folder import ORDERS, WORK, align, plan
from spoonful.align.inputs import list_scans, tables_left_out
from spoonful.align.outputs import summary, write
from spoonful.align.result import Aligned
from spoonful.cli.answer import line
from spoonful.cli.register import DOUBTFUL, Json, Seed, Unit, UpAxis
from spoonful.locking import locked
from spoonful.pipeline.lengths import UNITS, length
from spoonful.view.layers import UPS

# Names of a group, and notes on scans, that are printed.
NAMED = 8
# More scans than this need --yes.
MANY = 500


def align_command(
    scans: Annotated[
        list[Path], typer.Argument(help="Files, a folder, or a .txt file with a file per line.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the results.")],
    order: Annotated[
        str, typer.Option(help="any: try all pairs. sequence: each scan with the two before it.")
    ] = "any",
    fixed: Annotated[
        Path | None,
        typer.Option(
            metavar="scan.ply", help="Scan whose pose is fixed. Default: the first of each group."
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            metavar="poses.txt",
            help="Initial poses: KITTI, TUM, g2o, COLMAP, 4x4 text, poses.json.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="auto", help="auto: the scans have different, unknown scales."),
    ] = None,
    up: UpAxis = "",
    spacing: Annotated[
        str | None,
        typer.Option(metavar="5mm", help="Spacing of merged.ply. Default: automatic."),
    ] = None,
    unit: Unit = "",
    graph: Annotated[
        bool, typer.Option("--graph", help="Also write the pose graph, graph.g2o.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes at a time. Default: one per core.")
    ] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Run on a Ray cluster.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the plan and the estimated time.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Start even if there are more than {MANY} scans.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Align many scans: find the pose of each, and merge them.

    The order and the poses of the scans need not be known. Pairs that contradict the others are
    rejected. Scans that do not connect become separate groups.

    The folder gets report.html, poses.json, poses/NAME.txt (4x4), scans/ (the moved files) and
    merged.ply; those of an earlier result are removed. Run the same command again to resume after
    a stop.

    Exit code 0: one group, no doubtful pairs; 3: several groups, doubtful pairs or unreadable
    files; 2: bad input.

    [bold]Examples[/bold]

      spoonful align scans/ --out aligned

      spoonful align scans/*.ply --out aligned --fixed scans/a.ply --spacing 5mm

      spoonful align list.txt --out aligned --order sequence --graph
    """
    if order not in ORDERS:
        raise ValueError(f"--order must be one of {', '.join(ORDERS)}, got {order!r}")
    if scale not in (None, "auto"):
        raise ValueError(f"--scale must be auto, got {scale!r}; --fixed sets the scan with scale 1")
    if unit not in ("", *UNITS):
        raise ValueError(f"--unit must be one of {', '.join(UNITS)}, got {unit!r}")
    apart = None if spacing is None else length(spacing, unit, "--spacing")
    work = plan(len(list_scans(scans)), order, workers)
    if dry_run or (work.scans > MANY and not yes):
        took = f"{work.hours:.1f} h" if work.hours >= 1 else f"{math.ceil(60 * work.hours)} min"
        text = f"{work.scans:,} scans, at most {work.pairs:,} pairs: about {took}"
        if not dry_run:
            raise ValueError(f"{text}. Add --yes to start; --order sequence tries fewer pairs")
        typer.echo(json.dumps(work._asdict(), indent=1) if as_json else text)
        return
    command = ["spoonful", "align", *map(str, scans), "--out", str(out), "--order", order]
    given = {
        "fixed": fixed, "init": init, "scale": scale, "up": up, "spacing": spacing,
        "unit": unit, "seed": seed,
    }  # fmt: skip
    for name, value in given.items():
        command += [f"--{name}", str(value)] if value else []
    command += ["--graph"] if graph else []
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:>11}"), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=as_json or not console.is_terminal) as bars:
        tasks: dict[str, int] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

        found = align(
            scans, out, order=order, fixed=fixed, init=init, scale=scale, up=up or None,
            workers=workers, cluster=ray, seed=seed, progress=tell,
        )  # fmt: skip
        with locked(out / WORK):  # no other process aligns while the files are written
            written = write(
                found,
                out,
                spacing=apart,
                graph=graph,
                unit=unit,
                command=command,
                up=up if up in UPS else "z",
                progress=tell,
            )
    tables = [path.name for path in tables_left_out(scans)]
    if as_json:
        more = {"tables_left_out": tables, "written": list(map(str, written))}
        typer.echo(json.dumps(summary(found) | more, indent=1))
    else:
        _show(found, written, tables)
    if not found.confident:
        raise typer.Exit(DOUBTFUL)


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _show(found: Aligned, written: list[Path], tables: list[str]) -> None:
    """Print the groups, the pairs by status, the doubts and the files."""
    console = Console(soft_wrap=True, highlight=False)
    for k, group in enumerate(found.groups, start=1):
        text = f"{group[0]} alone"
        if len(group) > 1:
            text = f"{len(group)} scans in the frame of {group[0]}: {_some(group)}"
        line(console, f"group {k}", text, "bold")
        if any(found.scales[name] != 1 for name in group):
            scales = [f"{name} x {found.scales[name]:.4g}" for name in group]
            line(console, "scales", f"each scan is multiplied first: {_some(scales)}", "bold")
    counts = [
        f"{sum(pair.status == status for pair in found.pairs)} {status}"
        for status in ("kept", "rejected", "between groups", "unused")
    ]
    line(console, "pairs", ", ".join(counts), "bold")
    for name, original in found.copies.items():
        line(console, "note", f"{name} is a copy of {original}", "dim")
    for note in found.notes[:NAMED]:
        line(console, "note", note, "dim")
    if len(found.notes) > NAMED:
        line(console, "note", f"and {len(found.notes) - NAMED} more in poses.json", "dim")
    if tables:
        text = f"skipped, because they may be notes: {_some(tables)}"
        line(console, "note", f"{text}; name them on the command line to align them", "dim")
    for doubt in found.doubts:
        line(console, "doubtful", doubt, "yellow")
    for path in written:
        line(console, "wrote", str(path), "dim")
