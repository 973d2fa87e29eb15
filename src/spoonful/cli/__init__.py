"""The `spoonful` command. Only this file is imported when the `cli` extra is missing."""

from __future__ import annotations

import io
import sys
import warnings

STOPPED = 130  # exit code of what Ctrl-C, or another signal, stopped


def main() -> None:
    """Run the command; every expected failure is one line and a non-zero exit."""
    from spoonful.extras import MissingExtra, require

    warnings.showwarning = _show
    for stream in (sys.stdout, sys.stderr):
        # Where there is no degree sign, a question mark will do; a result must not be lost for it.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:  # Ctrl-C while modules are still being imported is no fault to report either
        for module in ("typer", "rich"):
            require(module, extra="cli", why="The spoonful command")
        from spoonful.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(STOPPED)


def _show(message: Warning | str, *where: object, **more: object) -> None:
    """A warning for people: what it says, not the line of code it comes from."""
    print(f"warning: {message}", file=sys.stderr)
