"""`spoonful train`: one training run, by the name of its experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from spoonful.cli import STOPPED
from spoonful.training import checkpoint
from spoonful.training import train as run
from spoonful.training.options import configure, folder_name
from spoonful.training.schedule import clock, seconds

PRESET = "quick, dcp/clean, dcp/unseen, dcp/3dmatch, rpmnet/jitter, rpmnet/crop, \
rpmnet/crop-no-inlier, pointnetlk/clean, pointnetlk/unseen, pointnetlk/crop; +source, +target, \
+perturbed or +detached adds the layer, +matches a loss on the matches."


def train(
    preset: Annotated[str, typer.Argument(help=PRESET)] = "quick",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML or JSON file of settings.")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="The corpus: synthetic, a file or a folder, or its name."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="How long: 10m, '4000 steps' or '20 epochs'.")
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option("--seconds", help="Stop this call after that time; call again to go on."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the weights and of the pairs.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Train a model; a run that was stopped goes on.

    [bold]Examples[/bold]

      spoonful train quick

      spoonful train dcp/unseen+matches --data shapes/ --budget 10m

      spoonful train rpmnet/crop --set refine=target --set optimizer.lr=3e-4 --out runs/mine

      torchrun --nproc-per-node 4 -m spoonful.training dcp/unseen --out runs/four
    """
    wanted = configure(
        preset, file=config, settings=settings or [], budget=budget, seed=seed, corpus=data
    )
    folder = out or Path("runs") / folder_name(wanted)
    result = run(wanted, out=folder, seconds=seconds(limit) if limit else None, quiet=quiet)
    console = Console()
    state = "finished" if result.finished else "stopped; the same command goes on"
    console.print(
        f"{wanted.name}: {state}; step {result.step} of {result.total}, "
        f"{clock(result.seconds)}, {result.skipped} batches skipped",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("validation error, mean", "untrained", "best", box=None, pad_edge=False)
    for name, unit in (("rotation_degrees", "°"), ("translation", ""), ("correspondence", "")):
        if name in result.untrained:
            values = (found.get(name) for found in (result.untrained, result.best))
            numbers = ("-" if value is None else f"{value:.4f}{unit}" for value in values)
            table.add_row(name.removesuffix("_degrees"), *numbers)
    console.print(table)
    weights = folder / checkpoint.BEST
    there = weights if weights.is_file() else f"none before a validation; checkpoints in {folder}"
    console.print(f"weights  {there}", highlight=False, soft_wrap=True)
    if not result.finished and limit is None:  # so a signal did it: whoever waits must not go on
        raise typer.Exit(STOPPED)
