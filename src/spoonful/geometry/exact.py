"""Small products that no global switch can make inexact.

`torch.matmul` obeys the process-wide TF32 and bfloat16 settings, and in TF32 a product of two
rotations is wrong by 1e-3. These products are sums of elementwise products, which are always
computed in the precision of their inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor


def matmul3(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` for small matrices (3x3 and the like), in the inputs' own precision.

    >>> a = torch.arange(9.0).reshape(3, 3)
    >>> bool((matmul3(a, a) == a @ a).all())
    True
    """
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


def matvec3(a: Tensor, v: Tensor) -> Tensor:
    """`a @ v` for small matrices and vectors, in the inputs' own precision.

    >>> matvec3(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.ones(3))
    tensor([1., 2., 3.])
    """
    return (a * v.unsqueeze(-2)).sum(-1)


def dot3(a: Tensor, b: Tensor) -> Tensor:
    """The dot products of vectors (..., 3): a third of the time that a sum over three takes.

    >>> dot3(torch.ones(2, 3), torch.tensor([1.0, 2.0, 3.0]))
    tensor([6., 6.])
    """
    x, y, z = (a * b).unbind(-1)
    return x + y + z


def rotate(matrix: Tensor, points: Tensor, shift: Tensor | None = None) -> Tensor:
    """`matrix @ point + shift` for each of (..., N, 2 or 3) points, in the inputs' own precision.

    >>> rotate(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.ones(2, 3))
    tensor([[1., 2., 3.],
            [1., 2., 3.]])
    """
    (x, *others), (a, *more) = points.split(1, dim=-1), matrix.mT.split(1, dim=-2)
    result = x * a if shift is None else torch.addcmul(shift.unsqueeze(-2), x, a)
    for x, a in zip(others, more, strict=True):
        result = torch.addcmul(result, x, a)
    return result


def gram(rows: Tensor, weights: Tensor) -> Tensor:
    """`sum_i w_i row_i row_i^T` of (..., N, n) rows under (..., N) weights, (..., n, n).

    >>> gram(torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([1.0, 3.0]))
    tensor([[1., 2.],
            [2., 7.]])
    """
    across = rows.mT.contiguous()
    return outer_sum(across * weights.unsqueeze(-2), across)


# The next two take points as rows (..., 3, N): sums over points then run through contiguous memory.


def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """`sum_n a_n b_n^T` of rows (..., n, N), a row of the result at a time to hold little."""
    return torch.stack([(a[..., i : i + 1, :] * b).sum(-1) for i in range(a.shape[-2])], dim=-2)


def transform(matrix: Tensor, rows: Tensor, shift: Tensor | None = None) -> Tensor:
    """`matrix @ point + shift` for each of the points in rows (..., 3, N)."""
    (x, *others), (a, *more) = rows.split(1, dim=-2), matrix.split(1, dim=-1)
    result = a * x if shift is None else torch.addcmul(shift.unsqueeze(-1), a, x)
    for x, a in zip(others, more, strict=True):
        result = torch.addcmul(result, a, x)
    return result


def trace(matrix: Tensor) -> Tensor:
    """The sum of the diagonal of (..., n, n), (...)."""
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)


def or_one(total: Tensor) -> Tensor:
    """The same numbers, with 1 for 0: what a sum of weights may be divided by."""
    return torch.where(total == 0, 1, total)
