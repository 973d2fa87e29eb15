"""Parse lines of numbers: fast, with memory in proportion to the text, and errors that name a line.

The numbers on each line are counted before they are parsed, so that a line with too few or too many
of them cannot shift the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST = 2**53  # float64 has every whole number up to this


@dataclass(frozen=True)
class Rows:
    """The numbers of lines that have any.

    Attributes:
        values: (V,) float64, one line after the other.
        counts: (R,) how many numbers each row has.
        lines: (R,) the number of each row's line in the file, from 1.
    """

    values: NDArray[Any]
    counts: NDArray[Any]
    lines: NDArray[Any]

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def starts(self) -> NDArray[Any]:
        """(R,) where each row begins in `values`."""
        return np.cumsum(self.counts) - self.counts

    def part(self, first: int, last: int) -> Rows:
        """The rows from `first` to before `last`."""
        ends = np.append(0, np.cumsum(self.counts))
        chosen = slice(first, last)
        return Rows(self.values[ends[first] : ends[last]], self.counts[chosen], self.lines[chosen])

    def table(self, columns: int = 0) -> NDArray[Any]:
        """(R, columns) if all rows have as many numbers; 0 takes the count of the first row."""
        columns = columns or (int(self.counts[0]) if len(self) else 0)
        wrong = np.flatnonzero(self.counts != columns)
        if len(wrong):
            line, count = self.lines[wrong[0]], self.counts[wrong[0]]
            raise ValueError(f"line {line} has {count} numbers, not {columns}")
        return self.values.reshape(-1, columns)

    def first(self, columns: int) -> NDArray[Any]:
        """(R, columns): the first numbers of each row, which may have more."""
        short = np.flatnonzero(self.counts < columns)
        if len(short):
            line, count = self.lines[short[0]], self.counts[short[0]]
            raise ValueError(f"line {line} has {count} numbers, fewer than {columns}")
        if np.all(self.counts == columns):
            return self.values.reshape(-1, columns)
        return self.values[self.starts[:, None] + np.arange(columns)]

    def line_of(self, position: int) -> int:
        """The number of the line that holds `values[position]`."""
        return int(self.lines[np.searchsorted(np.cumsum(self.counts), position, side="right")])


def unix_lines(text: bytes) -> bytes:
    """Text whose lines end with a line feed, not with a carriage return or both."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def rows_of(text: bytes, lines: NDArray[Any] | int = 1) -> Rows:
    r"""Parse text of numbers between spaces.

    Args:
        text: lines that end with a line feed. Empty lines are skipped.
        lines: the number of each line in its file, or of the first line.

    Raises:
        ValueError: a word is not a number; the message names the line and the word.

    >>> rows_of(b"1 2 3\n\n4 5 6\n").table().tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    >>> rows_of(b"1 2 3\n4 five 6\n")
    Traceback (most recent call last):
    ValueError: line 2 has 'five', not a number
    """
    data = np.frombuffer(text, dtype=np.uint8)
    blank = data <= ord(" ")
    begins = ~blank
    begins[1:] &= blank[:-1]
    tokens = np.flatnonzero(begins)
    ends = np.flatnonzero(data == ord("\n"))
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, len(data))
    counts = np.diff(np.searchsorted(tokens, ends), prepend=0)
    numbers = np.arange(lines, lines + len(counts)) if isinstance(lines, int) else lines
    try:
        values = np.fromstring(text, sep=" ") if len(tokens) else np.zeros(0)
        if len(values) != len(tokens):
            raise ValueError("two numbers without a space between them")
    except (ValueError, DeprecationWarning):
        raise _culprit(text, numbers) from None
    filled = counts > 0
    return Rows(values, counts[filled], numbers[filled])


def whole(values: NDArray[Any], rows: Rows, low: int, high: int, starts: Any = None) -> Any:
    """`values` as int64, or an error with the line of the first that is no whole number in range.

    Args:
        values: some of `rows.values`.
        rows: where they come from.
        low: the least that is allowed.
        high: the most.
        starts: the positions of `values` in `rows.values`; None for all of them in order.
    """
    with np.errstate(invalid="ignore"):
        good = (values >= low) & (values <= high) & (values == np.floor(values))
    if not good.all():
        at = int(np.flatnonzero(~good)[0])
        line = rows.line_of(at if starts is None else int(starts[at]))
        raise ValueError(f"line {line} has {values[at]:g}, not a whole number from {low} to {high}")
    return values.astype(np.int64)


def fans(corners: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Cut polygons into triangles (T, 3) that share the first corner.

    Args:
        corners: (V,) int64, the corners of one polygon after the other.
        counts: how many corners each has.

    >>> fans(np.array([0, 1, 2, 3, 7, 8, 9]), np.array([4, 3])).tolist()
    [[0, 1, 2], [0, 2, 3], [7, 8, 9]]
    """
    if np.all(counts == 3):
        return corners.reshape(-1, 3)
    triangles = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, triangles)
    second = np.arange(triangles.sum()) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    second += first + 1
    return np.stack([corners[first], corners[second], corners[second + 1]], axis=-1)


def polygons(rows: Rows, vertices: int, before: int = 0) -> NDArray[Any]:
    """Triangles (T, 3) from rows `corners first second ...`.

    Args:
        rows: one polygon each; what follows its corners is ignored.
        vertices: how many vertices there are.
        before: numbers to skip at the start of each row.
    """
    if (rows.counts <= before).any():
        raise ValueError(f"line {rows.lines[rows.counts <= before][0]} has no corners")
    starts = rows.starts + before
    sizes = whole(rows.values[starts], rows, 0, MOST, starts)
    short = np.flatnonzero(sizes >= rows.counts - before)
    if len(short):
        line, size = rows.lines[short[0]], sizes[short[0]]
        raise ValueError(f"line {line} has fewer numbers than its {size} corners")
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts + 1, sizes) + inside
    corners = whole(rows.values[places], rows, -MOST, MOST, places)
    return check_corners(fans(corners, sizes), vertices)


def check_corners(triangles: NDArray[Any], vertices: int) -> NDArray[Any]:
    """Raise if triangles name vertices that do not exist; the same triangles."""
    if len(triangles) and not (triangles.min() >= 0 and triangles.max() < vertices):
        raise ValueError(
            f"its faces name vertices {triangles.min()} to {triangles.max()} of {vertices}"
        )
    return triangles


def _culprit(text: bytes, lines: NDArray[Any]) -> ValueError:
    """An error that names the first word that is not a number."""
    for number, found in zip(lines, re.finditer(rb"[^\n]*\n?", text), strict=False):
        for word in found.group().split():
            try:
                float(word)
            except ValueError:
                return no_number(number, word)
    return ValueError("it is not text of numbers")


def no_number(line: int, word: bytes) -> ValueError:
    """An error that names a line and its word that is not a number."""
    advice = "; write decimals with a point" if b"," in word else ""
    shown = word[:40].decode("ascii", "replace")
    return ValueError(f"line {line} has {shown!r}, not a number{advice}")
