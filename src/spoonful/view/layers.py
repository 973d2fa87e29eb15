"""The content of a page: clouds, lines between them, poses and numbers.

These are plain records. `write_page` checks them, so that an error can name the layer it is in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.inputs import rigid_matrix

Up = Literal["x", "y", "z", "-x", "-y", "-z"]
UPS: tuple[Up, ...] = ("x", "y", "z", "-x", "-y", "-z")


class Shade(NamedTuple):
    """One colour, for light and for dark backgrounds."""

    light: str
    dark: str


# Okabe and Ito's colours for every kind of colour vision, each with a lighter twin for the dark.
PALETTE: dict[str, Shade] = {
    "orange": Shade("#d55e00", "#f59a3c"),
    "blue": Shade("#0072b2", "#4aa8e8"),
    "green": Shade("#009e73", "#2ec79b"),
    "pink": Shade("#b8578c", "#e58fbd"),
    "yellow": Shade("#b98a00", "#f0e05a"),
    "grey": Shade("#7a828c", "#8f9aa7"),
}


@dataclass(frozen=True, eq=False)
class CloudLayer:
    """A named cloud.

    Attributes:
        name: as shown beside its check box.
        points: (N, 3), a tensor or anything `torch.as_tensor` takes. Finite, at least one.
        normals: (N, 3) or None; they only shade the points, so their sign does not matter.
        values: a number for each point, to be shown by a colour scale: (N,), or (P, N) with a row
            for each of the page's P poses. A row of 50,000 takes 67 KB of the page.
        colors: (N, 3) red, green, blue from 0 to 255, the colours of the scan; 200 KB of
            the page for 50,000 points.
        color: a name of `PALETTE`, which suits light and dark pages, or "#rrggbb". None takes
            orange for the first cloud that moves, blue for the first that does not, then the rest
            of the palette, then hues as different as possible.
        moves: whether the poses move this cloud. The points are then in the source's frame.
        poses: this cloud's own pose at each of the page's stops, if not all clouds move as one. The
            points are then in this cloud's own frame.
        visible: whether it is shown at first.
        total: the number of points of the whole cloud, if `points` are only some of them.
    """

    name: str
    points: Any
    normals: Any | None = None
    values: Any | None = None
    colors: Any | None = None
    color: str | None = None
    moves: bool = False
    poses: Sequence[Any] | None = None
    visible: bool = True
    total: int | None = None


@dataclass(frozen=True, eq=False)
class LinkLayer:
    """Lines between matched points: the source's ends move with the source, the others stay.

    Attributes:
        name: as shown beside its check box.
        source: (M, 3) points in the source's frame.
        target: (M, 3) the point of the target's frame that each was matched to.
        color: as for `CloudLayer`; None is green, then pink.
        visible: whether they are shown at first.
    """

    name: str
    source: Any
    target: Any
    color: str | None = None
    visible: bool = True


@dataclass(frozen=True, eq=False)
class GraphLayer:
    """Lines between the middles of clouds that have `poses` of their own.

    Attributes:
        name: as shown beside its check box.
        pairs: the names of two clouds for each line.
        color: as for `CloudLayer`.
        visible: whether they are shown at first.
    """

    name: str
    pairs: Sequence[tuple[str, str]]
    color: str
    visible: bool = True


@dataclass(frozen=True, eq=False)
class PoseStop:
    """A named pose of the source.

    Attributes:
        name: "before", "iteration 3", "final".
        pose: `T_target_source`: a `Pose`, or a (3, 4) or (4, 4) matrix, with a proper rotation.
        caption: what to say about it, such as "rotation error 12.4°".
    """

    name: str
    pose: Any
    caption: str = ""


@dataclass(frozen=True)
class Fact:
    r"""A number for the table. Floats are shown with four significant digits.

    >>> Fact("Translation error", 0.123456, "m").shown()
    '0.1235\xa0m'
    >>> Fact("Rotation error", 0.5, "°").shown()
    '0.5°'
    >>> Fact("Points", 50000).shown()
    '50,000'
    """

    label: str
    value: float | int | str
    unit: str = ""

    def shown(self) -> str:
        """The value and its unit as text."""
        return f"{number(self.value)}{self.gap}{self.unit}"

    @property
    def gap(self) -> str:
        """The space between a number and its unit; "" before a degree sign."""
        return "" if self.unit.startswith("°") or not self.unit else "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class View:
    """A way to look at the page, chosen with one click above the clouds.

    Attributes:
        name: on its button: "Before", "Matches".
        pose: the name of the `PoseStop` it goes to; None stays where the slider is.
        color_by: "cloud", "values" or "colors".
        links: whether lines are shown.
        apart: draw the moving clouds beside the others, so that lines between them can be
            followed. Poses and numbers do not change.
    """

    name: str
    pose: str | None = None
    color_by: str = "cloud"
    links: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result in a word, above everything else.

    Attributes:
        word: "Confident".
        good: whether it is shown as good news or as a warning.
        detail: the rest of the sentence.
    """

    word: str
    good: bool
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table that the reader may open.

    Attributes:
        title: the text to click to open it.
        columns: their names; columns of numbers are set to the right.
        rows: as many cells each; floats are shown with four significant digits.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[float | int | str]]


@dataclass(frozen=True)
class ColorScale:
    """The meaning of the layers' `values` and the range of their colours.

    Attributes:
        label: what they measure, in a word or two: "residual".
        unit: "m", "mm", ...
        low: the value at the calm end; None takes 0 if no value is negative, else the smallest.
        high: the value at the alarming end when the page opens; the reader can change it. None
            takes the 90th percentile at the last pose. Larger values have the colour of the end.
    """

    label: str = "value"
    unit: str = ""
    low: float | None = None
    high: float | None = None


def number(value: float | int | str) -> str:
    """Format a number for reading; text is returned unchanged.

    >>> number(1234567), number(0.000123456), number(41.99999), number(2.0), number("n/a")
    ('1,234,567', '0.0001235', '42', '2', 'n/a')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    value = float(value)
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def cloud(value: Any, name: str) -> Tensor:
    """Check a cloud and bring it to the CPU as float64, (N, 3).

    Raises:
        TypeError, ValueError: the value is not a cloud; the message starts with `name`.
    """
    points = _tensor(value, name)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"{name} must have shape (N, 3), got {tuple(points.shape)}")
    if len(points) == 0:
        raise ValueError(f"{name} is empty: there is nothing to show")
    bad = int((~points.isfinite()).any(dim=1).sum())
    if bad:
        raise ValueError(f"{name} has {bad:,} of {len(points):,} points that are NaN or infinite")
    return points


def scalars(value: Any, count: int, poses: int, name: str) -> Tensor:
    """Check the values of `count` points: (1, N), or (P, N) with a row for each of the poses."""
    values = _tensor(value, name)
    rows = values[None] if values.ndim == 1 else values
    if rows.shape not in ((1, count), (poses, count)):
        wanted = f"({count},)" + (f" or ({poses}, {count})" if poses > 1 else "")
        raise ValueError(f"{name} must have shape {wanted}, got {tuple(values.shape)}")
    bad = int((~rows.isfinite()).sum())
    if bad:
        raise ValueError(f"{name} has {bad:,} of {rows.numel():,} that are NaN or infinite")
    return rows


def pose_of(value: Any, name: str) -> Pose:
    """Check a rigid pose and bring it to the CPU as float64."""
    matrix = value.matrix() if isinstance(value, Pose) else value
    return Pose.from_matrix(rigid_matrix(matrix, name))


def colors(layers: Sequence[CloudLayer]) -> list[Shade]:
    """A colour for each layer: its own, or the next free one of the palette.

    >>> pair = [CloudLayer("source", [[0, 0, 0]], moves=True), CloudLayer("target", [[0, 0, 0]])]
    >>> [shade.light for shade in colors(pair)]
    ['#d55e00', '#0072b2']
    """
    taken = {layer.color for layer in layers}
    out: list[Shade] = []
    for layer in layers:
        color = layer.color
        if color is None:
            order = ["orange", "blue"] if layer.moves else ["blue", "orange"]
            order += [name for name in PALETTE if name not in order]
            color = next((name for name in order if name not in taken), None)
            taken.add(color)
        if color is None:
            out.append(_hue(len(out)))
        else:
            out.append(shade(color, f"color of layer {layer.name!r}"))
    return out


def _hue(number: int) -> Shade:
    """The colour of a number; the golden ratio keeps all hues apart."""
    light, dark = (
        "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(number * 0.618, level, 0.6))
        for level in (0.42, 0.62)
    )
    return Shade(light, dark)


def shade(color: str, name: str) -> Shade:
    """A palette name or "#rrggbb" as a pair of colours."""
    if color in PALETTE:
        return PALETTE[color]
    if isinstance(color, str) and re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        return Shade(color, color)
    raise ValueError(f"{name} must be '#rrggbb' or one of {', '.join(PALETTE)}, got {color!r}")


def sample(count: int, limit: int) -> Tensor:
    """Positions of the points to show: all of `count`, or `limit` of them at random.

    The choice is always the same, so that equal input gives an equal file.
    """
    if count <= limit:
        return torch.arange(count)
    generator = torch.Generator().manual_seed(0)
    return torch.randperm(count, generator=generator)[:limit].sort().values


def check_layers(layers: Sequence[CloudLayer]) -> None:
    """Check that there are layers, and that their names differ."""
    if not layers:
        raise ValueError("layers is empty: there is nothing to show")
    for layer in layers:
        if not isinstance(layer, CloudLayer):
            raise TypeError(f"layers must hold CloudLayer objects, got {type(layer).__name__}")
    names = [layer.name for layer in layers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"layers must have different names, {twice[0]!r} occurs twice")


def _tensor(value: Any, name: str) -> Tensor:
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{name} must be an array of real numbers, got {tensor.dtype}")
    return tensor.detach().to("cpu", torch.float64)
