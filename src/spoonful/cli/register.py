"""`spoonful register`: two files, or a table of pairs, from clouds to poses and a page."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spoonful.cli.answer import line, next_step, show
from spoonful.cli.durations import duration
from spoonful.data.clouds import Cloud
from spoonful.data.clouds.formats import format_of
from spoonful.files import check_page
from spoonful.pipeline import METHODS, register
from spoonful.pipeline.batches import Row, Settings, read_pairs, register_pairs
from spoonful.pipeline.lengths import UNITS, length
from spoonful.pipeline.overview import OVERVIEW
from spoonful.pipeline.posefile import read_pose
from spoonful.pipeline.report import record, share_text, write_report
from spoonful.pipeline.shapes import read_shape, scaled_shape, write_moved
from spoonful.view.layers import Up

DOUBTFUL = 3


def register_command(
    source: Annotated[
        Path | None, typer.Argument(help="The cloud or mesh to move.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None, typer.Argument(help="The one to move it onto.", show_default=False)
    ] = None,
    method: Annotated[
        str,
        typer.Option(help=f"auto, or the poses of one alone: {', '.join(METHODS[1:])}."),
    ] = "auto",
    init: Annotated[
        Path | None, typer.Option(metavar="pose.json", help="A pose to start from.")
    ] = None,
    voxel: Annotated[
        str | None,
        typer.Option(
            metavar="5mm", help="Edge of the search's grid; a plain number is in the files' unit."
        ),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            metavar="mm", help=f"The files' unit, to be shown with lengths: {', '.join(UNITS)}."
        ),
    ] = "",
    scale: Annotated[
        float | None,
        typer.Option(
            metavar="0.001", help="Multiply the source by this first: 0.001 for mm onto m."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="aligned.ply", help="Write the moved source."),
    ] = None,
    pose: Annotated[
        Path | None, typer.Option(metavar="pose.json", help="Write the pose; --init reads it.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="out.html", help="Write a page to turn with the mouse.")
    ] = None,
    up: Annotated[str, typer.Option(help="The axis that points up on the page.")] = "z",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="pairs.csv", help="Many pairs: a table with columns source, target."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the results of --pairs go.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="With --pairs: processes at a time, by default one a core.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="90s", help="With --pairs: the longest for one pair.")
    ] = None,
    reports: Annotated[
        bool, typer.Option("--reports", help="With --pairs: a page for each pair, and an index.")
    ] = False,
    ray: Annotated[bool, typer.Option("--ray", help="With --pairs: run on a Ray cluster.")] = False,
) -> None:
    """Find the rigid motion that brings one point cloud onto another.

    Any two of ply, pcd, obj, off, stl, xyz, txt, csv, npy, npz, las, laz, gltf and glb. The exit
    code is 0 for a confident result, 3 for a doubtful one and 2 for bad input. An output that
    exists is replaced.

    [bold]Examples[/bold]

      spoonful register source.ply target.pcd

      spoonful register source.ply target.ply -o aligned.ply --report report.html

      spoonful register scan.las model.stl --unit mm --voxel 5mm --pose pose.json

      spoonful register scan_in_mm.ply model_in_m.ply --scale 0.001 -o aligned.ply

      spoonful register a.ply b.ply --init pose.json --method icp --json

      spoonful register --pairs pairs.csv --out results --workers 8
    """
    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {method!r}")
    if unit and unit not in UNITS:
        raise ValueError(f"--unit must be one of {', '.join(UNITS)}, got {unit!r}")
    if up not in get_args(Up):
        raise ValueError(f"--up must be one of {', '.join(get_args(Up))}, got {up!r}")
    if scale is not None and not 0 < scale < math.inf:
        raise ValueError(f"--scale must be above 0 and finite, got {scale:g}")
    single = {"-o": output, "--pose": pose, "--report": report, "--init": init}
    grid = None if voxel is None else length(voxel, unit, "--voxel")
    for given in (source, target, init, pairs):
        if given is not None and not given.exists():
            raise FileNotFoundError(f"{given}: no such file")
        if given is not None and given.is_dir():
            raise IsADirectoryError(f"{given} is a folder: give the name of a file in it")
    if pairs is not None:
        _refuse({"SOURCE": source, **single}, "with --pairs")
        if out is None:
            raise ValueError("--pairs needs --out, a folder for the results")
        folder = str(out / "reports") if reports else ""
        settings = Settings(method, grid, seed, folder, unit, cast(Up, up), scale or 1.0)
        limit = None if timeout is None else duration(timeout, "--timeout")
        rows = _batch(pairs, out, settings, workers, limit, ray, as_json)
        if any(row["status"] != "confident" for row in rows):
            raise typer.Exit(DOUBTFUL)
        return
    if out is not None:
        raise ValueError("--out cannot be used without --pairs: -o aligned.ply is for two files")
    many = {"--workers": workers, "--timeout": timeout}
    _refuse({**many, "--reports": reports or None, "--ray": ray or None}, "without --pairs")
    if source is None or target is None:
        raise ValueError("give two files, SOURCE and TARGET, or --pairs pairs.csv --out FOLDER")
    _check_outputs({"-o": output, "--pose": pose, "--report": report}, (source, target, init))

    moving, fixed = read_shape(source), read_shape(target)
    if output is not None and isinstance(moving, Cloud) and output.suffix.lower() == ".stl":
        raise ValueError(f"{output}: STL holds triangles, and {source} has none: choose .ply")
    start = None if init is None else read_pose(init)
    factor = {} if scale is None else {"source_scale": scale}
    if scale is not None:
        moving = scaled_shape(moving, scale)
    written: dict[str, Path] = {}
    failure: Exception | None = None
    with _waiting(as_json):
        found = register(moving, fixed, method=method, init=start, voxel=grid, seed=seed)
        try:
            if output is not None:
                written["aligned"] = write_moved(output, moving, found)
            if pose is not None:
                names = {"source": str(source), "target": str(target), "unit": unit or None}
                written["pose"] = found.save(pose, **names, **factor)
            if report is not None:
                written["report"] = write_report(
                    report,
                    found,
                    names=(source.name, target.name),
                    unit=unit,
                    up=cast(Up, up),
                    command=_command(source, target, single, method, voxel, unit, scale, up, seed),
                )
        except Exception as error:
            # A full disk or a missing package must not take the answer along.
            failure = error
    if as_json:
        outputs = {name: str(path) for name, path in written.items()}
        whole = record(found, (str(source), str(target)), unit) | factor | {"written": outputs}
        typer.echo(json.dumps(whole, indent=1))
    else:
        console = Console(soft_wrap=True, highlight=False)
        show(console, found, unit, written, scale)
        advice = next_step(found, method, started=init is not None, page=report)
        if advice:
            line(console, "next", advice, "bold")
    if failure is not None:
        raise failure
    if not found.confident:
        raise typer.Exit(DOUBTFUL)


def _refuse(options: dict[str, Any], when: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used {when}")


def _check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Nothing is written over a file that is read, twice to one file, or where it cannot be.

    What would be an error at the end is better one at the beginning.
    """
    taken: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if path.is_dir():
            raise IsADirectoryError(f"{name} {path} is a folder: give the name of a file in it")
        for given in inputs:
            if given is not None and given.exists() and path.exists() and path.samefile(given):
                raise ValueError(f"{name} {path} would overwrite the input {given}")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(f"{name} {path}: {folder} is a file, not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{name} {path}: no permission to write in {folder}")
        if path.resolve() in taken:
            raise ValueError(f"{name} and {taken[path.resolve()]} name the same file, {path}")
        taken[path.resolve()] = name
    if outputs["-o"] is not None:
        format_of(outputs["-o"])
    check_page("--report", outputs["--report"])


def _command(
    source: Path,
    target: Path,
    single: dict[str, Path | None],
    method: str,
    voxel: str | None,
    unit: str,
    scale: float | None,
    up: str,
    seed: int,
) -> str:
    """The command that gives this result again, for the page."""
    words = ["spoonful", "register", str(source), str(target), "--method", method]
    given = {"--voxel": voxel, "--unit": unit or None, "--scale": scale, **single}
    given |= {"--up": None if up == "z" else up, "--seed": str(seed) if seed else None}
    for name, value in given.items():
        if value is not None:
            words += [name, str(value)]
    return shlex.join(words)


@contextmanager
def _waiting(quiet: bool) -> Iterator[None]:
    """Something that moves while the user waits, on a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status("registering"):
        yield


def _batch(
    table: Path,
    out: Path,
    settings: Settings,
    workers: int | None,
    timeout: float | None,
    cluster: bool,
    as_json: bool,
) -> list[Row]:
    """Do a table of pairs, with a bar, and say how many are what."""
    pairs = read_pairs(table)
    console = Console(stderr=True)
    columns = (
        TextColumn("registering"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        bar = progress.add_task("", total=None)
        rows = register_pairs(
            pairs,
            out,
            settings,
            workers=workers,
            timeout=timeout,
            cluster=cluster,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    counts = Counter(row["status"] for row in rows)
    numbers = {name: counts[name] for name in ("confident", "doubtful", "failed")}
    page = Path(settings.reports) / OVERVIEW if settings.reports else None
    if as_json:
        written = {"out": str(out)} | ({} if page is None else {"index": str(page)})
        typer.echo(json.dumps({"pairs": len(rows), **numbers, **written}, indent=1))
        return rows
    plain = Console(soft_wrap=True, highlight=False, markup=False)
    parts = [f"{count} {name}" for name, count in numbers.items() if count]
    noun = "pair" if len(rows) == 1 else "pairs"
    plain.print(f"{len(rows)} {noun}: {', '.join(parts)}")
    for status in ("failed", "doubtful"):
        some = [row for row in rows if row["status"] == status]
        for row in some[:5]:
            plain.print(f"  {row['id']}: {_told(row)}")
        if len(some) > 5:
            plain.print(f"  and {len(some) - 5} more {status}")
    plain.print(f"wrote {out / 'results.csv'}")
    if page is not None:
        plain.print(f"wrote {page}")
    return rows


def _told(row: Row) -> str:
    """What was wrong with a pair, in a line."""
    if row["status"] == "failed":
        return str(row["message"])
    return "; ".join(
        [f"doubtful, {share_text(row['confidence'])} likely right", *row["warnings"][:1]]
    )
