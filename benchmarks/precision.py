"""Measure how well the errors of `register` and `align` agree with the covariances they state.

    python benchmarks/precision.py --data SCANS [--simulated 8] [--scenes FOLDER ...] [--save]

An error x, six numbers for turn and shift, is sqrt(x^T C^-1 x / 6) standard deviations large, with
C the stated covariance. If C is right, the median is 0.94, and 90 % are below 1.33.

- `register`, against the truth: right poses of the sets of `scans.py`, each source turned once.
  Poses with a free turn or slide are left out. The true poses of real scans have errors, too.
- `register`, loops: three scans of which each pair is registered right. The product of the three
  poses is the identity if all are exact. This needs no truth, but it does not see an error that
  moves a scan in the same way in both of its pairs.
- `align`, against the truth: each scan of the largest group relative to its first scan. `--scenes`
  are folders made by `spoonful data simulate`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from _harness import RESULTS, machine, save, table
from align import bunny, scatter, simulated
from scans import is_right, pairs, turned
from spoonful.align.folder import align
from spoonful.align.graph import Edge, adjoint, loop_errors, small_motion
from spoonful.geometry import Pose, nearest_rotation
from spoonful.pipeline import register

SETS = ("3dmatch", "3dlomatch", "bunny", "pairs", "room 40%", "room 30%", "lumps", "simulated")
# Sets with pairs of the same scans.
LOOPS = ("3dmatch", "bunny")


def pose_of(matrix: np.ndarray) -> Pose:
    """A 4x4 as a pose. Rotations of 3DMatch are orthogonal to 1e-4 only."""
    given = Pose.from_matrix(torch.from_numpy(np.array(matrix, dtype=float)))
    return Pose(nearest_rotation(given.rotation), given.translation)


def size(error: Tensor, covariance: Tensor) -> float:
    """The size of an error (6,) in standard deviations."""
    return float((error @ torch.linalg.solve(covariance, error) / 6).clamp_min(0).sqrt())


def about(pose: Pose, center: Tensor) -> Pose:
    """A pose of points relative to their centre."""
    return Pose(pose.rotation, pose.apply(center[None])[0])


def registered(root: Path, sets: Sequence[str], count: int) -> tuple[list[tuple[str, float]], ...]:
    """Each error of `register` with the name of its set: against the truth, and of loops."""
    errors, edges = [], {kind: {} for kind in LOOPS}
    for given in pairs(root, sets, 1, range(count)):
        if given.truth is None:
            continue
        pair = turned(given, 0, False)
        found = register(pair.source, pair.target)
        if not is_right(found.transform.numpy(), pair) or found.free_axes:
            continue
        assert found.covariance is not None
        truth = pose_of(pair.truth)
        error = small_motion(truth.inverse().compose(found.pose))
        errors.append((pair.kind, size(error, found.covariance)))
        if pair.kind in LOOPS:
            # Of the source as it was before it was turned.
            turn = truth.inverse().compose(pose_of(given.truth))
            back = adjoint(turn.inverse())
            covariance = back @ found.covariance @ back.mT
            source, target = ends_of(pair.name)
            edge = (source, target, found.pose.compose(turn), covariance)
            edges[pair.kind][edge[:2]] = edge
    loops = [(kind, value) for kind in LOOPS for value in closing(edges[kind].values())]
    return errors, loops


def ends_of(name: str) -> tuple[str, str]:
    """The scans of "scene a on b".

    >>> ends_of("kitchen 3 on 7")
    ('3', '7')
    """
    source, target = name.split(" on ")
    return source.split()[-1], target.split()[-1]


def closing(edges: Iterable[tuple[str, str, Pose, Tensor]]) -> list[float]:
    """The errors of all loops of three."""
    edges = list(edges)
    number = {name: k for k, name in enumerate(sorted({n for edge in edges for n in edge[:2]}))}
    graph = [Edge(number[a], number[b], pose, spread, 1.0) for a, b, pose, spread in edges]
    return [(max(value, 0.0) / 6) ** 0.5 for _, value in loop_errors(graph)]


def aligned(kind: str, scans: list) -> list[tuple[str, float]]:
    """The errors of `align` of all scans of the largest group but its first one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / kind).mkdir()
        truth = scatter(scans, place / kind, zlib.crc32(kind.encode()))
        found = align([place / kind], place / "out")
    first, *others = found.groups[0]
    values = []
    for name in others:
        true = pose_of(truth[first][1].inverse().compose(truth[name][1]).matrix().numpy())
        center = found.centers[name]
        here, there = about(found.poses[name], center), about(true, center)
        error = small_motion(there.inverse().compose(here))
        values.append((kind, size(error, found.covariances[name])))
    return values


def rows_of(what: str, values: list[tuple[str, float]]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(kind for kind, _ in values):
        own = np.array([value for other, value in values if other == kind])
        parts = [f"{np.median(own):.2f}", f"{np.quantile(own, 0.9):.2f}"]
        rows.append([what, kind, str(len(own)), *parts])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of scans")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--simulated", type=int, default=8, help="pairs of each simulated kind")
    parser.add_argument("--scenes", type=Path, nargs="*", default=[], help="folders for align")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS}/precision-cpu.md")
    options = parser.parse_args()
    errors, loops = registered(options.data, options.sets, options.simulated)
    lines = rows_of("register, truth", errors) + rows_of("register, loops", loops)
    lines += rows_of("align, truth", aligned("bunny", bunny(options.data)))
    for folder in options.scenes:
        lines += rows_of("align, truth", aligned(folder.name, simulated(folder)))
    text = table(["errors of", "scans", "number", "median", "90 %"], lines)
    print(text)
    if options.save:
        command = " ".join(sys.argv[1:]).replace(str(options.data), "SCANS")
        path = save(
            "precision-cpu.md",
            f"# Precision\n\n`python benchmarks/precision.py {command}`\n\nErrors in units of the "
            "standard deviations that are stated. If these are right, the median is 0.94, and 90 % "
            "are below 1.33. The head of the script says "
            f"what the rows are.\n\n{machine('cpu')}\n\n{text}\n",
        )
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
