"""The eigenvectors of the least eigenvalues of many 3x3 matrices, in one Triton kernel.

The same Jacobi rotations as `data.normals` has, where each would start thirty kernels.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

import torch
import triton
import triton.language as tl
from torch import Tensor

_SIZE, _WARPS = 128, 4


def least_axis(matrix: Tensor) -> Tensor:
    """The unit eigenvectors (M, 3) of the least eigenvalues of symmetric matrices (M, 3, 3)."""
    matrix = matrix.contiguous()
    axis = torch.empty_like(matrix[:, 0])
    with torch.cuda.device_of(matrix):
        least_axis_kernel[(triton.cdiv(len(matrix), _SIZE),)](
            matrix, axis, len(matrix), SIZE=_SIZE, num_warps=_WARPS
        )
    return axis


@triton.jit
def rotated(pp, qq, pq, pr, qr, u0, u1, u2, v0, v1, v2):
    """Rotate rows and columns p and q, so that their common entry vanishes; r is the third."""
    ratio = (qq - pp) / (2 * pq)
    tangent = 1 / (tl.abs(ratio) + tl.sqrt(ratio * ratio + 1))
    tangent = tl.where(pq != 0, tl.where(ratio < 0, -tangent, tangent), 0.0)
    cos = 1 / tl.sqrt(tangent * tangent + 1)
    sin = tangent * cos
    pp, qq = pp - tangent * pq, qq + tangent * pq
    pr, qr = cos * pr - sin * qr, sin * pr + cos * qr
    u0, v0 = cos * u0 - sin * v0, sin * u0 + cos * v0
    u1, v1 = cos * u1 - sin * v1, sin * u1 + cos * v1
    u2, v2 = cos * u2 - sin * v2, sin * u2 + cos * v2
    return pp, qq, tl.zeros_like(pq), pr, qr, u0, u1, u2, v0, v1, v2


@triton.jit(do_not_specialize=["count"])
def least_axis_kernel(matrix, axis, count, SIZE: tl.constexpr):
    """One matrix a lane: entries xx to zz, and the axes a, b and c."""
    place = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = place < count
    at = matrix + 9 * place
    xx = tl.load(at, mask=there, other=0.0)
    xy = tl.load(at + 1, mask=there, other=0.0)
    xz = tl.load(at + 2, mask=there, other=0.0)
    yy = tl.load(at + 4, mask=there, other=0.0)
    yz = tl.load(at + 5, mask=there, other=0.0)
    zz = tl.load(at + 8, mask=there, other=0.0)
    zero = tl.zeros_like(xx)
    a0, a1, a2 = zero + 1, zero, zero
    b0, b1, b2 = zero, zero + 1, zero
    c0, c1, c2 = zero, zero, zero + 1
    for _ in range(5):
        xx, yy, xy, xz, yz, a0, a1, a2, b0, b1, b2 = rotated(
            xx, yy, xy, xz, yz, a0, a1, a2, b0, b1, b2
        )
        xx, zz, xz, xy, yz, a0, a1, a2, c0, c1, c2 = rotated(
            xx, zz, xz, xy, yz, a0, a1, a2, c0, c1, c2
        )
        yy, zz, yz, xy, xz, b0, b1, b2, c0, c1, c2 = rotated(
            yy, zz, yz, xy, xz, b0, b1, b2, c0, c1, c2
        )
    first, second = (xx <= yy) & (xx <= zz), yy <= zz
    to = axis + 3 * place
    tl.store(to, tl.where(first, a0, tl.where(second, b0, c0)), mask=there)
    tl.store(to + 1, tl.where(first, a1, tl.where(second, b1, c1)), mask=there)
    tl.store(to + 2, tl.where(first, a2, tl.where(second, b2, c2)), mask=there)
