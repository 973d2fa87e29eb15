"""Solids built from turned, swept and extruded parts.

A `Solid` is the union of some parts less the union of others (holes, hollows). Every part knows
its skin as patches, each a piece of a cone or of a plane, and has what it takes to tell which
points are inside; `spoonful.data.synthetic.skin` makes points from them.

All arithmetic is float64 with + - * / and square roots alone, sines and cosines included
(`circle`): the operations that all processors agree on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

from torch import Tensor

Point = tuple[float, float, float]
Corner = tuple[float, float]
_Number = TypeVar("_Number", float, Tensor)

_AXES: dict[str, tuple[int, int]] = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}
_IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Surface(IntEnum):
    """The kinds of patches."""

    FLAT = 0
    TRIANGLE = 1
    ROUND = 2


class Body(IntEnum):
    """The kinds of parts; `Part.measures` defines their inside.

    BOX: one row, half of each side. PRISM: height and taper, then the corners. REVOLVED: the
    corners (radius, z). TUBE: rows (x, y, z, radius) along the path. Polygons run
    counter-clockwise.
    """

    BOX = 0
    PRISM = 1
    REVOLVED = 2
    TUBE = 3


def circle(turns: _Number) -> tuple[_Number, _Number]:
    """The point (cos, sin) of 2 pi `turns`, to 1e-15, the same to the bit everywhere.

    The series of a quarter of the angle, which is at most 45 degrees, then doubled twice.

    >>> cosine, sine = circle(1 / 6)
    >>> abs(cosine - 0.5) < 1e-15, abs(sine - 0.75**0.5) < 1e-15
    (True, True)
    """
    whole = turns.round() if isinstance(turns, Tensor) else float(round(turns))
    angle = (turns - whole) * (math.pi / 2)
    square = angle * angle
    cosine = sine = square * 0.0
    for order in range(18, 1, -2):
        cosine = (1.0 + cosine) * square * (-1.0 / (order * (order - 1)))
        sine = (1.0 + sine) * square * (-1.0 / (order * (order + 1)))
    cosine, sine = 1.0 + cosine, (1.0 + sine) * angle
    for _ in range(2):
        cosine, sine = cosine * cosine - sine * sine, 2.0 * cosine * sine
    return cosine, sine


@dataclass(frozen=True)
class Patch:
    """A piece of skin in a part's own frame.

    Flat patches are `origin + s u + t v` with (s, t) in the unit square or its lower triangle
    and the normal `axis`. Round ones are `origin + h t axis + r(t) (cos u + sin v)`, a cone
    whose radius goes from `radii[0]` to `radii[1]` over the signed height h; its normal is
    `h (cos u + sin v) - (r1 - r0) axis`, outwards when the profile runs counter-clockwise
    around the solid's section.
    """

    kind: Surface
    origin: Point
    axis: Point
    u: Point
    v: Point
    radii: tuple[float, float] = (0.0, -1.0)
    height: float = 0.0

    def row(self) -> tuple[float, ...]:
        """All of it in one row: four vectors, two radii, the height and the kind."""
        return (*self.origin, *self.axis, *self.u, *self.v, *self.radii, self.height, self.kind)

    def area(self) -> float:
        """The patch's area."""
        if self.kind == Surface.ROUND:
            slant = math.sqrt(self.height**2 + (self.radii[1] - self.radii[0]) ** 2)
            return math.pi * (self.radii[0] + self.radii[1]) * slant
        across = _length(_cross(self.u, self.v))
        return across if self.kind == Surface.FLAT else across / 2


@dataclass(frozen=True)
class Part:
    """One body: its skin and its inside in its own frame, and where that frame is.

    Attributes:
        rows: the skin, a row of 16 numbers for each patch (`Patch.row`).
        areas: of the patches.
        body: what kind of body it is.
        measures: the numbers that say what is inside (see `Body`).
        rotation: of the part's frame in the solid's.
        translation: likewise.
    """

    rows: tuple[tuple[float, ...], ...]
    areas: tuple[float, ...]
    body: Body
    measures: tuple[tuple[float, ...], ...]
    rotation: tuple[Point, Point, Point] = _IDENTITY
    translation: Point = (0.0, 0.0, 0.0)

    @classmethod
    def of(
        cls, patches: Sequence[Patch], body: Body, measures: Sequence[tuple[float, ...]]
    ) -> Part:
        """A part at the origin. Its copies share what is worked out here."""
        rows = tuple(patch.row() for patch in patches)
        return cls(rows, tuple(patch.area() for patch in patches), body, tuple(measures))

    def at(self, x: float, y: float, z: float) -> Part:
        """The part, moved."""
        a, b, c = self.translation
        return replace(self, translation=(a + x, b + y, c + z))

    def turn(self, axis: str, degrees: float) -> Part:
        """The part, turned about an axis through the origin: "x", "y" or "z"."""
        first, second = _AXES[axis]
        cosine, sine = circle(degrees / 360.0)
        rows = [list(row) for row in _IDENTITY]
        rows[first][first] = rows[second][second] = cosine
        rows[first][second], rows[second][first] = -sine, sine
        columns = [[row[k] for row in self.rotation] for k in range(3)]
        turned = [[_dot(row, column) for column in columns] for row in rows]
        moved = [_dot(row, self.translation) for row in rows]
        return replace(
            self,
            rotation=(_point(turned[0]), _point(turned[1]), _point(turned[2])),
            translation=_point(moved),
        )

    def bounds(self) -> tuple[Point, Point]:
        """The least and greatest corner of a box around the part, in its own frame."""
        if self.body == Body.BOX:
            ((x, y, z),) = self.measures
            return (-x, -y, -z), (x, y, z)
        if self.body == Body.PRISM:
            (height, taper), *corners = self.measures
            wide = max(1.0, taper)
            xs, ys = ([wide * corner[k] for corner in corners] for k in range(2))
            return (min(xs), min(ys), -height / 2), (max(xs), max(ys), height / 2)
        if self.body == Body.REVOLVED:
            radius, heights = max(r for r, _ in self.measures), [z for _, z in self.measures]
            return (-radius, -radius, min(heights)), (radius, radius, max(heights))
        low = _point([min(row[k] - row[3] for row in self.measures) for k in range(3)])
        high = _point([max(row[k] + row[3] for row in self.measures) for k in range(3)])
        return low, high


@dataclass(frozen=True)
class Solid:
    """The union of `parts` less the union of `cuts`."""

    parts: Sequence[Part]
    cuts: Sequence[Part] = ()


def box(x: float, y: float, z: float) -> Part:
    """A box of these side lengths around the origin."""
    half = (x / 2, y / 2, z / 2)
    patches = []
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            corner = [-half[0], -half[1], -half[2]]
            corner[axis] = side * half[axis]
            patches.append(
                Patch(
                    Surface.FLAT,
                    _point(corner),
                    _unit(axis, side),
                    _unit(i, 2 * half[i]),
                    _unit(j, 2 * half[j]),
                )
            )
    return Part.of(patches, Body.BOX, [half])


def prism(outline: Sequence[Corner], height: float, taper: float = 1.0) -> Part:
    """An outline in the xy plane, extruded along z around the origin.

    Args:
        outline: corners, in either direction; every point of it must be visible from (0, 0).
        height: along z.
        taper: the size of the top relative to the bottom.
    """
    corners = list(outline) if _turns_left(outline) else list(outline)[::-1]
    low, high = -height / 2, height / 2
    patches = []
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        for z, scale, up in ((low, 1.0, -1.0), (high, taper, 1.0)):
            if scale > 0:
                u, v = (ax * scale, ay * scale, 0.0), (bx * scale, by * scale, 0.0)
                patches.append(Patch(Surface.TRIANGLE, (0.0, 0.0, z), (0.0, 0.0, up), u, v))
        edge, rise = (bx - ax, by - ay, 0.0), (ax * taper - ax, ay * taper - ay, height)
        normal = _normalized(_cross(edge, rise))
        if taper == 1.0:
            patches.append(Patch(Surface.FLAT, (ax, ay, low), normal, edge, rise))
            continue
        patches.append(Patch(Surface.TRIANGLE, (ax, ay, low), normal, edge, rise))
        if taper > 0:
            back = (-edge[0] * taper, -edge[1] * taper, 0.0)
            down = (bx - bx * taper, by - by * taper, -height)
            patches.append(
                Patch(Surface.TRIANGLE, (bx * taper, by * taper, high), normal, back, down)
            )
    return Part.of(patches, Body.PRISM, [(height, taper), *corners])


def revolve(profile: Sequence[Corner]) -> Part:
    """A closed profile of (radius, z) corners, turned about the z axis."""
    corners = list(profile) if _turns_left(profile) else list(profile)[::-1]
    patches = [
        Patch(
            Surface.ROUND,
            (0.0, 0.0, az),
            (0.0, 0.0, 1.0),
            (1.0, 0.0, 0.0),
            (0.0, 1.0, 0.0),
            (ar, br),
            bz - az,
        )
        for (ar, az), (br, bz) in zip(corners, [*corners[1:], corners[0]], strict=True)
        if ar + br > 0
    ]
    return Part.of(patches, Body.REVOLVED, corners)


def cylinder(radius: float, height: float, top: float | None = None) -> Part:
    """A cylinder along z around the origin; a cone with the radius `top` at its upper end."""
    top = radius if top is None else top
    return revolve(
        [(0.0, -height / 2), (radius, -height / 2), (top, height / 2), (0.0, height / 2)]
    )


def ball(radius: float, stretch: float = 1.0, steps: int = 12) -> Part:
    """A sphere, drawn out along z by `stretch`."""
    ring = [circle(k / (2 * steps)) for k in range(1, steps)]
    profile = [(radius * sine, -radius * stretch * cosine) for cosine, sine in ring]
    return revolve([(0.0, -radius * stretch), *profile, (0.0, radius * stretch)])


def ring(radius: float, thickness: float, steps: int = 12) -> Part:
    """A torus about z: `radius` to the middle of a tube of radius `thickness`."""
    section = [circle(k / steps) for k in range(steps)]
    return revolve([(radius + thickness * c, thickness * s) for c, s in section])


def tube(path: Sequence[Point], radius: float, end: float | None = None) -> Part:
    """A disc swept along a path, from `radius` at its start to `end` (the same) at its end."""
    count = len(path) - 1
    end = radius if end is None else end
    radii = [radius + (end - radius) * k / count for k in range(count + 1)]
    patches = []
    for k in range(count):
        step = _minus(path[k + 1], path[k])
        axis, length = _normalized(step), _length(step)
        u, v = _around(axis)
        patches.append(Patch(Surface.ROUND, path[k], axis, u, v, (radii[k], radii[k + 1]), length))
        if k == 0:
            patches.append(Patch(Surface.ROUND, path[0], axis, u, v, (0.0, radius)))
        if k == count - 1:
            patches.append(Patch(Surface.ROUND, path[-1], axis, u, v, (end, 0.0)))
    measures = [(*point, r) for point, r in zip(path, radii, strict=True)]
    return Part.of(patches, Body.TUBE, measures)


def arc(radius: float, start: float, stop: float, steps: int = 12) -> list[Corner]:
    """Corners on a circle about (0, 0), from `start` to `stop` degrees."""
    turns = [(start + (stop - start) * k / steps) / 360.0 for k in range(steps + 1)]
    return [(radius * c, radius * s) for c, s in map(circle, turns)]


def _turns_left(corners: Sequence[Corner]) -> bool:
    """True if a closed polygon runs counter-clockwise."""
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return sum(ax * by - bx * ay for (ax, ay), (bx, by) in pairs) > 0


def _point(values: Sequence[float]) -> Point:
    return values[0], values[1], values[2]


def _unit(axis: int, length: float) -> Point:
    values = [0.0, 0.0, 0.0]
    values[axis] = length
    return _point(values)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Point, b: Point) -> Point:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _length(a: Point) -> float:
    return math.sqrt(_dot(a, a))


def _normalized(a: Point) -> Point:
    length = _length(a)
    return a[0] / length, a[1] / length, a[2] / length


def _around(axis: Point) -> tuple[Point, Point]:
    """Two unit vectors that make a right-handed frame with a unit vector."""
    helper = _unit(min(range(3), key=lambda k: abs(axis[k])), 1.0)
    u = _normalized(_cross(axis, helper))
    return u, _cross(axis, u)
