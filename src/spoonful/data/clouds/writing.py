"""Clouds and meshes to files."""

from __future__ import annotations

import os
from pathlib import Path

from spoonful.data.clouds.formats import FORMATS, format_of, function
from spoonful.data.clouds.types import Cloud, CloudFileError, Mesh
from spoonful.files import write_whole


def write_cloud(path: str | os.PathLike[str], cloud: Cloud, *, encoding: str | None = None) -> None:
    """Write a cloud, in the format of the file's extension.

    Positions are written so that they are read back the same, except where the format cannot:
    las and laz (200 million steps across the cloud or more), gltf and glb (float32 about the
    mean). Normals and colours are written where the format has a place for them.

    Args:
        path: the file; its folder is made if need be, an old file is replaced whole.
        cloud: at least one point.
        encoding: for ply "binary_little_endian" (the default), "binary_big_endian" or "ascii";
            for pcd "binary" (the default), "binary_compressed" or "ascii".

    >>> import tempfile
    >>> import torch
    >>> from spoonful.data.clouds import read_cloud
    >>> path = Path(tempfile.mkdtemp()) / "cloud.ply"
    >>> write_cloud(path, Cloud(torch.eye(3)))
    >>> bool((read_cloud(path).points == torch.eye(3)).all())
    True
    """
    if len(cloud) == 0:
        raise ValueError("cloud must have at least one point")
    _write(Path(path), cloud, encoding)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh, *, encoding: str | None = None) -> None:
    """Write a mesh to a ply, obj, off, stl, gltf or glb file; otherwise as `write_cloud`.

    off and stl have no place for the colours of vertices.
    """
    path = Path(path)
    if len(mesh.faces) == 0:
        raise ValueError("mesh must have at least one triangle")
    if not format_of(path).meshes:
        known = ", ".join(suffix for suffix, kind in FORMATS.items() if kind.meshes)
        raise CloudFileError(f"{path}: {path.suffix} has no triangles; meshes go to {known}")
    _write(path, mesh, encoding)


def _write(path: Path, shape: Cloud | Mesh, encoding: str | None) -> None:
    kind = format_of(path)
    if encoding is not None and encoding not in kind.encodings:
        choices = ", ".join(kind.encodings) or "none: leave it out"
        raise ValueError(f"encoding must be one of {choices} for {path.suffix}, got {encoding!r}")
    write_whole(path, function(kind, kind.write)(shape, encoding))
