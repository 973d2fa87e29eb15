"""Simulated scans of made-up places, with true poses: ray casting on the solids of `synthetic`.

A scene is a list of patches: parallelograms, triangles and pieces of cones. A sensor sends rays
from one place, and each ray returns the nearest patch that it meets. Then come noise that grows
with the range, dropouts, and mixed pixels: at an edge some ranges lie between the two surfaces.

Two numbers of each pair of scans are computed from the scene, not from the noisy points:

- The overlap is the share of one scan's points that the other sensor sees too. It is the smaller
  of the two shares.
- A pair is ambiguous if another pose explains it about as well as the true one. Each kind of scene
  names the motions to try: steps along a corridor, from column to column or from window to window,
  half turns, and from one corner of a room to another. A motion explains the pair if it keeps
  `_KEPT` of the points that both see, and puts at most `_THROUGH` of them where the other sensor
  looks through.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from spoonful.data import synthetic
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.data.synthetic.solids import Part, Surface, box, cylinder
from spoonful.files import check_folder, write_whole
from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice, check_count

Numbers: TypeAlias = Sequence[float] | np.ndarray

# Ranges this near each other, as a share and in metres, are of one surface.
_SAME_SHARE, _SAME_RANGE = 0.01, 0.02
# What makes another pose as good as the true one, see above.
_KEPT, _THROUGH = 0.8, 0.02
# A camera must see something along more than this share of its rays.
_SEEN = 0.1
# Points of a scan that overlap and ambiguity are computed from.
_PROBES = 400
# Ray and patch tests that are looked at together.
_AT_ONCE = 4_000_000
_WALL = 0.1
# For rounding: the outermost rays are in view.
_HAIR = 1e-9


class Sensor(NamedTuple):
    """A sensor at the origin of its own frame; lengths are in metres.

    The camera looks along z with y down; the LiDAR has z up.

    Attributes:
        spins: whether it is a spinning LiDAR, and no camera.
        shape: rays, as rows and columns.
        view: camera: half the width and height of the image at distance one. LiDAR: the lowest and
            highest ray, in degrees.
        reach: the least and greatest range.
        noise: the standard deviation of a range r is noise[0] + noise[1] r^2.
        step: how far apart two scans are taken, at most, along each axis.
        dropouts: the share of rays that return nothing.
        mixed: the share of rays at an edge that return a range between the two surfaces.
    """

    spins: bool
    shape: tuple[int, int]
    view: tuple[float, float]
    reach: tuple[float, float]
    noise: tuple[float, float]
    step: float
    dropouts: float = 0.03
    mixed: float = 0.3

    def rays(self) -> Tensor:
        """(rows, columns, 3) unit vectors."""
        rows, columns = self.shape
        if self.spins:
            low, high = (math.radians(degrees) for degrees in self.view)
            up = torch.linspace(high, low, rows, dtype=torch.float64)[:, None].expand(self.shape)
            turn = torch.arange(columns, dtype=torch.float64) * (2 * math.pi / columns)
            turn = turn.expand(self.shape)
            parts = [up.cos() * turn.cos(), up.cos() * turn.sin(), up.sin()]
        else:
            x, y = (
                torch.linspace(-half, half, count, dtype=torch.float64)
                for half, count in zip(self.view, (columns, rows), strict=True)
            )
            parts = [x.expand(self.shape), y[:, None].expand(self.shape), torch.ones(self.shape)]
        return torch.nn.functional.normalize(torch.stack(parts, -1).double(), dim=-1)

    def sees(self, points: Tensor) -> Tensor:
        """(...) which points (..., 3), in the sensor's frame, are in its view and reach."""
        x, y, z = points.unbind(-1)
        length = points.norm(dim=-1)
        if self.spins:
            low, high = (math.sin(math.radians(degrees)) for degrees in self.view)
            inside = (z >= (low - _HAIR) * length) & (z <= (high + _HAIR) * length)
        else:
            wide, tall = self.view
            inside = (x.abs() <= (wide + _HAIR) * z) & (y.abs() <= (tall + _HAIR) * z)
        return inside & (length > self.reach[0]) & (length < self.reach[1])


SENSORS = {
    "camera": Sensor(False, (120, 160), (0.75, 0.56), (0.3, 8.0), (0.001, 0.0006), 2.0),
    "lidar": Sensor(True, (32, 900), (-25.0, 15.0), (0.5, 60.0), (0.008, 0.00002), 8.0),
}
"""A depth camera of 19,200 points, and a spinning LiDAR of 28,800."""


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


class Simulated(NamedTuple):
    """Scans of one scene, or of one scene each.

    Attributes:
        kind: of the scene.
        sensor: its name.
        seed: what it was made from.
        clouds: N scans, each in its sensor's frame.
        poses: rotation (N, 3, 3): where each sensor is in its scene.
        overlap: (N, N) the share of points that both see; zero if the scans are apart.
        ambiguous: (N, N) bool, which pairs another pose explains as well.
        apart: whether each scan is of another scene, so that no pose is right.
    """

    kind: str
    sensor: str
    seed: int
    clouds: tuple[Cloud, ...]
    poses: Pose
    overlap: Tensor
    ambiguous: Tensor
    apart: bool

    def pose(self, source: int, target: int) -> Pose:
        """The true pose from one scan's frame to another's."""
        return self.poses.at(target).inverse().compose(self.poses.at(source))


def simulate(
    kind: str = "room",
    sensor: str = "camera",
    *,
    scans: int = 2,
    seed: int = 0,
    apart: bool = False,
    detail: float = 1.0,
) -> Simulated:
    """Scans of a made-up scene, with their true poses.

    Args:
        kind: of the scene, one of `SCENES`. A building and a street grow with the number of scans.
        sensor: "camera" or "lidar".
        scans: how many. Each is taken a step away from the one before.
        seed: the same seed gives the same scans.
        apart: makes a scene for each scan, so that the scans share nothing.
        detail: rows and columns of the sensor, as a multiple of the usual ones.

    >>> made = simulate("room", "camera", detail=0.5)
    >>> len(made.clouds), bool(made.overlap[0, 1] > 0.1)
    (2, True)
    """
    check_choice("kind", kind, SCENES)
    check_choice("sensor", sensor, SENSORS)
    check_count("scans", scans)
    if not 0.1 <= detail <= 10:
        raise ValueError(f"detail must be between 0.1 and 10, got {detail}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    used = SENSORS[sensor]
    rows, columns = used.shape
    used = used._replace(shape=(round(detail * rows), round(detail * columns)))
    rng = np.random.default_rng([seed, list(SCENES).index(kind), list(SENSORS).index(sensor)])
    scene = SCENES[kind](rng, scans, used.step)
    taken = []
    for k in range(scans):
        if apart:
            scene = SCENES[kind](rng, scans, used.step)
        taken.append(_take(scene, used, k, rng))
    poses = Pose(*(torch.stack(part) for part in zip(*(each.pose for each in taken), strict=True)))
    empty = torch.zeros(scans, scans, dtype=torch.float64)
    compared = (empty, empty > 0) if apart else _compare(scene, used, taken)
    clouds = tuple(Cloud(each.points) for each in taken)
    return Simulated(kind, sensor, seed, clouds, poses, *compared, apart)


def write_simulated(folder: Path, made: Simulated) -> Path:
    """Write scans as `scan-000.ply` and so on, and what is known of them as `scene.json`.

    If the folder has a `scene.json`, its further scans are removed.
    """
    check_folder("folder", folder)
    scene = folder / "scene.json"
    names = [f"scan-{k:03d}.ply" for k in range(len(made.clouds))]
    for name, cloud in zip(names, made.clouds, strict=True):
        write_cloud(folder / name, Cloud(cloud.points.float()))
    further = (folder / f"scan-{k:03d}.ply" for k in itertools.count(len(names)))
    for old in itertools.takewhile(Path.is_file, further if scene.is_file() else ()):
        old.unlink()
    facts = {
        "kind": made.kind,
        "sensor": made.sensor,
        "seed": made.seed,
        "apart": made.apart,
        "scans": [
            {"file": name, "pose": matrix}
            for name, matrix in zip(names, made.poses.matrix().tolist(), strict=True)
        ],
        "pairs": [
            {
                "source": names[i],
                "target": names[j],
                "overlap": round(float(made.overlap[i, j]), 4),
                "ambiguous": bool(made.ambiguous[i, j]),
            }
            for i in range(len(names))
            for j in range(i)
            if made.overlap[i, j] > 0
        ],
    }
    return write_whole(scene, json.dumps(facts, indent=1))


# --- casting ----------------------------------------------------------------------------------


def first_hits(rows: Tensor, origin: Tensor, rays: Tensor, most: float = math.inf) -> Tensor:
    """(R,) distances along unit vectors `rays` (R, 3) to the nearest patch; inf if there is none.

    Args:
        rows: (P, 16) patches of closed surfaces, with normals outwards.
        origin: (3,) the sensor, outside of all solids.
        rays: (R, 3) unit vectors.
        most: patches farther away than this are left out.
    """
    rows, middle, reach = _visible(rows, origin, most)
    away = (middle - origin).norm(dim=-1)
    # The half angle of a cone from the sensor around each patch; a little more, for rounding.
    least = (1 - (reach / away).clamp(max=1).square()).sqrt().where(away > reach, -2.0) - 1e-6
    towards = (middle - origin) / away.clamp_min(1e-12)[:, None]
    best = torch.full((len(rays),), torch.inf, dtype=torch.float64)
    size = max(1, _AT_ONCE // max(1, len(rows)))
    for start in range(0, len(rays), size):
        some = rays[start : start + size]
        ray, patch = (some @ towards.mT >= least).nonzero().unbind(1)
        found = _meet(rows[patch], origin, some[ray])
        best[start : start + size].scatter_reduce_(0, ray, found, "amin")
    return best


def _visible(rows: Tensor, origin: Tensor, most: float) -> tuple[Tensor, Tensor, Tensor]:
    """The patches that may be seen, and a ball around each: (Q, 16), (Q, 3) and (Q,)."""
    start, axis, u, v, rest = rows.split([3, 3, 3, 3, 4], dim=1)
    r0, r1, height, kind = rest.unbind(1)
    is_round = kind == Surface.ROUND
    along = torch.where(is_round, 0.0, 0.5)[:, None] * (u + v)
    along = along + (0.5 * height.where(is_round, 0.0))[:, None] * axis
    flat = 0.5 * torch.maximum((u + v).norm(dim=1), (u - v).norm(dim=1))
    reach = torch.where(is_round, torch.hypot(0.5 * height, torch.maximum(r0, r1)), flat)
    facing = ((origin - start) * axis).sum(1) > 0
    keep = (is_round | facing) & ((start + along - origin).norm(dim=1) - reach < most)
    return rows[keep], (start + along)[keep], reach[keep]


def _meet(rows: Tensor, origin: Tensor, rays: Tensor) -> Tensor:
    """(K,) how far along each ray its patch is; inf if the ray misses it."""
    start, axis, u, v, rest = rows.split([3, 3, 3, 3, 4], dim=1)
    r0, r1, height, kind = rest.unbind(1)
    is_round = kind == Surface.ROUND
    gap = origin - start
    z0, dz = (gap * axis).sum(1), (rays * axis).sum(1)
    flat = -z0 / dz.where(dz.abs() > 1e-12, 1e-12)
    place = gap + flat[:, None] * rays
    # place = s u + t v, solved by the vectors that are orthogonal to v and to u.
    normal = torch.linalg.cross(u, v)
    area = normal.square().sum(1).clamp_min(1e-24)
    s = (torch.linalg.cross(place, v) * normal).sum(1) / area
    t = (torch.linalg.cross(u, place) * normal).sum(1) / area
    inside = (s >= 0) & (t >= 0) & ((s <= 1) & (t <= 1) | is_round)
    inside &= (kind != Surface.TRIANGLE) | (s + t <= 1)
    radius = place.norm(dim=1)
    disc = (radius >= torch.minimum(r0, r1)) & (radius <= torch.maximum(r0, r1))
    inside = torch.where(is_round, disc & (height == 0), inside)
    found = flat.where(inside & (flat > 0), torch.inf)
    # A cone: |gap + t d|^2 = z^2 + (r0 + k z)^2 with z = z0 + t dz.
    cone = (is_round & (height != 0)).nonzero().squeeze(1)
    gap, d, z0, dz, h, r = gap[cone], rays[cone], z0[cone], dz[cone], height[cone], r0[cone]
    k = (r1[cone] - r) / h
    rim = r + k * z0
    a = 1 - dz * dz * (1 + k * k)
    b = (gap * d).sum(1) - z0 * dz - rim * k * dz
    c = gap.square().sum(1) - z0 * z0 - rim * rim
    a = a.where(a.abs() > 1e-12, 1e-12)
    root = (b * b - a * c).clamp_min(0).sqrt().where(b * b >= a * c, torch.inf)
    for sign in (-1.0, 1.0):
        t = (-b + sign * root) / a
        z = z0 + t * dz
        on = (z / h >= 0) & (z / h <= 1) & (r + k * z >= 0) & (t > 0)
        found[cone] = torch.minimum(found[cone], t.where(on, torch.inf))
    return found


class _Taken(NamedTuple):
    """A scan in its own frame, its pose, and some of its points without noise, in the scene."""

    points: Tensor
    pose: Pose
    probes: Tensor


def _take(scene: Scene, sensor: Sensor, number: int, rng: np.random.Generator) -> _Taken:
    """The scan from one place of the scene's path.

    A camera that sees nearly nothing, because it stands before a wall, is turned.
    """
    stand, gaze = scene.path[number]
    rays = sensor.rays()
    for degrees in range(0, 360, 45):
        aim = _motion(degrees, 0, 0).rotation.numpy() @ (gaze - stand)
        pose = _facing(sensor, stand, aim, rng)
        turned = (rays @ pose.rotation.mT).flatten(0, 1)
        true = first_hits(scene.rows, pose.translation, turned, sensor.reach[1]).view(sensor.shape)
        seen = (true > sensor.reach[0]) & (true < sensor.reach[1])
        if seen.double().mean() > _SEEN:
            break
    ranges = torch.from_numpy(_measured(true.numpy(), sensor, rng))
    kept = seen & ranges.isfinite() & (ranges > sensor.reach[0])
    clean = pose.apply(rays[seen] * true[seen].unsqueeze(-1))
    probes = clean[torch.from_numpy(rng.permutation(len(clean))[:_PROBES])]
    return _Taken(rays[kept] * ranges[kept].unsqueeze(-1), pose, probes)


def _facing(sensor: Sensor, stand: np.ndarray, aim: np.ndarray, rng: np.random.Generator) -> Pose:
    """The pose of a sensor; a LiDAR is turned at random, and both are tilted by a few degrees."""
    ahead = np.append(rng.normal(size=2), 0.0) if sensor.spins else aim
    ahead = ahead / np.linalg.norm(ahead) + rng.normal(scale=0.03, size=3)
    ahead /= np.linalg.norm(ahead)
    aside = np.cross(ahead, [*rng.normal(scale=0.03, size=2), 1.0])
    aside /= np.linalg.norm(aside)
    up = np.cross(aside, ahead)
    axes = [ahead, -aside, up] if sensor.spins else [aside, -up, ahead]
    return Pose(torch.from_numpy(np.stack(axes, 1)), torch.from_numpy(stand))


def _measured(true: np.ndarray, sensor: Sensor, rng: np.random.Generator) -> np.ndarray:
    """The ranges that a sensor reports: NaN for dropouts; mixed at edges; noisy."""
    beside = np.roll(true, 1, axis=1)
    with np.errstate(invalid="ignore"):
        edge = np.isfinite(beside) & (np.abs(beside - true) > 0.05 * true)
    edge &= rng.random(true.shape) < sensor.mixed
    share = rng.random(true.shape)
    mixed = np.where(edge, share * true + (1 - share) * np.where(edge, beside, 0.0), true)
    constant, growth = sensor.noise
    with np.errstate(invalid="ignore"):
        noisy = mixed + (constant + growth * mixed**2) * rng.normal(size=true.shape)
    return np.where(rng.random(true.shape) < sensor.dropouts, np.nan, noisy)


def _compare(scene: Scene, sensor: Sensor, taken: Sequence[_Taken]) -> tuple[Tensor, Tensor]:
    """Overlap and ambiguity of all pairs, (N, N) each."""
    count = len(taken)
    probes = [each.probes for each in taken]
    there = torch.stack([_met(scene, sensor, each.pose, probes)[0] for each in taken], 1)
    overlap = torch.minimum(there, there.mT)
    ambiguous = torch.zeros(count, count, dtype=torch.bool)
    for motion in scene.motions:
        for i, j in (overlap > 0).triu(1).nonzero().tolist():
            ambiguous[i, j] |= all(
                _explains(scene, sensor, taken[b].pose, moved.apply(probes[a]), there[a, b])
                for a, b, moved in ((i, j, motion), (j, i, motion.inverse()))
            )
    return overlap, ambiguous | ambiguous.mT


def _explains(scene: Scene, sensor: Sensor, pose: Pose, points: Tensor, share: Tensor) -> bool:
    """True if moved points (N, 3) explain the scan from `pose`.

    `share` is how many of the points that scan sees where they really are.
    """
    least = _KEPT * share
    if sensor.sees(pose.inverse().apply(points)).double().mean() < least:
        return False  # without casting rays, which takes longer
    on, through = _met(scene, sensor, pose, [points])
    return bool(on >= least) and bool(through <= _THROUGH * on)


def _met(
    scene: Scene, sensor: Sensor, pose: Pose, clouds: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """The shares of each cloud that the sensor would see, and that it sees through."""
    points = torch.cat(list(clouds))
    away = (points - pose.translation).norm(dim=-1)
    inside = sensor.sees(pose.inverse().apply(points))
    rays = (points[inside] - pose.translation) / away[inside].unsqueeze(-1)
    hit = torch.zeros_like(away)
    hit[inside] = first_hits(scene.rows, pose.translation, rays, sensor.reach[1])
    same = _SAME_RANGE + _SAME_SHARE * away
    on, through = inside & ((hit - away).abs() < same), inside & (hit > away + same)
    sizes = [len(cloud) for cloud in clouds]
    shares = ([part.double().mean() for part in kind.split(sizes)] for kind in (on, through))
    on_share, through_share = (torch.stack(part).nan_to_num() for part in shares)
    return on_share, through_share


def _motion(degrees: float, x: float, y: float, about: Numbers = (0, 0)) -> Pose:
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


# --- scenes -----------------------------------------------------------------------------------


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
        return Scene(torch.cat(self.rows), path, tuple(_motion(*each, about) for each in motions))


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
        turn = _motion(90 * number, 0, 0, middle)
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
    turn = _motion(degrees, 0, 0).rotation
    vectors, rest = rows[:, :12].view(-1, 4, 3) @ turn.mT, rows[:, 12:].clone()
    is_round = (rest[:, 3] == Surface.ROUND)[:, None]
    vectors[:, 0] = scale * vectors[:, 0] + torch.tensor(place, dtype=torch.float64)
    # The vectors u and v span a flat patch; those of a round one are of unit length.
    vectors[:, 2:] *= torch.where(is_round, 1.0, scale)[..., None]
    rest[:, :3] *= scale
    return torch.cat([vectors.flatten(1), rest], 1)
