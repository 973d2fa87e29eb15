"""OBJ, OFF and STL: read by trimesh, from the lines that describe points and triangles.

Names, groups, materials and comments are left out before trimesh sees a file: a cloud does not
need them, and the time and memory they can be made to cost grow with their square.
"""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

from spoonful.data.clouds.arrays import Arrays, columns_of, from_trimesh, np, text_format
from spoonful.data.clouds.limits import expect
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

_OBJ_LINE = re.compile(rb"^[ \t]*((?:vn?|f)[ \t][^\n]*)", re.MULTILINE)
_OFF_COUNTS = re.compile(r"\s*(?:ST)?C?N?OFF\s*(\d+)\s+(\d+)[^\n]*\n")
_STL_FRAME = re.compile(
    rb"^[ \t]*(?:solid|endsolid|facet|endfacet)\b[^\n]*", re.MULTILINE | re.IGNORECASE
)


def read_obj(data: bytes, folder: Path) -> Arrays:
    """Vertices and faces; of a file without faces, vertices with normals and colours."""
    load = require("trimesh.exchange.obj", extra="data", why="Reading OBJ files").load_obj
    lines = _OBJ_LINE.findall(re.sub(rb"\\\r?\n", b" ", data))
    backwards = False
    for i, line in enumerate(lines):
        if line[:1] == b"f":
            # 7/3/5 is vertex/texture/normal.
            lines[i] = re.sub(rb"/\S*", b"", line)
            backwards = backwards or b"-" in lines[i]
        elif backwards and line[1:2] != b"n":
            # Backwards is from the line they stand on; trimesh counts from the last vertex.
            raise ValueError("its faces count vertices backwards, amid the vertices")
    text = b"\n".join(lines).decode("ascii", "replace")
    return from_trimesh(load(io.StringIO(text), skip_materials=True))


def read_off(data: bytes, folder: Path) -> Arrays:
    """Vertices and faces. ModelNet's `OFF490 518 0`, without a line break, is understood."""
    load = require("trimesh.exchange.off", extra="data", why="Reading OFF files").load_off
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    text = re.sub(r"#[^\n]*", "", text).strip() + "\n"
    counts = _OFF_COUNTS.match(text)
    if counts is None:
        raise ValueError("it does not begin with OFF and two counts")
    vertices, faces = (int(count) for count in counts.groups())
    # `0 0 0` and `3 0 1 2` are the shortest lines there can be.
    expect(
        6 * vertices + 8 * faces, len(text) - counts.end(), f"{vertices} vertices and {faces} faces"
    )
    rows = sum(1 for _ in re.finditer(r"\S[^\n]*", text[counts.end() :]))
    if rows < vertices + faces:
        raise ValueError(
            f"it declares {vertices} vertices and {faces} faces, "
            f"but only {rows} lines follow: truncated?"
        )
    return from_trimesh(load(io.StringIO(text)))


def read_stl(data: bytes, folder: Path) -> Arrays:
    """Triangles, of a binary file or of text."""
    load = require("trimesh.exchange.stl", extra="data", why="Reading STL files").load_stl
    declared = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    end = 84 + 50 * declared
    if data.lstrip()[:5].lower() == b"solid" and end != len(data):
        if b"endsolid" not in data.lower():
            raise ValueError("it has no endsolid: truncated?")
        # Without normals, which follow from the corners: trimesh logs those it cannot read.
        body = re.sub(rb"normal", b"", _STL_FRAME.sub(b"", data), flags=re.IGNORECASE)
        body = body.decode("utf-8", "replace").encode("ascii", "replace")
        data = b"solid\n" + body + b"\nendsolid\n"
    else:
        expect(84, len(data), "an STL header")
        expect(end, len(data), f"{declared} triangles")
        data = data[:end]
    return from_trimesh(load(io.BytesIO(data)))


def write_obj(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """`v x y z`, with `r g b` as fractions after it and `vn` lines where they are known."""
    columns = columns_of(shape)
    number = text_format(columns["x"].dtype)
    vertices = [columns[name] for name in "xyz"]
    if "red" in columns:
        vertices += [columns[name] / 255.0 for name in ("red", "green", "blue")]
    out = io.BytesIO()
    row = f"v {number} {number} {number}" + " %.6f" * (len(vertices) - 3)
    np.savetxt(out, np.stack(vertices, axis=-1), fmt=row)
    if "nx" in columns:
        normals = np.stack([columns[name] for name in ("nx", "ny", "nz")], axis=-1)
        np.savetxt(out, normals, fmt=f"vn {number} {number} {number}")
    if isinstance(shape, Mesh):
        np.savetxt(out, shape.faces.cpu().numpy() + 1, fmt="f %d %d %d")
    return out.getvalue()


def write_off(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Positions and faces; the format has nothing else."""
    columns = columns_of(shape)
    faces = shape.faces.cpu().numpy() if isinstance(shape, Mesh) else np.zeros((0, 3), dtype=int)
    out = io.BytesIO(b"OFF\n%d %d 0\n" % (len(columns["x"]), len(faces)))
    out.seek(0, io.SEEK_END)
    vertices = np.stack([columns[name] for name in "xyz"], axis=-1)
    np.savetxt(out, vertices, fmt=text_format(vertices.dtype))
    np.savetxt(out, faces, fmt="3 %d %d %d")
    return out.getvalue()


def write_stl(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Binary triangles in float32, which is all the format has."""
    if isinstance(shape, Cloud):
        raise ValueError("STL holds triangles, not points: choose another format, such as .ply")
    trimesh = require("trimesh", extra="data", why="Writing STL files")
    mesh = trimesh.Trimesh(shape.vertices.cpu().numpy(), shape.faces.cpu().numpy(), process=False)
    return bytes(trimesh.exchange.stl.export_stl(mesh))
