"""The helper process of `spoonful.classical.isolate`: runs one function per request.

This file is loaded by its path and needs the standard library alone.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def answer(
    function: str, arguments: tuple[Any, ...] | None = None, options: dict[str, Any] | None = None
) -> tuple[str, Any]:
    """Call a function, or without arguments import it only; what became of that, and the value."""
    try:
        found = find(function)
        return ("value", None if arguments is None else found(*arguments, **(options or {})))
    except ModuleNotFoundError as error:
        return ("missing", error.name)
    except Exception as error:
        return ("error", f"{type(error).__name__}: {' '.join(str(error).split())}")


@cache
def find(function: str) -> Callable[..., Any]:
    """The function at "package.module:name" or "path/of/a/file.py:name".

    A file imports its library in a function `load`, so that it can be read where there is none.
    """
    module, _, name = function.rpartition(":")
    if not module.endswith(".py"):
        return getattr(importlib.import_module(module), name)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    loaded.load()
    return getattr(loaded, name)
