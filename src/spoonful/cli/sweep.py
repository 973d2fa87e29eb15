"""`spoonful sweep`: many training runs, several at a time."""

from __future__ import annotations

from typing import Annotated

import typer

from spoonful.cli.train import Budget, Data, File, Limit, Out, Quiet, Settings
from spoonful.training.command import HELP, configure, run_many


def sweep(
    presets: Annotated[list[str], typer.Argument(help="Presets, as for `spoonful train`.")],
    seeds: Annotated[str | None, typer.Option(help=HELP["seeds"])] = None,
    grids: Annotated[
        list[str] | None, typer.Option("--grid", metavar="A.B=C,D", help=HELP["grid"])
    ] = None,
    settings: Settings = None,
    config: File = None,
    data: Data = None,
    budget: Budget = None,
    limit: Limit = None,
    jobs: Annotated[int, typer.Option(min=1, help=HELP["jobs"])] = 1,
    ray: Annotated[bool, typer.Option("--ray", help=HELP["ray"])] = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Train many models; finished runs are skipped, stopped runs resume.

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
    code = run_many(
        configs,
        out,
        seeds=seeds,
        grids=grids or [],
        limit=limit,
        jobs=jobs,
        ray=ray,
        quiet=quiet,
    )
    raise typer.Exit(code)
