"""The 3x3 systems of rigid geometry: `spread(X) u = b` with `spread(X) = tr(X) I - X`.

For a moment X with eigenvalues a >= b >= c, spread(X) has b + c, a + c and a + b: it is the inertia
tensor of the points, and says how firmly they resist a turn about each axis. Points on a line
resist none about that line, and there is the only true ambiguity of a rigid fit. We settle it once,
here: *the part of u that the points leave undetermined is zero* (the pseudo-inverse).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.exact import matmul3

# An axis counts as undetermined when its resistance is below this many roundings of the whole.
_ROUNDINGS = 16.0


def spread(moment: Tensor) -> Tensor:
    """`tr(X) I - X`, for (..., 3, 3) moments.

    >>> spread(torch.diag(torch.tensor([3.0, 2.0, 1.0])))
    tensor([[3., 0., 0.],
            [0., 4., 0.],
            [0., 0., 5.]])
    """
    trace = moment.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    return trace * torch.eye(3, dtype=moment.dtype, device=moment.device) - moment


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
    inverse: Tensor = _inverse(moment)
    return inverse


class _SpreadInverse(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(moment: Tensor) -> Tensor:
        return _pseudo_inverse(spread(moment))

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


def _pseudo_inverse(M: Tensor) -> Tensor:
    """Closed-form pseudo-inverse of symmetric positive semi-definite 3x3 matrices, by their rank.

    With adj the adjugate: rank 3: adj / det. Rank 2, with null axis n n^T = adj / tr(adj):
    (tr(M) (I - n n^T) - M) / tr(adj). Rank 1: M / tr(M)^2.
    """
    eye = torch.eye(3, dtype=M.dtype, device=M.device)
    trace = _trace(M)
    has_trace = trace > 0
    scale = torch.where(has_trace, trace, 1)
    M = M / scale
    x, y, z = M.unbind(-1)
    adjugate = torch.stack(
        [torch.linalg.cross(y, z), torch.linalg.cross(z, x), torch.linalg.cross(x, y)], dim=-2
    )
    det = (x * adjugate[..., 0, :]).sum(-1)[..., None, None]
    minors = _trace(adjugate)
    small = _ROUNDINGS * torch.finfo(M.dtype).eps
    rank2 = minors > small
    rank3 = rank2 & (det > small * minors)
    safe_minors = torch.where(rank2, minors, 1)
    planar = (eye - adjugate / safe_minors - M) / safe_minors
    full = adjugate / torch.where(rank3, det, 1)
    inverse = torch.where(rank3, full, torch.where(rank2, planar, M)) / scale
    return torch.where(has_trace, inverse, trace * 0)  # 0 for no points, NaN for NaN


def _trace(matrix: Tensor) -> Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
