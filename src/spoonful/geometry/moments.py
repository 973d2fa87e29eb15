"""Everything a rigid pose needs to know about matched points: two means, three 3x3 moments.

    S = sum w s s^T      G = sum w t t^T      H = sum w t s^T

with weights w normalised to sum 1 and s, t the source and target points less their weighted means.
Kabsch, the refinement and all diagnostics work on these alone, so the points are read once, and
everything after costs the same for a hundred points as for a million.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import (
    all_known,
    check_choice,
    matched,
    values_are_checked,
    working_dtype,
)
from spoonful.geometry.exact import or_one, outer_sum, trace, transform

Spreads = Literal["both", "source", "target", "none"]


class Moments(NamedTuple):
    """Weighted means and second moments of matched clouds.

    Attributes:
        source_mean: (..., 3).
        target_mean: (..., 3).
        source: (..., 3, 3), S, the source with itself; None if not asked for.
        target: (..., 3, 3), G, the target with itself; None if not asked for.
        cross: (..., 3, 3), H, the target with the source (the paper's Eq. 4).
        total: (...), the sum of the weights of the kept points; 0 means an empty cloud.
    """

    source_mean: Tensor
    target_mean: Tensor
    source: Tensor | None
    target: Tensor | None
    cross: Tensor
    total: Tensor

    def extent_ratio(self) -> Tensor:
        """(...) the root mean squared radius of the source over the target's; needs both spreads.

        >>> cloud = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
        >>> moments(cloud, cloud / 2).extent_ratio()
        tensor(2.)
        """
        if self.source is None or self.target is None:
            raise ValueError("extent_ratio needs the moments of both clouds, spreads='both'")
        return (trace(self.source) / trace(self.target)).sqrt()

    def per_start(self, starts: int) -> Moments:
        """The same moments for each of `starts` rotations a cloud: a new dimension at the end."""
        batch = self.total.ndim

        def repeat(value: Tensor) -> Tensor:
            return value.unsqueeze(batch).expand(*self.total.shape, starts, *value.shape[batch:])

        return Moments(*(None if value is None else repeat(value) for value in self))  # type: ignore[arg-type]


def moments(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    spreads: Spreads = "both",
) -> Moments:
    """The weighted means of matched clouds, and the moments S, G and H about them.

    Args:
        source: (..., N, d), d = 2 or 3.
        target: (..., N, d), the match of each source point.
        weights: (..., N), >= 0, of any total; equal weights if None. A negative weight is an
            error on the CPU. On an accelerator, where reading it would stall the queue, it makes
            that cloud's moments NaN.
        mask: (..., N) bool; False removes a point, whatever it holds.
        spreads: which of S ("source") and G ("target") to compute beside H.

    Returns:
        `Moments`, in float32 (float64 if an input is). A cloud without points or weight has zero
        moments and passes no gradient; neither does one with NaN or inf in it.

    >>> source = torch.tensor([[0.0, 0, 0], [2, 0, 0]])
    >>> m = moments(source, source + 1)
    >>> m.source_mean, m.target_mean
    (tensor([1., 0., 0.]), tensor([2., 1., 1.]))
    >>> m.cross[0, 0]
    tensor(1.)
    """
    check_choice("spreads", spreads, get_args(Spreads))
    return checked_moments(*matched(source, target, weights, mask, flat=True), spreads)


def checked_moments(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    spreads: Spreads,
) -> Moments:
    """`moments` of clouds that are checked already."""
    dtype = working_dtype(source, target, weights)
    if weights is None:
        weights = torch.ones_like(source[..., 0], dtype=dtype)
    else:
        weights = weights.to(dtype)
        if not values_are_checked(weights):
            weights = torch.where(weights < 0, torch.nan, weights)
    # As rows (..., 3, N): sums over points then run through contiguous memory. And about one of
    # the points: far from the origin float32 would round what tells the points apart, and points
    # that coincide would differ.
    rows = [cloud.to(dtype).mT.contiguous() for cloud in (source, target)]
    origins = [_kept_point(row, mask) for row in rows]
    rows = [row - origin for row, origin in zip(rows, origins, strict=True)]
    if mask is not None:
        # Selected, not multiplied: padding may hold NaN.
        weights = torch.where(mask, weights, 0)
        rows = [torch.where(mask.unsqueeze(-2), row, 0) for row in rows]
    source_mean, target_mean, S, G, H, total = _moments(*rows, weights, spreads)
    # An empty cloud has its mean at zero, not at a point it does not have.
    shifts = [torch.where(total.unsqueeze(-1) == 0, 0, origin.squeeze(-1)) for origin in origins]
    return Moments(source_mean + shifts[0], target_mean + shifts[1], S, G, H, total)


def _kept_point(rows: Tensor, mask: Tensor | None) -> Tensor:
    """The first point (..., 3, 1) that the mask keeps, as a constant."""
    rows = rows.detach()
    if mask is None:
        return rows[..., :1]
    first = mask.to(torch.uint8).argmax(-1)[..., None, None]
    return rows.gather(-1, first.expand(*rows.shape[:-1], 1))


class _Moments(Function):
    """Means and moments of rows (..., 3, N) under weights (..., N) of any total."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        source: Tensor, target: Tensor, weights: Tensor, spreads: Spreads
    ) -> tuple[Tensor | None, ...]:
        share, total = _shares(weights)
        source_mean, target_mean = (source * share).sum(-1), (target * share).sum(-1)
        s, t = source - source_mean.unsqueeze(-1), target - target_mean.unsqueeze(-1)
        ws = s * share
        S = outer_sum(s, ws) if spreads in ("both", "source") else None
        G = outer_sum(t, t * share) if spreads in ("both", "target") else None
        return source_mean, target_mean, S, G, outer_sum(t, ws), total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, ctx.spreads = inputs
        ctx.mark_non_differentiable(output[-1])
        ctx.save_for_backward(*tensors, *output[:-1])
        ctx.save_for_forward(*tensors, *output[:-1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        source, target, weights, source_mean, target_mean, S, G, H = ctx.saved_tensors
        d_source_mean, d_target_mean, d_S, d_G, d_H, _ = gradients
        share, total = _shares(weights)
        s, t = source - source_mean.unsqueeze(-1), target - target_mean.unsqueeze(-1)
        # Moving a mean moves no second moment (sum w s = 0), so each point acts alone. Moving s by
        # ds changes the loss by share (push_s . ds); and more weight on a point pulls each moment
        # from its present value to the point's own, `own` to be summed below.
        push_s, push_t, own, present = [], [], [], []
        if d_S is not None:
            push_s.append(transform(d_S + d_S.mT, s))
            own.append((s * push_s[-1]).sum(-2) / 2)
            present.append(d_S * S)
        if d_G is not None:
            push_t.append(transform(d_G + d_G.mT, t))
            own.append((t * push_t[-1]).sum(-2) / 2)
            present.append(d_G * G)
        if d_H is not None:
            push_s.append(transform(d_H.mT, t))
            push_t.append(transform(d_H, s))
            own.append((t * push_t[-1]).sum(-2))
            present.append(d_H * H)
        if d_source_mean is not None:
            push_s.append(d_source_mean.unsqueeze(-1))
            own.append((s * push_s[-1]).sum(-2))
        if d_target_mean is not None:
            push_t.append(d_target_mean.unsqueeze(-1))
            own.append((t * push_t[-1]).sum(-2))
        d_source = share * sum(push_s) if push_s else None
        d_target = share * sum(push_t) if push_t else None
        d_weights = None
        if ctx.needs_input_grad[2] and own:
            # 0 * total: where the loss asks for means alone, `present` is empty and its sum an int.
            mean_own = sum(product.sum((-1, -2)) for product in present) + 0 * total
            d_weights = (sum(own) - mean_own.unsqueeze(-1)) / or_one(total).unsqueeze(-1)
        sound = H.sum((-1, -2)).isfinite() & (total > 0)
        if not all_known(sound):
            d_source, d_target = (
                None if d is None else torch.where(sound[..., None, None], d, 0)
                for d in (d_source, d_target)
            )
            if d_weights is not None:
                d_weights = torch.where(sound.unsqueeze(-1), d_weights, 0)
        return d_source, d_target, d_weights, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        source, target, weights, source_mean, target_mean, *_ = ctx.saved_tensors
        d_source, d_target, d_weights = (
            torch.zeros_like(primal) if tangent is None else tangent
            for primal, tangent in zip((source, target, weights), tangents[:3], strict=True)
        )
        share, total = _shares(weights)
        s, t = source - source_mean.unsqueeze(-1), target - target_mean.unsqueeze(-1)
        total = or_one(total).unsqueeze(-1)
        gain = (d_weights - weights * d_weights.sum(-1, keepdim=True) / total) / total
        gain = gain.unsqueeze(-2)
        moved_s, moved_t = share * d_source, share * d_target
        d_S = d_G = None
        if ctx.spreads in ("both", "source"):
            half = outer_sum(s, moved_s)
            d_S = half + half.mT + outer_sum(s, gain * s)
        if ctx.spreads in ("both", "target"):
            half = outer_sum(t, moved_t)
            d_G = half + half.mT + outer_sum(t, gain * t)
        d_H = outer_sum(t, moved_s + gain * s) + outer_sum(moved_t, s)
        return (moved_s + gain * s).sum(-1), (moved_t + gain * t).sum(-1), d_S, d_G, d_H, None


_moments = applier(_Moments)


def _shares(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Each point's share (..., 1, N) of the total (...)."""
    total = weights.sum(-1)
    return (weights / or_one(total).unsqueeze(-1)).unsqueeze(-2), total
