"""The `spoonful` command. Without the `cli` extra only this file is imported."""

from __future__ import annotations

import io
import sys
import threading
import warnings

from spoonful.workers import STOPPED

# What a command needs beyond the `cli` extra: the extra that installs everything, and its modules.
_REGISTER = ("register", ("scipy", "trimesh"))
_SERVE = ("register,serve", ("scipy", "trimesh", "starlette", "uvicorn", "python_multipart"))
_ALIGN = ("register,align", ("scipy", "trimesh", "gtsam"))
NEEDS = {
    "register": _REGISTER,
    "batch": _REGISTER,
    "align": _ALIGN,
    "demo": _REGISTER,
    "serve": _SERVE,
}


def main() -> None:
    """Run the command; every expected failure is one line and a non-zero exit."""
    from spoonful.extras import MissingExtra, require_all

    warnings.showwarning = _show
    threading.excepthook = _show_failure
    for stream in (sys.stdout, sys.stderr):
        # A terminal without a degree sign shows a question mark instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:  # also while modules are being imported
        command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        extra, modules = NEEDS.get(command, ("cli", ()))
        modules = () if {"-h", "--help"} & {*sys.argv} else modules
        needed = ("typer", "rich", "numpy", *modules)
        require_all(needed, extra=extra, why=f"spoonful {command}".strip())
        from spoonful.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(STOPPED)


def _show(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning without the line of code that it comes from."""
    print(f"warning: {message}", file=sys.stderr)


def _show_failure(failure: threading.ExceptHookArgs) -> None:
    """Print the error of a thread: one line for a file that fails, else the traceback."""
    if issubclass(failure.exc_type, OSError):
        _show(str(failure.exc_value))
    else:
        threading.__excepthook__(failure)
