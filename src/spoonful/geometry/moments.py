"""Everything a rigid pose needs to know about matched points: two means, three 3x3 moments.

    S = sum w s s^T      G = sum w t t^T      H = sum w t s^T

with weights w normalised to sum 1 and s, t the source and target points less their weighted means.
Kabsch, the refinement and all diagnostics work on these alone, so the points are read once, and
everything after costs the same for a hundred points as for a million.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import check_correspondences, working_dtype
from spoonful.geometry.exact import matmul3, outer_sum


class Moments(NamedTuple):
    """Weighted means and second moments of matched clouds.

    Attributes:
        source_mean: (..., 3).
        target_mean: (..., 3).
        source: (..., 3, 3), S, the spread of the source.
        target: (..., 3, 3), G, the spread of the target.
        cross: (..., 3, 3), H, target against source.
        total: (...), the sum of the weights of the kept points; 0 means an empty cloud.
    """

    source_mean: Tensor
    target_mean: Tensor
    source: Tensor
    target: Tensor
    cross: Tensor
    total: Tensor

    def per_start(self, starts: int) -> Moments:
        """The same moments for each of `starts` rotations a cloud: a new dimension at the end."""
        batch = len(self.total.shape)
        return Moments(
            *(
                value.unsqueeze(batch).expand(*self.total.shape, starts, *value.shape[batch:])
                for value in self
            )
        )


def moments(
    source: Tensor, target: Tensor, weights: Tensor | None = None, mask: Tensor | None = None
) -> Moments:
    """The weighted means of matched clouds, and the moments S, G and H about them.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        weights: (..., N), >= 0, of any total; equal weights if None. A negative weight is an
            error on the CPU; on an accelerator, where looking would stall the queue, it makes that
            cloud's moments NaN.
        mask: (..., N) bool; False removes a point, whatever it holds.

    Returns:
        `Moments`, in float32 (float64 if an input is). A cloud without points or weight has zero
        moments and passes no gradient.

    >>> source = torch.tensor([[0.0, 0, 0], [2, 0, 0]])
    >>> m = moments(source, source + 1)
    >>> m.source_mean, m.target_mean
    (tensor([1., 0., 0.]), tensor([2., 1., 1.]))
    >>> m.cross[0, 0]
    tensor(1.)
    """
    check_correspondences(source, target, weights, mask)
    return Moments(*_joint(*_rows(source, target, weights, mask)))


def _rows(
    source: Tensor, target: Tensor, weights: Tensor | None, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Points as rows (..., 3, N), where sums over N run through contiguous memory; and weights."""
    dtype = working_dtype(source, target, *(() if weights is None else (weights,)))
    if weights is None:
        weights = torch.ones_like(source[..., 0], dtype=dtype)
    else:
        weights = torch.where(weights < 0, torch.nan, weights.to(dtype))
    rows = [cloud.to(dtype).mT.contiguous() for cloud in (source, target)]
    if mask is not None:
        # Selected, not multiplied: padding may hold NaN.
        weights = torch.where(mask, weights, 0)
        rows = [torch.where(mask.unsqueeze(-2), row, 0) for row in rows]
    return rows[0], rows[1], weights


class _JointMoments(Function):
    """Means and moments of rows (..., 3, N) under weights (..., N), not yet normalised."""

    generate_vmap_rule = True

    @staticmethod
    def forward(source: Tensor, target: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        share, total = _shares(weights)
        source_mean = (source * share).sum(-1)
        target_mean = (target * share).sum(-1)
        s = source - source_mean.unsqueeze(-1)
        t = target - target_mean.unsqueeze(-1)
        ws = s * share
        return (
            source_mean,
            target_mean,
            outer_sum(s, ws),
            outer_sum(t, t * share),
            outer_sum(t, ws),
            total,
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(output[-1])
        ctx.save_for_backward(*inputs, *output[:-1])
        ctx.save_for_forward(*inputs, *output[:-1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(
        ctx: Any,
        d_source_mean: Tensor | None,
        d_target_mean: Tensor | None,
        d_S: Tensor | None,
        d_G: Tensor | None,
        d_H: Tensor | None,
        _: None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        source, target, weights, source_mean, target_mean, S, G, H = ctx.saved_tensors
        share, total = _shares(weights)
        s = source - source_mean.unsqueeze(-1)
        t = target - target_mean.unsqueeze(-1)
        # Moving the means moves no second moment (sum w s = 0), so each point acts alone. The
        # loss changes by share_i (a . ds_i + b . dt_i), and with the weight of a point by
        # (its own value `q` - the weighted mean of q) / total.
        a, b, q = torch.zeros_like(s), torch.zeros_like(t), torch.zeros_like(weights)
        mean_q = torch.zeros_like(total)
        if d_S is not None:
            push = matmul3(d_S + d_S.mT, s)
            a, q = a + push, q + 0.5 * (s * push).sum(-2)
            mean_q = mean_q + (d_S * S).sum((-1, -2))
        if d_G is not None:
            push = matmul3(d_G + d_G.mT, t)
            b, q = b + push, q + 0.5 * (t * push).sum(-2)
            mean_q = mean_q + (d_G * G).sum((-1, -2))
        if d_H is not None:
            push = matmul3(d_H, s)
            a, b, q = a + matmul3(d_H.mT, t), b + push, q + (t * push).sum(-2)
            mean_q = mean_q + (d_H * H).sum((-1, -2))
        if d_source_mean is not None:
            a = a + d_source_mean.unsqueeze(-1)
            q = q + (s * d_source_mean.unsqueeze(-1)).sum(-2)
        if d_target_mean is not None:
            b = b + d_target_mean.unsqueeze(-1)
            q = q + (t * d_target_mean.unsqueeze(-1)).sum(-2)
        # A cloud with NaN or inf in it, or with no weight, teaches nothing: no gradient.
        sound = (H.sum((-1, -2)).isfinite() & (total > 0)).unsqueeze(-1)
        d_weights = torch.where(sound, (q - mean_q.unsqueeze(-1)) / _safe(total).unsqueeze(-1), 0)
        sound = sound.unsqueeze(-1)
        return (
            torch.where(sound, share * a, 0),
            torch.where(sound, share * b, 0),
            d_weights if ctx.needs_input_grad[2] else None,
        )

    @staticmethod
    def jvp(
        ctx: Any, d_source: Tensor | None, d_target: Tensor | None, d_weights: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        source, target, weights, source_mean, target_mean, *_ = ctx.saved_tensors
        share, total = _shares(weights)
        s = source - source_mean.unsqueeze(-1)
        t = target - target_mean.unsqueeze(-1)
        move_s = share * (torch.zeros_like(s) if d_source is None else d_source)
        move_t = share * (torch.zeros_like(t) if d_target is None else d_target)
        gain = torch.zeros_like(share)
        if d_weights is not None:
            d_total = d_weights.sum(-1, keepdim=True)
            gain = (d_weights - weights * d_total / _safe(total).unsqueeze(-1)).unsqueeze(-2)
            gain = gain / _safe(total)[..., None, None]
        half_s, half_t = outer_sum(s, move_s), outer_sum(t, move_t)
        return (
            (move_s + gain * s).sum(-1),
            (move_t + gain * t).sum(-1),
            half_s + half_s.mT + outer_sum(s, gain * s),
            half_t + half_t.mT + outer_sum(t, gain * t),
            outer_sum(t, move_s + gain * s) + outer_sum(move_t, s),
            None,
        )


_joint = applier(_JointMoments)


def _shares(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Each point's share (..., 1, N) of the total (...)."""
    total = weights.sum(-1)
    return (weights / _safe(total).unsqueeze(-1)).unsqueeze(-2), total


def _safe(total: Tensor) -> Tensor:
    return torch.where(total == 0, 1, total)
