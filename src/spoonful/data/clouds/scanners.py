"""PTS and PTX, the text formats of terrestrial laser scanners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.arrays import Arrays, from_columns, np
from spoonful.data.clouds.numbers import MOST, Rows, rows_of, unix_lines, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = ("x", "y", "z", "intensity", "red", "green", "blue")
# A PTX scan begins with two counts, the scanner's place, its three axes and a 4x4 matrix.
_PTX_HEAD = 10


def read_pts(data: bytes, folder: Path) -> Arrays:
    """Rows `x y z`, with `intensity`, colours or both after them, under lines with their count."""
    rows = rows_of(unix_lines(data))
    parts, at = [], 0
    while at < len(rows):
        if rows.counts[at] == 1:
            count = _count(rows, at)
            at += 1
        else:
            count = len(rows) - at  # some programs leave the count out
        parts += _points(rows, at, count)
        at += count
    return _joined(parts)


def read_ptx(data: bytes, folder: Path) -> Arrays:
    """The points of all scans, each moved by its own matrix; empty pixels are left out."""
    rows = rows_of(unix_lines(data))
    parts, scanners, at = [], [], 0
    while at < len(rows):
        if len(rows) - at < _PTX_HEAD:
            raise ValueError(f"line {rows.lines[at]} begins a scan that has no header: truncated?")
        count = _count(rows, at) * _count(rows, at + 1)
        matrix = rows.part(at + 6, at + _PTX_HEAD).table(4)
        scanners.append(matrix[3, :3].tolist())  # at the origin of a scan's own coordinates
        at += _PTX_HEAD
        for table in _points(rows, at, count):
            table = table[(table[:, :3] != 0).any(axis=1)]
            # Points are rows here, and the matrix has its translation in the last row.
            moved = table[:, :3] @ matrix[:3, :3] + matrix[3, :3]
            parts.append(np.concatenate([moved, table[:, 3:]], axis=1))
        at += count
    return replace(_joined(parts), sensor=scanners[0] if len(scanners) == 1 else None)


def _count(rows: Rows, at: int) -> int:
    """The one number of a row that holds a count."""
    if rows.counts[at] != 1:
        raise ValueError(f"line {rows.lines[at]} has {rows.counts[at]} numbers, not a count")
    place = rows.starts[at : at + 1]
    return int(whole(rows.values[place], rows, 0, MOST, place)[0])


def _points(rows: Rows, at: int, count: int) -> list[NDArray[Any]]:
    """The `count` rows from `at` as one table; an empty list if there are none."""
    if count > len(rows) - at:
        raise ValueError(
            f"it declares {count} points, but only {len(rows) - at} follow: truncated?"
        )
    return [rows.part(at, at + count).table()] if count else []


def _joined(parts: list[NDArray[Any]]) -> Arrays:
    """Columns by name, as far as all parts have them."""
    if not parts:
        return Arrays(np.zeros((0, 3)))
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1 or not widths <= {3, 4, 6, 7}:
        raise ValueError(f"it has rows of {min(widths)} to {max(widths)} numbers, not 3, 4, 6 or 7")
    (width,) = widths
    names = [*_NAMES[:3], *_NAMES[4:]] if width == 6 else _NAMES[:width]
    table = np.concatenate(parts)
    columns = dict(zip(names, table.T, strict=True))
    for name in ("red", "green", "blue"):
        if name in columns:
            columns[name] = columns[name].clip(0, 255).astype(np.uint8)
    return from_columns(columns)
