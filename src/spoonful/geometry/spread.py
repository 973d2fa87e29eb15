"""The 3x3 systems of rigid geometry: `spread(X) u = b` with `spread(X) = tr(X) I - X`.

They come from one identity, `vee(hat(u) X) = spread(X) u` for symmetric X. For a moment X with
eigenvalues a >= b >= c, spread(X) has b + c, a + c and a + b: it is the inertia tensor of the
points. Points on a line resist none about that line, and there is the only true ambiguity of a
rigid fit. We settle it once, here: *the part of u that the points leave undetermined is zero* (the
pseudo-inverse).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import all_known
from spoonful.geometry.exact import matmul3, trace

# An axis counts as undetermined when its resistance is below this many roundings of the whole.
ROUNDINGS = 16.0


def spread(moment: Tensor) -> Tensor:
    """`tr(X) I - X`, for (..., 3, 3) moments.

    >>> spread(torch.diag(torch.tensor([3.0, 2.0, 1.0])))
    tensor([[3., 0., 0.],
            [0., 4., 0.],
            [0., 0., 5.]])
    """
    eye = torch.eye(3, dtype=moment.dtype, device=moment.device)
    return _trace(moment) * eye - moment


def spread_inverse(moment: Tensor) -> Tensor:
    """The (pseudo-)inverse of `spread(X)` for symmetric X, with derivatives that stay finite.

    Its derivative is that of an inverse, `dP = -P spread(dX) P`, at any rank, so an undetermined
    axis has no influence on the result and none on any gradient.

    Args:
        moment: (..., 3, 3) symmetric, with spread(X) positive semi-definite.

    Returns:
        (..., 3, 3) symmetric.

    >>> spread_inverse(torch.diag(torch.tensor([1.0, 0.0, 0.0]))).diagonal()  # points on a line
    tensor([0., 1., 1.])
    """
    return _inverse(moment)


class _SpreadInverse(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(moment: Tensor) -> Tensor:
        # In closed form, by Cayley and Hamilton:  adj(spread X) = tr(X) X + adj(X)  and
        # det(spread X) = tr(X) tr(adj X) - det(X), sums without cancellation for the moments of
        # points. Scaled to tr(X) = 1, so that thresholds are relative and nothing overflows. A
        # moment so small that its inverse would overflow is that of a single point.
        small = ROUNDINGS * torch.finfo(moment.dtype).eps
        trace = _trace(moment)
        trace = torch.where(trace < torch.finfo(moment.dtype).tiny / small, torch.inf, trace)
        X = moment / trace
        adjugate = torch.linalg.cross(X.roll(-1, -1), X.roll(-2, -1), dim=-2).mT
        det = (X[..., 0:1, :] * adjugate[..., 0:1, :]).sum(-1, keepdim=True)
        numerator = X + adjugate
        denominator = _trace(adjugate) - det
        # denominator / tr(numerator) is about the smallest eigenvalue of spread X.
        minors = _trace(numerator)
        full_rank = denominator > small * minors
        inverse = numerator / denominator
        if not all_known(full_rank):
            inverse = torch.where(full_rank, inverse, _low_rank(X, numerator, minors, small))
        return inverse / trace

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -spread(matmul3(matmul3(inverse, gradient), inverse))

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -matmul3(matmul3(inverse, spread(tangent)), inverse)


_inverse = applier(_SpreadInverse)


def _low_rank(X: Tensor, adjugate: Tensor, minors: Tensor, small: float) -> Tensor:
    """The pseudo-inverse of M = spread X at ranks below 3, given adj(M) and its trace.

    Rank 2, with null axis n n^T = adj(M) / tr(adj M): (tr(M) (I - n n^T) - M) / tr(adj M).
    Rank 1: M / tr(M)^2. Rank 0 (no points, or all in one place): 0.
    """
    M = spread(X)
    trace = _trace(M)
    eye = torch.eye(3, dtype=X.dtype, device=X.device)
    rank2 = (trace * (eye - adjugate / minors) - M) / minors
    inverse = torch.where(minors > small, rank2, M / trace.square())
    return torch.where(trace > 0, inverse, 0)


def _trace(matrix: Tensor) -> Tensor:
    return trace(matrix)[..., None, None]
