"""The helper's life: read requests from standard input, write answers to standard output.

A request is (kind, function, arguments, options), an answer (kind, value), both pickled. This file
is run by its path and needs the standard library alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def main() -> None:
    """Answer until the other end of standard input is closed."""
    requests = sys.stdin.buffer
    # Libraries print to standard output, which is where answers go: give them standard error.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # An interrupt from the terminal reaches all processes; the caller decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(*request), answers, protocol=5)
        answers.flush()


def answer(
    kind: str, function: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> tuple[str, Any]:
    """What becomes of a request."""
    try:
        if kind == "path":  # the caller's, so that both import the same
            sys.path[:] = arguments
            return ("value", None)
        if kind == "import":
            _FUNCTIONS[function] = find(function)
            return ("value", None)
        return ("value", _FUNCTIONS[function](*arguments, **options))
    except ModuleNotFoundError as error:
        return ("missing", error.name)
    except Exception as error:
        return ("error", f"{type(error).__name__}: {' '.join(str(error).split())}")


def find(function: str) -> Callable[..., Any]:
    """The function at "package.module:name" or "path/of/a/file.py:name".

    A file imports its library in a function `load`, so that it can be read where there is none.
    """
    module, _, name = function.rpartition(":")
    if not module.endswith(".py"):
        return getattr(importlib.import_module(module), name)
    spec = importlib.util.spec_from_file_location(f"helper_{len(_FUNCTIONS)}", module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    loaded.load()
    return getattr(loaded, name)


if __name__ == "__main__":
    main()
