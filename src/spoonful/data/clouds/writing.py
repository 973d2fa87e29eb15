"""Write clouds and meshes to files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from spoonful.data.clouds.formats import FORMATS, format_of, function
from spoonful.data.clouds.types import (
    STANDARD,
    Cloud,
    CloudFileError,
    Mesh,
    Tell,
    needs_float64,
    quiet,
)
from spoonful.files import replacing, write_whole

DIGITS = "digits of large coordinates"
"""The name in `lost` for the rounding of coordinates far from the origin to float32."""


def write_cloud(
    path: str | os.PathLike[str],
    cloud: Cloud,
    *,
    encoding: str | None = None,
    tell: Tell = quiet,
) -> None:
    """Write a cloud, in the format of the file's extension.

    Positions are read back the same, except from las and laz (200 million steps or more across the
    cloud) and gltf and glb (float32 about the mean). Normals, colours and other columns (`read(...,
    fields=True)`) are written if the format has a place for them; `lost` names what it has no place
    for.

    Args:
        path: the file; its folder is made if need be, an old file is replaced whole.
        cloud: at least one point.
        encoding: for ply "binary_little_endian" (the default), "binary_big_endian" or "ascii";
            for pcd "binary" (the default), "binary_compressed" or "ascii".
        tell: called with the number of points written so far and of all points; for las and laz.

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
    _write(Path(path), cloud, encoding, tell)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh, *, encoding: str | None = None) -> None:
    """Write a mesh to a ply, obj, off, stl, gltf or glb file; otherwise as `write_cloud`.

    off and stl have no place for the colours of vertices, and stl rounds positions to float32.
    """
    path = Path(path)
    if len(mesh.faces) == 0:
        raise ValueError("mesh must have at least one triangle")
    if not format_of(path, write=True).meshes:
        known = ", ".join(suffix for suffix, kind in FORMATS.items() if kind.meshes)
        raise CloudFileError(f"{path}: {path.suffix} has no triangles; meshes go to {known}")
    _write(path, mesh, encoding)


def lost(path: str | os.PathLike[str], shape: Cloud | Mesh) -> list[str]:
    """The names of what a format cannot store of a cloud or mesh, such as its colours.

    >>> import torch
    >>> lost("a.off", Cloud(torch.eye(3), normals=torch.eye(3)))
    ['normals']
    """
    kind = format_of(Path(path), write=True)
    names = []
    if isinstance(shape, Mesh) and not kind.meshes:
        names.append("triangles")
    if isinstance(shape, Cloud) and shape.normals is not None and not kind.normals:
        names.append("normals")
    if shape.colors is not None and not kind.colors:
        names.append("colors")
    if kind.name == "STL" and isinstance(shape, Mesh) and needs_float64(shape.vertices):
        names.append(DIGITS)
    las = hasattr(shape.header, "vlrs")
    if not kind.fields or (kind.module == "las" and not las):
        names += [name for name in shape.fields if name.lower() not in STANDARD]
    if las and kind.module != "las" and shape.header.vlrs:
        names.append("LAS records with the coordinate system")
    if las and kind.module == "las":
        names += function(kind, "changed")(shape)
    for part in getattr(shape.header, "elements", ()):
        names.append(f"PLY element {part}")
    width = getattr(shape.header, "width", 0)
    if width and shape.header.height > 1:
        size = width * shape.header.height
        if kind.module != "pcd" or size != len(shape.fields[next(iter(shape.fields))]):
            names.append(f"rows of {width} points")
    placed = isinstance(shape, Cloud) and shape.sensor is not None and bool(shape.sensor.any())
    if placed and kind.module != "pcd":
        names.append("sensor position")
    return names


def _write(path: Path, shape: Cloud | Mesh, encoding: str | None, tell: Tell = quiet) -> None:
    kind = format_of(path, write=True)
    if encoding is not None and encoding not in kind.encodings:
        choices = ", ".join(kind.encodings) or "none: leave it out"
        raise ValueError(f"encoding must be one of {choices} for {path.suffix}, got {encoding!r}")
    if not kind.fields:
        shape = replace(shape, fields={}, header=None)
    write = function(kind, kind.write)
    if kind.stream:
        with replacing(path) as file:
            write(shape, file, tell)
    else:
        write_whole(path, write(shape, encoding))
