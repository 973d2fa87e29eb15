"""Small products that no global switch can make inexact.

`torch.matmul` obeys the process-wide TF32 and bfloat16 settings, and in TF32 a product of two
rotations is wrong by 1e-3. These products are sums of elementwise products, which are always
computed in the precision of their inputs.
"""

from __future__ import annotations

from torch import Tensor


def matmul3(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` for (..., n, 3) and (..., 3, m) matrices, in the inputs' own precision.

    >>> import torch
    >>> a = torch.arange(9.0).reshape(3, 3)
    >>> bool((matmul3(a, a) == a @ a).all())
    True
    """
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


def matvec3(a: Tensor, v: Tensor) -> Tensor:
    """`a @ v` for (..., 3, 3) matrices and (..., 3) vectors, in the inputs' own precision.

    >>> import torch
    >>> matvec3(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.ones(3))
    tensor([1., 2., 3.])
    """
    return (a * v.unsqueeze(-2)).sum(-1)


def rotate(matrix: Tensor, points: Tensor) -> Tensor:
    """`matrix @ point` for each of (..., N, 3) points, in the inputs' own precision.

    >>> import torch
    >>> rotate(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.ones(2, 3))
    tensor([[1., 2., 3.],
            [1., 2., 3.]])
    """
    x, y, z = points.split(1, dim=-1)
    a, b, c = matrix.mT.split(1, dim=-2)
    return x * a + y * b + z * c
