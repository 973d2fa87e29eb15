"""Measure `align`: correct poses, rejected wrong pairs, time.

    python benchmarks/align.py --data SCANS [--workers 2] [--seed 0] [--save]
    spoonful data simulate street --kind street --sensor lidar --scans 200
    python benchmarks/align.py --sets --simulated street [--order sequence] [--scaled] [--sensors]

SCANS is the folder of `benchmarks/scans.py`. Every scan is turned and shifted at random first, and
its normals are left out. The sets:

- `kitchen`: the fragments of `3dmatch/7-scenes-redkitchen` against `poses.npz`. A pair is right
  within 15 degrees and 0.3 m.
- `bunny`: the range scans against `poses.json`. A pair is right within 5 degrees and 1 cm.
- `both`: both folders thrown together. There must be two groups. Pairs within a folder are taken
  from the sets before, if these are measured too; the time is then that of the rest.
- `apart`: one scan of each source of `pairs`, brought to one size. Nothing belongs together.
- `scaled`: five range scans of the bunny, each larger by an unknown factor, log-uniform in 0.2 to
  5, with `scale="auto"`. Distances are in the scale of `poses.json`. `--scaled` does so with the
  simulated scans.
- each folder of `--simulated`: what `spoonful data simulate` made, against `scene.json`. A pair is
  right within 5 degrees and 0.3 m. A street is one large scene; the rooms of a building look alike.
  `--sensors` writes the moved scans as PCD files that say where the sensor was.

The error of a pose is that after the frame is fitted to the truth of the whole group: the turn in
degrees, and the distance of the scan's centroid.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import forkserver
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))

from _harness import machine, save, table
from spoonful.align.folder import ORDERS, align
from spoonful.align.graph import parts
from spoonful.align.outputs import write
from spoonful.align.result import Aligned
from spoonful.data.clouds import Cloud, read_cloud, write_cloud
from spoonful.geometry import Pose, kabsch, random_rotation
from spoonful.metrics import rotation_error_degrees

SETS = ("kitchen", "bunny", "both", "apart", "scaled")
# A pair is right within these: degrees, and a distance in metres.
RIGHT = {"kitchen": (15.0, 0.3), "bunny": (5.0, 0.01), "scaled": (5.0, 0.01)}
SIMULATED = (5.0, 0.3)
COUNT = 10  # scans that share nothing
SCALED = 5  # scans of unknown scales
OVERLAP = 0.3  # simulated pairs that share at least this are true candidates


class Clock:
    """The processor time of each stage: of this process and of its workers."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()
        self.stage, self.last = "reading", self.now()

    def now(self) -> float:
        """Seconds of all cores. Workers are children of multiprocessing's fork server."""
        seconds = time.process_time()
        server = getattr(forkserver._forkserver, "_forkserver_pid", None)
        if server is not None:
            fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return seconds

    def tell(self, stage: str, done: int, total: int) -> None:
        """Start another stage; `align` calls this."""
        if stage != self.stage:
            now = self.now()
            self.stages[self.stage] += now - self.last
            self.stage, self.last = stage, now


class Scan(NamedTuple):
    """A scan, and the pose that maps it into the frame of its set, if there is one.

    Its file is made larger by the factor. With `sensor` it says where the sensor was, which is the
    origin of the cloud.
    """

    kind: str
    name: str
    cloud: Cloud
    pose: Pose
    factor: float = 1.0
    sensor: bool = False


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


def scaled(scans: list[Scan], seed: int) -> list[Scan]:
    """The scans, each larger by an unknown factor."""
    factors = np.exp(np.random.default_rng(seed).uniform(-1, 1, len(scans)) * math.log(5)).tolist()
    return [scan._replace(factor=factor) for scan, factor in zip(scans, factors, strict=True)]


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
    RIGHT[folder.name] = SIMULATED
    return [
        Scan(
            folder.name,
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
        path = folder / (f"{scan.name}.pcd" if scan.sensor else f"{scan.name}.ply")
        if not path.exists():
            place = scan.factor * motion.translation if scan.sensor else None
            write_cloud(path, Cloud(scan.factor * motion.apply(points), sensor=place))
        truth[scan.name] = (scan.kind, scan.pose.compose(motion.inverse()))
    return truth


def scale_of(found: Aligned, scans: list[Scan]) -> tuple[float, float]:
    """The scale of the frame, and the largest error of a scan's scale, as a share."""
    ratios = np.array([found.scales[scan.name] * scan.factor for scan in scans])
    middle = float(np.median(ratios))
    return middle, float(np.abs(ratios / middle - 1).max())


def worst_scale(name: str, found: Aligned, scans: list[Scan]) -> str:
    group = [scan for scan in scans if scan.name in found.groups[0]]
    return f"{name}: largest error of a scale {scale_of(found, group)[1]:.2%}.\n"


def pair_right(found: Aligned, k: int, truth: dict[str, tuple[str, Pose]], scale: float) -> bool:
    pair = found.pairs[k]
    kind, source = truth[pair.source]
    other, target = truth[pair.target]
    if kind != other or kind not in RIGHT:
        return False
    right = target.inverse().compose(source)
    center = found.centers[pair.source][None]
    distance = float((pair.pose.apply(center) / scale - right.apply(center / scale)).norm())
    return (
        float(rotation_error_degrees(pair.pose.rotation, right.rotation)) <= RIGHT[kind][0]
        and distance <= RIGHT[kind][1]
    )


def errors(
    found: Aligned, group: list[str], truth: dict[str, tuple[str, Pose]], scale: float
) -> list[tuple[float, float]]:
    """Degrees and distance of each scan of a group, after one frame is fitted to all."""
    here, there = [], []
    for name in group:
        # The centroid and three more points about it hold the turn as well.
        size = 0.05 if truth[name][0] in ("bunny", "scaled") else 1.0
        around = torch.cat([torch.zeros(1, 3), torch.eye(3)]).to(torch.float64)
        points = found.centers[name] + scale * size * around
        here.append(found.poses[name].apply(points) / scale)
        there.append(truth[name][1].apply(points / scale))
    fitted = kabsch(torch.cat(here), torch.cat(there))
    frame = Pose(fitted.rotation, fitted.translation)
    return [
        (
            float(
                rotation_error_degrees(
                    frame.compose(found.poses[name]).rotation, truth[name][1].rotation
                )
            ),
            float((frame.apply(a[:1]) - b[:1]).norm()),
        )
        for name, a, b in zip(group, here, there, strict=True)
    ]


def measure(
    kind: str, scans: list[Scan], place: Path, workers: int, seed: int, order: str
) -> tuple[list[str], Aligned]:
    kinds = list(dict.fromkeys(scan.kind for scan in scans))
    truth = {}
    for part in kinds:
        (place / part).mkdir(exist_ok=True)
        truth |= scatter([scan for scan in scans if scan.kind == part], place / part, seed)
    began, clock = time.perf_counter(), Clock()
    # One folder for all: `both` takes the pairs of either folder from the sets before.
    folders = [place / part for part in kinds]
    auto = None if all(scan.factor == 1 for scan in scans) else "auto"
    found = align(
        folders, place / "out", order=order, scale=auto, workers=workers, progress=clock.tell
    )
    write(found, place / "out", progress=clock.tell)
    clock.tell("end", 1, 1)
    print("  CPU s:", {stage: round(cpu, 1) for stage, cpu in clock.stages.items()}, flush=True)
    seconds = time.perf_counter() - began
    scale = scale_of(found, scans)[0]
    right = [pair_right(found, k, truth, scale) for k in range(len(found.pairs))]
    before = [k for k, pair in enumerate(found.pairs) if pair.confidence >= 0.7]
    after = [k for k, pair in enumerate(found.pairs) if pair.status == "kept"]
    groups = " + ".join(str(len(group)) for group in found.groups)
    mixed = sum(len({truth[name][0] for name in group}) > 1 for group in found.groups)
    turn, shift, mean = "-", "-", "-"
    if kind in RIGHT:
        off = errors(found, found.groups[0], truth, scale)
        turn = f"{max(pair[0] for pair in off):.2f}"
        unit, name = (1000, "mm") if kind in ("bunny", "scaled") else (100, "cm")
        shift = f"{unit * max(pair[1] for pair in off):.2f} {name}"
        rms = math.sqrt(sum(pair[1] ** 2 for pair in off) / len(off))
        mean = f"{unit * rms:.2f} {name}"
    for doubt in found.doubts:
        print(f"  {kind}: {doubt}", flush=True)
    row = [
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
        "0" if found.confident else "3",
        f"{seconds:.0f} s",
        f"{clock.stages.total():.0f} s",
    ]
    return row, found


def candidates(folder: Path, found: Aligned) -> str:
    """The numbers of pairs tried, and of overlapping pairs among them, in words."""
    scans = json.loads((folder / "scene.json").read_text())
    number = {Path(scan["file"]).stem: k for k, scan in enumerate(scans["scans"])}
    true = {
        frozenset(Path(pair[end]).stem for end in ("source", "target"))
        for pair in scans["pairs"]
        if pair["overlap"] >= OVERLAP
    }
    tried = {frozenset((pair.source, pair.target)) for pair in found.pairs}
    joined = parts(len(number), [tuple(number[name] for name in pair) for pair in tried & true])
    return (
        f"{len(tried)} pairs tried, {len(tried & true)} of them overlap by {OVERLAP} or more, of "
        f"{len(true)} such pairs; they connect {max(map(len, joined))} of {len(number)} scans"
    )


COLUMNS = [
    "set", "scans", "groups", "groups of two things", "largest turn error, degrees",
    "largest distance", "rms distance (ATE)", "pairs tried", "confident pairs right / wrong",
    "kept pairs right / wrong", "exit code", "time", "CPU time",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--simulated", type=Path, nargs="+", default=[])
    parser.add_argument("--scaled", action="store_true", help="Scale simulated scans at random.")
    parser.add_argument(
        "--sensors", action="store_true", help="Files of simulated scans say where the sensor was."
    )
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--order", choices=ORDERS, default="any")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--place", type=Path, help="A folder to resume in.")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.sets and options.data is None:
        parser.error("--sets needs --data")
    makers = {
        "kitchen": kitchen,
        "bunny": bunny,
        "both": lambda root: [*kitchen(root), *bunny(root)],
        "apart": apart,
        "scaled": lambda root: scaled(
            [scan._replace(kind="scaled") for scan in bunny(root)[:SCALED]], options.seed
        ),
    }
    rows, notes = [], []
    settings = (options.workers, options.seed, options.order)
    with tempfile.TemporaryDirectory() as empty:
        place = options.place or Path(empty)
        for kind in options.sets:
            scans = makers[kind](options.data)
            row, found = measure(kind, scans, place, *settings)
            rows.append(row)
            if kind == "scaled":
                notes.append(worst_scale(kind, found, scans))
            print(dict(zip(COLUMNS, row, strict=True)), *notes, flush=True)
        for folder in options.simulated:
            scans = simulated(folder)
            scans = [scan._replace(sensor=options.sensors) for scan in scans]
            if options.scaled:
                scans = scaled(scans, options.seed)
            row, found = measure(folder.name, scans, place, *settings)
            rows.append(row)
            notes.append(f"{folder.name}: {candidates(folder, found)}.\n")
            if options.scaled:
                notes.append(worst_scale(folder.name, found, scans))
            print(dict(zip(COLUMNS, rows[-1], strict=True)), notes[-1], flush=True)
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
            "The head of the script says what the sets are.\n\n" + "\n".join(notes),
        )
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
