"""`spoonful sweep`: many training runs, several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from spoonful.cli.train import Budget, Data, File, Limit, Out, Quiet, Settings
from spoonful.training import sweep as many
from spoonful.training.command import configure
from spoonful.training.schedule import seconds
from spoonful.workers import STOPPED


def sweep(
    presets: Annotated[list[str], typer.Argument(help="Presets, as for `spoonful train`.")],
    seeds: Annotated[
        str | None,
        typer.Option(help="A run per seed: a count (3), a list (0,4,7) or a range (10-12)."),
    ] = None,
    grids: Annotated[
        list[str] | None,
        typer.Option(
            "--grid", metavar="A.B=C,D", help="A run for each value of a setting; may be repeated."
        ),
    ] = None,
    settings: Settings = None,
    config: File = None,
    data: Data = None,
    budget: Budget = None,
    limit: Limit = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on a Ray cluster.")] = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Train many models; finished runs are skipped, stopped runs resume.

    [bold]Examples[/bold]

      spoonful sweep dcp/unseen dcp/unseen+source --seeds 26 --jobs 4

      spoonful sweep dcp/unseen+source --grid refine.iterations=1,5 --budget 10m

      spoonful sweep rpmnet/crop --seeds 3 --ray
    """
    configs = [
        configure(name, file=config, settings=settings or [], budget=budget, corpus=data)
        for name in presets
    ]
    states = many.sweep(
        many.runs(configs, seeds=many.seed_list(seeds) if seeds else None, grid=grid(grids or [])),
        out or Path("runs"),
        at_once=jobs,
        seconds=seconds(limit) if limit else None,
        cluster=ray,
        quiet=quiet,
    )
    typer.echo(many.table(states))
    if any(run.state == "failed" for run in states):
        raise typer.Exit(1)
    if limit is None and any(run.state != "finished" for run in states):
        raise typer.Exit(STOPPED)


def grid(texts: Sequence[str]) -> dict[str, list[str]]:
    """A grid from "name=a,b,c" texts.

    >>> grid(["refine.iterations=1,2,5"])
    {'refine.iterations': ['1', '2', '5']}
    """
    found = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise ValueError(f"a grid reads name=a,b,c, as in refine.iterations=1,5; got {text!r}")
        found[name] = values.split(",")
    return found
