"""Backward passes of the nearest rotation compared: values, conditioning and a small training.

    python benchmarks/backward.py --save        # or: spoonful bench backward

All contenders have the same forward pass, the rotation nearest a 3x3 matrix M, except "none":

- SVD: autograd through `torch.linalg.svd`.
- SVD, clamped: the same derivative with |s_i^2 - s_j^2| at least 1e-6, the usual repair.
- RPMG (Chen et al., CVPR 2022, arXiv:2110.11657): not a derivative. It steps along the geodesic to
  a goal G, and returns M - P + lambda (P - G), where P = G S is the matrix nearest M whose nearest
  rotation is G. Step 1/4, lambda 1/100.
- none: no projection in training, M itself is compared with the true rotation, and projected in the
  test alone (as argued by Choy, 2026, arXiv:2604.05414).
- ours: `nearest_rotation`, the derivative of the optimum.

The network of the training is a small PointNet. It gets 16 noisy points of one shape, turned at
random and in any order, and predicts M. One training takes seconds, all of them minutes.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

sys.path.insert(0, str(Path(__file__).parent))

from _harness import machine, save, table
from spoonful.geometry import nearest_rotation, random_rotation, rotation_from_vector
from spoonful.geometry.so3 import torque

CLAMP = 1e-6
STEP, LAMBDA = 0.25, 0.01
GAPS = (1e-1, 1e-3, 1e-5, 1e-7, 0.0)
STEPS, BATCH, HIDDEN, SEEDS = 600, 64, 128, 3


def _parts(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """U, s, V^T, and the signs (B, 3) that make U V^T proper."""
    U, s, Vh = torch.linalg.svd(matrix)
    sign = torch.ones_like(s)
    sign[:, 2] = torch.det(U @ Vh).sign().detach()
    return U, s, Vh, sign


def by_svd(matrix: Tensor) -> Tensor:
    U, _, Vh, sign = _parts(matrix)
    return U * sign.unsqueeze(-2) @ Vh


class _Clamped(Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        U, s, Vh, sign = _parts(matrix)
        ctx.save_for_backward(U, s, Vh, sign)
        return U * sign.unsqueeze(-2) @ Vh

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        U, s, Vh, sign = ctx.saved_tensors
        gap = s.square().unsqueeze(-2) - s.square().unsqueeze(-1)
        gap = torch.where(gap < 0, gap.clamp(max=-CLAMP), gap.clamp(min=CLAMP))
        inverse = 1 / gap * (1 - torch.eye(3).to(s))
        inner = U.mT @ gradient @ Vh.mT
        at_u, at_v = inner * sign.unsqueeze(-2), inner.mT * sign.unsqueeze(-2)
        at_u, at_v = inverse * (at_u - at_u.mT), inverse * (at_v - at_v.mT)
        return U @ (at_u * s.unsqueeze(-2) + s.unsqueeze(-1) * at_v) @ Vh


class _ProjectiveManifold(Function):
    """RPMG for 3x3 matrices. The step is meant for the gradient of one sample's loss."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, samples: int) -> Tensor:
        rotation = nearest_rotation(matrix)
        ctx.save_for_backward(matrix, rotation)
        ctx.samples = samples
        return rotation

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        matrix, rotation = ctx.saved_tensors
        turn = -STEP * ctx.samples * torque(rotation, gradient)
        goal = rotation @ rotation_from_vector(turn)
        back = goal.mT @ matrix
        nearest = goal @ (back + back.mT) / 2
        return (matrix - nearest + LAMBDA * (nearest - goal)) / ctx.samples, None


CONTENDERS: dict[str, Callable[[Tensor], Tensor]] = {
    "SVD": by_svd,
    "SVD, clamped": _Clamped.apply,
    "RPMG": lambda matrix: _ProjectiveManifold.apply(matrix, BATCH),
    "none": lambda matrix: matrix,
    "ours": nearest_rotation,
}


def gradient(name: str, matrix: Tensor, direction: Tensor) -> Tensor:
    """The gradient of `<direction, R(M)>` by M."""
    leaf = matrix.clone().requires_grad_()
    found = _ProjectiveManifold.apply(leaf, 1) if name == "RPMG" else CONTENDERS[name](leaf)
    return torch.autograd.grad((found * direction).sum(), leaf)[0]


def by_differences(matrix: Tensor, direction: Tensor, step: float = 1e-6) -> Tensor:
    """The same by central differences of an SVD, in float64."""
    columns = []
    for k in range(9):
        change = torch.zeros(9, dtype=matrix.dtype)
        change[k] = step
        ahead, behind = (by_svd(matrix + side * change.view(3, 3)) for side in (1, -1))
        columns.append(((ahead - behind) * direction).sum((-1, -2)) / (2 * step))
    return torch.stack(columns, -1).view_as(matrix)


def with_values(count: int, *values: float, generator: torch.Generator) -> Tensor:
    """Matrices with these singular values; the last is negative for a mirrored cloud's."""
    left, right = (random_rotation(count, generator=generator, dtype=torch.float64) for _ in "UV")
    return left * torch.tensor(values, dtype=torch.float64) @ right.mT


def relative(found: Tensor, exact: Tensor) -> Tensor:
    return (found.double() - exact).flatten(1).norm(dim=1) / exact.flatten(1).norm(dim=1)


def values_table(generator: torch.Generator) -> str:
    matrix = torch.randn(1000, 3, 3, generator=generator, dtype=torch.float64)
    direction = torch.randn(1000, 3, 3, generator=generator, dtype=torch.float64)
    exact = by_differences(matrix, direction)
    rows = []
    for name in CONTENDERS:
        found = gradient(name, matrix, direction)
        cosine = nn.functional.cosine_similarity(found.flatten(1), exact.flatten(1))
        error = relative(found, exact).median()
        rows.append([name, f"{error:.1e}", f"{cosine.median():.3f}", f"{cosine.min():.3f}"])
    return table(["backward pass", "relative error, median", "cosine, median", "least"], rows)


def conditioning_table(generator: torch.Generator) -> str:
    rows = []
    for gap in GAPS:
        matrix = with_values(1000, 1, 1 - gap, 0.5, generator=generator)
        direction = torch.randn(1000, 3, 3, generator=generator, dtype=torch.float64)
        matrix = matrix.float().double()
        exact = gradient("ours", matrix, direction)
        row = [f"{gap:g}"]
        for name in ("SVD", "SVD, clamped", "ours"):
            error = relative(gradient(name, matrix.float(), direction.float()), exact)
            lost = int((~error.isfinite()).sum())
            row.append(f"{error.nan_to_num(math.inf).max():.0e}" + f" ({lost} NaN)" * (lost > 0))
        rows.append(row)
    matrix = torch.eye(3, dtype=torch.float64).repeat(1000, 1, 1)
    direction = torch.randn(1000, 3, 3, generator=generator, dtype=torch.float64)
    exact = gradient("ours", matrix, direction)
    row = ["M = I"]
    for name in ("SVD", "SVD, clamped", "ours"):
        error = relative(gradient(name, matrix.float(), direction.float()), exact)
        lost = int((~error.isfinite()).sum())
        row.append("NaN" if lost else f"{error.max():.0e}")
    return table(["s1 - s2", "SVD", "SVD, clamped", "ours"], [*rows, row])


def size_table(generator: torch.Generator) -> str:
    """The median length of the gradient as the rotation stops being unique."""
    rows = []
    for gap in (0.4, 1e-1, 1e-2, 1e-3):
        matrix = with_values(1000, 1, 0.5, gap - 0.5, generator=generator)
        direction = torch.randn(1000, 3, 3, generator=generator, dtype=torch.float64)
        lengths = [gradient(name, matrix, direction).flatten(1).norm(dim=1) for name in CONTENDERS]
        rows.append([f"{gap:g}", *(f"{length.median():.2g}" for length in lengths)])
    return table(["s2 + d s3", *CONTENDERS], rows)


class _Network(nn.Module):
    def __init__(self, identity: bool) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, HIDDEN), nn.ReLU())
        self.middle, self.last = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 9)
        if identity:
            nn.init.zeros_(self.last.weight)
            with torch.no_grad():
                self.last.bias.copy_(torch.eye(3).flatten())

    def forward(self, points: Tensor) -> Tensor:
        features = self.middle(self.each(points).amax(-2)).relu()
        return self.last(features).unflatten(-1, (3, 3))


def trained_error(name: str, seed: int, identity: bool) -> tuple[float, int]:
    """The mean error of the test in degrees, and the step at which a weight became NaN, or 0."""
    torch.manual_seed(seed)
    shape = torch.randn(16, 3)

    def samples(count: int) -> tuple[Tensor, Tensor]:
        rotation = random_rotation(count)
        points = shape @ rotation.mT + 0.02 * torch.randn(count, 16, 3)
        return points, rotation  # the order does not matter to the network

    net = _Network(identity)
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(1, STEPS + 1):
        points, truth = samples(BATCH)
        loss = (CONTENDERS[name](net(points)) - truth).square().sum((-1, -2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if not loss.isfinite() or not all(x.isfinite().all() for x in net.parameters()):
            return math.nan, step
    points, truth = samples(2000)
    with torch.no_grad():
        chord = (nearest_rotation(net(points)) - truth).flatten(1).norm(dim=1) / math.sqrt(8)
    return float(torch.rad2deg(2 * chord.clamp(max=1).asin()).mean()), 0


def training_table() -> str:
    rows = []
    for name in CONTENDERS:
        row = [name]
        for identity in (False, True):
            runs = [trained_error(name, seed, identity) for seed in range(SEEDS)]
            stopped = [step for _, step in runs if step]
            errors = [error for error, step in runs if not step]
            if stopped:
                row.append(f"NaN at step {min(stopped)}")
            else:
                spread = f"{min(errors):.2f} to {max(errors):.2f}"
                row.append(f"{statistics.mean(errors):.2f} ({spread})")
        rows.append(row)
    return table(["backward pass", "usual start", "start at M = I"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench backward",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    generator = torch.Generator().manual_seed(0)
    text = "\n".join(
        [
            "# Backward passes of the nearest rotation",
            "",
            f"{machine('cpu')}. Written by `python benchmarks/backward.py --save`.",
            "",
            "Gradients of a linear function of R by M in float64, 1000 random M, against central "
            "differences. RPMG and no projection are not derivatives, so their error is no fault.",
            "",
            values_table(generator),
            "",
            "Largest relative error of the gradient in float32, 1000 matrices with singular values "
            "1, 1 - gap and 0.5; and of the identity.",
            "",
            conditioning_table(generator),
            "",
            "Median length of the gradient near a tie, where the rotation stops being unique "
            "(singular values 1, 0.5 and a third of a mirrored matrix).",
            "",
            size_table(generator),
            "",
            f"Training: mean error of the test in degrees after {STEPS} steps of {BATCH} samples, "
            f"mean (and range) of {SEEDS} seeds. The second start has the last layer's weights at "
            "zero and its bias at the identity.",
            "",
            training_table(),
            "",
        ]
    )
    print(text)
    if options.save:
        print("written:", save("backward.md", text))


if __name__ == "__main__":
    main()
