"""`spoonful bench`: run a benchmark of the source checkout."""

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

# The benchmark answers --help itself.
PASS_THROUGH = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


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
    folder = _benchmarks()
    known = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    if not name:
        console = Console()
        for stem, path in known.items():
            about = ast.get_docstring(ast.parse(path.read_text())) or ""
            typer.echo(wrapped(console, f"{stem:12}", about.splitlines()[0], indent=12))
        return
    script = named(name, known, what="benchmark")
    sys.argv = [str(script), *context.args]
    runpy.run_path(str(script), run_name="__main__")


def _benchmarks() -> Path:
    """The benchmarks folder of a source checkout; wheels do not have it."""
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        if (root / "benchmarks" / "layer.py").is_file():
            return root / "benchmarks"
    raise ValueError("benchmarks need a source checkout: run this command inside one")
