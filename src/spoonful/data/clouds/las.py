"""LAS and LAZ, the formats of airborne scans, by laspy: points with all their dimensions."""

from __future__ import annotations

import copy
import io
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from spoonful.data.clouds.arrays import Arrays, columns_of, from_columns, np
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

_NORMALS = ("NormalX", "NormalY", "NormalZ")
_PORTION = 1 << 16
# How many layers the parts of a point are compressed in; extra bytes have one each.
_POINT14, _RGB14, _RGBNIR14, _WAVEPACKET14 = 10, 11, 12, 13
_LAYERS = {_POINT14: 9, _RGB14: 1, _RGBNIR14: 2, _WAVEPACKET14: 1}


def read(data: bytes, folder: Path) -> Arrays:
    """Scaled coordinates in float64, colours, and normals kept as CloudCompare keeps them."""
    _check_header(data)
    normals = [name.lower() for name in _NORMALS]
    header, columns = _columns(
        data, lambda name: name in ("red", "green", "blue") or name.lower() in normals, "xyz"
    )
    if not columns:
        return Arrays(np.zeros((0, 3)))
    if not any(columns[name].any() for name in ("red", "green", "blue") if name in columns):
        # Formats with room for colours are used for files without.
        columns.pop("red", None)

    def dimensions() -> dict[str, Any]:
        # Read again, so that memory is used only if they are wanted.
        return _columns(data, lambda name: name not in ("X", "Y", "Z"))[1]

    header.vlrs.extract("LasZipVlr")  # how this file was compressed
    return replace(from_columns(columns), fields=dimensions, header=header)


def _columns(
    data: bytes, wanted: Callable[[str], bool], more: Iterable[str] = ()
) -> tuple[Any, dict[str, Any]]:
    """The header, and the dimensions that are wanted, by name; none if there are no points."""
    laspy = require("laspy", extra="data", why="Reading LAS and LAZ files")
    # One thread, which decompresses no more than it is asked for.
    with laspy.open(
        io.BytesIO(data), laz_backend=laspy.LazBackend.Lazrs, read_evlrs=True
    ) as reader:
        header = reader.header
        count, row = int(header.point_count), int(header.point_format.size)
        if count == 0:
            return header, {}
        if header.are_points_compressed:
            _check_compressed(data, header)
            expect_expansion(count * row, len(data), f"{count} points")
        else:
            expect(count * row, len(data) - header.offset_to_point_data, f"{count} points")
        names = [*more, *filter(wanted, header.point_format.dimension_names)]
        parts: dict[str, list[Any]] = {name: [] for name in names}
        left = count
        while left > 0:
            # In portions, so that a file with a wrong count fails early.
            portion = reader.read_points(min(_PORTION, left))
            if len(portion) == 0:
                raise ValueError(f"it declares {count} points, but holds {count - left}")
            left -= len(portion)
            for name, column in parts.items():
                column.append(np.array(portion[name]))
    return header, {name: np.concatenate(column) for name, column in parts.items()}


def _check_header(data: bytes) -> None:
    """Look at the counts that laspy trusts, at their fixed places in the header."""
    if data[:4] != b"LASF" or len(data) < 227:
        raise ValueError("it does not begin with a LAS header")
    size, start, records = struct.unpack_from("<HII", data, 94)
    expect(start, len(data), "a header and records")
    expect(54 * records, max(0, start - size), f"{records} records before its points")
    if data[25] >= 4 and len(data) >= 247:  # LAS 1.4 has records after its points
        at, more = struct.unpack_from("<QI", data, 235)
        expect(60 * more, max(0, len(data) - at), f"{more} records after its points")


def _check_compressed(data: bytes, header: Any) -> None:
    """Look at what the decompressor trusts: sizes of points, of the chunk table, of layers."""
    lazrs = require("lazrs", extra="data", why="Reading LAZ files")
    records = header.vlrs.get("LasZipVlr")
    if not records:
        raise ValueError("its points are compressed, but it does not say how")
    record = bytes(records[0].record_data)
    layout = lazrs.LazVlr(record)
    if layout.item_size() != header.point_format.size:
        raise ValueError(
            f"its points have {header.point_format.size} bytes, and {layout.item_size()} unpacked"
        )
    start = header.offset_to_point_data
    expect(8, len(data) - start, "the place of a table of chunks")
    (table,) = struct.unpack_from("<q", data, start)
    if table == -1:
        # Written to a stream: the place is at the very end.
        (table,) = struct.unpack_from("<q", data, len(data) - 8)
    if not start + 8 <= table <= len(data) - 8:
        raise ValueError("its table of chunks is not within the file: truncated?")
    _, chunks = struct.unpack_from("<II", data, table)
    expect(chunks, table - start - 8, f"{chunks} chunks of points")
    if layout.uses_variable_size_chunks():
        stream = io.BytesIO(data)
        stream.seek(start)
        chunks = len(lazrs.read_chunk_table(stream, layout))
    else:
        chunks = -(-header.point_count // layout.chunk_size())
    _check_layers(data[start + 8 : table], record, chunks)


def _check_layers(packed: bytes, record: bytes, chunks: int) -> None:
    """Point formats 6 and up: a chunk is one plain point, a count, the sizes of its layers, they.

    The sizes are allocated before they are read, gigabytes if they say so.
    """
    (items,) = struct.unpack_from("<H", record, 32)
    kinds = [struct.unpack_from("<HHH", record, 34 + 6 * i) for i in range(items)]
    if all(version < 3 for _, _, version in kinds):
        return
    point = sum(size for _, size, _ in kinds)
    layers = sum(_LAYERS.get(kind, size) for kind, size, _ in kinds)
    at = 0
    for _ in range(chunks):
        sizes_at = at + point + 4
        expect(sizes_at + 4 * layers, len(packed), f"{chunks} chunks of points")
        at = sizes_at + 4 * layers + sum(struct.unpack_from(f"<{layers}I", packed, sizes_at))
        expect(at, len(packed), "compressed layers")


def write_las(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Coordinates in whole steps, a power of ten: over 200 million of them across the cloud."""
    return _write(shape, compress=False)


def write_laz(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """The same, compressed."""
    return _write(shape, compress=True)


def _write(shape: Cloud | Mesh, *, compress: bool) -> bytes:
    laspy = require("laspy", extra="data", why="Writing LAS and LAZ files")
    columns = columns_of(replace(shape, fields={}))
    points = np.stack([columns[name] for name in "xyz"], axis=-1).astype(np.float64)
    own = hasattr(shape.header, "vlrs")
    header = copy.deepcopy(shape.header) if own else _new_header(laspy, points, "red" in columns)
    if own and not _fits(points, header):
        header.offsets, header.scales = _steps(points, np.max(header.scales))
    missing = [name for name in _NORMALS if name not in header.point_format.dimension_names]
    if "nx" in columns and missing:
        header.add_extra_dims([laspy.ExtraBytesParams(name, "f4") for name in missing])
    record = laspy.LasData(header, laspy.ScaleAwarePointRecord.zeros(len(points), header=header))
    if own:
        for name, column in shape.fields.items():
            record[name] = column
    record.x, record.y, record.z = points.T
    for name, normal in zip(("nx", "ny", "nz"), _NORMALS, strict=True):
        if name in columns:
            record[normal] = columns[name].astype(np.float32)
    for name in ("red", "green", "blue"):
        if name in columns and not own:
            record[name] = columns[name].astype(np.uint16) * 257
    out = io.BytesIO()
    record.write(out, do_compress=compress, laz_backend=laspy.LazBackend.Lazrs)
    return out.getvalue()


def changed(shape: Cloud | Mesh) -> list[str]:
    """The parts of a LAS header that cannot be kept because the points were moved too far."""
    if not hasattr(shape.header, "vlrs") or not isinstance(shape, Cloud):
        return []
    points = shape.points.double().cpu().numpy()
    return [] if _fits(points, shape.header) else ["offset of LAS coordinates"]


def _new_header(laspy: Any, points: Any, colors: bool) -> Any:
    header = laspy.LasHeader(version="1.2", point_format=2 if colors else 0)
    header.offsets, header.scales = _steps(points)
    return header


def _fits(points: Any, header: Any) -> bool:
    """True if all coordinates are whole numbers of 32 bits in the header's steps."""
    steps = (points - header.offsets) / header.scales
    return bool(np.abs(steps).max() < 2**31 - 1)


def _steps(points: Any, least: float = 0.0) -> tuple[Any, Any]:
    """An offset and scales, `least` or a power of ten, that hold all points."""
    low = points.min(axis=0)
    extent = float((points - low).max())
    finest = 10.0 ** math.ceil(math.log10(max(extent, 1e-12) / (2**31 - 1)))
    return low, np.full(3, max(finest, least))
