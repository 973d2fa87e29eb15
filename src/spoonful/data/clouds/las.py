"""LAS and LAZ, the formats of airborne scans, by laspy: points with all their dimensions."""

from __future__ import annotations

import copy
import functools
import math
import mmap
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import torch

from spoonful.data.clouds.arrays import Arrays, columns_of, from_columns, np
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.types import Cloud, Mesh, Tell
from spoonful.extras import require

_NORMALS = ("NormalX", "NormalY", "NormalZ")
_PORTION = 1 << 16
# How many layers the parts of a point are compressed in; extra bytes have one each.
_POINT14, _RGB14, _RGBNIR14, _WAVEPACKET14 = 10, 11, 12, 13
_LAYERS = {_POINT14: 9, _RGB14: 1, _RGBNIR14: 2, _WAVEPACKET14: 1}


def read(path: Path, tell: Tell) -> Arrays:
    """Scaled coordinates in float64, colours, and normals kept as CloudCompare keeps them."""
    normals = [name.lower() for name in _NORMALS]
    header, points, columns = _columns(
        path, lambda name: name in ("red", "green", "blue") or name.lower() in normals, tell
    )
    if not any(columns[name].any() for name in ("red", "green", "blue") if name in columns):
        # Formats with room for colours are used for files without.
        columns.pop("red", None)

    def dimensions() -> dict[str, Any]:
        # Read again, so that memory is used only if they are wanted.
        return _columns(path, lambda name: name not in ("X", "Y", "Z"), tell, points=False)[2]

    header.vlrs.extract("LasZipVlr")  # how this file was compressed
    rest = from_columns(dict.fromkeys("xyz", np.zeros(0)) | columns)  # normals and colours
    return replace(rest, vertices=points, fields=dimensions, header=header)


def _columns(
    path: Path, wanted: Callable[[str], bool], tell: Tell, *, points: bool = True
) -> tuple[Any, Any, dict[str, Any]]:
    """The header, the coordinates if they are wanted, and the dimensions that are, by name."""
    laspy = require("laspy", extra="data", why="Reading LAS and LAZ files")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        _check_header(data)
        # One thread, which decompresses only the requested points.
        backend = laspy.LazBackend.Lazrs
        reader = laspy.open(file, laz_backend=backend, read_evlrs=True, closefd=False)
        header = reader.header
        count, row = int(header.point_count), int(header.point_format.size)
        if count and header.are_points_compressed:
            _check_compressed(data, header, file)
            expect_expansion(count * row, len(data), f"{count} points")
        elif count:
            expect(count * row, len(data) - header.offset_to_point_data, f"{count} points")
        names = [*filter(wanted, header.point_format.dimension_names)]
        places = np.empty((count if points else 0, 3))
        columns: dict[str, Any] = {}
        done = 0
        while done < count:
            # In portions, so that a file with a wrong count fails early.
            portion = reader.read_points(min(_PORTION, count - done))
            if len(portion) == 0:
                raise ValueError(f"it declares {count} points, but holds {done}")
            rows = slice(done, done + len(portion))
            for axis, name in enumerate("xyz" if points else ""):
                places[rows, axis] = portion[name]
            for name in names:
                part = np.asarray(portion[name])
                if name not in columns:
                    columns[name] = np.empty((count, *part.shape[1:]), part.dtype)
                columns[name][rows] = part
            done += len(portion)
            tell(done, count)
    return header, places, columns


def _check_header(data: mmap.mmap) -> None:
    """Look at the counts that laspy trusts, at their fixed places in the header."""
    if data[:4] != b"LASF" or len(data) < 227:
        raise ValueError("it does not begin with a LAS header")
    size, start, records = struct.unpack_from("<HII", data, 94)
    expect(start, len(data), "a header and records")
    expect(54 * records, max(0, start - size), f"{records} records before its points")
    if data[25] >= 4 and len(data) >= 247:  # LAS 1.4 has records after its points
        at, more = struct.unpack_from("<QI", data, 235)
        expect(60 * more, max(0, len(data) - at), f"{more} records after its points")


def _check_compressed(data: mmap.mmap, header: Any, file: BinaryIO) -> None:
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
        place = file.tell()
        file.seek(start)
        chunks = len(lazrs.read_chunk_table(file, layout))
        file.seek(place)
    else:
        chunks = -(-header.point_count // layout.chunk_size())
    _check_layers(data, start + 8, table, record, chunks)


def _check_layers(data: mmap.mmap, at: int, end: int, record: bytes, chunks: int) -> None:
    """Point formats 6 and up: a chunk is one plain point, a count, the sizes of its layers, they.

    The sizes are allocated before they are read, gigabytes if they say so.
    """
    (items,) = struct.unpack_from("<H", record, 32)
    kinds = [struct.unpack_from("<HHH", record, 34 + 6 * i) for i in range(items)]
    if all(version < 3 for _, _, version in kinds):
        return
    point = sum(size for _, size, _ in kinds)
    layers = sum(_LAYERS.get(kind, size) for kind, size, _ in kinds)
    for _ in range(chunks):
        sizes_at = at + point + 4
        expect(sizes_at + 4 * layers, end, f"{chunks} chunks of points")
        at = sizes_at + 4 * layers + sum(struct.unpack_from(f"<{layers}I", data, sizes_at))
        expect(at, end, "compressed layers")


def _write(shape: Cloud, file: BinaryIO, tell: Tell, *, compress: bool) -> None:
    """Coordinates in whole steps, a power of ten: over 200 million of them across the cloud."""
    laspy = require("laspy", extra="data", why="Writing LAS and LAZ files")
    bounds = _bounds(shape)
    own = hasattr(shape.header, "vlrs")
    if own:
        header = copy.deepcopy(shape.header)
    else:
        header = laspy.LasHeader(version="1.2", point_format=0 if shape.colors is None else 2)
    if not (own and _fits(bounds, header)):
        header.offsets, header.scales = _steps(bounds, np.max(header.scales) if own else 0.0)
    missing = [name for name in _NORMALS if name not in header.point_format.dimension_names]
    if shape.normals is not None and missing:
        header.add_extra_dims([laspy.ExtraBytesParams(name, "f4") for name in missing])
    backend = laspy.LazBackend.Lazrs
    with laspy.open(
        file, mode="w", header=header, do_compress=compress, laz_backend=backend, closefd=False
    ) as writer:
        for start in range(0, len(shape), _PORTION):
            rows = slice(start, start + _PORTION)
            columns = columns_of(replace(shape, fields={}).select(rows))
            record = laspy.ScaleAwarePointRecord.zeros(len(columns["x"]), header=header)
            if own:
                for name, column in shape.fields.items():
                    record[name] = column[rows]
            for name in "xyz":
                record[name] = columns[name].astype(np.float64)
            for name, normal in zip(("nx", "ny", "nz"), _NORMALS, strict=True):
                if name in columns:
                    record[normal] = columns[name].astype(np.float32)
            for name in ("red", "green", "blue"):
                if name in columns and not own:
                    record[name] = columns[name].astype(np.uint16) * 257
            writer.write_points(record)
            tell(min(start + _PORTION, len(shape)), len(shape))


write_las = functools.partial(_write, compress=False)
write_laz = functools.partial(_write, compress=True)


def changed(shape: Cloud | Mesh) -> list[str]:
    """The parts of a LAS header that cannot be kept because the points were moved too far."""
    if not hasattr(shape.header, "vlrs") or not isinstance(shape, Cloud):
        return []
    return [] if _fits(_bounds(shape), shape.header) else ["offset of LAS coordinates"]


def _bounds(shape: Cloud) -> Any:
    """(2, 3) float64, the least and the largest coordinates."""
    return torch.stack([*shape.points.aminmax(dim=0)]).double().cpu().numpy()


def _fits(bounds: Any, header: Any) -> bool:
    """True if all coordinates are whole numbers of 32 bits in the header's steps."""
    steps = (bounds - header.offsets) / header.scales
    return bool(np.abs(steps).max() < 2**31 - 1)


def _steps(bounds: Any, least: float) -> tuple[Any, Any]:
    """An offset and scales, `least` or a power of ten, that hold all points."""
    extent = float((bounds[1] - bounds[0]).max())
    finest = 10.0 ** math.ceil(math.log10(max(extent, 1e-12) / (2**31 - 1)))
    return bounds[0], np.full(3, max(finest, least))
