"""Products of 3x3 matrices that no global switch can make inexact.

`torch.matmul` obeys the process-wide TF32 and bfloat16 settings, and in TF32 a product of two
rotations is wrong by 1e-3. These products are sums of elementwise products, which are always
computed in the precision of their inputs.
"""

from __future__ import annotations

from torch import Tensor


def matmul3(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` for (..., 3, 3) matrices (or (..., 3, K) `b`), in the inputs' own precision.

    >>> import torch
    >>> a = torch.arange(9.0).reshape(3, 3)
    >>> bool((matmul3(a, a) == a @ a).all())
    True
    """
    return (
        a[..., :, 0:1] * b[..., 0:1, :]
        + a[..., :, 1:2] * b[..., 1:2, :]
        + a[..., :, 2:3] * b[..., 2:3, :]
    )


def rotate(matrix: Tensor, points: Tensor) -> Tensor:
    """`matrix @ point` for each of (..., N, 3) points, in the inputs' own precision."""
    return matmul3(points, matrix.mT)
