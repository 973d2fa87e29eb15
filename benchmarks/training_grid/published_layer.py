"""The paper's layer in the published arithmetic, for experiments on what its rounding does.

`spoonful.geometry` solves a 3x3 system for each iteration. The published function solves a 15x15
system in float32, behind a Kabsch rotation from a float32 SVD. Both have the same value in exact
arithmetic; the published one has about ten times the rounding error of the compiled kernels.

Literal here: the 15x15 system (equations 8 to 13 of the paper), its solution by elimination with
partial pivoting in float32, the rotation assembler (equations 15 to 17), the Kabsch rotation
`V diag(1, 1, +-1) U^T`, and the derivative of the SVD with its division by `s_i^2 - s_j^2`.

Stand-ins, because a CUDA graph cannot record the library's routines: the elimination is written in
torch operations, and the SVD is a one-sided Jacobi iteration in float32. Sums are of elementwise
products, which the TF32 switch does not change. The published check that no system is singular is
left out: it changes no value.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry import LayerOutput, Pose, SpoonfulLayer
from spoonful.geometry.exact import matmul3, matvec3

# The upper triangle of R^T R = I: six constraints.
_UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
# float32 needs 3 or 4 sweeps for nearly all 3x3 matrices.
_SWEEPS = 5


class PublishedLayer(SpoonfulLayer):
    """`SpoonfulLayer(iterations, form)` in the published arithmetic.

    >>> layer = PublishedLayer(form="target")
    >>> source = torch.randn(8, 100, 3)
    >>> layer(source, source + 1).poses.rotation.shape
    torch.Size([8, 6, 3, 3])
    """

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> LayerOutput:
        """Fit the matched clouds (B, N, 3); the arguments are those of `SpoonfulLayer`."""
        source, target = source.float(), target.float()
        w = torch.ones_like(source[..., 0]) if weights is None else weights.float()
        if mask is not None:
            w = w * mask
        w = (w / w.sum(-1, keepdim=True)).unsqueeze(-1)
        source_mean, target_mean = (w * source).sum(-2), (w * target).sum(-2)
        s, t = source - source_mean.unsqueeze(-2), target - target_mean.unsqueeze(-2)
        H = _moment(t, w * s)
        rotations = [kabsch_rotation(H)]
        if self.training:
            S, G = _moment(s, w * s), _moment(t, w * t)
            for _ in range(self.iterations):
                rotations.append(assemble(kkt_step(rotations[-1], S, G, H, self.form)))
        rotation = torch.stack(rotations, dim=-3)
        moved = matvec3(rotation, source_mean.unsqueeze(-2))
        return LayerOutput(Pose(rotation, target_mean.unsqueeze(-2) - moved))


def kabsch_rotation(cross: Tensor) -> Tensor:
    """The rotation `V diag(1, 1, +-1) U^T` of H^T = U S V^T, for cross moments H (B, 3, 3)."""
    U, _, V = _SVD.apply(cross.mT)
    first = matmul3(V, U.mT).detach()
    x, y, z = first.unbind(-1)
    mirrored = (torch.linalg.cross(x, y) * z).sum(-1) < 0
    flip = torch.ones_like(U[..., 0])
    flip[..., 2] -= 2.0 * mirrored
    return matmul3(V * flip.unsqueeze(-2), U.mT)


def kkt_step(R: Tensor, S: Tensor, G: Tensor, H: Tensor, form: str) -> Tensor:
    """The minimum of the paper's cost under its six constraints linearised at R, (B, 3, 3)."""
    eye = torch.eye(3, dtype=R.dtype, device=R.device).expand_as(R)
    A = _kron(S, eye) if form == "source" else _kron(eye, G)
    E = _constraints(eye[0])
    B = _vec(matmul3(R.unsqueeze(1), E)).mT
    square = matmul3(R.mT, R)
    residual = square - eye
    c = torch.stack([residual[:, i, j] for i, j in _UPPER], dim=-1)
    d = (E * square.unsqueeze(1)).sum((-1, -2)) - c
    zero = B.new_zeros(len(B), 6, 6)
    system = torch.cat([torch.cat([A, B], -1), torch.cat([B.mT, zero], -1)], dim=-2)
    found: Tensor = _Solve.apply(system, torch.cat([_vec(H), d], dim=-1))
    return found[:, :9].unflatten(-1, (3, 3)).mT


def assemble(matrix: Tensor) -> Tensor:
    """The rotation assembler: Gram-Schmidt on two columns, and their cross product."""
    r1 = matrix[..., 0] / matrix[..., 0].norm(dim=-1, keepdim=True)
    r2 = matrix[..., 1] - r1 * (r1 * matrix[..., 1]).sum(-1, keepdim=True)
    r2 = r2 / r2.norm(dim=-1, keepdim=True)
    return torch.stack([r1, r2, torch.linalg.cross(r1, r2)], dim=-1)


@torch.no_grad()
def eliminate(system: Tensor, right: Tensor) -> Tensor:
    """Solve (B, n, n) systems for (B, n) right sides: elimination with partial pivoting."""
    n = right.shape[-1]
    work = torch.cat([system, right.unsqueeze(-1)], dim=-1)
    rows = []
    for k in range(n):
        pivot = work[..., k].abs().argmax(-1, keepdim=True).unsqueeze(-1).expand(-1, 1, n + 1)
        row = work.gather(1, pivot)
        # The first row takes the place of the pivot's, which is done.
        rest = work.scatter_(1, pivot, work[:, :1].clone())[:, 1:]
        work = torch.addcmul(rest, rest[..., k : k + 1] / row[..., k : k + 1], row, value=-1)
        rows.append(row)
    upper = torch.cat(rows, dim=1)
    rest, found = upper[..., n], []
    for k in reversed(range(n)):
        x = rest[..., k : k + 1] / upper[..., k, k : k + 1]
        rest = torch.addcmul(rest, upper[..., k], x, value=-1)
        found.append(x)
    return torch.cat(found[::-1], dim=-1)


class _Solve(Function):
    @staticmethod
    def forward(ctx: Any, system: Tensor, right: Tensor) -> Tensor:
        found = eliminate(system, right)
        ctx.save_for_backward(system, found)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        system, found = ctx.saved_tensors
        back = eliminate(system.mT, gradient)
        return -back.unsqueeze(-1) * found.unsqueeze(-2), back


class _SVD(Function):
    """U, S and V of (B, 3, 3) matrices, with the library's formula for the derivative."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = jacobi_svd(matrix)
        ctx.save_for_backward(*found)
        return found

    @staticmethod
    def backward(ctx: Any, gU: Tensor, gS: Tensor, gV: Tensor) -> Tensor:
        U, S, V = ctx.saved_tensors
        eye = torch.eye(3, dtype=U.dtype, device=U.device)
        high, low = S.unsqueeze(-2), S.unsqueeze(-1)
        gaps = (high - low) * (high + low) + eye
        of_u, of_v = matmul3(U.mT, gU), matmul3(V.mT, gV)
        inner = (of_u - of_u.mT) / gaps * high + low * (of_v - of_v.mT) / gaps
        return matmul3(matmul3(U, inner + eye * gS.unsqueeze(-1)), V.mT)


def jacobi_svd(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of (B, 3, 3) matrices, S descending, by one-sided Jacobi rotations."""
    eye = torch.eye(3, dtype=matrix.dtype, device=matrix.device).expand_as(matrix)
    # Each column of the matrix above the same column of V: both are turned alike.
    columns = list(torch.cat([matrix, eye], dim=-2).unbind(-1))
    for _ in range(_SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            a, b = columns[p][..., :3], columns[q][..., :3]
            product = (a * b).sum(-1, keepdim=True)
            zeta = (b.square() - a.square()).sum(-1, keepdim=True) / (2 * product)
            tangent = torch.copysign(1 / (zeta.abs() + (1 + zeta.square()).sqrt()), zeta)
            tangent = torch.where(product == 0, 0, tangent)
            cosine = (1 + tangent.square()).rsqrt()
            sine = cosine * tangent
            columns[p], columns[q] = (
                cosine * columns[p] - sine * columns[q],
                sine * columns[p] + cosine * columns[q],
            )
    both = torch.stack(columns, dim=-1)
    S, order = both[..., :3, :].norm(dim=-2).sort(dim=-1, descending=True, stable=True)
    both = both.gather(-1, order.unsqueeze(-2).expand(-1, 6, 3))
    images, V = both[..., :3, :], both[..., 3:, :]
    u1 = images[..., 0] / S[..., :1]
    u2 = images[..., 1] / S[..., 1:2]
    # The third is known from the others, however small its singular value.
    u3 = torch.linalg.cross(u1, u2)
    side = (u3 * images[..., 2]).sum(-1, keepdim=True)
    u3 = torch.where(side < 0, -u3, u3)
    return torch.stack([u1, u2, u3], dim=-1), S, V


def _moment(a: Tensor, b: Tensor) -> Tensor:
    """`sum_i a_i b_i^T` of (B, N, 3) points."""
    return torch.stack([(a * b[..., k : k + 1]).sum(-2) for k in range(3)], dim=-1)


def _constraints(eye: Tensor) -> Tensor:
    """E_ij + E_ji for the upper triangle, (6, 3, 3)."""
    rows, columns = (torch.stack([eye[pair[k]] for pair in _UPPER]) for k in range(2))
    half = rows.unsqueeze(-1) * columns.unsqueeze(-2)
    return half + half.mT


def _vec(matrix: Tensor) -> Tensor:
    """Column-wise vectorisation, (..., 3, 3) to (..., 9)."""
    return matrix.mT.flatten(-2)


def _kron(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(-1, 9, 9)
