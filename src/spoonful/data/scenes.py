"""Made-up places to scan: rooms, corridors, halls and streets, out of the solids of `synthetic`.

Each kind of scene names the motions that leave it about the same: steps along a corridor, from
column to column or from window to window, half turns, and from one corner of a room to another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from spoonful.data import synthetic
from spoonful.data.synthetic.solids import Part, Surface, box, cylinder
from spoonful.geometry import Pose

Numbers: TypeAlias = Sequence[float] | np.ndarray

_WALL = 0.1


class Scene(NamedTuple):
    """A place to scan; lengths are in metres, and z is up.

    Attributes:
        rows: (P, 16) float64, the patches as in `synthetic.solids.Patch.row`.
        path: (N, 2, 3) float64: where each sensor stands, and what a camera looks at.
        motions: motions that may leave the scene about the same.
    """

    rows: Tensor
    path: np.ndarray
    motions: tuple[Pose, ...]


def motion(degrees: float, x: float, y: float, about: Numbers = (0, 0)) -> Pose:
    """A turn about the vertical axis through a place, then a shift."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rotation = torch.tensor([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]], dtype=torch.float64)
    middle = torch.tensor([*about[:2], 0.0], dtype=torch.float64)
    return Pose(rotation, middle - rotation @ middle + torch.tensor([x, y, 0.0]))


def _corners(size: Numbers) -> tuple[Pose, ...]:
    """The motions that put a corner of the box from 0 to `size` into one of its corners."""
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0]).double()] * 3)
    edges, motions = torch.tensor(size, dtype=torch.float64), []
    for axes in itertools.permutations(torch.eye(3).double()):
        for signs in 2 * corners - 1:
            turn = torch.stack(axes) * signs
            if torch.det(turn) > 0 and torch.trace(turn) < 3:
                ends = ((2 * corners - 1) @ turn.mT + 1) / 2 * edges
                shifts = (ends - corners * edges @ turn.mT).unique(dim=0)
                motions += [Pose(turn, shift) for shift in shifts]
    return tuple(motions)


class _Builder:
    """Collects the patches of a scene, and the circles on the floor where no sensor stands."""

    def __init__(self, rng: np.random.Generator, step: float) -> None:
        self.rng, self.step = rng, step
        self.rows: list[Tensor] = []
        self.taken: list[tuple[float, float, float]] = []

    def slab(self, low: Numbers, high: Numbers) -> None:
        """A box between two corners."""
        size, middle = np.subtract(high, low), np.add(high, low) / 2
        self.rows.append(_rows([box(*size.tolist()).at(*middle.tolist())]))

    def hollow(self, size: Numbers) -> None:
        """Floor, walls and ceiling around the box from 0 to `size`."""
        for axis in range(3):
            for inner, outer in ((0.0, -_WALL), (size[axis], size[axis] + _WALL)):
                corners = np.array([np.full(3, -_WALL), np.add(size, _WALL)])
                corners[:, axis] = sorted((inner, outer))
                self.slab(*corners)

    def put(self, part: Part, x: float, y: float, z: float, turn: float = 0.0) -> None:
        """A part with its middle at a place, turned about its vertical axis."""
        self.rows.append(_rows([part.turn("z", turn).at(x, y, z)]))

    def furnish(self, low: Numbers, high: Numbers, count: int, size: float) -> None:
        """Boxes, cylinders and solids of `synthetic`, up to `size`, on a floor."""
        rng = self.rng
        for _ in range(count):
            x, y = rng.uniform(low[:2], high[:2])
            edges = rng.uniform(0.25 * size, size, 3)
            kind, turn = rng.random(), rng.uniform(0, 360)
            # Of the circle around the base: nothing of an object is outside of it.
            radius = 0.5 * math.hypot(edges[0], edges[1])
            if kind < 0.4:
                self.put(box(*edges.tolist()), x, y, low[2] + edges[2] / 2, turn)
            elif kind < 0.55:
                radius = edges[0] / 2
                self.put(cylinder(radius, edges[2]), x, y, low[2] + edges[2] / 2)
            else:
                radius = edges[0] * math.sqrt(0.5)
                category = synthetic.CATEGORIES[rng.integers(len(synthetic.CATEGORIES))]
                rows = _solid(category, int(rng.integers(8)))
                self.rows.append(_scaled(rows, edges[0], turn, (x, y, low[2])))
            self.taken.append((x, y, radius))

    def wander(self, low: Numbers, high: Numbers, scans: int) -> np.ndarray:
        """(N, 2, 3) a random walk outside of all objects, and what a camera looks at."""
        rng = self.rng
        path: list[np.ndarray] = []
        start, size = np.array(low, float), np.subtract(high, low)
        while len(path) < scans:
            for attempt in range(200):
                both = start + rng.random((2, 3)) * size
                if path and attempt < 100:  # a step away, else anywhere
                    reach = np.minimum(0.5 * size, [self.step, self.step, 0.3])
                    both = np.clip(path[-1] + rng.uniform(-reach, reach, (2, 3)), low, high)
                both[1, 2] = 0.6 * both[0, 2]
                stand, gaze = both
                clear = [math.hypot(x - stand[0], y - stand[1]) > r for x, y, r in self.taken]
                if all(clear) and np.hypot(*(gaze - stand)[:2]) > 0.5:
                    break
            path.append(both)
        return np.array(path)

    def scene(
        self, path: np.ndarray, size: Numbers, motions: Sequence[tuple[float, float, float]] = ()
    ) -> Scene:
        """The scene. Motions are (degrees, x, y), about the middle of the box from 0 to `size`."""
        about = np.array(size, float) / 2
        return Scene(torch.cat(self.rows), path, tuple(motion(*each, about) for each in motions))


def _room(rng: np.random.Generator, scans: int, step: float) -> Scene:
    make, size = _Builder(rng, step), rng.uniform((4, 3, 2.3), (9, 6, 3.2))
    make.hollow(size)
    make.furnish((0.3, 0.3, 0), size - 0.3, int(rng.integers(2, 12)), 1.4)
    path = make.wander((0.5, 0.5, 1.1), (*(size[:2] - 0.5), 1.8), scans)
    return make.scene(path, size)._replace(motions=_corners(size))


def _corridor(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """Doors at regular steps, recessed or not, and a few things in the way."""
    make, size = _Builder(rng, step), rng.uniform((15, 1.8, 2.4), (40, 3, 3.0))
    make.hollow(size)
    gap = rng.uniform(2, 4)
    for x, side in itertools.product(np.arange(gap / 2, size[0] - 1, gap), (0.0, size[1])):
        make.slab((x, side - 0.06, 0), (x + 0.9, side + 0.06, 2.05))
    make.furnish((1, 0.2, 0), (size[0] - 1, size[1] - 0.2, 0), int(rng.integers(0, 14)), 0.7)
    path = make.wander((1.5, 0.6, 1.2), (size[0] - 1.5, size[1] - 0.6, 1.7), scans)
    slides = [(0.0, k * gap, 0.0) for k in (-2, -1, 1, 2)] + [(0.0, 0.8, 0.0), (0.0, -0.8, 0.0)]
    return make.scene(path, size, [*slides, (180, 0, 0)])


def _hall(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """Columns on a grid, and crates and machines between them."""
    make, size = _Builder(rng, step), rng.uniform((18, 14, 5), (40, 25, 9))
    make.hollow(size)
    gap, radius = rng.uniform(4, 7, 2), rng.uniform(0.2, 0.4)
    for x, y in itertools.product(*(np.arange(gap[k] / 2, size[k], gap[k]) for k in (0, 1))):
        make.put(cylinder(radius, size[2]), x, y, size[2] / 2)
        make.taken.append((x, y, radius))
    make.furnish((1, 1, 0), size - 1, int(rng.integers(3, 25)), 3.0)
    path = make.wander((2, 2, 1.2), (*(size[:2] - 2), 2.0), scans)
    steps = [(0.0, x, y) for x, y in np.diag(gap)] + [(0.0, -x, -y) for x, y in np.diag(gap)]
    return make.scene(path, size, [*steps, (180, 0, 0)])


def _facade(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """A street between two fronts with windows at regular steps, with poles, cars and trees."""
    make, size = _Builder(rng, step), rng.uniform((30, 12, 0), (60, 22, 0))
    make.slab((-20, -20, -_WALL), (size[0] + 20, size[1] + 20, 0))
    gap = rng.uniform(2.5, 5)
    for side, out in ((0.0, -1), (size[1], 1)):
        x = -10.0
        while x < size[0] + 10:
            # Houses of different widths, heights and setbacks.
            wide, tall, back = rng.uniform((8, 6, 0), (20, 15, 2.5))
            front = side + out * back
            edges = sorted((front, front + 8 * out))
            make.slab((x, edges[0], 0), (x + wide, edges[1], tall))
            for left in np.arange(x + 1, x + wide - 1.5, gap):
                for low in np.arange(1, tall - 2, 3.0):
                    make.slab((left, front - 0.15, low), (left + 1.2, front + 0.15, low + 1.5))
            x += wide + rng.choice([0.0, 3.0])
    make.furnish((0, 2, 0), (size[0], size[1] - 2, 0), int(rng.integers(3, 20)), 4.0)
    low, high = (0.2 * size[0], 0.35 * size[1], 1.5), (0.8 * size[0], 0.65 * size[1], 2.2)
    path = make.wander(low, high, scans)
    return make.scene(path, size, [(0, gap, 0), (0, -gap, 0), (180, 0, 0)])


def _table(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """Things on a table; the camera moves about it."""
    make, size = _Builder(rng, step), rng.uniform((0.7, 0.5, 0.7), (1.6, 0.9, 0.8))
    make.slab((-3, -3, -_WALL), (size[0] + 3, size[1] + 3, 0))
    make.slab((0, 0, size[2] - 0.04), size)
    for x, y in itertools.product(*((0.08, size[k] - 0.08) for k in (0, 1))):
        make.put(box(0.05, 0.05, size[2]), x, y, size[2] / 2 - 0.01)
    make.furnish((0.1, 0.1, size[2]), size - 0.1, int(rng.integers(2, 9)), 0.35)
    turn = np.radians(rng.uniform(0, 360) + np.cumsum(rng.uniform(15, 70, scans)))
    out = np.stack([np.cos(turn), np.sin(turn), rng.uniform(0.3, 0.9, scans)], 1)
    middle = np.array([size[0] / 2, size[1] / 2, size[2]])
    stand = middle + rng.uniform(0.8, 1.4, (scans, 1)) * out
    path = np.stack([stand, middle + rng.uniform(-0.15, 0.15, (scans, 3))], 1)
    return make.scene(path, size, [(180, 0, 0)])


def _building(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """Rooms side by side, with doors: one for every eight scans. The route runs through all."""
    make, tall, door = _Builder(rng, step), 2.8, 1.0
    count = math.ceil(scans / 8)
    wide = np.ceil(math.sqrt(count))
    columns, lines = int(wide), math.ceil(count / wide)
    x = np.append(0, rng.uniform(4.5, 8, columns).cumsum())
    y = np.append(0, rng.uniform(4, 7, lines).cumsum())
    make.hollow((x[-1], y[-1], tall))
    visits = []
    for line in range(lines):
        order = range(columns) if line % 2 == 0 else range(columns)[::-1]
        visits += [(column, line) for column in order]
        for column in range(columns):
            low, high = np.array([x[column], y[line]]), np.array([x[column + 1], y[line + 1]])
            # A wall to the right and one behind, with a door and a beam above it.
            for axis, last in ((0, column == columns - 1), (1, line == lines - 1)):
                if last:
                    continue
                other = 1 - axis
                start = rng.uniform(low[other] + 0.5, high[other] - 0.5 - door)
                spans = [(low[other], start, 0.0), (start + door, high[other], 0.0)]
                for a, b, floor in [*spans, (start, start + door, 2.1)]:
                    corners = np.zeros((2, 3))
                    corners[:, axis] = high[axis] - _WALL / 2, high[axis] + _WALL / 2
                    corners[:, other], corners[:, 2] = (a, b), (floor, tall)
                    make.slab(*corners)
            number = int(rng.integers(3, 9))
            make.furnish((*(low + 0.3), 0), (*(high - 0.3), tall), number, 1.4)
    middles = np.array([[(x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2] for i, j in visits[:count]])
    along = np.linspace(0, count - 1, scans)
    stand = np.stack([np.interp(along, np.arange(count), middles[:, k]) for k in (0, 1)], 1)
    stand += rng.uniform(-0.4, 0.4, stand.shape)
    stand = np.column_stack([stand, rng.uniform(1.2, 1.7, scans)])
    turn = np.radians(np.cumsum(rng.uniform(20, 55, scans)))
    ahead = np.stack([np.cos(turn), np.sin(turn), np.full(scans, -0.2)], 1)
    scene = make.scene(np.stack([stand, stand + ahead], 1), (x[-1], y[-1], tall))
    return scene._replace(motions=_corners((x[-1], y[-1], tall))) if count == 1 else scene


def _street(rng: np.random.Generator, scans: int, step: float) -> Scene:
    """A street around a block, with four metres for each scan. No two houses are alike."""
    make, wide, long = _Builder(rng, step), 16.0, max(40.0, float(scans))
    middle, beside = np.array([long / 2, long / 2, 0]), wide / 2
    make.slab((-60, -60, -_WALL), (long + 60, long + 60, 0))

    def quarter(number: int, places: Sequence[Numbers] | np.ndarray) -> np.ndarray:
        """Places beside the first of the four parts of the street, beside another one."""
        turn = motion(90 * number, 0, 0, middle)
        found: np.ndarray = turn.apply(torch.tensor(np.array(places, float))).numpy()
        return found

    def slab(number: int, *corners: Numbers) -> None:
        turned = quarter(number, corners)
        make.slab(turned.min(0), turned.max(0))

    for number in range(4):
        # The street runs along x, from 0 to `long`, about y = 0. The block is at y > 0.
        for side, first, last in ((-1, -beside - 20, long + beside), (1, beside, long - beside)):
            x = first
            while x < last:
                width, tall, back = rng.uniform((6, 4, 0), (18, 14, 4))
                ends, front = (x, min(x + width, last)), side * (beside + back)
                edges = sorted((front, front + 8 * side))
                slab(number, (ends[0], edges[0], 0), (ends[1], edges[1], tall))
                for _ in range(rng.integers(3, 10)):
                    # Stairs, bay windows and balconies, anywhere.
                    size = rng.uniform((0.6, 0.5, 0.3), (4, 1.5, 3))
                    low = rng.uniform((ends[0], 0, 0), (ends[1], 0.1, tall))
                    edges = sorted((front, front - size[1] * side))
                    high = low + size
                    slab(number, (low[0], edges[0], low[2]), (high[0], edges[1], high[2]))
                x = ends[1] + rng.choice([0.0, 2.0, 5.0])
            kerb = quarter(number, [(0, side * 4.5, 0), (long, side * 6.5, 0)])
            make.furnish(kerb.min(0), kerb.max(0), round(long / 12), 3.0)
    along = 4 * (np.arange(scans) + rng.uniform(-0.2, 0.2, scans)) / long % 4
    stand = np.column_stack([long * (along % 1), rng.uniform((-1, 1.5), (1, 2.2), (scans, 2))])
    turn = np.radians(rng.uniform(-40, 40, scans))
    gaze = stand + np.stack([np.cos(turn), np.sin(turn), np.full(scans, -0.1)], 1)
    both = np.stack([stand, gaze], 1)
    path = [quarter(number, each) for number, each in zip(along.astype(int), both, strict=True)]
    return make.scene(np.array(path), middle)


SCENES: dict[str, Callable[[np.random.Generator, int, float], Scene]] = {
    "room": _room,
    "corridor": _corridor,
    "hall": _hall,
    "facade": _facade,
    "table": _table,
    "building": _building,
    "street": _street,
}
"""The kinds of scenes: functions of a random generator, the number of scans and the step."""


def _rows(parts: Sequence[Part]) -> Tensor:
    """(P, 16) the patches of parts, in the frame that the parts are placed in."""
    found = []
    for part in parts:
        rows = torch.tensor(part.rows, dtype=torch.float64)
        turn = torch.tensor(part.rotation, dtype=torch.float64)
        vectors = rows[:, :12].view(-1, 4, 3) @ turn.mT
        vectors[:, 0] += torch.tensor(part.translation, dtype=torch.float64)
        found.append(torch.cat([vectors.flatten(1), rows[:, 12:]], 1))
    return torch.cat(found)


@cache
def _solid(category: str, number: int) -> Tensor:
    """The patches of a synthetic solid, without its cuts, of width 1, standing on z = 0."""
    solid = synthetic.solid(category, number)
    corners = []
    for part in solid.parts:
        low, high = (torch.tensor(corner, dtype=torch.float64) for corner in part.bounds())
        ends = torch.cartesian_prod(*torch.stack([low, high], 1))
        turn = torch.tensor(part.rotation, dtype=torch.float64)
        corners.append(ends @ turn.mT + torch.tensor(part.translation, dtype=torch.float64))
    low, high = torch.cat(corners).aminmax(dim=0)
    size = float((high - low)[:2].max())
    base = torch.stack([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]]) / size
    return _scaled(_rows(solid.parts), 1 / size, 0.0, tuple((-base).tolist()))


def _scaled(rows: Tensor, scale: float, degrees: float, place: Sequence[float]) -> Tensor:
    """Patches scaled, turned about the z axis, and moved to a place."""
    turn = motion(degrees, 0, 0).rotation
    vectors, rest = rows[:, :12].view(-1, 4, 3) @ turn.mT, rows[:, 12:].clone()
    is_round = (rest[:, 3] == Surface.ROUND)[:, None]
    vectors[:, 0] = scale * vectors[:, 0] + torch.tensor(place, dtype=torch.float64)
    # The vectors u and v span a flat patch; those of a round one are of unit length.
    vectors[:, 2:] *= torch.where(is_round, 1.0, scale)[..., None]
    rest[:, :3] *= scale
    return torch.cat([vectors.flatten(1), rest], 1)
