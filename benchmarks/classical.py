"""ICP: many pairs at once, against Open3D's called in a loop.

    python benchmarks/classical.py --save                  # or: spoonful bench classical
    python benchmarks/classical.py --device cuda --save

Both do the same: point to point from no motion, matches up to 0.5, at most 30 iterations, until
share and root mean square distance of the matches change by less than 1e-6. The pairs are test
items of `dcp-twice-sampled` made from the built-in shapes, two samples of a surface, no point in
both, so that errors tell who registers better.

On the CPU both have one thread and are timed by the processor time of the process, which other
programs on the machine do not change much. Beside a GPU Open3D, which works on the CPU wherever it
is, is timed with one thread and, by the clock, with one for every core. Where it is not installed
its time and errors are those of classical-cpu.md among the results, and labelled so.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # Open3D reads it when it is imported

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from _harness import RESULTS, machine, save, table
from spoonful.batch import Batch
from spoonful.classical.icp import ICP
from spoonful.data import synthetic
from spoonful.data.collate import collate
from spoonful.data.items import test_items
from spoonful.data.protocols import get
from spoonful.geometry import Pose
from spoonful.metrics import rotation_error_degrees
from spoonful.registration import Registration

OPEN3D = "Open3D, in a loop"
OPEN3D_THREADS = "Open3D, in a loop, {} threads"
AT_ONCE = "ours, all pairs at once"
CARD = "dcp-twice-sampled"
PAIRS = 256
# On a GPU a pair alone takes a hundred times its share of a batch: a few tell.
ALONE = 32


def pairs(count: int) -> Batch:
    corpus = synthetic.load("test", per_category=-(-count // 32), points=2048)
    items = test_items(get(CARD), corpus)
    return collate([items[number] for number in range(count)])


def in_open3d(batch: Batch) -> Callable[[], Registration] | None:
    """Open3D's ICP on every pair, its own conversion of arrays not counted."""
    try:
        import open3d
    except ImportError as error:
        print(f"Open3D is not to be had here ({error})")
        return None
    icp = open3d.pipelines.registration
    clouds = [
        [
            open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points.double().numpy()))
            for points in both
        ]
        for both in zip(batch.source.cpu(), batch.target.cpu(), strict=True)
    ]
    start = torch.eye(4, dtype=torch.float64).numpy()

    def run() -> Registration:
        found = [
            icp.registration_icp(
                *both,
                0.5,
                start,
                icp.TransformationEstimationPointToPoint(),
                icp.ICPConvergenceCriteria(1e-6, 1e-6, 30),
            ).transformation
            for both in clouds
        ]
        return Registration(Pose.from_matrix(torch.stack([torch.tensor(x.copy()) for x in found])))

    return run


def with_all_threads(count: int) -> dict[str, tuple[float, float, float]]:
    """Open3D's row with a thread for every core: it reads how many once, when it is imported."""
    threads = len(os.sched_getaffinity(0))
    done = subprocess.run(
        [sys.executable, __file__, "--open3d-alone", "--pairs", str(count)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
    )
    ms, mean, middle = json.loads(done.stdout.splitlines()[-1])
    return {OPEN3D_THREADS.format(threads): (ms, mean, middle)}


def open3d_alone(count: int) -> None:
    """Time Open3D by the clock, and print its row for `with_all_threads`."""
    batch = pairs(count)
    run = in_open3d(batch)
    assert run is not None
    run()
    start = time.perf_counter()
    found = run()
    taken = 1e3 * (time.perf_counter() - start)
    print(json.dumps([taken / count, *errors(found, batch)]))


def one_by_one(batch: Batch, count: int) -> Callable[[], Registration]:
    method = ICP.published()

    def run() -> Registration:
        found = [
            method.register(source, target).pose
            for source, target in zip(batch.source[:count], batch.target[:count], strict=True)
        ]
        return Registration(Pose(*(torch.stack(parts) for parts in zip(*found, strict=True))))

    return run


def timed(run: Callable[[], Registration], device: str, rounds: int) -> tuple[float, Registration]:
    """Milliseconds, the median of a few rounds, and the result.

    On the CPU it is processor time; on a GPU the clock's, and a first round chooses kernels.
    """
    on_gpu = device != "cpu"
    clock = time.perf_counter if on_gpu else time.process_time
    times = []
    for _ in range(rounds + on_gpu):
        if on_gpu:
            torch.cuda.synchronize()
        start = clock()
        found = run()
        if on_gpu:
            torch.cuda.synchronize()
        times.append(1e3 * (clock() - start))
    return median(times[on_gpu:]), found


def errors(found: Registration, batch: Batch) -> tuple[float, float]:
    """Mean and median isotropic rotation errors in degrees."""
    assert batch.pose is not None
    rotation = found.pose.rotation.cpu().double()
    degrees = rotation_error_degrees(rotation, batch.pose.rotation[: len(rotation)].cpu().double())
    return float(degrees.mean()), float(degrees.median())


def stored() -> list[str] | None:
    """Open3D's row of the CPU's results: name, ms a pair, ratio, mean and median error."""
    path = RESULTS / "classical-cpu.md"
    if path.is_file():
        for line in path.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] == OPEN3D:
                return cells
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench classical",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", help="where ours works")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="in one call")
    parser.add_argument("--rounds", type=int, default=2, help="of which the median is taken")
    parser.add_argument("--open3d-ms", type=float, help="Open3D's time a pair, where it is missing")
    parser.add_argument("--open3d-alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--save", action="store_true", help="write results/classical-DEVICE.md")
    args = parser.parse_args()

    torch.set_num_threads(1)
    if args.open3d_alone:
        open3d_alone(args.pairs)
        return
    batch = pairs(args.pairs).to(args.device)
    method = ICP.published()
    alone = args.pairs if args.device == "cpu" else min(ALONE, args.pairs)
    some = "" if alone == args.pairs else f" (the first {alone})"
    by_themselves = f"ours, a pair at a time{some}"
    runs: dict[str, Callable[[], Registration]] = {
        AT_ONCE: lambda: method(batch),
        by_themselves: one_by_one(batch, alone),
        "ours, point to plane": lambda: ICP(metric="plane", iterations=30, max_distance=0.5)(batch),
    }
    if args.device != "cpu":  # minutes on the CPU
        many = ICP(starts=16, start_degrees=90.0, sample=256)
        runs["ours, 16 starts a pair"] = lambda: many(batch)
    theirs = in_open3d(batch) if args.open3d_ms is None else None
    if theirs is not None:
        runs = {OPEN3D: theirs, **runs}

    measured = {}
    for name, run in runs.items():
        on_cpu = name == OPEN3D or args.device == "cpu"
        taken, found = timed(run, "cpu" if on_cpu else args.device, args.rounds)
        count = alone if name == by_themselves else args.pairs
        measured[name] = (taken / count, *errors(found, batch))
        print(f"{name}: {measured[name][0]:.3f} ms a pair", flush=True)
        if name == OPEN3D and args.device != "cpu":
            measured |= with_all_threads(args.pairs)

    note = ""
    if theirs is None:
        known = stored() if args.pairs == PAIRS else None
        taken = args.open3d_ms if args.open3d_ms is not None else known and float(known[1])
        if taken:
            label = f"{OPEN3D} (elsewhere)"
            mean, middle = (float(known[3]), float(known[4])) if known else (torch.nan, torch.nan)
            measured = {label: (taken, mean, middle), **measured}
            note = (
                "\nOpen3D was not run here: its row is from "
                + ("the command line" if args.open3d_ms is not None else "classical-cpu.md")
                + ", one core of another machine.\n"
            )
    first = next(iter(measured.values()))[0]
    cpu = "" if args.device == "cpu" else f" ({machine('cpu').split(',')[0]})"
    rows = [
        [name, f"{taken:.3f}", f"{first / taken:.1f}", f"{mean:.4f}", f"{middle:.4f}"]
        for name, (taken, mean, middle) in measured.items()
    ]
    text = (
        f"# ICP, {args.pairs} pairs x {batch.source.shape[1]} points of {CARD} "
        f"({get(CARD).hash})\n\n{machine(args.device)}\n\n"
        f"{'One round' if args.rounds == 1 else f'Medians of {args.rounds} rounds'}; on the CPU "
        f"processor time of one thread{cpu}. Errors are isotropic, in degrees.\n\n"
        + table(["how", "ms a pair", "ratio", "mean error", "median error"], rows)
        + "\n"
        + note
    )
    print(text)
    if args.save:
        print("saved", save(f"classical-{args.device.split(':')[0]}.md", text))


if __name__ == "__main__":
    main()
