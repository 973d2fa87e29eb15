"""The command's frame: its sub-commands, and one place where errors become one line."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import spoonful
from spoonful.cli import (
    STOPPED,
    analyze,
    bench,
    compare,
    data,
    demo,
    evaluate,
    models,
    register,
    reproduce,
    serve,
    show,
    sweep,
    train,
    tune,
)
from spoonful.geometry import kernels

app = typer.Typer(
    name="spoonful",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="demo")(demo.demo)
app.command(name="register")(register.register_command)
app.command(name="serve")(serve.serve_command)
app.add_typer(data.app, name="data")
data.app.command(name="show")(show.show)
app.add_typer(models.app, name="models")
app.command(name="train")(train.train)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="tune")(tune.tune_command)
app.command(name="compare")(compare.compare_command)
app.command(name="reproduce")(reproduce.reproduce_command)
app.command(name="analyze")(analyze.analyze_command)
app.command(name="sweep")(sweep.sweep)
app.command(name="bench", context_settings=bench.PASS_THROUGH)(bench.bench)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Register 3D point clouds, and learn to.

    [bold]Examples[/bold]

      spoonful demo --out demo               a built-in pair, with a page

      spoonful register a.ply b.pcd --report out.html

      spoonful data show rpm-crop --item 3   an item of a protocol

      spoonful train quick                   a small model on built-in shapes

      spoonful evaluate icp rpmnet --protocol rpm-crop

      spoonful reproduce rpm-crop --budget 10m

      spoonful --debug COMMAND ...           with a traceback
    """
    if version:
        typer.echo(f"spoonful {spoonful.__version__}")
        if not kernels.built():
            typer.echo(kernels.status())
        raise typer.Exit


def as_help(docstring: str | None) -> str:
    r"""A docstring as text for a terminal of any width, its examples indented.

    Its own line ends are for readers of the code, and some versions of typer keep them.

    >>> as_help("Do it.\n\n    First this,\n    then that.\n\n      spoonful it")
    'Do it.\n\nFirst this, then that.\n\n[dim]  [/dim]spoonful it'
    """
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    # Indented in markup, as typer strips leading spaces where every line has some.
    return "\n\n".join(
        ("[dim]  [/dim]" if text.startswith("  ") else "") + re.sub(r"\n\s*", " ", text.strip())
        for text in paragraphs
    )


for group in (app, data.app, models.app):
    for command in group.registered_commands:
        command.help = as_help(command.callback.__doc__)
assert app.registered_callback is not None
app.registered_callback.help = as_help(root.__doc__)


def run(arguments: Sequence[str]) -> int:
    """Run the command with `arguments`; return its exit code.

    0 is success, 2 a mistake of the user's (bad input, a missing file or extra), 1 a fault of
    ours. `--debug` anywhere shows the traceback of either.
    """
    debug = "--debug" in arguments
    rest = [argument for argument in arguments if argument != "--debug"]
    try:
        outcome = app(args=rest, standalone_mode=False)
    except typer.Abort:
        return STOPPED
    except Exception as error:
        # Usage errors (unknown option, missing argument) know how to show themselves.
        show = getattr(error, "show", None)
        if show is not None:
            show()
            return 2
        if debug:
            traceback.print_exc()
        else:
            message = _line(error)
            # A message may hold brackets of its own, as in pip install 'spoonful[data]'.
            line = f"[red]error:[/red] {escape(message)}"
            Console(stderr=True, soft_wrap=True).print(line, markup=True)
        users_mistake = isinstance(error, (ValueError, TypeError, OSError, ImportError))
        return 2 if users_mistake else 1
    return outcome if isinstance(outcome, int) else 0


def _line(error: Exception) -> str:
    """What went wrong, on one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return " ".join(str(error).split()) or type(error).__name__
