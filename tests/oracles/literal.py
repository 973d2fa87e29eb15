"""The paper's refinement as it is written: a 15x15 KKT system for each cloud and iteration.

Slow and plain on purpose. It is what `spoonful.geometry.refine` must equal, and what the benchmark
measures it against.
"""

from __future__ import annotations

import torch
from torch import Tensor

UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def constraint_matrices(like: Tensor) -> Tensor:
    """E_ij + E_ji for the upper triangle, (6, 3, 3)."""
    eye = torch.eye(3, dtype=like.dtype, device=like.device)
    return torch.stack(
        [torch.outer(eye[i], eye[j]) + torch.outer(eye[j], eye[i]) for i, j in UPPER]
    )


def vec(matrix: Tensor) -> Tensor:
    """Column-wise vectorisation, (..., 3, 3) to (..., 9)."""
    return matrix.mT.flatten(-2)


def kkt_step(
    R: Tensor, S: Tensor, G: Tensor, H: Tensor, form: str, *, guard: bool = False
) -> Tensor:
    """Minimise the paper's cost under its six constraints linearised at R, (B, 3, 3).

    Equations 8 to 13; the supplement's form has G on the other side of R in A.

    `guard` looks at the system's singular values first, as the published code does.
    """
    batch = R.shape[0]
    eye = torch.eye(3, dtype=R.dtype, device=R.device).expand(batch, 3, 3)
    A = _kron(S, eye) if form == "source" else _kron(eye, G)
    E = constraint_matrices(R)
    B = vec(R[:, None] @ E).mT
    residual = R.mT @ R - eye
    c = torch.stack([residual[:, i, j] for i, j in UPPER], dim=-1)
    d = (E * (R.mT @ R)[:, None]).sum((-1, -2)) - c
    system = torch.cat(
        [torch.cat([A, B], -1), torch.cat([B.mT, B.new_zeros(batch, 6, 6)], -1)], dim=-2
    )
    right = torch.cat([vec(H), d], dim=-1)
    if guard and not (torch.linalg.svdvals(system.detach())[:, -1] > 1e-7).all():
        raise ValueError("the 15x15 system of a cloud is singular")
    return torch.linalg.solve(system, right)[:, :9].unflatten(-1, (3, 3)).mT


def assemble(matrix: Tensor) -> Tensor:
    """Equations 15 to 17 of the paper."""
    r1 = matrix[..., 0] / matrix[..., 0].norm(dim=-1, keepdim=True)
    r2 = matrix[..., 1] - r1 * (r1 * matrix[..., 1]).sum(-1, keepdim=True)
    r2 = r2 / r2.norm(dim=-1, keepdim=True)
    return torch.stack([r1, r2, torch.linalg.cross(r1, r2)], dim=-1)


def refine(
    source: Tensor,
    target: Tensor,
    rotation: Tensor,
    weights: Tensor | None = None,
    iterations: int = 5,
    form: str = "source",
    *,
    guard: bool = False,
) -> tuple[Tensor, Tensor]:
    """Rotations (B, I, 3, 3) and translations (B, I, 3) for clouds (B, N, 3)."""
    if weights is None:
        weights = torch.ones_like(source[..., 0])
    w = (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)
    ms, mt = (w * source).sum(-2, keepdim=True), (w * target).sum(-2, keepdim=True)
    s, t = source - ms, target - mt
    S, G, H = s.mT @ (w * s), t.mT @ (w * t), t.mT @ (w * s)
    found = []
    for _ in range(iterations):
        rotation = assemble(kkt_step(rotation, S, G, H, form, guard=guard))
        found.append(rotation)
    rotations = torch.stack(found, dim=1)
    return rotations, (mt[:, None].mT - rotations @ ms[:, None].mT).squeeze(-1)


def _kron(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(-1, 9, 9)
