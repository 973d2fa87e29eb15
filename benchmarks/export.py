"""Compare the shipped networks as ONNX files with torch: pose differences and times.

    python benchmarks/export.py                  # or: spoonful bench export
    python benchmarks/export.py --models dcp-v2 --pairs 4 --save

Each network is written for the number of points of the protocol that it was trained on, and run on
the first test pairs of that protocol, made from the embedded shapes. Needs onnx, onnxscript and
onnxruntime.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).parent))

from _harness import machine, race, save, table
from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.data.collate import collate
from spoonful.data.items import test_items
from spoonful.models import Inference, save_program
from spoonful.training import corpora, shipped


class Found(NamedTuple):
    """The measurements of one network."""

    points: tuple[int, int]
    writing: float  # seconds
    mebibytes: float
    difference: float  # the largest, of any entry of a pose
    ms: dict[str, float]


def inputs_of(batch: Batch, normals: bool) -> dict[str, torch.Tensor]:
    """The inputs of the program."""
    names = ("source", "target", *(("source_normals", "target_normals") if normals else ()))
    return {name: getattr(batch, name).float() for name in names}


def measure(weights: str, pairs: int, seconds: float, folder: Path) -> Found:
    """Write a network, and set its poses beside torch's."""
    import onnxruntime

    model = shipped.load(weights)
    card = protocols.get(shipped.card(weights).protocol["name"])
    file = folder / f"{weights}.onnx"
    began = time.perf_counter()
    save_program(model, file, points=card.sizes)
    writing = time.perf_counter() - began
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file, options)
    inference = Inference(model)
    items = test_items(card, corpora.load("synthetic", "test"))
    given = [inputs_of(collate([items[i]]), model.needs_normals) for i in range(pairs)]
    outputs = ["rotation", "translation"]
    difference = 0.0
    for one in given:
        with torch.no_grad():
            ours = inference(*one.values())
        theirs = session.run(outputs, {name: value.numpy() for name, value in one.items()})
        for a, b in zip(ours, theirs, strict=True):
            difference = max(difference, float((a - torch.from_numpy(b)).abs().max()))
    first = {name: value.numpy() for name, value in given[0].items()}
    with torch.no_grad():
        ms = race(
            {
                "torch": lambda: inference(*given[0].values()),
                "ONNX Runtime": lambda: session.run(outputs, first),
            },
            device="cpu",
            seconds=seconds,
        )
    return Found(card.sizes, writing, file.stat().st_size / 2**20, difference, ms)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", nargs="+", default=list(shipped.DEFAULTS))
    parser.add_argument("--pairs", type=int, default=8, help="to compare poses on")
    parser.add_argument("--seconds", type=float, default=5.0, help="to time each")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    import onnxruntime

    # torch speaks of its own deprecated names, and of packages that are not needed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    rows = []
    for name in options.models:
        weights = shipped.DEFAULTS.get(name, name)
        with tempfile.TemporaryDirectory() as folder:
            found = measure(weights, options.pairs, options.seconds, Path(folder))
        rows.append(
            [
                weights,
                "x".join(map(str, found.points)),
                f"{found.difference:.0e}",
                *(f"{ms:.0f}" for ms in found.ms.values()),
                f"{found.writing:.0f}",
                f"{found.mebibytes:.1f}",
            ]
        )
        print(*rows[-1], flush=True)
    header = ["network", "points", "difference", "torch ms", "ONNX ms", "writing s", "MiB"]
    report = "\n".join(
        [
            "# Networks as ONNX files",
            "",
            f"`python benchmarks/export.py --pairs {options.pairs} --save`",
            "",
            f"{machine('cpu')}; ONNX Runtime {onnxruntime.__version__}",
            "",
            f"The largest difference of any entry of a pose to torch's over {options.pairs} pairs; "
            "the time of one pair, in turns; how long the file takes to write, and its size.",
            "",
            table(header, rows),
            "",
        ]
    )
    print(report)
    if options.save:
        print("written:", save("export-cpu.md", report))


if __name__ == "__main__":
    main()
