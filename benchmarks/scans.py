"""How often are real scans registered, how fast, and does the tool know when it failed?

    python benchmarks/scans.py --data SCANS [--methods auto ransac fgr] [--every 2] [--save]

SCANS is a folder with `3dmatch/SCENE` and `3dlomatch/SCENE` (fragments `cloud_bin_K.ply`, `gt.log`
in the published format; pairs whose fragments are missing are left out) and `bunny` (range scans
and `poses.json`, the 4x4 that maps each to a common frame). The source is turned by a uniformly
random rotation first. Right is within 15 degrees and 0.3 m, for the bunny 5 degrees and 1 cm.

Bunny pairs are those of which each scan has more than 0.3 of its points within 2 mm of the other.
`apart` are pairs that share nothing (fragments of which less than 0.03 overlap, and fragments
against bunny scans, brought to one size): whatever pose comes out is wrong, and should be doubted.

`auto` is told nothing but the two clouds, with the normals they carry. `ransac` and `fgr` are
Open3D's FPFH + RANSAC and FPFH + FGR, both followed by point-to-plane ICP, with the voxels they
need: 5 cm, and 4 mm for the bunny.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).parent))

from _harness import RESULTS, machine, save, table
from spoonful.data.clouds import Cloud, read_cloud
from spoonful.data.threedmatch import read_log
from spoonful.pipeline import register


class Pair(NamedTuple):
    """Two scans, and the pose that is called right."""

    kind: str
    name: str
    source: Cloud
    target: Cloud
    truth: np.ndarray | None  # maps source to target; None where nothing is right
    degrees: float
    distance: float
    voxel: float


class Outcome(NamedTuple):
    """What a method answers."""

    transform: np.ndarray
    confident: bool | None


class Row(NamedTuple):
    """What came of one pair."""

    kind: str
    name: str
    right: bool
    confident: bool | None
    seconds: float
    cpu: float


def pairs(root: Path, every: int) -> Iterator[Pair]:
    fragments: dict[Path, Cloud] = {}

    def fragment(path: Path) -> Cloud:
        if path not in fragments:
            fragments[path] = read_cloud(path)
        return fragments[path]

    for kind in ("3dmatch", "3dlomatch"):
        for log in sorted((root / kind).glob("*/gt.log")):
            scene = root / "3dmatch" / log.parent.name
            entries = [
                entry
                for entry in read_log(log)
                if all(
                    (scene / f"cloud_bin_{k}.ply").exists() for k in (entry.target, entry.source)
                )
            ]
            for entry in entries[::every]:
                source, target = (
                    fragment(scene / f"cloud_bin_{k}.ply") for k in (entry.source, entry.target)
                )
                name = f"{scene.name} {entry.source} on {entry.target}"
                yield Pair(kind, name, source, target, entry.matrix.numpy(), 15.0, 0.3, 0.05)

    poses = {
        name: np.array(matrix)
        for name, matrix in json.loads((root / "bunny" / "poses.json").read_text()).items()
    }
    bunny = {name: read_cloud(root / "bunny" / f"{name}.ply") for name in poses}
    placed = {k: move(poses[k], bunny[k].points.double().numpy()) for k in poses}
    trees = {k: cKDTree(points) for k, points in placed.items()}
    for a, b in itertools.combinations(poses, 2):
        shares = [np.mean(trees[y].query(placed[x])[0] < 0.002) for x, y in ((a, b), (b, a))]
        if min(shares) > 0.3:
            truth = np.linalg.inv(poses[a]) @ poses[b]
            yield Pair("bunny", f"{b} on {a}", bunny[b], bunny[a], truth, 5.0, 0.01, 0.004)

    for scene in sorted((root / "3dmatch").glob("*")):
        overlap = np.load(scene / "poses.npz")["overlap"]
        paths = [scene / f"cloud_bin_{k}.ply" for k in range(len(overlap))]
        for i, j in itertools.combinations(range(len(overlap)), 2):
            if max(overlap[i, j], overlap[j, i]) < 0.03:
                clouds = fragment(paths[j]), fragment(paths[i])
                yield Pair("apart", f"{scene.name} {j} on {i}", *clouds, None, 15.0, 0.3, 0.05)
        for name, path in zip(bunny, paths[::2], strict=False):
            small = Cloud(fragment(path).points / 20)
            yield Pair("apart", f"{name} on {path.stem}", bunny[name], small, None, 5, 0.01, 0.004)


def move(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Uniform over all rotations: a unit quaternion from four normal numbers."""
    w, x, y, z = (q := rng.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def auto(source: Cloud, target: Cloud, voxel: float) -> Outcome:
    found = register(source, target)
    return Outcome(found.transform.numpy(), found.confident)


def open3d_method(search: str) -> Callable[[Cloud, Cloud, float], Outcome]:
    import open3d as o3d

    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)
    o3d.utility.random.seed(0)
    registration = o3d.pipelines.registration

    def run(source: Cloud, target: Cloud, voxel: float) -> Outcome:
        clouds, features = [], []
        for cloud in (source, target):
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
        return Outcome(last.transformation, None)

    return run


def errors(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    cosine = (np.trace(found[:3, :3].T @ truth[:3, :3]) - 1) / 2
    return math.degrees(math.acos(np.clip(cosine, -1, 1))), float(
        np.linalg.norm(found[:3, 3] - truth[:3, 3])
    )


def attempt(method: Callable[..., Outcome], pair: Pair, rng: np.random.Generator) -> Row:
    turn = np.eye(4)
    turn[:3, :3] = random_rotation(rng)
    rotation = torch.from_numpy(turn[:3, :3])
    normals = pair.source.normals
    source = Cloud(
        pair.source.points.double() @ rotation.T,
        None if normals is None else normals.double() @ rotation.T,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    found = method(source, pair.target, pair.voxel)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    right = False
    if pair.truth is not None:
        # The error is that of the pose between the scans as they were.
        degrees, distance = errors(found.transform @ turn, pair.truth)
        right = degrees < pair.degrees and distance < pair.distance
    return Row(pair.kind, pair.name, right, found.confident, wall, cpu)


def report(method: str, rows: list[Row]) -> list[list[str]]:
    lines = []
    for kind in dict.fromkeys(row.kind for row in rows):
        own = [row for row in rows if row.kind == kind]
        wrong, right = ([row for row in own if row.right is value] for value in (False, True))

        def doubted(some: list[Row]) -> str:
            if not some or some[0].confident is None:
                return "-"
            return f"{sum(not row.confident for row in some)} of {len(some)}"

        lines.append(
            [
                method,
                kind,
                str(len(own)),
                "-" if kind == "apart" else f"{len(right) / len(own):.3f}",
                f"{np.median([row.seconds for row in own]):.2f}",
                f"{np.mean([row.cpu for row in own]):.2f}",
                f"{max(row.cpu for row in own):.2f}",
                doubted(wrong),
                doubted(right),
            ]
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--methods", nargs="+", default=["auto"], choices=["auto", "ransac", "fgr"])
    parser.add_argument("--sets", nargs="+", default=["3dmatch", "3dlomatch", "bunny", "apart"])
    parser.add_argument("--every", type=int, default=2, help="take every n-th pair of the logs")
    parser.add_argument("--seed", type=int, default=0, help="of the rotations")
    parser.add_argument("--threads", type=int, default=None, help="of torch")
    parser.add_argument("--limit", type=int, default=None, help="pairs of each set, at most")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS / 'scans-cpu.md'}")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    methods = {name: auto if name == "auto" else open3d_method(name) for name in arguments.methods}
    rows: dict[str, list[Row]] = {name: [] for name in methods}
    generators = {name: np.random.default_rng(arguments.seed) for name in methods}
    counts: dict[str, int] = {}
    for pair in pairs(arguments.data, arguments.every):
        counts[pair.kind] = counts.get(pair.kind, 0) + 1
        if pair.kind not in arguments.sets or counts[pair.kind] > (arguments.limit or math.inf):
            continue
        for name, method in methods.items():
            row = attempt(method, pair, generators[name])
            rows[name].append(row)
            if not row.right and pair.kind != "apart":
                doubt = {None: "", True: ", CONFIDENT", False: ", doubted"}[row.confident]
                print(f"{name}: {pair.kind} {pair.name} wrong{doubt}", flush=True)

    header = [
        "method",
        "pairs of",
        "number",
        "right",
        "seconds",
        "CPU s",
        "most",
        "wrong doubted",
        "right doubted",
    ]
    text = table(header, [line for name in methods for line in report(name, rows[name])])
    print(text)
    if arguments.save:
        path = save(
            "scans-cpu.md",
            "# Registering real scans\n\n"
            f"`python benchmarks/scans.py --data SCANS --methods {' '.join(methods)} --every "
            f"{arguments.every} --seed {arguments.seed} --threads {torch.get_num_threads()} --save`"
            f"\n\n{machine('cpu')}\n\n{text}\n\n"
            "Seconds are the median on the wall clock of a machine that others used as well; CPU "
            "seconds are those of the process, mean and most. See the head of the script for what "
            "the pairs are.\n",
        )
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
