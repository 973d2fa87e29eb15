"""`spoonful demo`: register two real scans that come with the package."""

from __future__ import annotations

import math
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from spoonful.cli.register import register_command
from spoonful.data import synthetic
from spoonful.files import check_folder, write_whole
from spoonful.geometry import Pose, nearest, rotation_from_vector
from spoonful.metrics import rotation_error_degrees, translation_error
from spoonful.pipeline import METHODS, register
from spoonful.pipeline.report import write_report
from spoonful.training import shipped


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the scans and the page.")] = Path("demo"),
    learned: Annotated[
        bool,
        typer.Option("--learned", help="Register a built-in shape with a shipped network instead."),
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Random seed; with --learned it also picks the pair.")
    ] = 0,
    method: Annotated[
        str | None,
        typer.Option(
            help="As for `spoonful register`; rpmnet with --learned, else auto.", show_default=False
        ),
    ] = None,
) -> None:
    """Register two laser scans of an office and write an interactive 3D page.

    [bold]Examples[/bold]

      spoonful demo

      spoonful demo --learned --method dcp-v2
    """
    check_folder("--out", out)
    method = method or ("rpmnet" if learned else "auto")
    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {method!r}")
    console = Console(soft_wrap=True, highlight=False, markup=False)
    page = out / "demo.html"
    if learned:
        register_shape(console, page, method, seed)
    else:
        register_scans(console, page, method, seed)
    console.print(f"\nOpen {page} in a browser. For your own scans:")
    console.print("  spoonful register a.ply b.ply --report report.html")


def register_scans(console: Console, page: Path, method: str, seed: int) -> None:
    """Copy the example scans beside the page and run `spoonful register` on them."""
    source, target = (
        write_whole(page.with_name(name), (files("spoonful") / "examples" / name).read_bytes())
        for name in ("room-2.ply", "room-1.ply")
    )
    words = ["spoonful", "register", str(source), str(target), "--unit", "m", "--report", str(page)]
    words += ["--method", method] * (method != "auto") + ["--seed", str(seed)] * (seed != 0)
    line = f"$ {shlex.join(words)}"
    fits = len(line) <= console.width or not console.is_terminal
    console.print(line if fits else line.replace(" --report", " \\\n    --report"))
    register_command(source, target, method=method, unit="m", report=page, seed=seed)


def register_shape(console: Console, page: Path, method: str, seed: int) -> None:
    """Register two parts of a built-in shape with a network; print the errors."""
    pair = built_in_pair(torch.Generator().manual_seed(seed))
    weights = f", weights {shipped.DEFAULTS[method]}" if method in shipped.DEFAULTS else ""
    console.print(f"two partial views, {len(pair.source)} points each; method {method}{weights}")
    found = register(pair.source, pair.target, method=method, seed=seed)
    stops = {"before": found.poses["start"], "found": found.poses["global"], "after": found.pose}
    table = Table("", *stops, box=None, pad_edge=False)
    names = ("rotation error", "translation error", "median distance to target")
    columns = (_errors(pair, pose.to(torch.float32)) for pose in stops.values())
    for cells in zip(names, *columns, strict=True):
        table.add_row(*cells)
    console.print(table)
    words = ["spoonful", "demo", "--learned", "--seed", str(seed), "--method", method]
    write_report(page, found, names=("view 1", "view 2"), command=words)


class ViewPair(NamedTuple):
    """Two partial views of one shape, and the pose between them."""

    source: Tensor
    target: Tensor
    truth: Pose


def built_in_pair(generator: torch.Generator) -> ViewPair:
    """Two views of an airplane: each lacks a fifth of it, and has its own samples and noise."""
    points = synthetic.cloud("airplane", 0, split="test", points=4096)[0]
    scans = [_scan(points, generator) for _ in range(2)]
    # The largest rotation that the shipped networks were trained on is 45 degrees.
    axis = torch.nn.functional.normalize(torch.randn(3, generator=generator), dim=0)
    angle = math.radians(30 + 10 * float(torch.rand(1, generator=generator)))
    truth = Pose(rotation_from_vector(axis * angle), 0.4 * torch.rand(3, generator=generator) - 0.2)
    return ViewPair(truth.inverse().apply(scans[0]), scans[1], truth)


def _scan(points: Tensor, generator: torch.Generator) -> Tensor:
    direction = torch.randn(3, generator=generator)
    depth = (points * (direction / direction.norm())).sum(-1)
    seen = points[depth.argsort()[: len(points) * 4 // 5]]
    chosen = torch.randperm(len(seen), generator=generator)[:1500]
    return seen[chosen] + 0.004 * torch.randn(1500, 3, generator=generator)


def _errors(pair: ViewPair, pose: Pose) -> tuple[str, str, str]:
    """The errors of rotation and translation, and the median distance to the target, as text."""
    turn = rotation_error_degrees(pose.rotation, pair.truth.rotation)
    shift = translation_error(pose.translation, pair.truth.translation)
    gap = nearest(pose.apply(pair.source), pair.target).squared_distance.median().sqrt()
    return f"{float(turn):.4f}°", f"{float(shift):.4f}", f"{float(gap):.4f}"
