"""Atomic writing of files, checks of output paths, and values that JSON can hold."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add a file's name to errors of the operating system without one, such as a full disk's."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for atomic replacement; its folder is made if it is missing.

    The content goes to a temporary file beside the final one. It takes the final name in one step
    when all of it is on the disk, and is removed if anything fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/notes/first.txt") as file:
    ...         _ = file.write(b"in parts")
    ...     Path(f"{folder}/notes/first.txt").read_text()
    'in parts'
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.is_dir():
        raise IsADirectoryError(f"{final} is a folder: give the name of a file in it")
    # Not made by `tempfile`, whose files only their owner can read.
    draft = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        with naming(final), _Draft(draft, "wb") as raw:
            try:
                with io.BufferedWriter(raw) as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
            except Exception as error:
                if raw.failure is None or isinstance(error, OSError):
                    raise
                raise raw.failure from error
        draft.replace(final)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the new name reaches the disk with its folder
        folder = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class _Draft(io.FileIO):
    """A file that keeps the error of a failed write: some libraries replace it by their own."""

    failure: OSError | None = None

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            self.failure = error
            raise


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write a file atomically, text as UTF-8; see `replacing`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/notes/first.txt", "whole").read_bytes()
    b'whole'
    """
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


def check_folder(name: str, path: Path | None) -> None:
    """Raise if a path that is to be a folder is a file; None and a missing path are accepted."""
    if path is not None and path.exists() and not path.is_dir():
        raise ValueError(f"{name} must be a folder, and {path} is a file")


def check_page(name: str, path: Path | None) -> None:
    """Raise if the name of a page does not end in .html, so that no scan is overwritten.

    >>> check_page("--report", Path("scan.ply"))
    Traceback (most recent call last):
    ValueError: --report must end in .html, got scan.ply
    """
    if path is not None and path.suffix not in (".html", ".htm"):
        raise ValueError(f"{name} must end in .html, got {path}")


def json_ready(value: Any, *, words: bool = False) -> Any:
    """The value with tuples as lists, and null for every number that is not finite.

    With `words`, such numbers become "inf", "-inf" and "nan" instead.

    >>> json_ready({"loss": float("nan"), "poses": [(1.0, 2)]})
    {'loss': None, 'poses': [[1.0, 2]]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value) if words else None
    if isinstance(value, Mapping):
        return {name: json_ready(part, words=words) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(part, words=words) for part in value]
    return value
