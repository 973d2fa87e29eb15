"""OBJ, OFF and STL: points and triangles. Names, groups, materials and textures are ignored."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path
from typing import Any

from spoonful.data.clouds.arrays import Arrays, columns_of, np, text_format
from spoonful.data.clouds.limits import expect
from spoonful.data.clouds.numbers import (
    MOST,
    Rows,
    check_corners,
    fans,
    polygons,
    rows_of,
    unix_lines,
    whole,
)
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

_OFF_COUNTS = re.compile(rb"\s*(?:ST)?C?N?OFF\s*(\d+)\s+(\d+)[^\n]*\n")
_STL_CORNER = re.compile(rb"^[ \t]*vertex\b([^\n]*)", re.MULTILINE | re.IGNORECASE)
# Bytes of faces that are cleaned at a time.
_PORTION = 1 << 22


def read_obj(data: bytes, folder: Path) -> Arrays:
    """Vertices with colours, and faces; of a file without faces, vertices with normals."""
    text = _one_statement_a_line(data)
    content = np.frombuffer(text, dtype=np.uint8).copy()
    ends = np.flatnonzero(content == ord("\n"))
    begins = np.append(0, ends[:-1] + 1)
    # The first three characters of each line tell its kind.
    head = [np.take(content, begins + place, mode="clip") for place in range(3)]
    gap = [letters <= ord(" ") for letters in head]
    is_vertex = (head[0] == ord("v")) & gap[1]
    is_normal = (head[0] == ord("v")) & (head[1] == ord("n")) & gap[2]
    is_face = (head[0] == ord("f")) & gap[1]
    content[begins[is_vertex | is_normal | is_face]] = ord(" ")
    content[begins[is_normal] + 1] = ord(" ")
    lengths = ends - begins + 1

    def chosen(kind: Any) -> bytes:
        return content[np.repeat(kind, lengths)].tobytes()

    def lines(kind: Any) -> Any:
        return np.flatnonzero(kind) + 1

    vertices = rows_of(chosen(is_vertex), lines(is_vertex))
    points = vertices.first(3)
    colors = None
    if len(vertices) and np.all((vertices.counts == 6) | (vertices.counts == 7)):
        colors = vertices.table()[:, -3:]
    if is_face.any():
        faces = rows_of(_corners_alone(chosen(is_face)), lines(is_face))
        return Arrays(points, _obj_faces(faces, is_vertex, len(points)), colors=colors)
    normals = rows_of(chosen(is_normal), lines(is_normal))
    if len(normals) == len(points) > 0:
        return Arrays(points, normals=normals.table(3), colors=colors)
    return Arrays(points, colors=colors)


def _one_statement_a_line(data: bytes) -> bytes:
    """The text without comments, carriage returns, indents and broken lines."""
    text = data.replace(b"\r", b" ")
    if b"\\" in text:
        text = re.sub(rb"\\ ?\n", b" ", text)
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    if b"\n " in text or b"\n\t" in text or text[:1] in (b" ", b"\t"):
        text = re.sub(rb"^[ \t]+", b"", text, flags=re.MULTILINE)
    return text + b"\n"


def _corners_alone(text: bytes) -> bytes:
    """Replace all but the first number of each `vertex/texture/normal` by spaces."""
    if b"/" not in text:
        return text
    content = np.frombuffer(text, dtype=np.uint8).copy()
    for start in range(0, len(content), _PORTION):
        # A portion may begin within a word: go back to the space before it.
        begin = max(text.rfind(b" ", 0, start), text.rfind(b"\n", 0, start), 0)
        part = content[begin : start + _PORTION]
        place = np.arange(len(part), dtype=np.int32)
        slash = np.maximum.accumulate(np.where(part == ord("/"), place, -1))
        space = np.maximum.accumulate(np.where(part <= ord(" "), place, -1))
        part[slash > space] = ord(" ")
    return content.tobytes()


def _obj_faces(faces: Rows, is_vertex: Any, count: int) -> Any:
    """Triangles from positions that count from 1, or backwards from the line they stand on."""
    corners = whole(faces.values, faces, -MOST, MOST)
    if (corners == 0).any():
        line = faces.line_of(int(np.flatnonzero(corners == 0)[0]))
        raise ValueError(f"line {line} names vertex 0, but vertices count from 1")
    if (corners < 0).any():
        before = np.cumsum(is_vertex)[faces.lines - 1]
        corners = np.where(corners < 0, corners + np.repeat(before, faces.counts), corners - 1)
    else:
        corners = corners - 1
    return check_corners(fans(corners, faces.counts), count)


def read_off(data: bytes, folder: Path) -> Arrays:
    """Vertices and faces. ModelNet's `OFF490 518 0`, without a line break, is understood."""
    text = re.sub(rb"#[^\n]*", b"", unix_lines(data)).rstrip() + b"\n"
    counts = _OFF_COUNTS.match(text)
    if counts is None:
        raise ValueError("it does not begin with OFF and two counts")
    vertices, faces = (int(count) for count in counts.groups())
    # `0 0 0` and `3 0 1 2` are the shortest lines there can be.
    expect(
        6 * vertices + 8 * faces, len(text) - counts.end(), f"{vertices} vertices and {faces} faces"
    )
    rows = rows_of(text[counts.end() :], text.count(b"\n", 0, counts.end()) + 1)
    if len(rows) < vertices + faces:
        raise ValueError(
            f"it declares {vertices} vertices and {faces} faces, "
            f"but only {len(rows)} lines follow: truncated?"
        )
    points = rows.part(0, vertices).first(3)
    triangles = polygons(rows.part(vertices, vertices + faces), vertices)
    return Arrays(points, triangles if len(triangles) else None)


def read_stl(data: bytes, folder: Path) -> Arrays:
    """Triangles, of a binary file or of text."""
    declared = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    end = 84 + 50 * declared
    if data.lstrip()[:5].lower() == b"solid" and end != len(data):
        if b"endsolid" not in data.lower():
            raise ValueError("it has no endsolid: truncated?")
        found = [*_STL_CORNER.finditer(data)]
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
        lines = np.searchsorted(ends, [match.start(1) for match in found]) + 1
        corners = rows_of(b"".join(match[1] + b"\n" for match in found), lines).table(3)
        if len(corners) % 3:
            raise ValueError(f"it has {len(corners)} corners, not three for each triangle")
    else:
        expect(84, len(data), "an STL header")
        expect(end, len(data), f"{declared} triangles")
        row = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, row, declared, offset=84)["corners"].reshape(-1, 3)
    faces = np.arange(len(corners)).reshape(-1, 3)
    return Arrays(corners, faces if len(faces) else None)


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
