"""Sinkhorn normalisation with slack, in log space and in potentials.

Rows and columns of `exp(A)`, each with one slack entry of value 1, are normalised in turn. After
any number of steps the matrix is `exp(A_ij + u_i + v_j)`. So a step is one logsumexp, and the
backward pass, written by hand, needs only `A` and the potentials. Slack is the one extra row and
column of zeros whose potential stays 0:

    u_i = -log(1 + sum_j exp(A_ij + v_j)),        v_j = -log(1 + sum_i exp(A_ij + u_i))
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spoonful.geometry.checks import check_tensor


def sinkhorn(affinity: Tensor, *, iterations: int = 5, slack: bool = True) -> Tensor:
    """The match matrix `exp(A_ij + u_i + v_j)` after `iterations` of rows then columns.

    Args:
        affinity: (..., N, M) log affinities, float32 or float64; -inf forbids a match, and a
            row or column of nothing but -inf takes no part.
        iterations: row and column normalisations.
        slack: whether a point may go unmatched. Sums are at most 1 with slack and 1 without.

    Returns:
        (..., N, M) shares; with slack the columns sum to at most 1, and rows nearly so.

    >>> shares = sinkhorn(torch.zeros(2, 2))
    >>> bool(((shares.sum(-1) < 1) & (shares.sum(-2) < 1)).all())
    True
    >>> sinkhorn(torch.zeros(2, 2), slack=False)
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    check_tensor("affinity", affinity, "N", "M")
    if iterations < 0:
        raise ValueError(f"iterations must be at least 0, got {iterations}")
    u, v = _Potentials.apply(affinity, iterations, slack)
    return torch.exp(affinity + u.unsqueeze(-1) + v.unsqueeze(-2))


class _Potentials(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, affinity: Tensor, iterations: int, slack: bool) -> tuple[Tensor, Tensor]:
        u = affinity.new_zeros(affinity.shape[:-1])
        v = affinity.new_zeros(*affinity.shape[:-2], affinity.shape[-1])
        history: list[Tensor] = []
        for _ in range(iterations):
            u = _negative_logsumexp(affinity + v.unsqueeze(-2), -1, slack)
            history += [v, u]
            v = _negative_logsumexp(affinity + u.unsqueeze(-1), -2, slack)
        ctx.save_for_backward(affinity, v, *history)
        return u, v

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Walk back through the steps; each is a softmax, whose entries are the matrix itself.

        `dv_j = -sum_i P_ij (dA_ij + du_i)` with P after the column step, and
        `du_i = -sum_j Q_ij (dA_ij + dv_j)` with Q after the row step.
        """
        of_u, of_v = gradients
        affinity, v, *history = ctx.saved_tensors
        of_affinity = torch.zeros_like(affinity)
        while history:
            u, before = history.pop(), history.pop()
            after_columns = torch.exp(affinity + u.unsqueeze(-1) + v.unsqueeze(-2))
            step = after_columns * of_v.unsqueeze(-2)
            of_affinity = of_affinity - step
            of_u = of_u - step.sum(-1)
            after_rows = torch.exp(affinity + u.unsqueeze(-1) + before.unsqueeze(-2))
            step = after_rows * of_u.unsqueeze(-1)
            of_affinity = of_affinity - step
            of_v = -step.sum(-2)
            of_u = torch.zeros_like(of_u)
            v = before
        return of_affinity, None, None


def _negative_logsumexp(x: Tensor, axis: int, slack: bool) -> Tensor:
    total = torch.logsumexp(x, dim=axis)
    if slack:
        return -torch.logaddexp(total, torch.zeros_like(total))
    return torch.where(torch.isneginf(total), 0.0, -total)
