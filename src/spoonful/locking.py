"""Locks on folders, so that two processes do not write to one folder at the same time."""

from __future__ import annotations

import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from spoonful.files import naming

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".lock"
# On Windows a locked byte cannot be read, so the byte is far behind the text.
_BYTE = 2**20


class FolderInUse(OSError):
    """Another process writes to the folder; the message says which."""


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a folder's lock; the folder is made if it is missing.

    The operating system releases the lock when the process ends, however it ends. The empty file
    `.lock` stays in the folder. But if the body raises before it wrote anything, a folder that was
    made here is removed again (not on Windows, where open files cannot be deleted).

    Raises:
        FolderInUse: another process, or another thread of this one, holds the lock.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder), locked(folder):
    ...     pass
    Traceback (most recent call last):
    spoonful.locking.FolderInUse: ... is in use by process ... since ...
    """
    path = Path(folder) / LOCK
    made = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not inherited by programs that this process starts.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not take(descriptor):
            who = path.read_text() or "another process"
            raise FolderInUse(f"{folder} is in use by {who}; wait for it, or use another folder")
        if not path.exists():
            raise FolderInUse(f"another process has just removed {folder}; run the command again")
        host, since = socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S")
        with naming(path):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {host} since {since}".encode())
        try:
            yield
        except BaseException:
            if made and sys.platform != "win32" and list(path.parent.iterdir()) == [path]:
                path.unlink()
                _remove_empty(made)
            raise
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, from the innermost, up to the first that is not empty."""
    for folder in folders:
        if any(folder.iterdir()):
            return
        folder.rmdir()


def take(descriptor: int) -> bool:
    """Lock an open file without waiting; False if another process holds the lock."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        warnings.warn(
            f"this file system has no locks ({error.strerror}): start one process per folder only",
            stacklevel=4,
        )
    return True
