"""Are scans put together rightly, how fast, and are wrong pairs found?

    python benchmarks/align.py --data SCANS [--workers 2] [--seed 0] [--save]
    spoonful data simulate building --kind building --sensor lidar --scans 200
    python benchmarks/align.py --sets simulated --simulated building [--order sequence]

SCANS is the folder of `benchmarks/scans.py`. Every scan is turned and shifted at random first, and
its normals are left out. The sets:

- `kitchen`: the fragments of `3dmatch/7-scenes-redkitchen` against `poses.npz`. A pair is right
  within 15 degrees and 0.3 m.
- `bunny`: the range scans against `poses.json`. A pair is right within 5 degrees and 1 cm.
- `both`: both folders thrown together. There must be two groups. Pairs within a folder are taken
  from the sets before, if these are measured too; the time is then that of the rest.
- `apart`: one scan of each source of `pairs`, brought to one size. Nothing belongs together.
- `simulated`: what `spoonful data simulate` made, against `scene.json`. A pair is right within
  5 degrees and 0.3 m.

The error of a pose is that after the frame is fitted to the truth of the whole group: the turn in
degrees, and the distance of the scan's centroid.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))

from _harness import machine, save, table
from spoonful.align.folder import ORDERS, Aligned, align
from spoonful.align.outputs import write
from spoonful.data.clouds import Cloud, read_cloud, write_cloud
from spoonful.geometry import Pose, kabsch, random_rotation

SETS = ("kitchen", "bunny", "both", "apart")
MORE = "simulated"
# A pair is right within these: degrees, and a distance in metres.
RIGHT = {"kitchen": (15.0, 0.3), "bunny": (5.0, 0.01), MORE: (5.0, 0.3)}
COUNT = 10  # scans that share nothing


class Scan(NamedTuple):
    """A scan, and the pose that maps it into the frame of its set, if there is one."""

    kind: str
    name: str
    cloud: Cloud
    pose: Pose


def kitchen(root: Path) -> list[Scan]:
    folder = root / "3dmatch" / "7-scenes-redkitchen"
    poses = np.load(folder / "poses.npz")["pose"]
    return [
        Scan(
            "kitchen",
            f"kitchen-{k}",
            read_cloud(folder / f"cloud_bin_{k}.ply"),
            Pose.from_matrix(torch.tensor(pose, dtype=torch.float64)),
        )
        for k, pose in enumerate(poses)
    ]


def bunny(root: Path) -> list[Scan]:
    poses = json.loads((root / "bunny" / "poses.json").read_text())
    return [
        Scan(
            "bunny",
            f"bunny-{name}",
            read_cloud(root / "bunny" / f"{name}.ply"),
            Pose.from_matrix(torch.tensor(pose, dtype=torch.float64)),
        )
        for name, pose in poses.items()
    ]


def apart(root: Path) -> list[Scan]:
    index = json.loads((root / "pairs" / "index.json").read_text())
    one = {facts["source"]: name for name, facts in index.items()}
    found = []
    for name in sorted(one.values())[:COUNT]:
        points = torch.from_numpy(np.load(root / "pairs" / f"{name}.npz")["ref"]).double()
        points = points[points.isfinite().all(-1)]
        away = (points - points.median(0).values).norm(dim=-1)
        points = points / away.median()
        found.append(Scan("apart", name, Cloud(points), Pose.identity(dtype=torch.float64)))
    return found


def simulated(folder: Path) -> list[Scan]:
    scans = json.loads((folder / "scene.json").read_text())["scans"]
    return [
        Scan(
            MORE,
            Path(scan["file"]).stem,
            read_cloud(folder / scan["file"]),
            Pose.from_matrix(torch.tensor(scan["pose"], dtype=torch.float64)),
        )
        for scan in scans
    ]


def scatter(scans: list[Scan], folder: Path, seed: int) -> dict[str, tuple[str, Pose]]:
    """Write the scans, each moved at random, unless they are there already.

    Returns the kind and the true pose of each.
    """
    generator = torch.Generator().manual_seed(seed)
    truth = {}
    for scan in scans:
        points = scan.cloud.points.double()
        size = float((points - points.mean(0)).norm(dim=-1).mean())
        turn = random_rotation(generator=generator, dtype=torch.float64)
        motion = Pose(turn, 5 * size * torch.randn(3, generator=generator, dtype=torch.float64))
        path = folder / f"{scan.name}.ply"
        if not path.exists():
            write_cloud(path, Cloud(motion.apply(points)))
        truth[scan.name] = (scan.kind, scan.pose.compose(motion.inverse()))
    return truth


def degrees(one: Pose, other: Pose) -> float:
    cosine = (((one.rotation.mT @ other.rotation).trace() - 1) / 2).clamp(-1, 1)
    return math.degrees(math.acos(cosine))


def pair_right(found: Aligned, k: int, truth: dict[str, tuple[str, Pose]]) -> bool:
    pair = found.pairs[k]
    kind, source = truth[pair.source]
    other, target = truth[pair.target]
    if kind != other or kind not in RIGHT:
        return False
    right = target.inverse().compose(source)
    center = found.centers[pair.source][None]
    distance = float((pair.pose.apply(center) - right.apply(center)).norm())
    return degrees(pair.pose, right) <= RIGHT[kind][0] and distance <= RIGHT[kind][1]


def errors(
    found: Aligned, group: list[str], truth: dict[str, tuple[str, Pose]]
) -> list[tuple[float, float]]:
    """Degrees and distance of each scan of a group, after one frame is fitted to all."""
    here, there = [], []
    for name in group:
        # The centroid and three more points about it hold the turn as well.
        size = 0.05 if truth[name][0] == "bunny" else 1.0
        points = found.centers[name] + size * torch.cat([torch.zeros(1, 3), torch.eye(3)]).to(
            torch.float64
        )
        here.append(found.poses[name].apply(points))
        there.append(truth[name][1].apply(points))
    fitted = kabsch(torch.cat(here), torch.cat(there))
    frame = Pose(fitted.rotation, fitted.translation)
    return [
        (
            degrees(frame.compose(found.poses[name]), truth[name][1]),
            float((frame.apply(a[:1]) - b[:1]).norm()),
        )
        for name, a, b in zip(group, here, there, strict=True)
    ]


def measure(
    kind: str, scans: list[Scan], place: Path, workers: int, seed: int, order: str = "any"
) -> list[str]:
    kinds = list(dict.fromkeys(scan.kind for scan in scans))
    truth = {}
    for part in kinds:
        (place / part).mkdir(exist_ok=True)
        truth |= scatter([scan for scan in scans if scan.kind == part], place / part, seed)
    began = time.perf_counter()
    # One folder for all: `both` takes the pairs of either folder from the sets before.
    found = align([place / part for part in kinds], place / "out", order=order, workers=workers)
    write(found, place / "out")
    seconds = time.perf_counter() - began
    right = [pair_right(found, k, truth) for k in range(len(found.pairs))]
    before = [k for k, pair in enumerate(found.pairs) if pair.confidence >= 0.7]
    after = [k for k, pair in enumerate(found.pairs) if pair.status == "kept"]
    groups = " + ".join(str(len(group)) for group in found.groups)
    mixed = sum(len({truth[name][0] for name in group}) > 1 for group in found.groups)
    turn, shift, mean = "-", "-", "-"
    if kind in RIGHT:
        off = errors(found, found.groups[0], truth)
        turn = f"{max(pair[0] for pair in off):.2f}"
        unit, name = (1000, "mm") if kind == "bunny" else (100, "cm")
        shift = f"{unit * max(pair[1] for pair in off):.2f} {name}"
        rms = math.sqrt(sum(pair[1] ** 2 for pair in off) / len(off))
        mean = f"{unit * rms:.2f} {name}"
    for doubt in found.doubts:
        print(f"  {kind}: {doubt}", flush=True)
    return [
        kind,
        str(len(scans)),
        groups,
        str(mixed),
        turn,
        shift,
        mean,
        f"{len(found.pairs)}",
        f"{sum(right[k] for k in before)} / {sum(not right[k] for k in before)}",
        f"{sum(right[k] for k in after)} / {sum(not right[k] for k in after)}",
        f"{seconds:.0f} s",
    ]


COLUMNS = [
    "set", "scans", "groups", "groups of two things", "largest turn error, degrees",
    "largest distance", "rms distance (ATE)", "pairs tried", "confident pairs right / wrong",
    "kept pairs right / wrong", "time",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--simulated", type=Path)
    parser.add_argument("--sets", nargs="+", choices=[*SETS, MORE], default=SETS)
    parser.add_argument("--order", choices=ORDERS, default="any")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    for kind in options.sets:
        if (options.simulated if kind == MORE else options.data) is None:
            parser.error(f"{kind} needs {'--simulated' if kind == MORE else '--data'}")
    makers = {
        "kitchen": kitchen,
        "bunny": bunny,
        "both": lambda root: [*kitchen(root), *bunny(root)],
        "apart": apart,
    }
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for kind in options.sets:
            scans = simulated(options.simulated) if kind == MORE else makers[kind](options.data)
            options_of = (options.workers, options.seed, options.order)
            rows.append(measure(kind, scans, Path(place), *options_of))
            print(dict(zip(COLUMNS, rows[-1], strict=True)), flush=True)
    text = table(COLUMNS, rows)
    print(text)
    if options.save:
        command = " ".join(sys.argv[1:]).replace(str(options.data), "SCANS")
        path = save(
            "align-cpu.md",
            "# Putting scans together\n\n"
            f"`python benchmarks/align.py {command}`\n\n{machine('cpu')}\n\n{text}\n\n"
            "Time is the wall clock from the files to all results. Confident pairs are those with "
            "a confidence of 0.7 and more by themselves; kept pairs are those of the pose graph. "
            "The head of the script says what the sets are.\n",
        )
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
