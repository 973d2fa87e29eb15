"""The `spoonful` command: its sub-commands, and errors as one line."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from spoonful.cli import (
    align,
    batch,
    bench,
    compare,
    data,
    demo,
    evaluate,
    models,
    register,
    serve,
    show,
    sweep,
    train,
)
from spoonful.cli.answer import printable
from spoonful.geometry import kernels
from spoonful.version import __version__
from spoonful.workers import STOPPED

# Commands that keep what they have done when they are stopped.
RESUMABLE = ("align", "batch", "sweep", "train")

app = typer.Typer(
    name="spoonful",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="demo")(demo.demo)
app.command(name="register", context_settings=register.TAKES_MORE)(register.register_command)
app.command(name="batch")(batch.batch_command)
app.command(name="align")(align.align_command)
app.command(name="serve")(serve.serve_command)
app.add_typer(data.app, name="data")
data.app.command(name="show")(show.show)
app.add_typer(models.app, name="models")
app.command(name="train")(train.train)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="tune", context_settings=bench.PASS_THROUGH)(bench.tune)
app.command(name="compare")(compare.compare_command)
app.command(name="reproduce", context_settings=bench.PASS_THROUGH)(bench.reproduce)
app.command(name="analyze", context_settings=bench.PASS_THROUGH)(bench.analyze)
app.command(name="sweep")(sweep.sweep)
app.command(name="bench", context_settings=bench.PASS_HELP_THROUGH)(bench.bench)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Register 3D point clouds, and train registration networks.

    [bold]Examples[/bold]

      spoonful demo --out demo               a built-in pair, with a page

      spoonful register a.ply b.pcd --report out.html

      spoonful batch pairs.csv --out results

      spoonful align scans/ --out aligned    align many scans

      spoonful data show rpm-crop --item 3   an item of a protocol

      spoonful train quick                   a small model on built-in shapes

      spoonful evaluate icp rpmnet --protocol rpm-crop

      spoonful reproduce rpm-crop --budget 10m

      spoonful --debug COMMAND ...           with a traceback
    """
    if version:
        typer.echo(f"spoonful {__version__}")
        if not kernels.built():
            typer.echo(kernels.status())
        raise typer.Exit


def as_help(docstring: str | None) -> str:
    r"""Convert a docstring to help text that fills any width, its examples indented.

    Some versions of typer keep the docstring's own line ends.

    >>> as_help("Do it.\n\n    First this,\n    then that.\n\n      spoonful it")
    'Do it.\n\nFirst this, then that.\n\n[dim]  [/dim]spoonful it'
    """
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    # Indented in markup, because typer strips leading spaces.
    return "\n\n".join(
        ("[dim]  [/dim]" if text.startswith("  ") else "") + re.sub(r"\n\s*", " ", text.strip())
        for text in paragraphs
    )


def with_stop_message(callback: Callable[..., Any], advice: str) -> Callable[..., Any]:
    """The command that prints a line and exits when Ctrl-C stops it."""

    @functools.wraps(callback)
    def call(*values: Any, **options: Any) -> Any:
        try:
            return callback(*values, **options)
        except KeyboardInterrupt:
            print(f"stopped{advice}", file=sys.stderr)
            raise typer.Exit(STOPPED) from None

    return call


for group in (app, data.app, models.app):
    for command in group.registered_commands:
        assert command.callback is not None
        command.help = as_help(command.callback.__doc__)
        again = "; run the same command to resume" if command.name in RESUMABLE else ""
        command.callback = with_stop_message(command.callback, again)
assert app.registered_callback is not None
app.registered_callback.help = as_help(root.__doc__)


_get_command = functools.cache(typer.main.get_command)  # typer's own call builds it every time


def run(arguments: Sequence[str]) -> int:
    """Run the command with `arguments`; return its exit code.

    0 is success, 2 a user's mistake (bad input, a missing file or extra), 1 a bug. `--debug` shows
    the traceback.
    """
    debug = "--debug" in arguments
    rest = [argument for argument in arguments if argument != "--debug"]
    try:
        outcome = _get_command(app)(args=rest, standalone_mode=False)
    except typer.Abort:
        return STOPPED
    except Exception as error:
        # Usage errors (unknown option, missing argument) print themselves.
        show = getattr(error, "show", None)
        if show is not None:
            show()
            return 2
        if debug:
            traceback.print_exc()
        else:
            message = as_typed(_line(error), rest)
            # A message may have brackets, as in pip install 'spoonful[data]'.
            line = f"[red]error:[/red] {escape(message)}"
            console = Console(stderr=True)
            # On a terminal lines break between words; in a pipe there is one line.
            console.print(line, markup=True, soft_wrap=not console.is_terminal)
        users_mistake = isinstance(error, (ValueError, TypeError, OSError, ImportError))
        return 2 if users_mistake else 1
    return outcome if isinstance(outcome, int) else 0


def _line(error: Exception) -> str:
    """The message of an error on one line, without control characters."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}")
    return printable(" ".join(str(error).split())) or type(error).__name__


def as_typed(message: str, arguments: Sequence[str]) -> str:
    """The message with options as they were typed: the library says "out must", without dashes.

    >>> as_typed("out must be a folder, and a is a file", ["align", "scans", "--out", "a"])
    '--out must be a folder, and a is a file'
    """
    typed = {word.partition("=")[0] for word in arguments}

    def option(found: re.Match[str]) -> str:
        name = f"--{found[0].replace('_', '-')}"
        return name if name in typed else found[0]

    return re.sub(r"^\w+(?= )|\b\w+(?==')", option, message)
