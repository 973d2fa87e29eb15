"""What a figure is: the numbers, what they say, and how to draw them on any page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spoonful.analysis.plots import Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words, under the names of their columns."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]]) -> Table:
        """From columns by name.

        >>> Table.of({"a": [1, 2], "b": [3, 4]}).rows
        [(1, 3), (2, 4)]
        """
        return cls(tuple(columns), list(zip(*columns.values(), strict=True)))

    def csv(self) -> str:
        """As the text of a CSV file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_digits(cell) for cell in row] for row in self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Drawing:
    """A figure, or a table, of the analysis.

    Attributes:
        title: what it shows.
        caption: what to see in it, with the numbers found.
        data: what is drawn, for a CSV file.
        draw: draws it in the colours of a page; None for what is a table alone.
        shown: a small table for the report, beside the figure or in its place.
        facts: single numbers, for the JSON file.
    """

    title: str
    caption: str
    data: Table
    draw: Callable[[Theme], Figure] | None = None
    shown: Table | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def _digits(cell: Any) -> Any:
    return f"{cell:.6g}" if isinstance(cell, float) else cell


def number(value: float, digits: int = 3) -> str:
    """A number for people: short, in powers of ten where it is tiny or huge.

    >>> number(0.12345), number(1.2e-7), number(float("nan"))
    ('0.123', '1.2e-07', '-')
    """
    if math.isnan(value):
        return "-"
    if value != 0 and not 1e-3 <= abs(value) < 1e4:
        return f"{value:.1e}"
    return f"{value:.{digits}g}"
