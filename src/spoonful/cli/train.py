"""`spoonful train`: one training run, by the name of its experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spoonful.training.command import HELP, check_used, configure, run_one

Settings = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help=HELP["set"])]
File = Annotated[Path | None, typer.Option(help=HELP["config"])]
Data = Annotated[str | None, typer.Option(help=HELP["data"])]
Budget = Annotated[str | None, typer.Option(help=HELP["budget"])]
Limit = Annotated[str | None, typer.Option("--seconds", help=HELP["seconds"])]
Out = Annotated[Path | None, typer.Option(help=HELP["out"])]
Quiet = Annotated[bool, typer.Option("--quiet", help=HELP["quiet"])]


def train(
    preset: Annotated[str, typer.Argument(help=HELP["preset"])] = "quick",
    settings: Settings = None,
    config: File = None,
    data: Data = None,
    budget: Budget = None,
    limit: Limit = None,
    seed: Annotated[int | None, typer.Option(help=HELP["seed"])] = None,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Train a model, or resume a run that was stopped.

    [bold]Examples[/bold]

      spoonful train quick

      spoonful train dcp/unseen+matches --data shapes/ --budget 10m

      spoonful train rpmnet/crop --set refine=target --out runs/mine

      torchrun --nproc-per-node 4 -m spoonful.training dcp/unseen --out runs/four
    """
    wanted = configure(
        preset, file=config, settings=settings or [], budget=budget, seed=seed, corpus=data
    )
    check_used(wanted, settings or [])
    raise typer.Exit(run_one(wanted, out, limit=limit, quiet=quiet))
