"""What is done with two uploaded files, in a process of its own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from spoonful.data.clouds import Cloud, Mesh
from spoonful.data.clouds.formats import format_of
from spoonful.pipeline import Alignment, register
from spoonful.pipeline.report import record, write_report
from spoonful.pipeline.shapes import read_shape, scaled_shape, write_moved

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Job:
    """Two files to register, and where what is made of them goes.

    Attributes:
        source: the file to move.
        target: the file to move it onto.
        names: what their owner calls them.
        out: the folder for the report, the pose and the moved source.
        method: as for `register`.
        voxel: as for `register`.
        unit: of the files; "" where it is not known.
        scale: what the source is multiplied by first.
        memory: bytes it may ask for.
    """

    source: str
    target: str
    names: tuple[str, str]
    out: str
    method: str = "auto"
    voxel: float | None = None
    unit: str = ""
    scale: float = 1.0
    memory: int = 4 * 2**30

    @property
    def report(self) -> Path:
        """The page to write."""
        return Path(self.out) / "report.html"

    @property
    def pose(self) -> Path:
        """The pose file to write."""
        return Path(self.out) / "pose.json"

    @property
    def aligned(self) -> Path:
        """The moved source to write, in the format of the source."""
        return Path(self.out) / f"aligned{suffix_of(self.source)}"


def run_job(job: Job) -> dict[str, Any]:
    """Register the files, write what comes of it, return the result for programs."""
    limit_memory(job.memory)
    moving, fixed = read_shape(Path(job.source)), read_shape(Path(job.target))
    if job.scale != 1:
        moving = scaled_shape(moving, job.scale)
    found = register(moving, fixed, method=job.method, voxel=job.voxel)
    return write_all(job, moving, found)


def write_all(job: Job, moving: Cloud | Mesh, found: Alignment) -> dict[str, Any]:
    """Write the report, the pose and the moved source, as `spoonful register` would."""
    write_report(
        job.report,
        found,
        names=job.names,
        unit=job.unit,
        command=["spoonful", "register", *job.names, "--method", job.method, *_options(job)],
    )
    factor = {} if job.scale == 1 else {"source_scale": job.scale}
    found.save(job.pose, source=job.names[0], target=job.names[1], unit=job.unit or None, **factor)
    # What goes wrong here, as for want of room, must not take the answer along: where there is no
    # file, none is offered.
    with contextlib.suppress(Exception):
        write_moved(job.aligned, moving, found)
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
