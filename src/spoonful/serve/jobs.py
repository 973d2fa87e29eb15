"""What is done with two uploaded files, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from spoonful.data.clouds import Cloud
from spoonful.data.clouds.formats import format_of
from spoonful.pipeline import register
from spoonful.pipeline.inputs import as_cloud, scaled
from spoonful.pipeline.report import record, write_report

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Job:
    """Two files to register, and where their report goes.

    Attributes:
        source: the file to move.
        target: the file to move it onto.
        names: what their owner calls them.
        report: the page to write.
        method: as for `register`.
        voxel: as for `register`.
        unit: of the files; "" where it is not known.
        scale: what the source is multiplied by first.
        memory: bytes it may ask for.
    """

    source: str
    target: str
    names: tuple[str, str]
    report: str
    method: str = "auto"
    voxel: float | None = None
    unit: str = ""
    scale: float = 1.0
    memory: int = 4 * 2**30


def run_job(job: Job) -> dict[str, Any]:
    """Register the files, write the page, return the result for programs."""
    limit_memory(job.memory)
    source: str | Cloud = job.source
    if job.scale != 1:
        source = scaled(as_cloud(source, name="source"), job.scale)
    found = register(source, job.target, method=job.method, voxel=job.voxel)
    write_report(
        job.report,
        found,
        names=job.names,
        unit=job.unit,
        command=["spoonful", "register", *job.names, "--method", job.method, *_options(job)],
    )
    factor = {} if job.scale == 1 else {"source_scale": job.scale}
    return record(found, job.names, job.unit) | factor


def shown_name(given: str | None, otherwise: str) -> str:
    r"""A file's own name, whatever folders and characters came with it.

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
    """Let this process ask for `more` bytes than it has now, where the system can see to that."""
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


def _options(job: Job) -> list[str]:
    options = [] if job.voxel is None else ["--voxel", f"{job.voxel:g}"]
    options += ["--unit", job.unit] if job.unit else []
    return options + ([] if job.scale == 1 else ["--scale", f"{job.scale:g}"])
