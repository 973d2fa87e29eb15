"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file so that nobody, not even after a crash, sees a part of it.

    The folder is made if it is missing. The content goes to a file beside the final one, which then
    takes its name in one step.
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
