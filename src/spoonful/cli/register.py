"""`spoonful register`: register two files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from spoonful.cli.answer import line, next_step, show, show_local
from spoonful.data.clouds.formats import format_of
from spoonful.files import check_page
from spoonful.pipeline import METHODS
from spoonful.pipeline.lengths import UNITS
from spoonful.pipeline.runner import Request, check_inputs, run

DOUBTFUL = 3
# Coordinates beyond this, in any unit, are probably those of a map.
LARGE = 1e5
TAKES_MORE = {"allow_extra_args": True}  # to say what to type instead
PER_PAIR = "register takes two files; for many pairs type: spoonful batch pairs.csv --out results"

Method = Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")]
Voxel = Annotated[
    str | None,
    typer.Option(metavar="5mm", help="Voxel size of the search. Default: automatic."),
]
Unit = Annotated[
    str,
    typer.Option(metavar="mm", help=f"Unit of the files, shown with lengths: {', '.join(UNITS)}."),
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="0.001", help="Scale of the source; auto estimates it."),
]
UpAxis = Annotated[
    str, typer.Option(metavar="z", help="Axis that points up in the files, or auto.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option(metavar="0", help="Random seed.")]
Device = Annotated[str, typer.Option(metavar="cuda", help="cpu, cuda, or auto.")]


def register_command(
    source: Annotated[
        Path | None, typer.Argument(help="Cloud or mesh to move.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None, typer.Argument(help="Cloud or mesh that stays fixed.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="out.ply", help="Write the moved source."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="out.html", help="Write a 3D page of the result.")
    ] = None,
    pose: Annotated[
        Path | None,
        typer.Option(metavar="out.json", help="Write the pose: .json, .txt, .yaml or .g2o."),
    ] = None,
    init: Annotated[
        Path | None, typer.Option(metavar="pose.json", help="File with the initial pose.")
    ] = None,
    method: Method = "auto",
    voxel: Voxel = None,
    unit: Unit = "",
    scale: Scale = None,
    origin: Annotated[
        str,
        typer.Option(
            metavar="auto",
            help="Pose relative to X,Y,Z; auto: near the target.",
        ),
    ] = "",
    up: UpAxis = "",
    seed: Seed = 0,
    device: Device = "cpu",
    as_json: Json = False,
    context: typer.Context = None,  # type: ignore[assignment]  # `spoonful demo` has none
) -> None:
    """Find the rigid transform that aligns one point cloud with another.

    Exit code 0: confident; 3: doubtful; 2: bad input. Existing outputs are replaced. For many pairs
    see [bold]spoonful batch[/bold].

    [bold]Examples[/bold]

      spoonful register source.ply target.pcd --report report.html

      spoonful register scan_in_mm.las model_in_m.stl --scale 0.001 -o moved.las

      spoonful register points3D.bin lidar.las --scale auto
    """
    if context and context.args:
        raise ValueError(f"unexpected argument {context.args[0]}: {PER_PAIR}")
    if source is None or target is None:
        raise ValueError(
            "give two files, SOURCE and TARGET; "
            "for many pairs type: spoonful batch pairs.csv --out results"
        )
    check_inputs(source, target, init)
    _check_outputs({"-o": output, "--pose": pose, "--report": report}, (source, target, init))
    request = Request(
        source=str(source),
        target=str(target),
        init=str(init or ""),
        method=method,
        voxel=voxel,
        unit=unit,
        scale=scale,
        origin=origin,
        up=up,
        seed=seed,
        device=device,
        output=str(output or ""),
        pose=str(pose or ""),
        report=str(report or ""),
    )
    new = [path.parent for path in (output, pose, report) if path and not path.parent.exists()]
    with stages(as_json) as tell:
        outputs = run(request, tell)
    found = outputs.alignment
    if as_json:
        written = {name: str(path) for name, path in outputs.written.items()}
        more = {"written": written, "not_kept": outputs.not_kept}
        typer.echo(json.dumps(outputs.record | more, indent=1))
    else:
        console = Console(soft_wrap=True, highlight=False)
        show(console, found, unit, outputs.written, request.factor)
        for folder in filter(Path.exists, dict.fromkeys(new)):
            line(console, "note", f"made the folder {folder}", "dim")
        if origin:
            show_local(console, outputs.record)
        elif float(found.pose.translation.abs().max()) > LARGE and all(
            float(cloud.points.mean(0).abs().max()) > LARGE
            for cloud in (found.source, found.target)
        ):
            advice = (
                "the coordinates are large: --origin auto also gives the pose about a near point"
            )
            line(console, "note", advice, "dim")
        if outputs.not_kept:
            line(console, "not kept", f"{', '.join(outputs.not_kept)} ({output})", "yellow")
        advice = next_step(
            found, method, started=init is not None, page=report, scale=request.factor
        )
        if advice:
            line(console, "next", advice, "bold")
    if outputs.failures:
        raise next(iter(outputs.failures.values()))
    if not found.confident:
        raise typer.Exit(DOUBTFUL)


def _check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Reject outputs that overwrite an input, name the same file, or are not writable."""
    taken: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if path.is_dir():
            raise IsADirectoryError(f"{name} {path} is a folder: give the name of a file in it")
        for given in inputs:
            if given is not None and path.exists() and path.samefile(given):
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
        format_of(outputs["-o"], write=True)
    check_page("--report", outputs["--report"])


@contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show the stages of a command on a terminal, each with a bar and the time left."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for task in tasks.values():  # the stages before are complete
                    bars.update(task, total=1, completed=1)
                tasks[stage] = bars.add_task(stage, total=None)
            if total:
                bars.update(tasks[stage], completed=done, total=total)

        yield tell
        for task in tasks.values():
            bars.update(task, total=1, completed=1)
