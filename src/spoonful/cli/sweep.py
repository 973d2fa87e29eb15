"""`spoonful sweep`: many training runs, several at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spoonful.cli import STOPPED
from spoonful.training import sweep as sweeps
from spoonful.training.options import configure, grid, numbers
from spoonful.training.schedule import seconds


def sweep(
    presets: Annotated[list[str], typer.Argument(help="Presets, as for `spoonful train`.")],
    seeds: Annotated[str | None, typer.Option(help="3, or 0,4,7, or 10-12.")] = None,
    grids: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="A.B=C,D", help="A run for each value of a setting."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting of all.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML or JSON file of settings.")] = None,
    data: Annotated[str | None, typer.Option(help="The corpus to train on.")] = None,
    budget: Annotated[str | None, typer.Option(help="How long each run is.")] = None,
    limit: Annotated[
        str | None, typer.Option("--seconds", help="Stop after that time; call again to go on.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs at a time.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on a Ray cluster.")] = False,
    out: Annotated[Path, typer.Option(help="The folder for all runs.")] = Path("runs"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Train many models; what is finished is skipped, what was stopped goes on.

    [bold]Examples[/bold]

      spoonful sweep dcp/unseen dcp/unseen+source --seeds 26 --jobs 4

      spoonful sweep dcp/unseen+source --grid refine.iterations=1,2,5,10 --budget 10m

      spoonful sweep dcp/unseen+source --grid refine.iterations=1,5 --grid refine.loss_on=all,last

      spoonful sweep rpmnet/crop --seeds 3 --ray
    """
    configs = [
        configure(name, file=config, settings=settings or [], budget=budget, corpus=data)
        for name in presets
    ]
    todo = sweeps.jobs(configs, seeds=numbers(seeds), grid=grid(grids or []))
    outcomes = sweeps.sweep(
        todo,
        out,
        at_once=jobs,
        seconds=seconds(limit) if limit else None,
        cluster=ray,
        quiet=quiet,
    )
    typer.echo(sweeps.table(outcomes))
    if any(outcome.state == "failed" for outcome in outcomes):
        raise typer.Exit(1)
    if limit is None and any(outcome.state in ("stopped", "waiting") for outcome in outcomes):
        raise typer.Exit(STOPPED)
