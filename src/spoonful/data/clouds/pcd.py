"""PCD, the format of PCL: points with all their fields. pypcd4 reads it."""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from spoonful.data.clouds.arrays import Arrays, columns_of, from_columns, np, text_format
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.splats import quaternion_product
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require
from spoonful.geometry import Pose

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    if len(rows) != points:
        raise ValueError(f"it declares {points} points, but holds {len(rows)}")
    about = cloud.metadata
    if about.width * about.height != points:
        raise ValueError(f"it declares {points} points, but {about.width} x {about.height}")
    # pypcd4 gives padding, which PCD calls `_`, a name that begins with `#`.
    columns = {name: rows[name] for name in rows.dtype.names if not name.startswith("#")}
    found = from_columns(columns | _colors(columns, pypcd4))
    known = np.isfinite(about.viewpoint).all()
    viewpoint = tuple(about.viewpoint) if known else NO_VIEWPOINT
    grid = Grid(about.width, about.height, viewpoint)
    sensor = None if viewpoint == NO_VIEWPOINT else viewpoint[:3]
    return replace(found, fields=lambda: columns, header=grid, sensor=sensor)


NO_VIEWPOINT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class Grid(NamedTuple):
    """The rows and columns of an organised cloud, and the pose of the sensor.

    The viewpoint has the sensor's place and a quaternion, the real part first. The default stands
    in files without this information, so it is not moved with the points.
    """

    width: int
    height: int
    viewpoint: tuple[float, ...] = NO_VIEWPOINT

    def moved(self, pose: Pose, turn: tuple[float, ...], scale: float = 1.0) -> Grid:
        """The same for points that are scaled, then moved; `turn` is the pose's quaternion."""
        if self.viewpoint == NO_VIEWPOINT:
            return self
        place = pose.apply(scale * torch.tensor([self.viewpoint[:3]], dtype=torch.float64))[0]
        turned = np.array(quaternion_product(turn, self.viewpoint[3:]))
        turned /= math.copysign(np.linalg.norm(turned) or 1.0, turned[0])
        return self._replace(viewpoint=(*place.tolist(), *turned.tolist()))


def _colors(columns: Mapping[str, NDArray[Any]], pypcd4: Any) -> dict[str, NDArray[Any]]:
    """The colours that are packed in one field, by red, green, blue."""
    for name in ("rgb", "rgba"):
        if name in columns and columns[name].dtype.itemsize == 4:
            rgb = pypcd4.PointCloud.decode_rgb(np.ascontiguousarray(columns[name]))
            return dict(zip(("red", "green", "blue"), rgb.T, strict=True))
    return {}


def _check(data: bytes, pypcd4: Any) -> int:
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
    header = pypcd4.MetaData.parse_header(lines)
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
    encoding = encoding or "binary"
    columns = columns_of(shape)
    if shape.colors is not None:
        columns = _packed(columns, shape)
    columns = {f"normal_{n[1]}" if n in ("nx", "ny", "nz") else n: c for n, c in columns.items()}
    names: list[str] = []
    counts: list[int] = []
    for name in columns:
        # pypcd4 reads a field of several numbers as q__0000, q__0001 and so on.
        part = re.fullmatch(r"(.+)__(\d{4})", name)
        if part and int(part[2]) and names and names[-1] == part[1]:
            counts[-1] += 1
        else:
            names.append(part[1] if part else name)
            counts.append(1)
    kinds = [c.dtype for name, c in columns.items() if not re.search(r"__(?!0000)\d{4}$", name)]
    count = len(next(iter(columns.values())))
    grid = shape.header if isinstance(shape.header, Grid) else Grid(count, 1)
    if grid.width * grid.height != count:
        grid = grid._replace(width=count, height=1)
    if grid.viewpoint == NO_VIEWPOINT and isinstance(shape, Cloud) and shape.sensor is not None:
        grid = grid._replace(viewpoint=(*shape.sensor.tolist(), 1.0, 0.0, 0.0, 0.0))
    rows = np.empty(count, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    body = rows.tobytes()
    if encoding == "binary_compressed":
        lzf = require("lzf", extra="data", why="Compressing PCD files")
        whole = b"".join(np.ascontiguousarray(column).tobytes() for column in columns.values())
        packed = lzf.compress(whole)
        if packed is None:  # it would not become smaller
            encoding = "binary"
        else:
            body = struct.pack("<II", len(packed), len(whole)) + packed
    elif encoding == "ascii":
        out = io.BytesIO()
        np.savetxt(out, rows, fmt=[text_format(column.dtype) for column in columns.values()])
        body = out.getvalue()
    letters = {"f": "F", "i": "I", "u": "U", "b": "U"}
    header = (
        "VERSION 0.7",
        f"FIELDS {' '.join(names)}",
        f"SIZE {' '.join(str(kind.itemsize) for kind in kinds)}",
        f"TYPE {' '.join(letters[kind.kind] for kind in kinds)}",
        f"COUNT {' '.join(map(str, counts))}",
        f"WIDTH {grid.width}",
        f"HEIGHT {grid.height}",
        f"VIEWPOINT {' '.join(f'{number:.17g}' for number in grid.viewpoint)}",
        f"POINTS {count}",
        f"DATA {encoding}",
    )
    return "".join(f"{line}\n" for line in header).encode() + body


def _packed(columns: dict[str, NDArray[Any]], shape: Cloud | Mesh) -> dict[str, NDArray[Any]]:
    """Colours in one field, as the file had them, or as an integer."""
    kept = {n: c for n, c in columns.items() if n not in ("red", "green", "blue")}
    if "rgb" in shape.fields or "rgba" in shape.fields:
        return kept
    red, green, blue = (columns[name].astype(np.uint32) for name in ("red", "green", "blue"))
    # As an integer: packed into a float, as PCL did first, it does not survive as text.
    return kept | {"rgb": red << 16 | green << 8 | blue}
