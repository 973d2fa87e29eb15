"""The folders of datasets on this machine."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SPOONFUL_DATA"


def folders() -> list[Path]:
    """Folders whose sub-folders are datasets: $SPOONFUL_DATA if set, then ~/.cache/spoonful."""
    named = os.environ.get(VARIABLE)
    return [*([Path(named).expanduser()] if named else []), cache()]


def cache() -> Path:
    """Spoonful's own folder, `~/.cache/spoonful`; it may not exist yet."""
    return Path.home() / ".cache" / "spoonful"


def find(*names: str, files: bool = False) -> Path | None:
    """The first sub-folder, or with `files` also file, of one of these names; or None.

    >>> find("no-such-dataset") is None
    True
    """
    for folder in folders():
        for name in names:
            path = folder / name
            if path.is_dir() or (files and path.exists()):
                return path
    return None


def existing(root: str | os.PathLike[str]) -> Path:
    """`root` as a path, or an error if it is not a folder."""
    path = Path(root).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such folder")
    if not path.is_dir():
        raise NotADirectoryError(f"{path}: not a folder")
    return path
