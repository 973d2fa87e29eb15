"""`spoonful bench`, `analyze`, `reproduce` and `tune`: run a script of the source checkout."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from spoonful.cli.answer import wrapped
from spoonful.names import named

PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}
# The benchmark answers --help itself.
PASS_HELP_THROUGH = {**PASS_THROUGH, "help_option_names": []}


def bench(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="File in benchmarks/, without .py. Default: list them.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Run a benchmark of a source checkout; all further options are passed to it.

    It works only inside a clone of the repository: wheels have no benchmarks.

    [bold]Examples[/bold]

      spoonful bench

      spoonful bench layer

      spoonful bench layer --help

      spoonful bench layer --device cuda --save
    """
    if name in ("-h", "--help"):
        typer.echo(context.get_help())
        return
    known = {path.stem: path for path in sorted(_benchmarks().glob("[!_]*.py"))}
    if not name:
        console = Console()
        for stem, path in known.items():
            about = ast.get_docstring(ast.parse(path.read_text())) or ""
            typer.echo(wrapped(console, f"{stem:12}", about.splitlines()[0], indent=12))
        return
    _run(named(name, known, what="benchmark"), context.args)


def analyze(context: typer.Context) -> None:
    """Draw the paper's figures on the refinement, for a model (in a source checkout).

    The same as `spoonful bench analyze`, which lists the figures and options with --help.

    [bold]Examples[/bold]

      spoonful analyze

      spoonful analyze convergence --model runs/mine --out analysis
    """
    _run(_benchmarks() / "analyze.py", context.args)


def reproduce(context: typer.Context) -> None:
    """Print a table of the paper next to ours (in a source checkout).

    Trains or loads what is missing, and measures it. The same as `spoonful bench reproduce`, which
    lists the options with --help.

    [bold]Examples[/bold]

      spoonful reproduce                       list the tables

      spoonful reproduce rpm-crop --no-train   what needs no training

      spoonful reproduce dcp-unseen --budget 10m

      spoonful reproduce rpm-crop --data modelnet40 --runs runs --device cuda
    """
    _run(_benchmarks() / "reproduce.py", context.args)


def tune(context: typer.Context) -> None:
    """Find good settings for a classical method (in a source checkout).

    Searches on training pairs only. The same as `spoonful bench tune`, which lists the options
    with --help.

    [bold]Examples[/bold]

      spoonful tune icp --protocol rpm-crop --data shapes --out icp.json

      spoonful evaluate icp icp@icp.json --protocol rpm-crop --data shapes
    """
    _run(_benchmarks() / "tune.py", context.args)


def _run(script: Path, arguments: list[str]) -> None:
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")


def _benchmarks() -> Path:
    """The benchmarks folder of a source checkout; wheels do not have it."""
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        if (root / "benchmarks" / "layer.py").is_file():
            return root / "benchmarks"
    raise ValueError(
        "bench, analyze, reproduce and tune need a source checkout: "
        "clone the repository, and run this command inside it"
    )
