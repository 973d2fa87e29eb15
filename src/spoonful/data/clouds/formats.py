"""The formats of files by their extension, and the modules that read and write them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from spoonful.data.clouds.types import CloudFileError


@dataclass(frozen=True)
class Format:
    """One format of files.

    Attributes:
        name: the name of the format in messages.
        module: the module of its reader and writer; imported when the first such file is met.
        read: name of a function `(data, folder) -> Arrays` there.
        write: name of a function `(shape, encoding) -> bytes` there; "" if it is only read.
        encodings: the values of `write_cloud(..., encoding=)`, the default first.
        meshes: it has triangles.
        normals: its points have normals.
        colors: its points have colours.
        fields: its points have any other columns.
        magic: the first bytes of its files, if they are always the same.
    """

    name: str
    module: str
    read: str = "read"
    write: str = "write"
    encodings: tuple[str, ...] = ()
    meshes: bool = False
    normals: bool = True
    colors: bool = True
    fields: bool = False
    magic: bytes = b""


_TEXT = Format("text", "tables", "read_text", "write_text")
_PLY = ("binary_little_endian", "binary_big_endian", "ascii")
_PCD = ("binary", "binary_compressed", "ascii")
FORMATS = {
    ".ply": Format("PLY", "ply", encodings=_PLY, meshes=True, fields=True, magic=b"ply"),
    ".pcd": Format("PCD", "pcd", encodings=_PCD, fields=True),
    ".las": Format("LAS", "las", "read", "write_las", fields=True, magic=b"LASF"),
    ".laz": Format("LAZ", "las", "read", "write_laz", fields=True, magic=b"LASF"),
    ".e57": Format("E57", "e57", write="", magic=b"ASTM-E57"),
    ".pts": Format("PTS", "scanners", "read_pts", ""),
    ".ptx": Format("PTX", "scanners", "read_ptx", ""),
    ".xyz": _TEXT,
    ".txt": _TEXT,
    ".asc": _TEXT,
    ".csv": Format("CSV", "tables", "read_text", "write_csv", fields=True),
    ".npy": Format("NPY", "tables", "read_npy", "write_npy", colors=False, magic=b"\x93NUMPY"),
    ".npz": Format("NPZ", "tables", "read_npz", "write_npz", magic=b"PK"),
    ".obj": Format("OBJ", "meshes", "read_obj", "write_obj", meshes=True),
    ".off": Format(
        "OFF", "meshes", "read_off", "write_off",
        meshes=True, normals=False, colors=False, magic=b"OFF",
    ),
    ".stl": Format(
        "STL", "meshes", "read_stl", "write_stl", meshes=True, normals=False, colors=False
    ),
    ".gltf": Format("glTF", "gltf", "read_gltf", "write_gltf", meshes=True, normals=False),
    ".glb": Format(
        "GLB", "gltf", "read_glb", "write_glb", meshes=True, normals=False, magic=b"glTF"
    ),
}  # fmt: skip
# Files whose whole name, with anything before it, says what they are.
_NAMED = {
    "points3d.txt": Format("COLMAP", "colmap", "read_text", "", normals=False),
    "points3d.bin": Format("COLMAP", "colmap", "read_binary", "", normals=False),
}
# Formats that are not read, and what their own programs can export instead.
_EXPORTS = {
    "export it as E57 or PTS from Autodesk ReCap": (".rcp", ".rcs"),
    "export it as E57 from the scanner's software": (
        ".fls", ".fws", ".lsproj", ".zfs", ".zfprj", ".rdbx", ".rxp", ".rsp", ".clr", ".lgs",
    ),
    "save it as PLY or LAS in CloudCompare, or name it points3D.bin if it is COLMAP's": (".bin",),
    "export it as glTF, OBJ or PLY": (".fbx", ".dae", ".3ds", ".3mf", ".usd", ".usdz", ".blend"),
    "export a mesh of it as STL or OBJ": (".step", ".stp", ".iges", ".igs", ".sldprt", ".ipt"),
    "export its frames as PCD or PLY": (".pcap", ".bag", ".db3", ".mcap"),
    "unpack it first": (".gz", ".zip", ".7z", ".bz2", ".xz", ".tar", ".rar", ".zst"),
    "convert it to PLY or LAS first": (".drc", ".copc", ".ept", ".h5", ".hdf5", ".vtk", ".vtp"),
}  # fmt: skip


def format_of(path: PurePath, *, write: bool = False) -> Format:
    """The format of a file, by its extension; that of COLMAP's points by its name.

    Args:
        path: the file.
        write: the file is to be written.

    Raises:
        CloudFileError: the format is not known, or not written; the message says what to do.
    """
    suffix = path.suffix.lower()
    named = next((kind for name, kind in _NAMED.items() if path.name.lower().endswith(name)), None)
    if named is None and suffix not in FORMATS:
        ending = repr(path.suffix) if path.suffix else "a name without extension"
        advice = next((text for text, those in _EXPORTS.items() if suffix in those), "")
        advice = f"; {advice}" if advice else ""
        raise CloudFileError(
            f"{path}: cannot tell the format from {ending}{advice}; known are {', '.join(FORMATS)}"
        )
    kind = named or FORMATS[suffix]
    if write and not kind.write:
        written = ", ".join(name for name, kind in FORMATS.items() if kind.write)
        raise CloudFileError(f"{path}: {kind.name} is read but not written; choose {written}")
    return kind


def function(kind: Format, name: str) -> Any:
    """A format's reader or writer; its module is imported when it is first needed."""
    return getattr(importlib.import_module(f"spoonful.data.clouds.{kind.module}"), name)
