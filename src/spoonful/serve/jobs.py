"""Run one request of the server in a worker process, with a limit on memory."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from spoonful.data.clouds.formats import format_of
from spoonful.pipeline.runner import Request, run

_LONGEST_NAME = 100


def run_limited(request: Request, memory: int) -> dict[str, Any]:
    """Run a request within `memory` bytes; its record.

    Raises:
        Exception: what `run` raises, or the reason why the pose or the report was not written.
    """
    limit_memory(memory)
    outputs = run(request)
    for name in ("pose", "report"):
        if name in outputs.failures:
            raise outputs.failures[name]
    return outputs.record


def shown_name(given: str | None, otherwise: str) -> str:
    r"""A file's own name, without folders and control characters.

    >>> shown_name("../../etc/scan.ply", "source"), shown_name(r"C:\my\scan.ply", "source")
    ('scan.ply', 'scan.ply')
    """
    name = PureWindowsPath(PurePosixPath(given or "").name).name
    name = "".join(character if character.isprintable() else " " for character in name).strip()
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 20]}…{name[-19:]}"
    return name or otherwise


def suffix_of(name: str) -> str:
    """The extension of a file that can be read.

    >>> suffix_of("Scan.PLY")
    '.ply'
    >>> suffix_of("scan.ply.gz")
    Traceback (most recent call last):
    spoonful.data.clouds.types.CloudFileError: scan.ply.gz: cannot tell the format from '.gz'; ...
    """
    path = PurePosixPath(name)
    format_of(path)
    return path.suffix.lower()


def limit_memory(more: int) -> None:
    """Limit this process to `more` bytes above what it uses now; does nothing except on Linux."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + more
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
