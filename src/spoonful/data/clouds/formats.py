"""Which extension is which format, and where its reader and writer are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from spoonful.data.clouds.types import CloudFileError


@dataclass(frozen=True)
class Format:
    """How one kind of file is read and written.

    Attributes:
        name: what its files are called in messages.
        module: where its reader and writer are; imported when the first such file is met.
        read: name of a function `(data, folder) -> Arrays` there.
        write: name of a function `(shape, encoding) -> bytes` there.
        encodings: what `write_cloud(..., encoding=)` may say, the default first.
        meshes: whether it has triangles.
        magic: how its files begin, where they all do.
    """

    name: str
    module: str
    read: str = "read"
    write: str = "write"
    encodings: tuple[str, ...] = ()
    meshes: bool = False
    magic: bytes = b""


_TEXT = Format("text", "tables", "read_text", "write_text")
FORMATS = {
    ".ply": Format(
        "PLY",
        "ply",
        encodings=("binary_little_endian", "binary_big_endian", "ascii"),
        meshes=True,
        magic=b"ply",
    ),
    ".pcd": Format("PCD", "pcd", encodings=("binary", "binary_compressed", "ascii")),
    ".obj": Format("OBJ", "meshes", "read_obj", "write_obj", meshes=True),
    ".off": Format("OFF", "meshes", "read_off", "write_off", meshes=True, magic=b"OFF"),
    ".stl": Format("STL", "meshes", "read_stl", "write_stl", meshes=True),
    ".xyz": _TEXT,
    ".txt": _TEXT,
    ".csv": Format("CSV", "tables", "read_text", "write_csv"),
    ".npy": Format("NPY", "tables", "read_npy", "write_npy", magic=b"\x93NUMPY"),
    ".npz": Format("NPZ", "tables", "read_npz", "write_npz", magic=b"PK"),
    ".las": Format("LAS", "las", "read", "write_las", magic=b"LASF"),
    ".laz": Format("LAZ", "las", "read", "write_laz", magic=b"LASF"),
    ".gltf": Format("glTF", "gltf", "read_gltf", "write_gltf", meshes=True),
    ".glb": Format("GLB", "gltf", "read_glb", "write_glb", meshes=True, magic=b"glTF"),
}


def format_of(path: PurePath) -> Format:
    """The format of a file, by its extension."""
    if path.suffix.lower() not in FORMATS:
        ending = repr(path.suffix) if path.suffix else "a name without extension"
        raise CloudFileError(
            f"{path}: cannot tell the format from {ending}; known are {', '.join(FORMATS)}"
        )
    return FORMATS[path.suffix.lower()]


def function(kind: Format, name: str) -> Any:
    """A format's reader or writer, from its module: nothing is imported that is not used."""
    return getattr(importlib.import_module(f"spoonful.data.clouds.{kind.module}"), name)
