"""Figures and tables: their parts, their style, and their files.

Colours are those of Okabe and Ito. No difference is shown by colour alone: series also differ in
their markers or dashes. Every figure is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spoonful.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 7.0
"""Widths in inches: a column of two, and the whole page."""

Mode = Literal["light", "dark"]


class Theme(NamedTuple):
    """The colours of a page: its background, its text, its guides, and the colours of series."""

    paper: str
    ink: str
    faint: str
    blue: str
    orange: str
    green: str
    purple: str
    vermilion: str
    extra: str

    @property
    def series(self) -> tuple[str, ...]:
        """The colours of series, in order."""
        return self[3:]


THEMES: dict[Mode, Theme] = {
    "light": Theme(
        *("#ffffff", "#1b1b1b", "#9a9a9a"),
        *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"),
    ),
    # Blue is too dark on dark paper: light blue takes its place.
    "dark": Theme(
        *("#15181c", "#e8e8e8", "#7d8590"),
        *("#56B4E9", "#E69F00", "#2BC59A", "#E29CC4", "#F07F3C", "#F0E442"),
    ),
}
MARKERS = ("o", "^", "s", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


@contextmanager
def styled(mode: Mode) -> Iterator[Theme]:
    """A context in which matplotlib draws in our style; yields its colours."""
    matplotlib = require("matplotlib", extra="plot", why="Drawing figures")
    theme = THEMES[mode]
    settings: dict[str, Any] = {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "legend.frameon": False,
        "legend.handlelength": 1.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.titlelocation": "left",
        "axes.titlepad": 5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "lines.linewidth": 1.2,
        "lines.markersize": 3,
        "figure.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "text.color": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "svg.fonttype": "path",  # the same letters everywhere
        "svg.hashsalt": "spoonful",  # the same file for the same data
        "path.simplify": True,
    }
    with matplotlib.rc_context(settings):
        yield theme


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN, height: float = 2.5, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A new figure, and its axes row by row."""
    figures = require("matplotlib.figure", extra="plot", why="Drawing figures")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def scatter(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    color: str,
    *,
    marker: str = "o",
    label: str | None = None,
    hollow: bool = False,
    size: float = 7.0,
) -> None:
    """Draw points; more than 400 are drawn as pixels, to keep the file small."""
    axes.scatter(
        x,
        y,
        s=size,
        marker=marker,
        label=label,
        alpha=0.75,
        linewidths=0.6,
        facecolors="none" if hollow else color,
        edgecolors=color if hollow else "none",
        rasterized=len(x) > 400,
    )


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend for the whole figure, under it."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def settled(figure: Figure) -> Figure:
    """The figure with its layout fixed, so that it is not computed again for each file."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def rendered(figure: Figure, kind: Literal["svg", "png"]) -> bytes:
    """The figure's file."""
    target = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(target, format=kind, dpi=220, metadata=metadata)
    return target.getvalue()


@dataclass(frozen=True)
class Table:
    """Rows of numbers and words, and the names of their columns."""

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
        """The text of a CSV file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_digits(cell) for cell in row] for row in self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Drawing:
    """A figure, or a table, of the analysis.

    Attributes:
        title: its title.
        caption: what it shows, with the numbers found.
        data: the numbers drawn, for a CSV file.
        draw: draws it in the colours of a page; None for a table alone.
        shown: a small table for the report.
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
    """A short number; with an exponent if it is tiny or huge.

    >>> number(0.12345), number(1.2e-7), number(float("nan"))
    ('0.123', '1.2e-07', '-')
    """
    if math.isnan(value):
        return "-"
    if value != 0 and not 1e-3 <= abs(value) < 1e4:
        return f"{value:.1e}"
    return f"{value:.{digits}g}"
