"""The pose layer against its rivals: forward and backward, side by side in one run.

    python benchmarks/layer.py                    # or: spoonful bench layer
    python benchmarks/layer.py --device cuda --save

Rivals: the Kabsch everyone writes (torch.linalg.svd and autograd), RoMa's
`rigid_points_registration`, and the paper's refinement as it is written, a 15x15 system for each
cloud and iteration (tests/oracles/literal.py).

On a GPU each is timed twice: as Python calls it, and captured in a CUDA graph, where the host does
not count. The floor is the time to read points and weights once forward and once backward and to
write their gradients once, at the speed of a large copy.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from _harness import captured, machine, race, save, table
from oracles import literal, plain
from spoonful import SpoonfulLayer, kabsch
from spoonful.geometry import kernels

CPU_SIZES = ["32x1024", "256x1024", "32x16384"]
GPU_SIZES = ["32x1024", "256x1024", "1024x1024", "32x16384", "4096x4096"]
BYTES = 3 * 28  # of a point and its weight: read, read again, and their gradients written
OURS, SVD, LITERAL = "ours: Kabsch + {n}", "SVD Kabsch alone", "SVD Kabsch + literal {n}"


def contenders(
    batch: int, points: int, iterations: int, device: str
) -> dict[str, Callable[[], object]]:
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(batch, points, 3, generator=generator)
    # Matches that a rigid motion nearly explains, as a network in training makes them.
    target = source.roll(1, -1) + 0.1 * torch.randn(batch, points, 3, generator=generator)
    weights = torch.rand(batch, points, generator=generator)
    leaves = [x.to(device).requires_grad_() for x in (source, target, weights)]
    layer = SpoonfulLayer(iterations=iterations)

    def step(poses: Callable[..., tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], object]:
        with torch.no_grad():
            gradients = [torch.randn_like(x) for x in poses(*leaves)]

        def run() -> object:
            return torch.autograd.grad(list(poses(*leaves)), leaves, gradients)

        return run

    def ours(s: torch.Tensor, t: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return layer(s, t, w).poses()

    def literally(s: torch.Tensor, t: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, offset = plain.svd_kabsch(s, t, w)
        rotation, translation = literal.refine(s, t, first, w, iterations=iterations)
        return (
            torch.cat([first[:, None], rotation], 1),
            torch.cat([offset[:, None], translation], 1),
        )

    def in_torch(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with kernels.disabled():
            return ours(*inputs)

    runs = {
        OURS.format(n=iterations): step(ours),
        "ours: Kabsch alone": step(kabsch),
        f"ours: Kabsch + {iterations}, kernels off": step(in_torch),
        SVD: step(plain.svd_kabsch),
        LITERAL.format(n=iterations): step(literally),
    }
    try:
        import roma
    except ImportError:
        print("RoMa is not installed: its row is left out")
    else:
        runs["RoMa, Kabsch alone"] = step(
            lambda s, t, w: roma.rigid_points_registration(s, t, weights=w)
        )
    return runs


def in_graph(run: Callable[[], object]) -> float | None:
    """Milliseconds of one replay of a CUDA graph of `run`; None if it cannot be captured."""
    try:
        replay = captured(run)
    except RuntimeError:  # it waits for the device
        torch.cuda.synchronize()
        return None
    times = []
    for _ in range(7):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(10):
            replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 10)
    return statistics.median(times)


def copy_rate(device: str) -> float:
    """Bytes read and written in a millisecond by a large copy."""
    data = torch.empty((1 << 28) if device.startswith("cuda") else (1 << 24), device=device)
    out = torch.empty_like(data)
    return (
        2
        * data.nbytes
        / race({"copy": lambda: out.copy_(data)}, device=device, seconds=0.1)["copy"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="spoonful bench layer", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--sizes", nargs="+", help="batch x points, e.g. 32x1024 4096x4096")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contender and size")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    on_cuda = options.device.startswith("cuda")

    text = [
        "# The pose layer: forward + backward, float32, with weights",
        "",
        machine(options.device),
        "",
        "Medians of interleaved rounds, the device waited for after each; the last column is the "
        "time relative to the plain SVD Kabsch of the same size."
        + (" In a graph: a replay of the same work as a CUDA graph." if on_cuda else ""),
        "",
    ]
    rows = []
    bytes_per_ms = copy_rate(options.device)
    for size in options.sizes or (GPU_SIZES if on_cuda else CPU_SIZES):
        batch, points = map(int, size.split("x"))
        runs = contenders(batch, points, options.iterations, options.device)
        times = race(runs, device=options.device, seconds=options.seconds)
        floor = batch * points * BYTES / bytes_per_ms
        for name, ms in times.items():
            graph = in_graph(runs[name]) if on_cuda and name.startswith("ours") else None
            shown = ["-" if graph is None else f"{graph:.3f}"] if on_cuda else []
            rows.append([name, size, f"{ms:.3f}", *shown, f"{floor:.4f}", f"{ms / times[SVD]:.2f}"])
        mine = times[OURS.format(n=options.iterations)]
        ratio = times[LITERAL.format(n=options.iterations)] / mine
        print(f"{size}: {ratio:.1f}x the literal form, {times[SVD] / mine:.2f}x the SVD Kabsch")
    header = ["method", "batch x points", "ms", *["in a graph"] * on_cuda, "floor", "/ SVD Kabsch"]
    text.append(table(header, rows))
    report = "\n".join(text) + "\n"
    print(report)
    if options.save:
        print("written:", save(f"layer-{options.device}.md", report))


if __name__ == "__main__":
    main()
