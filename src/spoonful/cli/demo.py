"""`spoonful demo`: the main job on a built-in pair, from clouds to a page to turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from spoonful.data import synthetic
from spoonful.extras import MissingExtra
from spoonful.files import check_folder
from spoonful.geometry import Pose, nearest, rotation_from_vector
from spoonful.metrics import rotation_error_degrees, translation_error
from spoonful.pipeline import METHODS, register
from spoonful.pipeline.report import write_report
from spoonful.training import shipped
from spoonful.view import CloudLayer, PoseStop, write_picture


class Pair(NamedTuple):
    """Two partial scans of one shape, and the pose between them."""

    source: Tensor
    target: Tensor
    truth: Pose


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another pose and sampling.")] = 0,
    method: Annotated[
        str, typer.Option(help="Who proposes the pose, as for `spoonful register`.")
    ] = "rpmnet",
) -> None:
    """Register a built-in pair of partial scans with a shipped network, and show the result.

    [bold]Examples[/bold]

      spoonful demo --out demo

      spoonful demo --seed 3 --method auto
    """
    check_folder("--out", out)
    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {method!r}")
    console = Console()
    pair = built_in_pair(torch.Generator().manual_seed(seed))
    weights = f" (weights {shipped.DEFAULTS[method]})" if method in shipped.DEFAULTS else ""
    console.print(
        f"two partial scans of {len(pair.source)} points; method {method}{weights}",
        highlight=False,
    )
    found = register(pair.source, pair.target, method=method, seed=seed)

    console.print("[bold]T_target_source[/bold]")
    for row in found.transform.tolist():
        console.print("  " + "  ".join(f"{value:9.5f}" for value in row), highlight=False)
    stops = {
        "before": found.poses["start"],
        "found": found.poses["global"],
        "after": found.pose,
    }
    table = Table("", *stops, box=None, pad_edge=False)
    for name, measure, unit in (
        ("rotation error", rotation_degrees, "°"),
        ("translation error", offset, ""),
        ("median distance to target", residual, ""),
    ):
        values = (f"{measure(pair, pose.to(torch.float32)):.4f}{unit}" for pose in stops.values())
        table.add_row(name, *values)
    console.print(table)
    console.print(
        f"confidence {found.confidence:.2f}, overlap {found.overlap:.0%}, {found.seconds:.1f} s",
        highlight=False,
    )

    title = "Two scans, one shape"
    command = ["spoonful", "demo", "--out", str(out), "--seed", str(seed), "--method", method]
    page = write_report(
        out / "demo.html", found, names=("scan one", "scan two"), title=title, command=command
    )
    picture = picture_of(pair, stops, out / "demo.png", title=title)
    console.print(
        f"picture  {picture}\npage     {page}  (open it and turn it with the mouse)\n"
        "yours    spoonful register source.ply target.ply --report report.html",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def picture_of(pair: Pair, stops: Mapping[str, Pose], path: Path, *, title: str) -> str:
    """Draw the pair before and after; where the picture is, or why there is none."""
    shown = [(name, stops[name].to(torch.float32)) for name in ("before", "after")]
    try:
        picture = write_picture(
            path,
            layers=[
                CloudLayer("source", pair.source, moves=True),
                CloudLayer("target", pair.target),
            ],
            poses=[
                PoseStop(name, pose, f"rotation error {rotation_degrees(pair, pose):.2f}°")
                for name, pose in shown
            ],
            title=title,
        )
    except MissingExtra as error:  # the page shows more than the picture would
        return f"none: {error}"
    return str(picture)


def built_in_pair(generator: torch.Generator) -> Pair:
    """Two scans of the first airplane, each lacking another fifth of it, resampled and noisy."""
    points = synthetic.cloud("airplane", 0, split="test", points=4096)[0]
    scans = [_scan(points, generator) for _ in range(2)]
    # As much as the shipped networks were trained to undo.
    axis = torch.nn.functional.normalize(torch.randn(3, generator=generator), dim=0)
    angle = math.radians(30 + 10 * float(torch.rand(1, generator=generator)))
    truth = Pose(rotation_from_vector(axis * angle), 0.4 * torch.rand(3, generator=generator) - 0.2)
    return Pair(truth.inverse().apply(scans[0]), scans[1], truth)


def _scan(points: Tensor, generator: torch.Generator) -> Tensor:
    direction = torch.randn(3, generator=generator)
    depth = (points * (direction / direction.norm())).sum(-1)
    seen = points[depth.argsort()[: len(points) * 4 // 5]]
    chosen = torch.randperm(len(seen), generator=generator)[:1500]
    return seen[chosen] + 0.004 * torch.randn(1500, 3, generator=generator)


def rotation_degrees(pair: Pair, pose: Pose) -> float:
    """The angle between a pose's rotation and the true one."""
    return float(rotation_error_degrees(pose.rotation, pair.truth.rotation))


def offset(pair: Pair, pose: Pose) -> float:
    """The distance between a pose's translation and the true one."""
    return float(translation_error(pose.translation, pair.truth.translation))


def residual(pair: Pair, pose: Pose) -> float:
    """The median distance of the moved source to the target."""
    return float(nearest(pose.apply(pair.source), pair.target).squared_distance.median().sqrt())
