"""Time the pose layer against SVD and roma, forward and backward.

    python benchmarks/layer.py                    # or: spoonful bench layer
    python benchmarks/layer.py --device cuda --save

Rivals: the Kabsch everyone writes (torch.linalg.svd and autograd), RoMa's
`rigid_points_registration` and PyTorch3D's `corresponding_points_alignment` if they are installed,
and the paper's refinement as it is written, a 15x15 system for each cloud and iteration
(tests/oracles/literal.py).

"Packed" has clouds of unequal sizes, with as many points in all, lying one after the other.

On a GPU ours are timed twice: as Python calls them, and captured in a CUDA graph, where the host
does not count. What Python and autograd take is seen in a table of calls in a row, beside one
multiplication through autograd. The floor is the time to read points and weights once forward and
once backward and to write their gradients once, at the speed of a large copy.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from _harness import captured, in_a_row, machine, on_one_core, race, save, table
from oracles import literal, plain
from spoonful import SpoonfulLayer, kabsch, similarity
from spoonful.geometry import kernels, robust_kabsch, robust_similarity

CPU_SIZES = ["32x1024", "256x1024", "32x16384"]
GPU_SIZES = ["32x1024", "256x1024", "1024x1024", "32x16384", "4096x4096"]
BYTES = 3 * 28  # of a point and its weight: read, read again, and their gradients written
ONE_CORE = ", all threads on one core"
OURS, SVD, LITERAL = "ours: Kabsch + {n}", "SVD Kabsch alone", "SVD Kabsch + literal {n}"
REFINEMENTS = (0, 1, 5, 10)
ROUNDS = 5
ALONE, SCALED = "ours: Kabsch alone", "ours: similarity"
REWEIGHTED = f"ours: robust Kabsch, {ROUNDS} rounds"
RELATIVE = {SCALED: 1.2, REWEIGHTED: 4.0}
LARGE, LARGE_AIM = 10_000_000, 2.0  # matches of one robust fit on a GPU, and milliseconds
AIMS = [  # of Kabsch + 5 on one H200: size, column, milliseconds
    ("32x1024", "from Python, in a row", 0.6),
    ("32x1024", "in a graph", 0.035),
    ("4096x4096", "in a graph", 0.46),
]


def numbers(size: str) -> tuple[int, int]:
    batch, points = size.split("x")
    return int(batch), int(points)


def clouds_of(batch: int, points: int, device: str) -> list[torch.Tensor]:
    """Matches that a rigid motion nearly explains, as a network in training makes them."""
    generator = torch.Generator(device).manual_seed(0)
    kind: dict[str, Any] = {"generator": generator, "device": device}
    source = torch.randn(batch, points, 3, **kind)
    target = source.roll(1, -1) + 0.1 * torch.randn(batch, points, 3, **kind)
    return [x.requires_grad_() for x in (source, target, torch.rand(batch, points, **kind))]


def step(
    poses: Callable[..., Sequence[torch.Tensor]], leaves: list[torch.Tensor]
) -> Callable[[], object]:
    """Forward, and backward from given gradients at the poses."""
    with torch.no_grad():
        gradients = [torch.randn_like(x) for x in poses(*leaves)]
    return lambda: torch.autograd.grad(list(poses(*leaves)), leaves, gradients)


def refining(
    iterations: int, leaves: list[torch.Tensor]
) -> tuple[Callable[..., Sequence[torch.Tensor]], Callable[[], object]]:
    """Our layer with so many refinements, and a step of it."""
    layer = SpoonfulLayer(max(iterations, 1)).train(iterations > 0)

    def poses(*inputs: torch.Tensor) -> Sequence[torch.Tensor]:
        return layer(*inputs).poses

    return poses, step(poses, leaves)


def contenders(
    batch: int, points: int, iterations: int, device: str
) -> dict[str, Callable[[], object]]:
    leaves = clouds_of(batch, points, device)
    ours, our_step = refining(iterations, leaves)
    layer = SpoonfulLayer(iterations)
    sizes = torch.rand(batch, generator=torch.Generator().manual_seed(1)) + 0.5
    ends = (sizes.cumsum(0) / sizes.sum() * batch * points).round().long()
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), ends]).to(device)
    flat = [x.detach().flatten(0, 1).requires_grad_() for x in leaves]

    def packed(s: torch.Tensor, t: torch.Tensor, w: torch.Tensor) -> Sequence[torch.Tensor]:
        return layer.packed(s, t, offsets, w).poses

    def literally(s: torch.Tensor, t: torch.Tensor, w: torch.Tensor) -> Sequence[torch.Tensor]:
        first, offset = plain.svd_kabsch(s, t, w)
        rotation, translation = literal.refine(s, t, first, w, iterations=iterations)
        return (
            torch.cat([first[:, None], rotation], 1),
            torch.cat([offset[:, None], translation], 1),
        )

    def in_torch(*inputs: torch.Tensor) -> Sequence[torch.Tensor]:
        with kernels.disabled():
            return ours(*inputs)

    def reweighted(*inputs: torch.Tensor) -> Sequence[torch.Tensor]:
        return robust_kabsch(*inputs, loss="geman-mcclure", noise=0.1, rounds=ROUNDS).pose

    runs = {
        OURS.format(n=iterations): our_step,
        ALONE: step(kabsch, leaves),
        SCALED: step(similarity, leaves),
        REWEIGHTED: step(reweighted, leaves),
        f"ours: Kabsch + {iterations}, packed": step(packed, flat),
        f"ours: Kabsch + {iterations}, kernels off": step(in_torch, leaves),
        SVD: step(plain.svd_kabsch, leaves),
        LITERAL.format(n=iterations): step(literally, leaves),
    }
    try:
        import roma
    except ImportError:
        print("RoMa is not installed: its row is left out")
    else:
        for name, scaled in (("RoMa, Kabsch alone", False), ("RoMa, with scale", True)):
            fit = functools.partial(roma.rigid_points_registration, compute_scaling=scaled)
            runs[name] = step(fit, leaves)
    try:
        from pytorch3d.ops import corresponding_points_alignment
    except ImportError:
        print("PyTorch3D is not installed: its row is left out")
    else:
        fit = functools.partial(corresponding_points_alignment, estimate_scale=True)
        runs["PyTorch3D, with scale"] = step(fit, leaves)
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


def robust_large(seconds: float) -> list[list[str]]:
    """Rows of a table: a robust similarity of one large cloud on a GPU, forward."""
    source, target, weights = (x.detach()[0] for x in clouds_of(1, LARGE, "cuda"))
    target[::5] = target.flip(0)[::5]  # wrong matches

    def run() -> object:
        return robust_similarity(source, target, weights, noise=0.1, rounds=ROUNDS)

    run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    more = (torch.cuda.max_memory_allocated() - before) / 2**20
    times = {
        "from Python": race({"": run}, device="cuda", seconds=seconds)[""],
        "in a graph": in_graph(run),
    }
    rows = [
        [f"{column}, {LARGE_AIM:g} ms", "-" if ms is None else f"{ms:.3f} ms"]
        for column, ms in times.items()
    ]
    return [*rows, ["memory allocated, of which weights 38 MiB", f"{more:.1f} MiB"]]


def compile_kernels(size: str, iterations: int, device: str) -> None:
    """Fill Triton's cache for one size."""
    leaves = clouds_of(*numbers(size), device)
    refining(iterations, leaves)[1]()
    step(kabsch, leaves)()
    step(similarity, leaves)()
    robust_kabsch(*leaves, noise=0.1, rounds=2)
    refining(0, leaves)[1]()


def prepare(sizes: list[str], iterations: int, device: str) -> None:
    """Compile everything before it is timed, side by side: one kernel takes seconds."""
    command = [sys.executable, __file__, "--compile-only", "--device", device]
    command += ["--iterations", str(iterations), "--sizes"]
    others = [subprocess.Popen([*command, size]) for size in sizes]
    for other in others:
        if other.wait():
            raise RuntimeError("a kernel could not be compiled")


def by_refinements(size: str, device: str, seconds: float) -> dict[int, tuple[float, float | None]]:
    """Milliseconds from Python and in a graph, by the number of refinements."""
    leaves = clouds_of(*numbers(size), device)
    runs = {str(n): refining(n, leaves)[1] for n in REFINEMENTS}
    times = race(runs, device=device, seconds=seconds)
    return {n: (times[str(n)], in_graph(runs[str(n)])) for n in REFINEMENTS}


def from_python(size: str, iterations: int, device: str, seconds: float) -> dict[str, list[float]]:
    """Milliseconds of calls in a row: ours, and the least that goes through autograd at all.

    Waiting for the device after a hundred, and after each.

    Autograd goes backward in a thread of its own for each GPU, and waking it takes time: less if
    both threads have one core, and none in the calling thread.
    """
    leaves = clouds_of(*numbers(size), device)
    _, run = refining(iterations, leaves)
    product = step(lambda s, t: [s * t], leaves[:2])

    def times(run: Callable[[], object]) -> list[float]:
        return [in_a_row(run, device=device, seconds=seconds, calls=calls) for calls in (100, 1)]

    runs = {"one multiplication, s * t": product, OURS.format(n=iterations): run}
    rows = {name: times(run) for name, run in runs.items()}
    with on_one_core():
        rows |= {f"{name}{ONE_CORE}": times(run) for name, run in runs.items()}
    with torch.autograd.set_multithreading_enabled(False):
        for name, run in runs.items():
            rows[f"{name}, backward in the calling thread"] = times(run)
    return rows


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
    parser = argparse.ArgumentParser(
        prog="spoonful bench layer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--sizes", nargs="+", help="batch x points, e.g. 32x1024 4096x4096")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--seconds", type=float, help="for each contender and size")
    parser.add_argument("--compile-only", action="store_true", help="fill the caches and stop")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    on_cuda = options.device.startswith("cuda")
    seconds = options.seconds or (0.3 if on_cuda else 2.0)
    sizes = options.sizes or (GPU_SIZES if on_cuda else CPU_SIZES)
    if options.compile_only:
        for size in sizes:
            compile_kernels(size, options.iterations, options.device)
        return
    if on_cuda:
        prepare(sizes, options.iterations, options.device)
        # Before anything else has filled the host's caches and the allocator's lists.
        alone = from_python(sizes[0], options.iterations, options.device, 1.0)

    text = [
        "# The pose layer: forward + backward, float32, with weights",
        "",
        machine(options.device),
        "",
        "Medians of interleaved rounds, the device waited for after each; the last column is the "
        "time relative to the plain SVD Kabsch of the same size. Times in milliseconds."
        + (" In a graph: a replay of the same work as a CUDA graph." if on_cuda else ""),
        "",
    ]
    rows, relative = [], []
    found: dict[tuple[str, str], float | None] = {}
    bytes_per_ms = copy_rate(options.device)
    mine = OURS.format(n=options.iterations)
    for size in sizes:
        batch, points = numbers(size)
        runs = contenders(batch, points, options.iterations, options.device)
        times = race(runs, device=options.device, seconds=seconds)
        floor = batch * points * BYTES / bytes_per_ms
        graphs: dict[str, float | None] = {}
        for name, ms in times.items():
            graph = in_graph(runs[name]) if on_cuda and name.startswith("ours") else None
            graphs[name] = graph
            if name == mine:
                found[size, "in a graph"] = graph
            shown = ["-" if graph is None else f"{graph:.3f}"] if on_cuda else []
            rows.append([name, size, f"{ms:.3f}", *shown, f"{floor:.4f}", f"{ms / times[SVD]:.2f}"])
        scaled, alone_in_graph = graphs.get(SCALED), graphs.get(ALONE)
        if scaled and alone_in_graph:
            ratio = scaled / alone_in_graph
            relative.append([f"{SCALED} / Kabsch, in a graph, at most 1.1", size, f"{ratio:.2f}"])
        for name, most in RELATIVE.items():
            ratio = times[name] / times[ALONE]
            relative.append([f"{name}, at most {most:g}", size, f"{ratio:.2f}"])
        for rival in ("RoMa, with scale", "PyTorch3D, with scale"):
            if rival in times:
                ratio = times[SCALED] / times[rival]
                relative.append([f"{SCALED} / {rival}, at most 0.33", size, f"{ratio:.2f}"])
        ratio = times[LITERAL.format(n=options.iterations)] / times[mine]
        print(f"{size}: {ratio:.1f}x the literal form, {times[SVD] / times[mine]:.2f}x SVD Kabsch")
    first = ["from Python", "in a graph"] if on_cuda else ["ms"]
    text.append(table(["method", "batch x points", *first, "floor", "/ SVD Kabsch"], rows))
    if on_cuda:
        by_number = by_refinements(sizes[-1], options.device, seconds)
        text += ["", f"By the number of refinements, at {sizes[-1]}:", ""]
        cells = [
            [str(n), f"{ms:.3f}", "-" if graph is None else f"{graph:.3f}"]
            for n, (ms, graph) in by_number.items()
        ]
        text.append(table(["refinements", *first], cells))
        text += ["", f"From Python, calls in a row, at {sizes[0]}:", ""]
        text.append(
            table(
                ["forward + backward", "waiting after 100 calls", "after each"],
                [[name, *(f"{ms:.3f}" for ms in times)] for name, times in alone.items()],
            )
        )
        found[sizes[0], "from Python, in a row"] = alone[mine][0]
        text += ["", table(["aim", "measured", ""], aims(found, by_number))]
        text += ["", table(["relative to Kabsch alone", "batch x points", "measured"], relative)]
        text += ["", f"Robust similarity of one cloud of {LARGE:,} matches, {ROUNDS} rounds, given"]
        text[-1] += " noise, forward:"
        text += ["", table(["aim", "measured"], robust_large(seconds))]
    else:
        text += ["", f"{kernels.status()}. Aim: a third of SVD Kabsch at most."]
        text += ["", "Aims, relative to our Kabsch if nothing else is named:", ""]
        text.append(table(["aim", "batch x points", "measured"], relative))
    report = "\n".join(text) + "\n"
    print(report)
    if options.save:
        print("written:", save(f"layer-{options.device}.md", report))


def aims(
    found: dict[tuple[str, str], float | None], by_number: dict[int, tuple[float, float | None]]
) -> list[list[str]]:
    """Rows of a table: each aim, the measured time, and if it was reached."""
    rows = []
    for size, column, limit in AIMS:
        ms = found.get((size, column))
        if ms is not None:
            verdict = "reached" if ms <= limit else f"missed by {100 * (ms / limit - 1):.0f} %"
            rows.append([f"{size} {column}, {limit:g} ms", f"{ms:.3f} ms", verdict])
    few, many = by_number[1][1], by_number[10][1]
    if few and many:
        change = many / few - 1
        verdict = "reached" if change <= 0.1 else "missed"
        rows.append(["1 to 10 refinements, 10 %", f"{100 * change:.0f} %", verdict])
    return rows


if __name__ == "__main__":
    main()
