"""The pose layer against its rivals: forward and backward, side by side in one run.

    python benchmarks/layer.py                    # or: spoonful bench layer
    python benchmarks/layer.py --device cuda --save

Rivals: the Kabsch everyone writes (torch.linalg.svd and autograd), RoMa's
`rigid_points_registration`, and the paper's refinement as it is written, a 15x15 system for each
cloud and iteration (tests/oracles/literal.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from _harness import machine, race, save, table
from oracles import literal, plain
from spoonful import SpoonfulLayer, kabsch
from spoonful.geometry import kernels

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
        def run() -> object:
            rotation, translation = poses(*leaves)
            return torch.autograd.grad(rotation.sum() + translation.sum(), leaves)

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="spoonful bench layer", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--sizes", nargs="+", default=["32x1024", "256x1024", "32x16384"])
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contender and size")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)

    text = [
        "# The pose layer: forward + backward, float32, with weights",
        "",
        machine(options.device),
        "",
        "Medians of interleaved rounds; the last column is the time relative to the plain SVD "
        "Kabsch of the same size.",
        "",
    ]
    rows = []
    for size in options.sizes:
        batch, points = map(int, size.split("x"))
        runs = contenders(batch, points, options.iterations, options.device)
        times = race(runs, device=options.device, seconds=options.seconds)
        for name, ms in times.items():
            rows.append([name, size, f"{ms:.3f}", f"{ms / times[SVD]:.2f}"])
        mine = times[OURS.format(n=options.iterations)]
        ratio = times[LITERAL.format(n=options.iterations)] / mine
        print(f"{size}: {ratio:.1f}x the literal form, {times[SVD] / mine:.2f}x the SVD Kabsch")
    text.append(table(["method", "batch x points", "ms", "/ SVD Kabsch"], rows))
    report = "\n".join(text) + "\n"
    print(report)
    if options.save:
        print("written:", save(f"layer-{options.device}.md", report))


if __name__ == "__main__":
    main()
