"""Inverses of small symmetric matrices that stay finite, with their derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.exact import matmul3
from spoonful.geometry.spread import ROUNDINGS


def symmetric_inverse(matrix: Tensor) -> Tensor:
    """The pseudo-inverse of symmetric (..., n, n) matrices, finite at any rank.

    A direction whose eigenvalue is not above `ROUNDINGS` roundings of the largest counts as
    undetermined: its inverse is zero. (A negative eigenvalue too: a fit has no minimum there.)
    The derivative is that of an inverse, `dP = -P dX P`, so undetermined directions have no
    influence on any gradient. A matrix with NaN or inf has the inverse zero.

    >>> symmetric_inverse(torch.diag(torch.tensor([4.0, 1.0, 0.0]))).diagonal()
    tensor([0.2500, 1.0000, 0.0000])
    """
    inverse: Tensor = _inverse(matrix)
    return inverse


class _SymmetricInverse(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(matrix: Tensor) -> Tensor:
        # Scaled by its diagonal first, so that angles and lengths, whose units differ, are judged
        # alike.
        size = matrix.diagonal(dim1=-2, dim2=-1).abs().sqrt()
        size = torch.where((size > 0) & size.isfinite(), size, 1)
        scaled = matrix / size.unsqueeze(-1) / size.unsqueeze(-2)
        sound = scaled.isfinite().all(-1, keepdim=True).all(-2, keepdim=True)
        values, vectors = torch.linalg.eigh(torch.where(sound, scaled, 0))
        least = ROUNDINGS * torch.finfo(matrix.dtype).eps * values[..., -1:].clamp_min(0)
        kept = values > least
        inverse = torch.where(kept, 1 / torch.where(kept, values, 1), 0)
        found = matmul3(vectors * inverse.unsqueeze(-2), vectors.mT)
        return found / size.unsqueeze(-1) / size.unsqueeze(-2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -matmul3(matmul3(inverse, gradient), inverse)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -matmul3(matmul3(inverse, tangent), inverse)


_inverse = applier(_SymmetricInverse)
