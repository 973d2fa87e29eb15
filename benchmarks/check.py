"""Check that the layer, pair generation, registration and readers have not become slower.

    python benchmarks/check.py           # compare with benchmarks/results/check.json
    python benchmarks/check.py --save    # after a change that is meant to move a ratio

Each figure is a ratio of CPU times on one thread within one run: our way against a plain way to do
the same work, or against a fixed piece of work. Other programs on the machine hardly change it. The
exit code is 1 if a ratio is more than twice the committed one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import trimesh
from scipy.spatial import cKDTree
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _harness import RESULTS, machine
from data.corpora import blobs
from spoonful import SpoonfulLayer
from spoonful.data.clouds import Cloud, read_cloud, read_mesh, write_cloud
from spoonful.data.collate import collate
from spoonful.data.items import ProtocolDataset
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import get
from spoonful.geometry.kernels.library import library
from spoonful.pipeline import register

BAND = 2.0  # a ratio may grow by this factor
FILE = RESULTS / "check.json"
ROOMS = [Path(__file__).parents[1] / "src/spoonful/examples" / f"room-{i}.ply" for i in (1, 2)]

Run = Callable[[], object]


def layer() -> tuple[Run, Run]:
    """Kabsch and five refinements with gradients, against Kabsch by torch's SVD with gradients."""
    source, target = torch.randn(2, 32, 1024, 3).unbind()
    ours = SpoonfulLayer(5)

    def plain(source: Tensor, target: Tensor) -> Tensor:
        a, b = (x - x.mean(-2, keepdim=True) for x in (source, target))
        u, _, vt = torch.linalg.svd(a.mT @ b)
        sign = torch.ones(len(u), 3)
        sign[:, 2] = torch.linalg.det(u @ vt).sign()
        return vt.mT @ (sign[:, :, None] * u.mT)

    def run(fit: Callable[[Tensor, Tensor], Tensor]) -> None:
        leaves = [x.clone().requires_grad_() for x in (source, target)]
        fit(*leaves).square().sum().backward()

    return partial(run, lambda a, b: ours(a, b).poses.rotation), partial(run, plain)


def pairs() -> tuple[Run, Run]:
    """Training pairs made in batches, against items made one at a time."""
    card, size = get("rpm-crop"), 128
    corpus = replace(blobs(size), categories=tuple("abcdefgh"))
    items = ProtocolDataset(card, corpus, split="train")
    made = PairGenerator(card, corpus, batch_size=32, generator=torch.Generator().manual_seed(0))
    return lambda: deque(made, maxlen=1), lambda: collate([items[i] for i in range(len(items))])


def registration() -> tuple[Run, Run]:
    """Two scans of a room, against ten nearest-neighbour searches between them."""
    source, target = (read_cloud(path) for path in ROOMS)

    def search() -> None:
        tree = cKDTree(target.points.numpy())
        for _ in range(10):
            tree.query(source.points.numpy())

    return lambda: register(source, target), search


def ply(folder: Path) -> tuple[Run, Run]:
    """A binary PLY of 200,000 points, against trimesh."""
    path = folder / "cloud.ply"
    write_cloud(path, Cloud(torch.rand(200_000, 3)))
    return partial(read_cloud, path), partial(trimesh.load, path)


def obj(folder: Path) -> tuple[Run, Run]:
    """An OBJ of 20,000 vertices and 40,000 triangles, against trimesh."""
    path = folder / "mesh.obj"
    random = np.random.default_rng(0)
    vertices, faces = random.random((20_000, 3)), random.integers(1, 20_001, (40_000, 3))
    with path.open("w") as file:
        np.savetxt(file, vertices, "v %.6f %.6f %.6f")
        np.savetxt(file, faces, "f %d %d %d")
    return partial(read_mesh, path), partial(trimesh.load, path, process=False)


def ratio(ours: Run, theirs: Run, *, seconds: float) -> float:
    """The median of CPU times of `ours` over that of `theirs`, measured in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    ours(), theirs()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or len(times[0]) < 3:
        for run, taken in zip((ours, theirs), times, strict=True):
            began = time.process_time()
            run()
            taken.append(time.process_time() - began)
    return statistics.median(times[0]) / statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="at least, for each figure")
    parser.add_argument("--save", action="store_true", help=f"write {FILE.name}")
    options = parser.parse_args()
    if library(torch.float32) is None:
        sys.exit("the C kernel is not built, and the layer is slow without it: hatch_build.py")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        made = {
            "layer": layer(),
            "pairs": pairs(),
            "register": registration(),
            "ply": ply(Path(folder)),
            "obj": obj(Path(folder)),
        }
        found = {name: ratio(*runs, seconds=options.seconds) for name, runs in made.items()}
    if options.save:
        saved = {"machine": machine("cpu"), "ratios": {k: round(v, 3) for k, v in found.items()}}
        FILE.write_text(json.dumps(saved, indent=2) + "\n")
    committed = json.loads(FILE.read_text())["ratios"]
    slower = [name for name in found if found[name] > BAND * committed[name]]
    print(f"{'':10}{'ratio':>10}{'committed':>12}")
    for name, value in found.items():
        print(f"{name:10}{value:10.3f}{committed[name]:12.3f}{'  slower' * (name in slower)}")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
