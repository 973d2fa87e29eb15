"""Small products that no global switch can make inexact.

`torch.matmul` obeys the process-wide TF32 and bfloat16 settings, and in TF32 a product of two
rotations is wrong by 1e-3. These products are sums of elementwise products, which are always
computed in the precision of their inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor


def matmul3(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` for (..., K, 3) and (..., 3, L), in the inputs' own precision.

    >>> a = torch.arange(9.0).reshape(3, 3)
    >>> bool((matmul3(a, a) == a @ a).all())
    True
    """
    return (
        a[..., :, 0:1] * b[..., 0:1, :]
        + a[..., :, 1:2] * b[..., 1:2, :]
        + a[..., :, 2:3] * b[..., 2:3, :]
    )


def matvec3(a: Tensor, v: Tensor) -> Tensor:
    """`a @ v` for (..., 3, 3) matrices and (..., 3) vectors, in the inputs' own precision."""
    return (a * v.unsqueeze(-2)).sum(-1)


def rotate(matrix: Tensor, points: Tensor) -> Tensor:
    """`matrix @ point` for each of (..., N, 3) points, in the inputs' own precision."""
    return matmul3(points, matrix.mT)


def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """`sum_n a_n b_n^T` for points in rows, (..., 3, N): the 3x3 matrix `a @ b.mT`.

    One row of the result at a time, so that only (..., 3, N) products are held.
    """
    return torch.stack([(a[..., i : i + 1, :] * b).sum(-1) for i in range(3)], dim=-2)
