"""Files that are whole or not there, folders that are folders, and what JSON can hold."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_whole(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file so that nobody, not even after a crash, sees a part of it.

    The folder is made if it is missing. The content goes to a file beside the final one, which then
    takes its name in one step.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/notes/first.txt", b"whole").read_text()
    'whole'
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.is_dir():
        raise IsADirectoryError(f"{final} is a folder: give the name of a file in it")
    # Opened by name rather than by `tempfile`, whose files nobody else may read.
    draft = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.write(content)
        draft.replace(final)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return final


def check_folder(name: str, path: Path | None) -> None:
    """Raise if what is to be a folder is a file; None and what is not there yet will do."""
    if path is not None and path.exists() and not path.is_dir():
        raise ValueError(f"{name} must be a folder, and {path} is a file")


def plain(value: Any) -> Any:
    """The same as JSON can hold it: what is not a finite number becomes null.

    >>> plain({"loss": float("nan"), "poses": [(1.0, 2)]})
    {'loss': None, 'poses': [[1.0, 2]]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value
