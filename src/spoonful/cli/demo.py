"""`spoonful demo`: the main job on a built-in pair, from clouds to a page to turn."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from spoonful.data import synthetic
from spoonful.geometry import Pose, kabsch, nearest, rotation_from_vector
from spoonful.metrics import rotation_error_degrees, translation_error
from spoonful.view import CloudLayer, ColorScale, Fact, PoseStop, write_page, write_picture


class Pair(NamedTuple):
    """Two partial scans of one shape, and the pose between them."""

    source: Tensor
    target: Tensor
    truth: Pose


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another pose and sampling.")] = 0,
) -> None:
    """Register a built-in pair of partial scans and show the result.

    [bold]Examples[/bold]

      spoonful demo --out demo

      spoonful demo --seed 3
    """
    console = Console()
    pair = built_in_pair(torch.Generator().manual_seed(seed))
    start = time.perf_counter()
    path = align(pair.source, pair.target)
    seconds = time.perf_counter() - start
    before, after = path[0], path[-1]

    console.print("[bold]T_target_source[/bold]")
    for row in after.matrix().tolist():
        console.print("  " + "  ".join(f"{value:9.5f}" for value in row), highlight=False)
    table = Table("", "before", "after", box=None, pad_edge=False)
    for name, measure, unit in (
        ("rotation error", rotation_degrees, "°"),
        ("translation error", offset, ""),
        ("median distance to target", residual, ""),
    ):
        values = (f"{measure(pair, pose):.4f}{unit}" for pose in (before, after))
        table.add_row(name, *values)
    console.print(table)
    console.print(f"{len(path) - 1} iterations in {seconds:.2f} s")

    last = len(path) - 1
    names = {0: "before", last: "after"}
    poses = [
        PoseStop(
            names.get(i, f"step {i}"),
            path[i],
            f"rotation error {rotation_degrees(pair, path[i]):.2f}°",
        )
        for i in sorted({0, 1, *(2**k for k in range(2, 10) if 2**k < last), last})
    ]
    residuals = torch.stack(
        [
            nearest(stop.pose.apply(pair.source), pair.target).squared_distance.sqrt()
            for stop in poses
        ]
    )
    layers = [
        CloudLayer("source", pair.source, moves=True, values=residuals),
        CloudLayer("target", pair.target),
    ]
    title = "Two scans, one shape"
    page = write_page(
        out / "demo.html",
        title=title,
        subtitle="two partial, noisy scans of a built-in airplane, aligned by Spoonful",
        layers=layers,
        poses=poses,
        scale=ColorScale("distance to target", ""),
        facts=[
            Fact("Rotation error before", rotation_degrees(pair, before), "°"),
            Fact("Rotation error after", rotation_degrees(pair, after), "°"),
            Fact("Translation error after", offset(pair, after)),
            Fact("Source points", len(pair.source)),
            Fact("Target points", len(pair.target)),
            Fact("Time", seconds, "s"),
        ],
        command=["spoonful", "demo", "--out", str(out), "--seed", str(seed)],
    )
    picture = write_picture(
        out / "demo.png", layers=layers, poses=[poses[0], poses[-1]], title=title
    )
    console.print(f"picture  {picture}\npage     {page}  (open it and turn it with the mouse)")


def built_in_pair(generator: torch.Generator) -> Pair:
    """Two scans of the first airplane, each lacking another fifth of it, resampled and noisy."""
    points = synthetic.cloud("airplane", 0, split="test", points=4096)[0]
    scans = [_scan(points, generator) for _ in range(2)]
    # A turn of 30 to 40 degrees: hard, but within what nearest neighbours alone can undo.
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


def align(source: Tensor, target: Tensor, iterations: int = 150) -> list[Pose]:
    """Trimmed ICP: match to the nearest, keep the closest 70 %, solve; every pose on the way."""
    middle = target.mean(0) - source.mean(0)
    path = [Pose.identity(), Pose(torch.eye(3), middle)]
    for _ in range(iterations):
        near = nearest(path[-1].apply(source), target)
        keep = near.squared_distance <= near.squared_distance.quantile(0.7)
        path.append(kabsch(source, target[near.index], mask=keep))
        if (path[-1].matrix() - path[-2].matrix()).abs().max() < 1e-6:
            break
    return path


def rotation_degrees(pair: Pair, pose: Pose) -> float:
    """The angle between a pose's rotation and the true one."""
    return float(rotation_error_degrees(pose.rotation, pair.truth.rotation))


def offset(pair: Pair, pose: Pose) -> float:
    """The distance between a pose's translation and the true one."""
    return float(translation_error(pose.translation, pair.truth.translation))


def residual(pair: Pair, pose: Pose) -> float:
    """The median distance of the moved source to the target."""
    return float(nearest(pose.apply(pair.source), pair.target).squared_distance.median().sqrt())
