"""COLMAP's `points3D.txt` and `points3D.bin`: positions, colours, errors and lengths of tracks."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.arrays import Arrays, from_columns, np
from spoonful.data.clouds.limits import expect
from spoonful.data.clouds.numbers import rows_of, unix_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of each point, before its track: id, position, colour, error, length of the track.
_POINT = np.dtype(
    [("id", "<u8"), ("xyz", "<f8", 3), ("rgb", "u1", 3), ("error", "<f8"), ("track", "<u8")]
)
# An element of a track: an image and a point of it.
_SEEN = 8


def read_text(data: bytes, folder: Path) -> Arrays:
    """Rows `id x y z red green blue error`, each followed by pairs of its track."""
    lines = unix_lines(data).split(b"\n")
    rows = rows_of(b"\n".join(b"" if line.lstrip()[:1] == b"#" else line for line in lines))
    table = rows.first(8)
    return _arrays(table[:, 1:4], table[:, 4:7], table[:, 7], (rows.counts - 8) // 2)


def read_binary(data: bytes, folder: Path) -> Arrays:
    """The number of points, then the points, each followed by its track."""
    expect(8, len(data), "a number of points")
    (count,) = struct.unpack_from("<Q", data)
    expect(count * _POINT.itemsize, len(data) - 8, f"{count} points")
    at, length = 8, struct.Struct("<Q")
    starts = np.empty(count, np.int64)
    for k in range(count):
        starts[k] = at
        expect(_POINT.itemsize, len(data) - at, f"point {k + 1} of {count}")
        (seen,) = length.unpack_from(data, at + _POINT.itemsize - length.size)
        at += _POINT.itemsize + seen * _SEEN
    expect(at, len(data), "tracks")
    raw = np.frombuffer(data, np.uint8)
    table = raw[starts[:, None] + np.arange(_POINT.itemsize)].reshape(-1).view(_POINT)
    return _arrays(table["xyz"], table["rgb"], table["error"], table["track"])


def _arrays(
    xyz: NDArray[Any], rgb: NDArray[Any], error: NDArray[Any], track: NDArray[Any]
) -> Arrays:
    columns = dict(zip("xyz", xyz.T, strict=True))
    colors = rgb.clip(0, 255).astype(np.uint8)
    columns |= dict(zip(("red", "green", "blue"), colors.T, strict=True))
    return from_columns(columns | {"error": error, "track_length": track.astype(np.int64)})
