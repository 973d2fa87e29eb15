"""Optional dependencies: imported where they are used, with one clear error if missing."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class MissingExtra(ImportError):
    """A feature needs a package that is not installed; the message says how to get it."""


def require(module: str, *, extra: str, why: str) -> Any:
    """Import `module`, or raise an error that names the extra of Spoonful that installs it.

    Args:
        module: dotted name of the module, as in `import module`.
        extra: the extra of the `spoonful` distribution that installs it.
        why: what needs it, as the start of a sentence ("Reading HDF5 files").

    Returns:
        The imported module.

    Raises:
        MissingExtra: the package, or a system library it loads, is missing.

    >>> require("math", extra="none", why="Counting").floor(2.5)
    2
    >>> require("no_such_module", extra="data", why="Reading HDF5")
    Traceback (most recent call last):
    spoonful.extras.MissingExtra: Reading HDF5 needs no_such_module: pip install 'spoonful[data]'
    """
    try:
        found: ModuleType = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == module.split(".")[0]:
            package = module.split(".")[0]
            raise MissingExtra(f"{why} needs {package}: pip install 'spoonful[{extra}]'") from None
        raise
    except (ImportError, OSError) as error:  # OSError: a shared library it opens by itself
        raise MissingExtra(f"{why} needs {module}, which does not load here: {error}") from error
    return found


def require_all(modules: Sequence[str], *, extra: str, why: str) -> None:
    """Raise one error that names all packages that are missing; imports nothing.

    Args:
        modules: names of top-level modules.
        extra: the extra of the `spoonful` distribution that installs all of them.
        why: the feature that needs them, as the start of a sentence.

    >>> require_all(["math", "no_such_module", "nor_this"], extra="register", why="Registration")
    Traceback (most recent call last):
    spoonful.extras.MissingExtra: Registration needs no_such_module and nor_this: pip install \
'spoonful[register]'
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
        raise MissingExtra(f"{why} needs {names}: pip install 'spoonful[{extra}]'")
