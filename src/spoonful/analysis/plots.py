"""How figures look: sizes and type of a printed column, colours that everyone can tell apart.

Colours are those of Okabe and Ito, and no difference is told by colour alone: series also differ
in their markers or dashes. Every figure is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spoonful.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 7.0
"""Widths in inches: a column of two, and the whole page."""

Mode = Literal["light", "dark"]


@dataclass(frozen=True)
class Theme:
    """The colours of a page, by what they are for.

    Attributes:
        paper: the background.
        ink: text, axes.
        faint: grids, guides, what is there for comparison.
        series: for things that are told apart, in order.
    """

    paper: str
    ink: str
    faint: str
    series: tuple[str, ...]

    @property
    def blue(self) -> str:
        """The first series."""
        return self.series[0]

    @property
    def orange(self) -> str:
        """The second."""
        return self.series[1]

    @property
    def green(self) -> str:
        """The third."""
        return self.series[2]

    @property
    def purple(self) -> str:
        """The fourth."""
        return self.series[3]

    @property
    def vermilion(self) -> str:
        """The fifth."""
        return self.series[4]


THEMES: dict[Mode, Theme] = {
    "light": Theme(
        "#ffffff",
        "#1b1b1b",
        "#9a9a9a",
        ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"),
    ),
    # Blue is too dark on dark paper: its light sister takes its place.
    "dark": Theme(
        "#15181c",
        "#e8e8e8",
        "#7d8590",
        ("#56B4E9", "#E69F00", "#2BC59A", "#E29CC4", "#F07F3C", "#F0E442"),
    ),
}
MARKERS = ("o", "^", "s", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


@contextmanager
def styled(mode: Mode) -> Iterator[Theme]:
    """A block in which matplotlib draws in our style; yields its colours."""
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
    """A new figure with axes in rows and columns, one after the other."""
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
    """Points; many of them become a picture inside the drawing, which would grow too large."""
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
    """The figure with its layout made once and for all: each file would make it anew."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def rendered(figure: Figure, kind: Literal["svg", "png"]) -> bytes:
    """The figure's file."""
    target = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(target, format=kind, dpi=220, metadata=metadata)
    return target.getvalue()
