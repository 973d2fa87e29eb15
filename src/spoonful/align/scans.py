"""Read, thin and describe each scan once, in files that the processes share."""

from __future__ import annotations

import functools
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.align.surfaces import Surface
from spoonful.files import write_whole
from spoonful.geometry import random_rotation
from spoonful.neighbors import Index
from spoonful.pipeline.confidence import notes_of
from spoonful.pipeline.field import Field
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.parts import Row
from spoonful.pipeline.polish import some_of
from spoonful.pipeline.prepare import (
    Scan,
    scan_on_grid,
    sensor_of,
    suitable_edges,
    thinned,
)
from spoonful.pipeline.search import Description, describe

# Points of a scan that a pose is polished on.
_POINTS = 50_000
# Scans that a process keeps in memory.
_KEPT = 40


@dataclass(frozen=True)
class ReadJob:
    """A job: read a scan.

    Attributes:
        id: the scan's name.
        source: the scan's file.
        stored: the file for its points.
        seed: of the points that are chosen if there are very many.
    """

    id: str
    source: str
    stored: str
    seed: int
    target: str = ""


@dataclass(frozen=True)
class DescribeJob:
    """A job: describe a scan on one grid.

    Attributes:
        id: the scan's name and the grid's edge.
        source: the file that `read_scan` stored.
        target: the file for the description.
        edge: of the grid, in the scan's unit.
        given: whether the normals of the file are used; all scans must have them.
        turn: the seed of the grid's turn. Scans on parallel grids would look alike because of them.
        scale: a factor for the scan before it is put on the grid; None is 1.
    """

    id: str
    source: str
    target: str
    edge: float
    given: bool
    turn: int
    scale: float | None = None


class Described(NamedTuple):
    """A scan on one grid, about its centre, in voxels.

    Attributes:
        scan: its points and normals, `fine_normals` too.
        description: its features and its field.
        cloud: (N, 3) points of the file, in voxels, indexed.
        center: (3,) float64, in the file's unit.
        edge: of the grid, in the file's unit.
        size: root mean square distance from the centre, in the file's unit.
    """

    scan: Scan
    description: Description
    cloud: Index
    center: Tensor
    edge: float
    size: float


def read_scan(job: ReadJob) -> Row:
    """Read one scan, store its centred points, and return statistics for grids and copies.

    Raises:
        ValueError, OSError: the file cannot be read, or has no surface to register.
    """
    generator = torch.Generator().manual_seed(job.seed)
    cloud = as_cloud(job.source, name=job.source, seed=job.seed)
    if len(cloud) < 3:
        raise ValueError(f"{job.source}: it needs three finite points or more, got {len(cloud)}")
    if not bool((cloud.points != cloud.points[0]).any()):
        raise ValueError(f"{job.source}: it has all its {len(cloud)} points in one place")
    points, notes = len(cloud), notes_of({job.id: cloud})
    cloud = thinned(cloud, generator)
    edges = suitable_edges(cloud.points, generator)
    center = cloud.points.mean(0)
    normals = None if cloud.normals is None else cloud.normals.float()
    sensor = sensor_of(cloud, generator)
    _store(
        job.stored,
        {
            "points": (cloud.points - center).float(),
            "normals": normals,
            "center": center,
            "eye": None if sensor is None else sensor - center,
        },
    )
    with Path(job.source).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "status": "read",
        "points": points,
        "normals": normals is not None,
        "center": center.tolist(),
        "apt": edges.apt,
        "least": edges.least,
        "digest": digest,
        "notes": notes,
    }


def describe_scan(job: DescribeJob) -> Row:
    """Put one scan on a grid, compute features of its points, and store both."""
    found = torch.load(job.source, weights_only=True)
    scale = job.scale or 1.0
    points = found["points"].double() * (scale / job.edge)
    normals = found["normals"].double() if job.given else None
    generator = torch.Generator().manual_seed(job.turn)
    turn = random_rotation(generator=generator, dtype=torch.float64)
    scan = scan_on_grid(points, normals, turn, fine_normals=True)
    _store(
        job.target,
        {
            "grid": scan.points,
            "normals": scan.normals,
            "estimated": scan.estimated,
            "fine": scan.fine.points,
            "fine_normals": scan.fine_normals,
            "given": scan.given,
            "eye": None if found["eye"] is None else (found["eye"] * (scale / job.edge)).float(),
            "features": describe(scan).features,
            "cloud": some_of(points, _POINTS, generator),
            "center": found["center"] * scale,
            "edge": job.edge,
        },
    )
    return {"status": "described"}


@functools.lru_cache(maxsize=_KEPT)
def load(path: str) -> Described:
    """The description that `describe_scan` stored."""
    found = torch.load(path, weights_only=True)
    scan = Scan(
        Index(found["grid"]),
        found["normals"],
        found["estimated"],
        Index(found["fine"]),
        found["given"],
        found["eye"],
        fine_normals=found["fine_normals"],
    )
    description = Description(found["features"], Field(scan.points, scan.normals))
    size = float(scan.points.square().sum(-1).mean().sqrt()) * found["edge"]
    return Described(scan, description, Index(found["cloud"]), found["center"], found["edge"], size)


def load_surface(path: str) -> Surface:
    """The surface of a stored description."""
    found = torch.load(path, weights_only=True, mmap=True)
    edge = found["edge"]
    return Surface(Index(found["fine"] * edge), found["fine_normals"], edge)


def _store(path: str, content: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(path, buffer.getvalue())
