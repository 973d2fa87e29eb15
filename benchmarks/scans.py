"""Measure `register` on scans: correct poses, doubted wrong results, time.

    python benchmarks/scans.py --data SCANS [--methods auto ransac fgr] [--turns 3] [--save]

SCANS is a folder with
- `3dmatch/SCENE` and `3dlomatch/SCENE`: fragments `cloud_bin_K.ply` and `gt.log` in the published
  format. Pairs whose fragments are missing are left out, and of 3DMatch every second pair.
  Right is within 15 degrees and 0.3 m.
- `bunny`: range scans and `poses.json`, the 4x4 that maps each to a common frame. Pairs are those
  of which each scan has more than 0.3 of its points within 2 mm of the other. Right is within
  5 degrees and 1 cm.
- `pairs`: `NAME.npz` with `src`, `ref` and `T`, and `index.json` with the tolerances. The
  distance is that of the source's centroid.

More sets need no files, or the same ones:
- `room 40%` and `room 30%`: bare rooms with boxes. Each scan is one end of the room, with 5 mm
  noise, and the two share that part of its length. Right is within 5 degrees and 0.2 m.
- `apart`: pairs that share nothing (fragments of which less than 0.03 overlap, and fragments
  against bunny scans, brought to one size). Every pose is wrong, and should be doubted.
- `lumps` and `lumps, apart`: objects made of seven balls, with 2 mm noise. Two views share 0.4 to
  0.7 of one object, or two whole objects share nothing. Right is within 5 degrees and 5 cm.
- `simulated`: `--simulated` pairs of each of ten kinds of scene and sensor, by
  `spoonful.data.simulate`. In every fourth the two scans are of different scenes. Pairs that
  another pose explains as well, that overlap by less than 0.1, or that share nothing are counted
  apart. Right is within 5 degrees and 0.2 m (LiDAR 0.4 m, table 0.05 m).

The source is turned by a uniformly random rotation first: `--turns` times for `auto`, and
`--peer-turns` times for the other methods. Lumps and simulated pairs are turned once: `--simulated`
makes more of them. Normals that come with the files are left out unless `--normals` is given. For
each turn all methods run one after the other.

Intervals are Wilson's, at 95 %. Turns of one pair are not independent, so an interval counts each
pair as one trial, with the share of its turns.

`--seeds N` registers each pair with N seeds, and counts the pairs with one answer: all poses are
within 2 degrees and two voxels of the first, and all are right or all wrong. With `--turns N` each
seed has its own turn of the source.

`--scale random` gives the source an unknown scale, log-uniform in 0.2 to 5, and `--scale 1000` one
factor; `scale="auto"` is compared with the rigid search on the sources as they are.

`--device cuda` does the work of `auto` on a GPU; the first pair is registered once before, since
kernels are then compiled. `--profile` prints where the time of `auto` goes.

`auto` is told nothing but the two clouds. `ransac` and `fgr` are Open3D's FPFH + RANSAC and FPFH +
FGR, `kiss` is KISS-Matcher, all three followed by point-to-plane ICP, with a voxel that suits the
data; `--peer-voxel 2` doubles it, to see whether another suits them better. `small_gicp` solves an
easier task: it starts near the true pose. Pairs that share nothing are for `auto` only, since the
others do not say how sure they are. A method whose package is missing is
left out, and the table says so.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import itertools
import json
import math
import sys
import time
import unittest.mock
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from _harness import RESULTS, machine, save, table
from spoonful.classical import presets
from spoonful.data.clouds import Cloud, read_cloud
from spoonful.data.sampling import voxel_average
from spoonful.data.simulate import simulate
from spoonful.data.threedmatch import read_log
from spoonful.geometry import Pose, random_rotation
from spoonful.metrics import rotation_error_degrees
from spoonful.neighbors import Index
from spoonful.pipeline import register
from spoonful.pipeline.alignment import Matches
from spoonful.pipeline.scale import refine_scale

SETS = ("3dmatch", "3dlomatch", "bunny", "pairs", "room 40%", "room 30%", "lumps", "apart")
SETS += ("simulated",)
# Kinds of scenes and sensors that are simulated.
SIMULATED = tuple((kind, "camera") for kind in ("room", "corridor", "table", "building", "hall"))
SIMULATED += tuple((kind, "lidar") for kind in ("room", "corridor", "hall", "facade", "building"))
ROOMS, LUMPS = 12, 20  # of each kind
# small_gicp starts at most this far from the true pose.
ROUGH_DEGREES, ROUGH_VOXELS = 20.0, 5
# Functions of `register`, by module, whose times are told apart.
STAGES = {
    "auto": "as_cloud prepare Search gather ranked relief_of freedom_of statistics_of polish "
    "_measure",
    "prepare": "thinned seen_from_origin choose_voxel scan_on_grid normals_at faced",
    "search": "fpfh Field find_evidence settle",
}


class Pair(NamedTuple):
    """Two scans, and the pose that is called right."""

    kind: str
    name: str
    source: Cloud
    target: Cloud
    truth: np.ndarray | None  # maps source to target; None if nothing is right
    degrees: float
    distance: float
    voxel: float
    about: np.ndarray = np.zeros(3)  # the point of the source whose distance counts
    origin: str = ""  # where the scans come from, if it is not `kind`


class Outcome(NamedTuple):
    """The answer of a method."""

    transform: np.ndarray
    confident: bool | None = None
    confidence: float | None = None


class Row(NamedTuple):
    """The result for one pair and turn."""

    kind: str
    name: str
    right: bool
    confident: bool | None
    confidence: float | None
    seconds: float
    cpu: float


def pairs(
    root: Path,
    kinds: Sequence[str],
    every: int,
    seeds: Sequence[int] = (),
    part: tuple[int, int] = (1, 1),
    done: Collection[str] = (),
    objects: Sequence[int] = range(2 * LUMPS),
) -> Iterator[Pair]:
    """The pairs of the named sets, in the order of `SETS`; one per seed of each simulated kind.

    `part` (2, 3) takes the second third of each set, every third pair. Simulated pairs with a name
    in `done` are left out. `objects` are the seeds of round objects.
    """
    own = slice(part[0] - 1, None, part[1])
    makers = {
        "3dmatch": lambda: fragments(root, "3dmatch", every),
        "3dlomatch": lambda: fragments(root, "3dlomatch", 1),
        "bunny": lambda: bunnies(root),
        "pairs": lambda: listed(root),
        "room 40%": lambda: rooms("room 40%", 0.4),
        "room 30%": lambda: rooms("room 30%", 0.3),
        "lumps": lambda: lumps(objects),
        "apart": lambda: strangers(root),
    }
    for kind in SETS:
        if kind in kinds and kind != "simulated":
            yield from itertools.islice(makers[kind](), own.start, None, own.step)
    if "simulated" in kinds:
        yield from simulated([*itertools.product(seeds, SIMULATED)][own], done)


read = functools.lru_cache(maxsize=None)(read_cloud)


def fragments(root: Path, kind: str, every: int) -> Iterator[Pair]:
    for log in sorted((root / kind).glob("*/gt.log")):
        scene = root / "3dmatch" / log.parent.name
        paths = [
            [scene / f"cloud_bin_{k}.ply" for k in (e.source, e.target)] for e in read_log(log)
        ]
        here = [
            (entry, both)
            for entry, both in zip(read_log(log), paths, strict=True)
            if all(path.exists() for path in both)
        ]
        for entry, both in here[::every]:
            name = f"{scene.name} {entry.source} on {entry.target}"
            yield Pair(kind, name, *map(read, both), entry.matrix.numpy(), 15.0, 0.3, 0.05)


def bunnies(root: Path) -> Iterator[Pair]:
    poses = {
        name: np.array(matrix)
        for name, matrix in json.loads((root / "bunny" / "poses.json").read_text()).items()
    }
    scans = {name: read(root / "bunny" / f"{name}.ply") for name in poses}
    placed = {k: move(poses[k], scans[k].points.double().numpy()) for k in poses}
    indices = {k: Index(torch.from_numpy(points)) for k, points in placed.items()}
    for a, b in itertools.combinations(poses, 2):
        both = ((indices[a], indices[b]), (indices[b], indices[a]))
        squared = [y.nearest(x.points, reach=0.002).squared_distance for x, y in both]
        if min(each.isfinite().double().mean() for each in squared) > 0.3:
            truth = np.linalg.inv(poses[a]) @ poses[b]
            yield Pair("bunny", f"{b} on {a}", scans[b], scans[a], truth, 5.0, 0.01, 0.004)


def listed(root: Path) -> Iterator[Pair]:
    for name, facts in json.loads((root / "pairs" / "index.json").read_text()).items():
        arrays = np.load(root / "pairs" / f"{name}.npz")
        source, target = (torch.from_numpy(arrays[k]).double() for k in ("src", "ref"))
        yield Pair(
            "pairs",
            name,
            Cloud(source),
            Cloud(target),
            arrays["T"].astype(float),
            facts["tol_deg"],
            facts["tol_len"],
            facts["voxel_domain"],
            source.mean(0).numpy(),
            facts["source"],
        )


def rooms(kind: str, share: float) -> Iterator[Pair]:
    for k in range(ROOMS):
        source, target = room(np.random.default_rng([k, round(100 * share)]), share)
        about = source.points.mean(0).numpy()
        yield Pair(kind, str(k), source, target, np.eye(4), 5.0, 0.2, 0.1, about)


def room(rng: np.random.Generator, share: float, count: int = 60_000) -> tuple[Cloud, Cloud]:
    """The two ends of a room with boxes in it, in metres."""
    size = rng.uniform((6, 3.5, 2.4), (10, 6, 3.2))
    boxes = [(np.zeros(3), size)]
    for _ in range(rng.integers(6, 10)):
        edges = rng.uniform((0.3, 0.3, 0.3), (1.4, 1.2, 1.8))
        boxes.append((np.append(rng.uniform(0, size[:2] - edges[:2]), 0), edges))
    # A side has an axis across it, and an end of that axis. Boxes stand on the floor.
    sides = [
        (low, edges, axis, end)
        for k, (low, edges) in enumerate(boxes)
        for axis in range(3)
        for end in (0, 1)
        if k == 0 or (axis, end) != (2, 0)
    ]
    area = np.array([np.prod(np.delete(edges, axis)) for _, edges, axis, _ in sides])
    clouds = []
    for reach in (1, -1):
        which = rng.choice(len(sides), 2 * count, p=area / area.sum())
        places = rng.random((2 * count, 3))
        low, edges = (np.array([side[i] for side in sides])[which] for i in (0, 1))
        axis, end = (np.array([side[i] for side in sides])[which] for i in (2, 3))
        places[np.arange(2 * count), axis] = end
        points = low + places * edges + 0.005 * rng.normal(size=(2 * count, 3))
        along = points[:, 0] / size[0] if reach > 0 else 1 - points[:, 0] / size[0]
        clouds.append(Cloud(torch.from_numpy(points[along < (1 + share) / 2][:count])))
    return clouds[0], clouds[1]


def lumps(seeds: Sequence[int]) -> Iterator[Pair]:
    for k in seeds:
        rng = np.random.default_rng([k, 7])
        balls = [(rng.normal(size=(7, 3)) * 0.4, rng.uniform(0.2, 0.5, 7)) for _ in range(2)]
        apart = k % 2 == 1
        side = 0 if apart else 1
        source, target = lump(rng, *balls[0], side), lump(rng, *balls[apart], -side)
        kind, truth = ("lumps, apart", None) if apart else ("lumps", np.eye(4))
        about = source.points.mean(0).numpy()
        yield Pair(kind, str(k), source, target, truth, 5.0, 0.05, 0.02, about, "lumps")


def lump(rng: np.random.Generator, centers: np.ndarray, radii: np.ndarray, side: int) -> Cloud:
    """The surface of balls that run into each other, without the end on one side (or whole: 0)."""
    which = rng.choice(len(radii), 30_000, p=radii**2 / (radii**2).sum())
    out = rng.normal(size=(len(which), 3))
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    points = centers[which] + radii[which, None] * out
    depth = np.linalg.norm(points[:, None] - centers, axis=2) - radii
    points = points[depth.min(1) > -1e-6]
    along = side * points[:, 0]
    kept = along <= np.quantile(along, rng.uniform(0.7, 0.85))
    return Cloud(torch.from_numpy(points + 0.002 * rng.normal(size=points.shape))[kept])


def strangers(root: Path) -> Iterator[Pair]:
    poses = json.loads((root / "bunny" / "poses.json").read_text())
    for scene in sorted((root / "3dmatch").glob("*")):
        overlap = np.load(scene / "poses.npz")["overlap"]
        paths = [scene / f"cloud_bin_{k}.ply" for k in range(len(overlap))]
        for i, j in itertools.combinations(range(len(overlap)), 2):
            if max(overlap[i, j], overlap[j, i]) < 0.03:
                clouds = read(paths[j]), read(paths[i])
                yield Pair("apart", f"{scene.name} {j} on {i}", *clouds, None, 15.0, 0.3, 0.05)
        for name, path in zip(poses, paths[::2], strict=False):
            scan, small = read(root / "bunny" / f"{name}.ply"), Cloud(read(path).points / 20)
            yield Pair("apart", f"{name} on {path.stem}", scan, small, None, 5, 0.01, 0.004)


def simulated(
    wanted: Sequence[tuple[int, tuple[str, str]]], done: Collection[str]
) -> Iterator[Pair]:
    for seed, (scene, sensor) in wanted:
        if f"{scene} {sensor} {seed}" not in done:
            made = simulate(scene, sensor, seed=seed, apart=seed % 4 == 3)
            if not all(map(len, made.clouds)):
                continue  # a camera that stands too near something sees nothing
            kind = "simulated"
            if made.apart:
                kind = "simulated, apart"
            elif made.ambiguous[0, 1]:
                kind = "simulated, ambiguous"
            elif made.overlap[0, 1] < 0.1:
                kind = "simulated, hardly overlap"
            distance = 0.05 if scene == "table" else 0.2 if sensor == "camera" else 0.4
            yield Pair(
                kind,
                f"{scene} {sensor} {seed}",
                *made.clouds,
                None if made.apart else made.pose(0, 1).matrix().numpy(),
                5.0,
                distance,
                distance / 2,
                made.clouds[0].points.mean(0).numpy(),
                f"{scene} {sensor}",
            )


def move(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def auto(pair: Pair, seed: int = 0, device: str = "cpu") -> Outcome:
    found = register(pair.source, pair.target, seed=seed, device=device)
    return Outcome(found.transform.numpy(), found.confident, found.confidence)


def open3d_method(search: str) -> Callable[[Pair], Outcome]:
    import open3d as o3d

    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)
    o3d.utility.random.seed(0)
    registration = o3d.pipelines.registration

    def run(pair: Pair) -> Outcome:
        voxel = pair.voxel
        clouds, features = [], []
        for cloud in (pair.source, pair.target):
            full = o3d.geometry.PointCloud(
                o3d.utility.Vector3dVector(cloud.points.double().numpy())
            )
            if cloud.normals is not None:
                full.normals = o3d.utility.Vector3dVector(cloud.normals.double().numpy())
            thin = full.voxel_down_sample(voxel)
            if cloud.normals is None:
                thin.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(2 * voxel, 30))
                # Away from the middle, so that both scans of an object agree about its inside.
                thin.orient_normals_towards_camera_location(thin.get_center())
                thin.normals = o3d.utility.Vector3dVector(-np.asarray(thin.normals))
            clouds.append(thin)
            around = o3d.geometry.KDTreeSearchParamHybrid(5 * voxel, 100)
            features.append(registration.compute_fpfh_feature(thin, around))
        if search == "fgr":
            options = registration.FastGlobalRegistrationOption(
                maximum_correspondence_distance=1.5 * voxel
            )
            first = registration.registration_fgr_based_on_feature_matching(
                *clouds, *features, options
            )
        else:
            first = registration.registration_ransac_based_on_feature_matching(
                *clouds,
                *features,
                mutual_filter=True,
                max_correspondence_distance=1.5 * voxel,
                estimation_method=registration.TransformationEstimationPointToPoint(),
                ransac_n=3,
                checkers=[
                    registration.CorrespondenceCheckerBasedOnEdgeLength(0.9),
                    registration.CorrespondenceCheckerBasedOnDistance(1.5 * voxel),
                ],
                criteria=registration.RANSACConvergenceCriteria(100_000, 0.999),
            )
        last = registration.registration_icp(
            *clouds,
            voxel,
            first.transformation,
            registration.TransformationEstimationPointToPlane(),
        )
        return Outcome(last.transformation)

    return run


def kiss(pair: Pair) -> Outcome:
    """KISS-Matcher, then point-to-plane ICP, by the package's own wrappers."""
    matcher = presets.kind("kiss-matcher")(voxel=pair.voxel, thin=True)
    first = matcher.register(pair.source.points, pair.target.points).pose
    icp = presets.kind("icp")(metric="plane", max_distance=2 * pair.voxel)
    return Outcome(icp.register(*thinned(pair), init=first).pose.matrix().numpy())


def small_gicp(pair: Pair) -> Outcome:
    """small_gicp from a start that is nearly right; the error depends on the pair's name."""
    assert pair.truth is not None
    generator = torch.Generator().manual_seed(zlib.crc32(pair.name.encode()))
    middle = pair.source.points.mean(0)
    turn = random_rotation(max_degrees=ROUGH_DEGREES, generator=generator, dtype=torch.float64)
    shift = torch.nn.functional.normalize(torch.randn(3, generator=generator).double(), dim=0)
    nudge = Pose(turn, middle - turn @ middle + ROUGH_VOXELS * pair.voxel * shift)
    start = Pose.from_matrix(torch.from_numpy(pair.truth)).compose(nudge)
    method = presets.kind("small_gicp")(max_distance=5 * pair.voxel)
    return Outcome(method.register(*thinned(pair), init=start).pose.matrix().numpy())


def thinned(pair: Pair) -> list[Tensor]:
    return [voxel_average(c.points.double(), pair.voxel).points for c in (pair.source, pair.target)]


def turned(pair: Pair, turn: int, normals: bool) -> Pair:
    """The pair with its source turned at random; the rotation depends on the name and `turn`."""
    seed = zlib.crc32(f"{pair.kind} {pair.name} {turn}".encode())
    generator = torch.Generator().manual_seed(seed)
    rotation = random_rotation(generator=generator, dtype=torch.float64)

    def moved(cloud: Cloud, rotation: Tensor) -> Cloud:
        own = None if cloud.normals is None or not normals else cloud.normals.double()
        return Cloud(
            cloud.points.double() @ rotation.mT, None if own is None else own @ rotation.mT
        )

    back = np.eye(4)
    back[:3, :3] = rotation.mT.numpy()
    return pair._replace(
        source=moved(pair.source, rotation),
        target=moved(pair.target, torch.eye(3, dtype=torch.float64)),
        truth=None if pair.truth is None else pair.truth @ back,
        about=rotation.numpy() @ pair.about,
    )


def is_right(found: np.ndarray, pair: Pair) -> bool:
    if pair.truth is None:
        return False
    degrees, distance = errors(found, pair.truth, pair.about)
    return degrees < pair.degrees and distance < pair.distance


def errors(found: np.ndarray, truth: np.ndarray, about: np.ndarray) -> tuple[float, float]:
    """The angle between two poses in degrees, and the distance between their images of a point."""
    rotations = (torch.from_numpy(pose[:3, :3]) for pose in (found, truth))
    apart = move(found, about) - move(truth, about)
    return float(rotation_error_degrees(*rotations)), float(np.linalg.norm(apart))


def steady(given: Pair, seeds: int, turns: int, normals: bool) -> bool:
    """True if all seeds give one answer; seed k registers turn k, of as many as there are."""
    poses = []
    for seed in range(seeds):
        # The truth of a pair that is as it should be undoes the turn.
        pair = turned(given._replace(truth=np.eye(4)), seed % turns, normals)
        poses.append(auto(pair, seed).transform @ np.linalg.inv(pair.truth))
    first = given._replace(truth=poses[0], degrees=2.0, distance=2 * given.voxel)
    one = all(is_right(pose, first) for pose in poses)
    return one and len({is_right(pose, given) for pose in poses}) == 1


def finish() -> None:
    """Wait for the GPU, if there is one at work."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def stages(pair: Pair, device: str) -> dict[str, float]:
    """The milliseconds of each stage of `register`, in one thread, without those within it.

    A GPU is waited for after each stage, which takes a little longer in all.
    """
    spent: dict[str, float] = {}
    inside: list[float] = []

    def timed(name: str, work: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **options: object) -> object:
            finish()
            inside.append(0.0)
            began = time.perf_counter()
            result = work(*args, **options)
            finish()
            whole = 1e3 * (time.perf_counter() - began)
            spent[name] = spent.get(name, 0.0) + whole - inside.pop()
            if inside:
                inside[-1] += whole
            return result

        return run

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with contextlib.ExitStack() as patches:
        for module, names in STAGES.items():
            place = importlib.import_module(f"spoonful.pipeline.{module}")
            for name in names.split():
                work = timed(name, getattr(place, name))
                patches.enter_context(unittest.mock.patch.object(place, name, work))
        timed("the rest", register)(pair.source, pair.target, device=device)
    torch.set_num_threads(threads)
    return spent


def profile(spent: list[dict[str, float]]) -> str:
    """The mean milliseconds of each stage, as a table."""
    mean = {name: np.mean([each.get(name, 0.0) for each in spent]) for name in spent[0]}
    whole = sum(mean.values())
    lines = [
        [name, f"{ms:.1f}", f"{ms / whole:.0%}"]
        for name, ms in sorted(mean.items(), key=lambda item: -item[1])
    ]
    return table(["stage", "ms", "share"], [*lines, ["all", f"{whole:.1f}", "100%"]])


def turns_of(pair: Pair, method: str, arguments: argparse.Namespace) -> int:
    """The number of turns of a pair that a method registers."""
    if method == "auto":
        turns = arguments.turns
    elif pair.truth is None:
        return 0
    else:
        turns = arguments.peer_turns or arguments.turns
    return 1 if pair.kind.startswith(("lumps", "simulated")) else turns


def attempt(method: Callable[[Pair], Outcome], pair: Pair) -> Row:
    finish()
    wall, cpu = time.perf_counter(), time.process_time()
    found = method(pair)
    finish()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    right = is_right(found.transform, pair)
    return Row(pair.kind, pair.name, right, *found[1:], wall, cpu)


def interval(share: float, count: float, z: float = 1.96) -> str:
    """Wilson's interval of a share of `count` trials.

    >>> interval(1.0, 61)
    '0.94 to 1.00'
    """
    if not count:
        return "-"
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + (z / count) ** 2 / 4) / (1 + z * z / count)
    return f"{max(0.0, middle - half):.2f} to {min(1.0, middle + half):.2f}"


HEADER = ["method", "pairs of", "turns", "right", "interval", "confidently wrong", "interval"]
HEADER += ["right, doubted", "interval", "seconds", "CPU s", "most CPU s"]


def report(method: str, rows: list[Row], digits: int = 2) -> list[list[str]]:
    """A line of the table for each set."""
    lines = []
    for kind in dict.fromkeys(row.kind for row in rows):
        own = [row for row in rows if row.kind == kind]
        right = [row for row in own if row.right]

        def counted(some: int, of: list[Row], said: bool = True) -> list[str]:
            if not (said and of):
                return ["-", "-"]
            return [f"{some} of {len(of)}", interval(some / len(of), pairs_in(of))]

        says = own[0].confident is not None
        line = [method, kind, str(len(own) // pairs_in(own))]
        line += counted(len(right), own, "apart" not in kind)
        line += counted(sum(bool(row.confident) and not row.right for row in own), own, says)
        line += counted(sum(not row.confident for row in right), right, says)
        line += [f"{np.median([row.seconds for row in own]):.{digits}f}"]
        line += [f"{pick([row.cpu for row in own]):.2f}" for pick in (np.mean, max)]
        lines.append(line)
    return lines


def pairs_in(rows: list[Row]) -> int:
    """The number of pairs in rows of several turns each."""
    return len({(row.kind, row.name) for row in rows})


def reliability(rows: list[Row]) -> str:
    """A table of the share of right results by confidence."""
    rows = [row for row in rows if row.confidence is not None]
    said, right = (np.array([getattr(row, n) for row in rows]) for n in ("confidence", "right"))
    tenth = np.minimum((10 * said).astype(int), 9)
    lines, error = [], 0.0
    for k in np.unique(tenth):
        own = tenth == k
        error += own.mean() * abs(said[own].mean() - right[own].mean())
        span = interval(right[own].mean(), pairs_in([rows[i] for i in np.flatnonzero(own)]))
        counts = [str(own.sum()), f"{said[own].mean():.2f}", f"{right[own].mean():.2f}", span]
        lines.append([f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *counts])
    head = ["confidence", "results", "mean confidence", "share right", "interval"]
    return f"{table(head, lines)}\n\nExpected calibration error: {error:.3f}."


def unknown_scale(arguments: argparse.Namespace) -> None:
    """Compare `scale="auto"` on scaled sources with the rigid search on the sources as they are.

    A random factor is log-uniform in 0.2 to 5 and depends on the pair's name. The scale is also
    refined from the true pose and scale, to tell the search from the data; see `size_ratios`.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    refined: dict[str, dict[str, float]] = {}
    for given in pairs(arguments.data, arguments.sets, arguments.every, range(arguments.simulated)):
        rows = found.setdefault(given.kind, [])
        if given.truth is None or len(rows) >= (arguments.limit or math.inf):
            continue
        pair = turned(given, 0, arguments.normals)
        rng = np.random.default_rng(zlib.crc32(f"{pair.kind} {pair.name}".encode()))
        random = arguments.scale == "random"
        factor = math.exp(rng.uniform(-1, 1) * math.log(5)) if random else float(arguments.scale)
        source = Cloud(pair.source.points * factor, pair.source.normals)
        rigid = attempt(auto, pair)
        began = time.process_time()
        result = register(source, pair.target, scale="auto")
        cpu = time.process_time() - began
        scale = result.scale * factor
        # As if the source had its true scale: the scale is judged by itself.
        moved = result.transform.numpy() @ np.diag([factor, factor, factor, 1.0])
        middle = moved[:3, :3] @ pair.about + moved[:3, 3]
        moved[:3, :3] /= scale
        moved[:3, 3] = middle - moved[:3, :3] @ pair.about
        right = is_right(moved, pair)
        off = abs(scale - 1)
        wrong = result.confident and not (right and off < 0.05)
        rows.append((rigid.right, right, right and off < 0.02, off, wrong, cpu / rigid.cpu))
        none = Matches(*(torch.zeros(0, 3, dtype=torch.float64) for _ in range(3)))
        truth = Pose.from_matrix(torch.from_numpy(pair.truth).double())
        there = replace(result, pose=truth, source=pair.source, matches=none)
        refined.setdefault(pair.kind, {})[pair.name] = math.log(refine_scale(there).growth)
        print(
            f"{pair.kind} {pair.name}: {right}, scale off by {scale - 1:+.4f}, deviation "
            f"{result.scale_deviation:.4f}, confidence {result.confidence:.2f}; from the true pose "
            f"{math.expm1(refined[pair.kind][pair.name]):+.4f}",
            flush=True,
        )
    head = ["pairs of", "pairs", "rigid right", "pose right", "and scale within 2 %"]
    head += [
        "median error of the scale",
        "confidently wrong (pose, or scale by 5 %)",
        "CPU, rigid = 1",
    ]
    lines = []
    for kind, rows in found.items():
        if rows:
            rigids, rights, scales, offs, wrongs, costs = np.array(rows, dtype=float).T
            counts = [f"{int(part.sum())}" for part in (rigids, rights, scales)]
            worst = [f"{np.median(offs):.2%}", f"{int(wrongs.sum())}", f"{costs.mean():.1f}"]
            lines.append([kind, str(len(rows)), *counts, *worst])
    print(table(head, lines))
    for kind, logs in refined.items():
        within = sum(abs(log) < 0.02 for log in logs.values())
        off = size_ratios(logs)
        print(
            f"{kind}: from the true pose {within} of {len(logs)} scales are within 2 %; "
            f"{sum(abs(each) < 0.02 for each in off)} of {len(off)} are within 2 % of the ratio of "
            "sizes that the other pairs give the two scans"
        )


def size_ratios(logs: dict[str, float]) -> list[float]:
    """Logarithms of each pair's scale relative to the sizes of its scans.

    If scans differ in size, each has a size of its own: the scale of "a on b" is size b / size a.
    The sizes are fitted to all other pairs. Pairs that these do not connect are left out.
    """
    ends = [name.rpartition(" ")[0].removesuffix(" on").split()[-1] for name in logs]
    ends = list(zip(ends, (name.split()[-1] for name in logs), strict=True))
    scans = sorted({scan for pair in ends for scan in pair})
    rows = np.array([[(s == b) - (s == a) for s in scans] for a, b in ends], dtype=float)
    wanted, off = np.array(list(logs.values())), []
    for k in range(len(rows)):
        rest = np.arange(len(rows)) != k
        if np.linalg.matrix_rank(rows[rest]) == np.linalg.matrix_rank(rows):
            sizes = np.linalg.lstsq(rows[rest], wanted[rest], rcond=None)[0]
            off.append(float(rows[k] @ sizes - wanted[k]))
    return off


def with_voxel(run: Callable[[Pair], Outcome], factor: float) -> Callable[[Pair], Outcome]:
    return lambda pair: run(pair._replace(voxel=factor * pair.voxel))


def library_method(
    preset: str, run: Callable[[Pair], Outcome]
) -> Callable[[], Callable[[Pair], Outcome]]:
    def check() -> Callable[[Pair], Outcome]:
        presets.kind(preset)().check()
        return run

    return check


# Each raises an ImportError if its package is missing.
METHODS: dict[str, Callable[[], Callable[[Pair], Outcome]]] = {
    "auto": lambda: auto,
    "ransac": lambda: open3d_method("ransac"),
    "fgr": lambda: open3d_method("fgr"),
    "kiss": library_method("kiss-matcher", kiss),
    "small_gicp": library_method("small_gicp", small_gicp),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--methods", nargs="+", default=["auto"], choices=list(METHODS))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--normals", action="store_true", help="keep the normals of the files")
    parser.add_argument("--turns", type=int, default=1, help="random rotations of each source")
    parser.add_argument("--peer-turns", type=int, help="the same, of methods other than auto")
    parser.add_argument("--peer-voxel", type=float, default=1.0, help="a factor on their voxel")
    parser.add_argument("--every", type=int, default=2, help="take every n-th pair of 3DMatch")
    parser.add_argument("--simulated", type=int, default=10, help="pairs of each simulated kind")
    parser.add_argument("--seeds", type=int, default=None, help="compare the answers of N seeds")
    parser.add_argument("--scale", help="an unknown scale of the source: random, or the factor")
    parser.add_argument("--threads", type=int, default=None, help="of torch")
    parser.add_argument("--limit", type=int, default=None, help="pairs of each set, at most")
    parser.add_argument("--device", default="cpu", help="where `auto` works: cpu or cuda")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS}/scans-DEVICE.md")
    arguments = parser.parse_args()
    device = arguments.device
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    if arguments.scale:
        return unknown_scale(arguments)
    began = time.perf_counter()
    methods, notes = {}, []
    for name in arguments.methods:
        try:
            methods[name] = METHODS[name]()
        except ImportError as error:
            notes.append(f"`{name}` is left out: {error}")
            print(notes[-1])
    for name in {"ransac", "fgr", "kiss"} & methods.keys():
        methods[name] = with_voxel(methods[name], arguments.peer_voxel)
    if "auto" in methods:
        methods["auto"] = functools.partial(auto, device=device)
    if "small_gicp" in methods:
        notes.append(
            f"`small_gicp` starts up to {ROUGH_DEGREES:g} degrees and {ROUGH_VOXELS} voxels from "
            "the true pose. The other methods get no start."
        )
    spent: list[dict[str, float]] = []
    rows: dict[str, list[Row]] = {name: [] for name in methods}
    counts: dict[str, int] = {}
    same: dict[str, list[bool]] = {}
    for given in pairs(arguments.data, arguments.sets, arguments.every, range(arguments.simulated)):
        counts[given.kind] = counts.get(given.kind, 0) + 1
        if counts[given.kind] > (arguments.limit or math.inf):
            continue
        if arguments.seeds:
            one = steady(given, arguments.seeds, arguments.turns, arguments.normals)
            same.setdefault(given.kind, []).append(one)
            continue
        turns = {name: turns_of(given, name, arguments) for name in methods}
        for turn in range(max(turns.values())):
            pair = turned(given, turn, arguments.normals)
            if device != "cpu" and not any(rows.values()):
                auto(pair, device=device)  # compiles the kernels
            if arguments.profile:
                spent.append(stages(pair, device))
            for name in (name for name, count in turns.items() if turn < count):
                row = attempt(methods[name], pair)
                rows[name].append(row)
                if not row.right and ("apart" not in pair.kind or row.confident):
                    doubt = {None: "", True: ", CONFIDENT", False: ", doubted"}[row.confident]
                    print(f"{name}: {pair.kind} {pair.name} wrong{doubt}", flush=True)

    if arguments.seeds:
        for kind, alike in same.items():
            print(f"{kind}: {sum(alike)} of {len(alike)} pairs have one answer from all seeds")
        return
    digits = 2 if device == "cpu" else 3
    lines = [line for name in methods for line in report(name, rows[name], digits)]
    notes.append("An interval (95 %) counts each pair as one trial, with the share of its turns.")
    text = "\n\n".join([table(HEADER, lines), *notes])
    if "auto" in methods:
        text += f"\n\n## Confidence of `auto`\n\n{reliability(rows['auto'])}"
    if spent:
        text += f"\n\n## Stages of `auto`\n\nMeans, in one thread.\n\n{profile(spent)}"
    print(text)
    if arguments.save:
        command = " ".join(sys.argv[1:]).replace(str(arguments.data), "SCANS")
        path = save(
            f"scans-{device}.md",
            "# Registering scans\n\n"
            f"`python benchmarks/scans.py {command}`\n\n{machine(device)}\n\n{text}\n\n"
            f"Normals {'as in the files' if arguments.normals else 'left out'}. Seconds are the "
            "median of the wall clock; CPU seconds are those of the process, mean and most. The "
            "head of the script says what the pairs are. The whole run took "
            f"{(time.perf_counter() - began) / 60:.0f} minutes.\n",
        )
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
