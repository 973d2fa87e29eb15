"""What is moved, as its file has it: read with its triangles, written where it belongs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from spoonful.data.clouds import (
    DEFAULT_SAMPLES,
    FORMATS,
    Cloud,
    CloudFileError,
    Mesh,
    read_cloud,
    read_mesh,
    write_cloud,
    write_mesh,
)
from spoonful.data.clouds.formats import format_of
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate
from spoonful.pipeline.alignment import Alignment
from spoonful.pipeline.inputs import scaled


def read_shape(path: Path) -> Cloud | Mesh:
    """The triangles of a file that has some, else its points."""
    cloud = read_cloud(path, drop_nonfinite=True)
    if len(cloud) == DEFAULT_SAMPLES and FORMATS[path.suffix.lower()].meshes:
        try:
            return read_mesh(path, drop_nonfinite=True)
        except CloudFileError:
            return cloud
    return cloud


def scaled_shape(shape: Cloud | Mesh, factor: float) -> Cloud | Mesh:
    """A cloud or a mesh so many times as large, about the origin."""
    if isinstance(shape, Mesh):
        return replace(shape, vertices=shape.vertices * factor)
    return scaled(shape, factor)


def write_moved(path: Path, shape: Cloud | Mesh, found: Alignment) -> Path:
    """Write the source where it belongs, with all it carries; whole or not at all.

    A mesh stays a mesh where the format has triangles.
    """
    if isinstance(shape, Mesh) and format_of(path).meshes:
        write_mesh(path, replace(shape, vertices=_moved(shape.vertices, found.pose)))
        return path
    cloud = found.source if isinstance(shape, Mesh) else shape
    points = _moved(cloud.points, found.pose)
    normals = cloud.normals
    if normals is not None:
        normals = rotate(found.pose.rotation, normals.to(torch.float64)).to(points.dtype)
    write_cloud(path, Cloud(points, normals, cloud.colors))
    return path


def _moved(points: torch.Tensor, pose: Pose) -> torch.Tensor:
    """Points at the pose; in float32 if they were and nothing is lost by it."""
    moved = pose.apply(points.to(torch.float64))
    extent = float((moved.amax(0) - moved.amin(0)).max())
    rounding = float(moved.abs().max()) * 2**-24
    return moved if rounding > 1e-5 * extent else moved.to(points.dtype)
