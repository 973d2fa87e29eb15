"""PCD, the format of PCL: read and written by pypcd4."""

from __future__ import annotations

import io
import struct
from pathlib import Path

from spoonful.data.clouds.arrays import Arrays, columns_of, from_columns, np, text_format
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

# The longest descriptors in use have some hundreds of numbers for each point.
_MAX_NUMBERS = 4096


def read(data: bytes, folder: Path) -> Arrays:
    """Points with normals (`normal_x` or `nx`) and colours (`rgb`, packed, or `r g b`)."""
    pypcd4 = require("pypcd4", extra="data", why="Reading PCD files")
    points = _check(data, pypcd4)
    if points == 0:
        return Arrays(np.zeros((0, 3)))
    cloud = pypcd4.PointCloud.from_fileobj(io.BytesIO(data))
    rows = np.atleast_1d(cloud.pc_data)
    if len(rows) < points:
        raise ValueError(f"it declares {points} points, but holds {len(rows)}: truncated?")
    columns = {name: rows[name] for name in rows.dtype.names}
    for packed in ("rgb", "rgba"):
        if packed in columns and columns[packed].dtype.itemsize == 4:
            bits = np.ascontiguousarray(columns.pop(packed))
            rgb = pypcd4.PointCloud.decode_rgb(bits)
            columns |= dict(zip(("red", "green", "blue"), rgb.T, strict=True))
    return from_columns(columns)


def _check(data: bytes, pypcd4: object) -> int:
    """Compare what the header declares with the file's length; the number of points."""
    stream = io.BytesIO(data)
    lines: list[str] = []
    for raw in stream:
        line = raw.decode("utf-8", "replace").strip()
        if line and not line.startswith("#"):
            lines.append(line)
        if line.startswith("DATA") or len(lines) >= 10:
            break
    if not lines or not lines[-1].startswith("DATA"):
        raise ValueError("it does not begin with a PCD header")
    if "POINTS 0" in lines:
        # Which older versions of pypcd4 call invalid.
        return 0
    header = pypcd4.MetaData.parse_header(lines)  # type: ignore[attr-defined]
    if not len(header.fields) == len(header.size) == len(header.type) == len(header.count):
        raise ValueError("its header has lines FIELDS, SIZE, TYPE, COUNT of different lengths")
    numbers = sum(header.count)
    if numbers > _MAX_NUMBERS:
        raise ValueError(f"it declares {numbers} numbers for each point")
    points, left = int(header.points), len(data) - stream.tell()
    row = sum(size * count for size, count in zip(header.size, header.count, strict=True))
    what = f"{points} points"
    if header.data.value == "ascii":
        expect(points * 2 * numbers - 1, left, what)
    elif header.data.value == "binary":
        expect(points * row, left, what)
    else:
        expect(8, left, what)
        packed, unpacked = struct.unpack("=II", stream.read(8))
        expect(packed, left - 8, f"{packed} compressed bytes")
        expect_expansion(unpacked, packed, "its points")
        if unpacked != points * row:
            raise ValueError(f"it declares {what}, {points * row} bytes, but holds {unpacked}")
    return points


def write(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """`F 8` coordinates for float64, `F 4` for float32; `normal_x` ..., `rgb` packed."""
    pypcd4 = require("pypcd4", extra="data", why="Writing PCD files")
    columns = columns_of(shape)
    if "red" in columns:
        rgb = np.stack([columns.pop(name) for name in ("red", "green", "blue")], axis=-1)
        # As an integer: packed into a float, as PCL did first, it does not survive as text.
        columns["rgb"] = pypcd4.PointCloud.encode_rgb(rgb).view(np.uint32)
    names = [f"normal_{name[1]}" if name in ("nx", "ny", "nz") else name for name in columns]
    cloud = pypcd4.PointCloud.from_points(
        list(columns.values()), names, [column.dtype for column in columns.values()]
    )
    how = pypcd4.Encoding(encoding or "binary")
    out = io.BytesIO()
    cloud.save(out, encoding=how)
    if how == pypcd4.Encoding.ASCII:
        # pypcd4 writes ten decimals, which is not enough for small float32 clouds.
        out.truncate(out.seek(out.getvalue().index(b"DATA ascii\n") + len(b"DATA ascii\n")))
        np.savetxt(out, cloud.pc_data, fmt=[text_format(c.dtype) for c in columns.values()])
    return out.getvalue()
