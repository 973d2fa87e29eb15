"""Simulated scans of made-up places, with true poses.

A sensor sends rays from one place of a scene, and each ray returns the nearest surface that it
meets. Then come noise that grows with the range, dropouts, and mixed pixels: at an edge some ranges
lie between the two surfaces.

Two numbers of each pair of scans are computed from the scene, not from the noisy points:

- The overlap is the share of one scan's points that the other sensor sees too. It is the smaller
  of the two shares.
- A pair is ambiguous if another pose explains it about as well as the true one. The motions of the
  scene are tried. A motion explains the pair if it keeps `_KEPT` of the points that both see, and
  puts at most `_THROUGH` of them where the other sensor looks through.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, write_cloud
from spoonful.data.raycast import first_hits
from spoonful.data.scenes import SCENES, Scene, motion
from spoonful.files import check_folder, write_whole
from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice, check_count

# Ranges this near each other, as a share and in metres, are of one surface.
_SAME_SHARE, _SAME_RANGE = 0.01, 0.02
# What makes another pose as good as the true one, see above.
_KEPT, _THROUGH = 0.8, 0.02
# A camera must see something along more than this share of its rays.
_SEEN = 0.1
# Points of a scan that overlap and ambiguity are computed from.
_PROBES = 400
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

    If the folder has a `scene.json`, the scans of that scene are replaced or removed.

    Raises:
        ValueError: the folder has a scan of such a name but no `scene.json`.
    """
    check_folder("folder", folder)
    scene = folder / "scene.json"
    names = [f"scan-{k:03d}.ply" for k in range(len(made.clouds))]
    taken = [folder / name for name in names if (folder / name).exists()]
    if taken and not scene.is_file():
        raise ValueError(
            f"{taken[0]} exists and may be a real scan, because {folder} has no scene.json: "
            "choose another folder"
        )
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
        aim = motion(degrees, 0, 0).rotation.numpy() @ (gaze - stand)
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
    for change in scene.motions:
        for i, j in (overlap > 0).triu(1).nonzero().tolist():
            ambiguous[i, j] |= all(
                _explains(scene, sensor, taken[b].pose, moved.apply(probes[a]), there[a, b])
                for a, b, moved in ((i, j, change), (j, i, change.inverse()))
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
