"""Compare the float32 error of our rotation of a 3x3 matrix with that of torch.linalg.svd.

    python benchmarks/rotation.py --save
    python benchmarks/rotation.py --device cuda --count 100000

Ours finds the best rotation as the top eigenvector of Horn's 4x4 matrix, by Jacobi's rotations;
there is no SVD in it. The truth is an SVD in float64 of the same matrices, which are exact in
float32. Errors are the largest of a rotation's nine; where a line is all there is to fit
("rank 1") many rotations are best, and the error is that of the turned line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from _harness import machine, save, table
from spoonful import kabsch
from spoonful.geometry import random_rotation

HALF_TURN = torch.diag(torch.tensor([1.0, -1, -1], dtype=torch.float64))


def classes(count: int) -> dict[str, Callable[[], Tensor]]:
    """Matrices (count, 3, 3), float64, by what is hard about them."""
    kind = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}

    def random() -> Tensor:
        return torch.randn(count, 3, 3, **kind)

    def values(*singular: float) -> Tensor:
        U, V = random_rotation(count, **kind), random_rotation(count, **kind)
        return U * torch.tensor(singular, dtype=torch.float64) @ V.mT

    def near(turn: Tensor) -> Tensor:
        square = random()
        return square @ square.mT @ turn @ random_rotation(count, max_degrees=1e-3, **kind)

    return {
        "random": random,
        "tiny (1e-18)": lambda: 1e-18 * random(),
        "huge (1e18)": lambda: 1e18 * random(),
        "rank 2": lambda: values(1, 0.6, 0),
        "rank 1": lambda: values(1, 0, 0),
        "graded (1, 1e-2, 1e-4)": lambda: values(1, 1e-2, 1e-4),
        "three equal singular values": lambda: values(2, 2, 2),
        "two equal singular values": lambda: values(3, 1, 1),
        "reflected": lambda: values(1, 0.5, -0.2),
        "nearly a tied reflection": lambda: values(1, 0.5, -0.499),
        "nearly a half turn": lambda: near(HALF_TURN),
        "nearly the identity": lambda: near(torch.eye(3, dtype=torch.float64)),
    }


def by_svd(matrix: Tensor) -> Tensor:
    """Kabsch's rotation as it is usually written."""
    U, _, Vh = torch.linalg.svd(matrix)
    flip = torch.ones_like(matrix[:, 0])
    flip[:, 2] = torch.linalg.det(U @ Vh).sign()
    return U * flip.unsqueeze(-2) @ Vh


def ours(matrix: Tensor) -> Tensor:
    """Kabsch's rotation of eight points whose cross moment is a quarter of the matrix, exactly."""
    eye, zero = torch.eye(3).to(matrix), matrix.new_zeros(2, 3)
    source = torch.cat([eye, -eye, zero]).expand(len(matrix), 8, 3)
    rows = matrix.mT
    target = torch.cat([rows, -rows, zero.expand(len(matrix), 2, 3)], dim=-2)
    return kabsch(source, target).rotation


def errors(rotation: Tensor, truth: Tensor, matrix: Tensor, line: bool) -> tuple[float, float]:
    """The largest and the median."""
    if line:  # matrix = b a^T: the line along a must come to lie along b
        U, _, Vh = torch.linalg.svd(matrix)
        wrong = (rotation.double() @ Vh[:, 0].unsqueeze(-1)).squeeze(-1) - U[:, :, 0]
        worst = wrong.abs().amax(-1)
    else:
        worst = (rotation.double() - truth).abs().amax((-1, -2))
    return float(worst.max()), float(worst.median())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench rotation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=90_000, help="matrices of each class")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    rows = []
    for name, draw in classes(options.count).items():
        matrix = draw().float().double().to(options.device)
        truth = by_svd(matrix)
        line = name == "rank 1"
        mine = errors(ours(matrix.float()), truth, matrix, line)
        theirs = errors(by_svd(matrix.float()), truth, matrix, line)
        better = mine[0] <= theirs[0] and mine[1] <= theirs[1]
        rows.append([name, *(f"{x:.1e}" for x in (*mine, *theirs)), "yes" if better else "no"])
    header = ["matrices", "ours: max", "median", "SVD float32: max", "median", "better"]
    text = "\n".join(
        [
            "# The rotation of a 3x3 matrix in float32, against an SVD in float64",
            "",
            f"{machine(options.device)}. {options.count:,} matrices of each class.",
            "",
            table(header, rows),
            "",
        ]
    )
    print(text)
    if options.save:
        name = "rotation.md" if options.device == "cpu" else "rotation-cuda.md"
        print("written:", save(name, text))


if __name__ == "__main__":
    main()
