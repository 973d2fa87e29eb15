"""DCP-v2 and RPM-Net: training steps and inference, against the published code and the floor.

    python benchmarks/models.py                             # or: spoonful bench models
    python benchmarks/models.py --device cuda --save        # everything, most important rows first
    python benchmarks/models.py --device cuda --only train --seconds 2
    python benchmarks/models.py --list                      # the rows, without running them

A training step is forward, backward and Adam, with the refinement layer inside. "Published" is the
published networks written out in tests/oracles/published.py, without the layer. Clouds are random.

The floor is what this machine could do at best: the network's multiplications at the rate of a
large matrix product measured in the same run and precision, or its unavoidable traffic (each edge
tensor written once and read once, each match matrix once an iteration) at the rate of a large copy,
whichever takes longer. Rows are run in order until `--budget` seconds are spent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from _harness import RESULTS, captured, machine, race, save, table
from oracles import published
from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer, random_rotation
from spoonful.losses import dcp_loss, rpmnet_loss
from spoonful.models import DCP, RegistrationModel, RPMNet

POINTS = {"dcp-v2": 1024, "rpmnet": 717}
ITERATIONS = {"train": 2, "infer": 5}  # RPM-Net's outer iterations


@dataclass(frozen=True)
class Row:
    """One measurement."""

    task: str  # "train" or "infer"
    model: str  # "dcp-v2" or "rpmnet"
    batch: int
    code: str = "ours"  # or "published"
    precision: str = "bf16"  # "fp32", "tf32" or "bf16"
    compiled: bool = False
    graph: bool = False

    def __str__(self) -> str:
        how = [self.code, self.precision]
        how += ["compiled"] * self.compiled + ["cuda graph"] * self.graph
        return f"{self.task} {self.model} {self.batch}x{POINTS[self.model]}: {' '.join(how)}"


@dataclass(frozen=True)
class Result:
    """The result of a measurement."""

    row: str
    milliseconds: float
    pairs_per_second: float
    floor_ms: float
    peak_gib: float | None
    warm_up_s: float


def rows(device: str) -> list[Row]:
    """The rows to measure, most important first."""
    if device == "cpu":
        return [
            Row(task, model, batch, code, "fp32")
            for task, batch in (("infer", 1), ("train", 2))
            for model in POINTS
            for code in ("ours", "published")
        ]
    best = [
        Row("train", "dcp-v2", 32, compiled=True),
        Row("train", "rpmnet", 32, compiled=True),
        Row("infer", "rpmnet", 1, compiled=True),
        Row("infer", "rpmnet", 1),
    ]
    eager = [replace(row, compiled=False) for row in best[:2]]
    rivals = [
        Row(task, model, batch, "published", "tf32")
        for task, model, batch in (
            ("train", "dcp-v2", 32),
            ("train", "rpmnet", 32),
            ("infer", "rpmnet", 1),
            ("infer", "dcp-v2", 32),
        )
    ]
    more = [
        Row("train", "rpmnet", 8, compiled=True),
        Row("infer", "dcp-v2", 32, compiled=True),
        Row("infer", "rpmnet", 32, compiled=True),
        Row("infer", "dcp-v2", 1, compiled=True),
        Row("train", "dcp-v2", 32, precision="tf32", compiled=True),
        Row("train", "rpmnet", 32, precision="tf32", compiled=True),
    ]
    # Captures last: one that fails may leave the device in a bad state.
    graphs = [replace(row, graph=True) for row in (best[2], best[0], best[1])]
    return best + eager + rivals + more + graphs


def make_batch(row: Row, device: str) -> Batch:
    generator = torch.Generator().manual_seed(0)
    points = POINTS[row.model]
    source = torch.randn(row.batch, points, 3, generator=generator)
    source = source / source.norm(dim=-1, keepdim=True).amax(1, keepdim=True)
    normals = torch.nn.functional.normalize(source, dim=-1)
    turn = random_rotation(row.batch, max_degrees=45.0, generator=generator)
    pose = Pose(turn, torch.rand(row.batch, 3, generator=generator) - 0.5)
    order = torch.randperm(points, generator=generator)
    turned = Pose(turn, torch.zeros_like(pose.translation)).apply(normals)
    return Batch(
        source, pose.apply(source)[:, order], normals, turned[:, order].contiguous(), pose=pose
    ).to(device)


def make_model(row: Row, device: str) -> RegistrationModel:
    torch.manual_seed(0)
    layer = SpoonfulLayer() if row.task == "train" else None
    model = DCP.v2(refine=layer) if row.model == "dcp-v2" else RPMNet(refine=layer)
    return model.to(device).train(row.task == "train")


def autocast(row: Row, device: str) -> contextlib.AbstractContextManager[object]:
    if row.precision == "bf16":
        return torch.autocast(device.split(":")[0], dtype=torch.bfloat16)
    return contextlib.nullcontext()


def our_run(row: Row, device: str) -> Callable[[], object]:
    model, batch = make_model(row, device), make_batch(row, device)
    if row.compiled:
        model.compile_parts(dynamic=False)
    if row.task == "infer":

        def infer() -> object:
            with torch.inference_mode(), autocast(row, device):
                return model(batch).pose

        return infer
    on_cuda = device.startswith("cuda")
    optimizer = torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad],
        lr=1e-4,
        fused=on_cuda,
        capturable=row.graph,
    )

    def train() -> object:
        optimizer.zero_grad(set_to_none=True)
        with autocast(row, device):
            output = model(batch)
        loss = model.loss(output, batch)
        loss.backward()
        optimizer.step()
        return loss

    return train


def published_run(row: Row, device: str) -> Callable[[], object]:
    model, batch = make_model(row, device), make_batch(row, device)
    state = {
        name: value.detach().clone().requires_grad_(value.is_floating_point() and "bn" not in name)
        for name, value in model.state_dict().items()
        if name != "head.reflect"
    }
    leaves = [value for value in state.values() if value.requires_grad]
    training = row.task == "train"

    def forward() -> tuple[list[Pose], list[torch.Tensor]]:
        if row.model == "dcp-v2":
            pose = published.dcp(state, batch.source, batch.target, training=training)
            return [Pose(*pose)], []
        found = published.rpmnet(
            state,
            batch.source,
            batch.target,
            batch.source_normals,
            batch.target_normals,
            ITERATIONS[row.task],
        )
        return [Pose(*one[:2]) for one in found], [one[2] for one in found]

    if not training:

        def infer() -> object:
            with torch.no_grad():
                return forward()

        return infer
    optimizer = torch.optim.Adam(leaves, lr=1e-4)

    def train() -> object:
        optimizer.zero_grad(set_to_none=True)
        poses, matrices = forward()
        if row.model == "dcp-v2":
            loss = dcp_loss(poses[0], batch.pose)
        else:
            stacked = Pose(
                torch.stack([p.rotation for p in poses], 1),
                torch.stack([p.translation for p in poses], 1),
            )
            loss = rpmnet_loss(stacked, batch.pose, batch.source, matrices)
        loss.backward()
        optimizer.step()
        return loss

    return train


@dataclass(frozen=True)
class Work:
    """The least work of a step: multiply-adds in networks, and bytes."""

    macs: float
    bytes: float


def forward_work(row: Row) -> Work:
    """Counted by hand from the layers' sizes; `size` is the bytes of a network's number."""
    pairs, points = row.batch, POINTS[row.model]
    clouds, size = 2 * pairs * points, 2 if row.precision == "bf16" else 4
    if row.model == "dcp-v2":
        edges, width, hidden = clouds * 20, 512, 1024
        layers = [(64, 64), (64, 128), (128, 256)]
        macs = edges * sum(a * b for a, b in layers) + clouds * 512 * width
        moved = edges * size * (64 + sum(a + b for a, b in layers))
        # Encoder and decoder: 12 square products, 2 feed-forwards, 3 attentions a point.
        macs += clouds * (12 * width**2 + 4 * width * hidden + 6 * points * width)
        moved += clouds * size * width * 2 * 20
        macs += pairs * points**2 * width
        moved += pairs * points**2 * 4 * 2
        return Work(macs, moved)
    iterations = ITERATIONS[row.task]
    described = pairs * points * (1 + iterations)
    layers = [(96, 96), (96, 192)]
    macs = described * 64 * sum(a * b for a, b in layers)
    moved = described * 64 * size * (96 + sum(a + b for a, b in layers))
    macs += described * (192 * 192 + 192 * 96 + 96 * 96)
    macs += iterations * clouds * (2 * 64 * 64 + 64 * 128 + 128 * 1024)
    moved += iterations * clouds * size * 2 * 1024
    macs += iterations * pairs * points**2 * 96
    moved += iterations * pairs * points**2 * 4 * 2
    return Work(macs, moved)


def floor_ms(row: Row, rates: dict[str, float]) -> float:
    work = forward_work(row)
    passes = 3 if row.task == "train" else 1  # backward does the forward's work twice
    arithmetic = 2 * passes * work.macs / rates[row.precision]
    return 1e3 * max(arithmetic, passes * work.bytes / rates["copy"])


def measure_rates(device: str) -> dict[str, float]:
    """FLOP/s of a large product in each precision, bytes/s of a large copy."""
    n = 8192 if device.startswith("cuda") else 1024
    rates = {}
    for name in ("fp32", "tf32", "bf16"):
        if device == "cpu" and name != "fp32":
            rates[name] = rates["fp32"]
            continue
        with switches(name):
            a = torch.randn(n, n, device=device)
            a = a.bfloat16() if name == "bf16" else a
            run = race({"product": lambda a=a: a @ a}, device=device, seconds=0.2)
        rates[name] = 2 * n**3 / (run["product"] / 1e3)
    data = torch.empty((1 << 30) if device.startswith("cuda") else (1 << 26), device=device)
    out = torch.empty_like(data)
    run = race({"copy": lambda: out.copy_(data)}, device=device, seconds=0.2)
    rates["copy"] = 2 * data.nbytes / (run["copy"] / 1e3)
    return rates


@contextlib.contextmanager
def switches(precision: str):
    """TF32 for what autocast leaves in float32, unless everything is to be exact."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def measure(row: Row, device: str, rates: dict[str, float], seconds: float) -> Result:
    on_cuda = device.startswith("cuda")
    torch.compiler.reset()
    if on_cuda:
        torch.cuda.empty_cache()
        # From here on, with warm-up and recording: a graph's memory is taken when it is recorded.
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if on_cuda else 0
    with switches(row.precision):
        start = time.perf_counter()
        run = (our_run if row.code == "ours" else published_run)(row, device)
        run()
        if row.graph:
            run = captured(run)
        warm_up = time.perf_counter() - start
        median = race({"run": run}, device=device, seconds=seconds)["run"]
    peak = (torch.cuda.max_memory_allocated() - before) / 2**30 if on_cuda else None
    return Result(str(row), median, 1e3 * row.batch / median, floor_ms(row, rates), peak, warm_up)


def report(results: list[Result], rates: dict[str, float], device: str) -> str:
    lines = [
        [
            one.row,
            f"{one.milliseconds:.2f}",
            f"{one.floor_ms:.2f}",
            f"{one.pairs_per_second:,.3g}",
            "-" if one.peak_gib is None else f"{one.peak_gib:.1f}",
            f"{one.warm_up_s:.0f}",
        ]
        for one in results
    ]
    speed = ", ".join(f"{n} {r / 1e12:.3g} TFLOP/s" for n, r in rates.items() if n != "copy")
    return (
        f"# Models\n\n{machine(device)}. "
        f"Products: {speed}; copy {rates['copy'] / 1e9:,.0f} GB/s.\n\n"
        + table(["", "ms", "floor ms", "pairs/s", "peak GiB", "warm-up s"], lines)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--seconds", type=float, default=1.0, help="timing of each row")
    parser.add_argument("--budget", type=float, default=280.0, help="no new row after this")
    parser.add_argument("--only", default="", help="rows whose name contains all these words")
    parser.add_argument("--list", action="store_true", help="print the rows and stop")
    parser.add_argument("--save", action="store_true", help="write to benchmarks/results")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    chosen = [
        row
        for row in rows(options.device)
        if all(word in str(row) for word in options.only.split())
    ]
    if options.list:
        print("\n".join(map(str, chosen)))
        return
    start = time.perf_counter()
    rates = measure_rates(options.device)
    results: list[Result] = []
    for row in chosen:
        if time.perf_counter() - start > options.budget:
            print(f"skipped, out of time: {row}")
            continue
        try:
            results.append(measure(row, options.device, rates, options.seconds))
        except Exception as error:  # a row that fails must not cost the others
            print(f"failed: {row}: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        one = results[-1]
        memory = "" if one.peak_gib is None else f", {one.peak_gib:.1f} GiB"
        print(
            f"{one.row}: {one.milliseconds:.2f} ms, floor {one.floor_ms:.2f} ms{memory}",
            flush=True,
        )
    text = report(results, rates, options.device)
    print(f"\n{text}")
    if options.save:
        name = f"models-{options.device.split(':')[0]}"
        print("written to", save(f"{name}.md", text))
        content = {"rates": rates, "results": [asdict(one) for one in results]}
        (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
