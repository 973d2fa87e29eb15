"""Robust fits: Kabsch and similarity that reweight their matches by how well they fit.

    minimise  sum_i w_i rho(|e_i|^2 / c^2),      e_i = target_i - (s R source_i + t)

by reweighted rounds: weigh each match by rho'(|e|^2 / c^2), fit, repeat. The cut-off c follows from
the noise of the points, given or estimated from the residuals.

**The gradient** is that of the minimum, not of the rounds that led there. About the weighted mean
of the source let J_i be the derivative of `s R source_i + t` by the pose. At the minimum
F = sum_i w_i rho' J_i^T e_i is zero and stays so when the points move, hence

    (N + C) d(pose) = dF,      C = sum_i 2 w_i rho'' / c^2 (J_i^T e_i)(J_i^T e_i)^T

with N the Hessian of the weighted fit, which follows from the moments (`fit_hessian`). So the
backward pass is one sum over the points for C, one solve with a 6x6 or 7x7 matrix, and the gradient
of one weighted fit. It costs the same for any number of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry import kernels
from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import (
    Matched,
    all_known,
    check_choice,
    check_count,
    matched,
    working_dtype,
)
from spoonful.geometry.exact import matmul3, matvec3, or_one, outer_sum, transform
from spoonful.geometry.head import Prepared, prepared
from spoonful.geometry.inverse import symmetric_inverse
from spoonful.geometry.kabsch import kabsch
from spoonful.geometry.moments import checked_moments
from spoonful.geometry.pose import Pose
from spoonful.geometry.reweighting import median_noise, positive, sharpness
from spoonful.geometry.similarity import Similarity, fit_hessian, similarity
from spoonful.geometry.so3 import hat, torque, turned

Loss = Literal["huber", "tukey", "geman-mcclure", "gnc-tls"]  # as `enum loss` of pose_head.c

# Cut-offs in standard deviations of one coordinate's noise. The first three keep 95 % of the
# efficiency of least squares on Gaussian noise in three dimensions (`tests/geometry/test_robust`
# computes them); the last is the 0.997 quantile of the length of such noise.
CUTOFFS: dict[str, float] = {
    "huber": 1.63,
    "tukey": 5.49,
    "geman-mcclure": 4.34,
    "gnc-tls": 3.73,
}
# Rounds by default. Graduated non-convexity starts from a loss that is nearly convex.
_ROUNDS = {"huber": 20, "tukey": 20, "geman-mcclure": 20, "gnc-tls": 40}


class RobustFit(NamedTuple):
    """A robust fit and how it was found.

    Attributes:
        pose: `Pose` or `Similarity`.
        weights: (..., N), the factor of each match in the last round, 0 to 1; 0 for a match that
            the mask removes, and for clouds without a pose. No gradient.
        noise: (...), the standard deviation of one coordinate that the cut-off follows from.
    """

    pose: Any
    weights: Tensor
    noise: Tensor


def robust_kabsch(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    loss: Loss = "geman-mcclure",
    noise: float | Tensor | None = None,
    start: Pose | None = None,
    rounds: int | None = None,
) -> RobustFit:
    """The rigid pose that best maps source to target, with wrong matches weighted down.

    "huber", "tukey" and "geman-mcclure" start from the weighted least-squares pose (or `start`) and
    tolerate a minority of wrong matches. "gnc-tls" (graduated non-convexity with truncated least
    squares, Yang et al. 2020, arXiv:1909.08605) needs no start. Its matches are in or out. It
    tolerates nine random wrong matches of ten if there are 1000 (benchmarks/results/robust-cpu.md);
    its authors report 70 to 80 % on their problems.

    Differentiable twice, in forward and reverse mode, under `torch.func.vmap` and `torch.compile`.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        weights: (..., N), >= 0; equal weights if None.
        mask: (..., N) bool; False removes a point (padding: there is no packed form).
        loss: one of the four above.
        noise: standard deviation of a right match's error along one axis, (...) or a number. None
            estimates it from the median residual of the start and of each round (MAD). Either way
            it is a constant for the gradient.
        start: a pose to start from; "gnc-tls" then ignores matches beyond ten cut-offs from it.
        rounds: how many times to weigh and fit; 20, and 40 for "gnc-tls", if None.

    Returns:
        `RobustFit` with a `Pose`. The gradient is that of the minimum, so it is exact once the
        rounds have converged. It costs the same for any number of rounds. Degenerate clouds are
        those of `kabsch`.

    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.randn(200, 3, generator=generator)
    >>> target = source + torch.tensor([1.0, 2.0, 3.0])
    >>> target[:60] = torch.randn(60, 3, generator=generator)  # wrong matches
    >>> fit = robust_kabsch(source, target, noise=0.01)
    >>> fit.pose.translation.round(decimals=3)
    tensor([1., 2., 3.])
    """
    return _robust(source, target, weights, mask, loss, noise, start, rounds, scaled=False)


def robust_similarity(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    loss: Loss = "geman-mcclure",
    noise: float | Tensor | None = None,
    start: Similarity | None = None,
    rounds: int | None = None,
) -> RobustFit:
    """`robust_kabsch` with a scale: the fit's pose is a `Similarity`.

    >>> source = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> target = 2 * source
    >>> target[:50] = 0
    >>> robust_similarity(source, target, loss="gnc-tls", noise=0.01).pose.scale.round(decimals=3)
    tensor(2.)
    """
    return _robust(source, target, weights, mask, loss, noise, start, rounds, scaled=True)


def _robust(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    loss: Loss,
    noise: float | Tensor | None,
    start: Pose | Similarity | None,
    rounds: int | None,
    *,
    scaled: bool,
) -> RobustFit:
    check_choice("loss", loss, get_args(Loss))
    rounds = _ROUNDS[loss] if rounds is None else rounds
    check_count("rounds", rounds)
    points = matched(source, target, weights, mask)
    if points.weights is not None:
        points = points._replace(weights=_about_one(points.weights, points.mask))
    given = None if noise is None else _noise(noise, points.source)
    compiled = not torch.compiler.is_compiling() and kernels.usable(*points)
    run = _compiled if compiled else _in_torch
    factors, deviation, *values = run(points, loss, given, start, rounds, scaled)
    if loss == "gnc-tls":
        # Matches are in or out, so the minimum is that of a fit with constant weights.
        kept = factors if points.weights is None else points.weights * factors
        values = [*(similarity if scaled else kabsch)(*points[:2], kept, points.mask)]
    pose = Similarity(*values) if scaled else Pose(*values)
    return RobustFit(pose, factors, deviation)


def _about_one(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Weights (..., N) times a power of two for each cloud, so that no sum of them is 0 or inf.

    On a GPU they are a copy in any case, since looking at their values would stop it.
    """
    size = weights.detach() if mask is None else torch.where(mask, weights.detach(), 0)
    size = size.amax(-1, keepdim=True)
    usual = (size == 0) | ((size > 1e-9) & (size < 1e9))
    if all_known(usual):
        return weights
    unit = torch.exp2(-size.to(working_dtype(size)).log2().floor().clamp(-126, 126))
    return weights * torch.where(usual, 1, unit)


def _compiled(
    points: Matched,
    loss: Loss,
    noise: Tensor | None,
    start: Pose | Similarity | None,
    rounds: int,
    scaled: bool,
) -> Sequence[Tensor]:
    """The result of `_in_torch`, from the kernels.

    On a GPU the rounds allocate nothing as large as the clouds but factors.
    """

    def minimum(source: Tensor, target: Tensor, weights: Any, mask: Any, *at: Any) -> Any:
        ready = prepared(Matched(source, target, weights, mask))
        noise, *found = (value.nan_to_num() for value in at)  # of unsound clouds
        found[1] = found[1] * ready.unit.unsqueeze(-1)
        return _at_minimum(ready, loss, noise * ready.unit, found, scaled)

    batch = points.source.shape[:-2]
    settings = kernels.Robust(
        loss=get_args(Loss).index(loss),
        cutoff=CUTOFFS[loss],
        rounds=rounds,
        estimate=noise is None,
        scaled=scaled,
    )
    if noise is None:
        noise = points.source.new_empty(batch)
    begin = None
    if start is not None:
        scale = start.scale if isinstance(start, Similarity) else start.translation[..., 0] * 0 + 1
        parts = [start.rotation.flatten(-2), start.translation, scale.unsqueeze(-1)]
        begin = torch.cat(parts, -1).expand(*batch, 13)
    with torch.set_grad_enabled(torch.is_grad_enabled() and loss != "gnc-tls"):
        return kernels.robust_head(*points, noise, begin, settings, minimum)


def _in_torch(
    points: Matched,
    loss: Loss,
    noise: Tensor | None,
    start: Pose | Similarity | None,
    rounds: int,
    scaled: bool,
) -> Sequence[Tensor]:
    """The factors of all matches, the noise and the pose, in torch's own operations."""
    ready = prepared(points)
    source, target, prior, unit, sound = ready
    deviation = None if noise is None else positive(noise * unit)
    if start is not None:
        start = start._replace(translation=start.translation * unit.unsqueeze(-1))
    with torch.no_grad():
        found, factors, deviation = _rounds(
            source.detach(), target.detach(), prior.detach(), loss, deviation, start, rounds, scaled
        )
    kept = sound.unsqueeze(-1)
    kept = kept if points.mask is None else kept & points.mask
    factors = torch.where(kept, factors, 0)
    if loss == "gnc-tls":
        return factors, ready.result(deviation / unit)
    values = _at_minimum(ready, loss, deviation, found, scaled)
    return factors, ready.result(deviation / unit), *values


def _at_minimum(
    ready: Prepared, loss: Loss, noise: Tensor, found: Sequence[Tensor], scaled: bool
) -> list[Tensor]:
    """The pose that the rounds found, with the derivative of the minimum."""
    # Points as rows (..., 3, N): what is computed for each runs through contiguous memory.
    source, target = ready.source.mT.contiguous(), ready.target.mT.contiguous()
    rotation, translation, *scale = found
    scales = scale[0] if scale else torch.ones_like(noise)
    cutoff = CUTOFFS[loss] * noise
    at = source, target, ready.weights, cutoff, rotation, translation, scales
    rotation, translation, scales = _minimum(*at, loss, scaled)
    translation = translation / ready.unit.unsqueeze(-1)
    values = (rotation, translation, scales) if scaled else (rotation, translation)
    return [ready.result(value) for value in values]


def _noise(noise: float | Tensor, source: Tensor) -> Tensor:
    if not isinstance(noise, Tensor) and not 0 < noise < math.inf:
        raise ValueError(f"noise must be positive and finite, got {noise!r}")
    if not isinstance(noise, Tensor):
        return source.new_full(source.shape[:-2], noise)  # which does not wait for a GPU
    return noise.detach().to(source).expand(source.shape[:-2])


def _rounds(
    source: Tensor,
    target: Tensor,
    prior: Tensor,
    loss: Loss,
    noise: Tensor | None,
    start: Pose | Similarity | None,
    rounds: int,
    scaled: bool,
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor, Tensor]:
    """The pose (R, t, s) after all rounds, the last factors (..., N), and the noise (...)."""
    fit = similarity if scaled else kabsch
    pose: Pose | Similarity = fit(source, target, prior) if start is None else start
    rows = source.mT.contiguous(), target.mT.contiguous()
    factors, deviation, sharp = prior, noise, None
    for k in range(rounds):
        squared = _squared(pose, *rows)
        if noise is None:
            deviation = median_noise(torch.where(prior > 0, squared, torch.nan))
        assert deviation is not None
        ratio = squared / (CUTOFFS[loss] * deviation).square().unsqueeze(-1)
        if loss == "gnc-tls":
            if sharp is None:
                largest = torch.where(prior > 0, ratio, 0).amax(-1, keepdim=True)
                sharp = sharpness(largest, rounds, started=start is not None)
            factors = _truncated(ratio, sharp[k]) if k < rounds - 1 else (ratio < 1).to(ratio)
        else:
            factors = _factor(ratio, loss)
        pose = fit(source, target, prior * factors)
    assert deviation is not None
    scale = pose.scale if isinstance(pose, Similarity) else torch.ones_like(deviation)
    return (pose.rotation, pose.translation, scale), factors, deviation


def _squared(pose: Pose | Similarity, source: Tensor, target: Tensor) -> Tensor:
    matrix = pose.rotation
    if isinstance(pose, Similarity):
        matrix = pose.scale[..., None, None] * matrix
    return (target - transform(matrix, source) - pose.translation.unsqueeze(-1)).square().sum(-2)


def _truncated(ratio: Tensor, sharpness: Tensor) -> Tensor:
    """The factor of the graduated truncated loss: 1 below, 0 above, smooth between."""
    middle = (sharpness * (sharpness + 1) / ratio.clamp_min(1e-30)).sqrt() - sharpness
    return middle.clamp(0, 1)


def _factor(ratio: Tensor, loss: str) -> Tensor:
    """Rho' at |e|^2 / c^2: the factor of a match in the next fit."""
    if loss == "huber":
        return ratio.clamp_min(1).rsqrt()
    if loss == "tukey":
        return (1 - ratio).clamp_min(0).square()
    return (1 + ratio).reciprocal().square()


def _slope(ratio: Tensor, loss: str) -> Tensor:
    """rho'': the derivative of `_factor`, at most 0."""
    if loss == "huber":
        outside = ratio.clamp_min(1)
        return torch.where(ratio > 1, -0.5 * outside.rsqrt() / outside, 0)
    if loss == "tukey":
        return -2 * (1 - ratio).clamp_min(0)
    inverse = (1 + ratio).reciprocal()
    return -2 * inverse.square() * inverse


class _Minimum(Function):
    """The pose (R, t, s) of the minimum, which the rounds found, with its derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        source: Tensor,
        target: Tensor,
        prior: Tensor,
        cutoff: Tensor,
        rotation: Tensor,
        translation: Tensor,
        scale: Tensor,
        loss: str,
        scaled: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        return rotation.clone(), translation.clone(), scale.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, ctx.loss, ctx.scaled = inputs
        ctx.save_for_backward(*tensors[:4], *output)
        ctx.save_for_forward(*tensors[:4], *output)

    @staticmethod
    def backward(ctx: Any, d_R: Tensor, d_t: Tensor, d_s: Tensor) -> tuple[Tensor | None, ...]:
        source, target, prior, cutoff, R, t, s = ctx.saved_tensors
        at = _state(source, target, prior, cutoff, R, t, s, ctx.loss, ctx.scaled)
        # The loss's gradient at the pose, as a gradient at its turn, shift and log-scale about
        # the weighted mean of the source: t = shift - s R mean.
        scale = at.scale
        back = matvec3(R.mT, d_t)
        turn = torque(R, d_R) - scale.unsqueeze(-1) * torch.linalg.cross(at.mean, back)
        grow = scale * (d_s - (at.mean * back).sum(-1))
        wanted = torch.cat([turn, d_t, grow.unsqueeze(-1)], -1)
        answer = matvec3(at.inverse, wanted)
        # Now the gradient of sum_i w rho' v_i . e_i by the points, v_i = J_i answer.
        eye = torch.eye(3, dtype=R.dtype, device=R.device)
        change = hat(answer[..., :3]) + answer[..., 6, None, None] * eye
        sized = scale[..., None, None] * R
        v = transform(matmul3(sized, change), at.arms) + answer[..., 3:6, None]
        along = (v * at.error).sum(-2)
        weighted = (prior * at.factor).unsqueeze(-2)
        p = weighted * v + (prior * at.slope * along).unsqueeze(-2) * at.error
        d_source = transform(matmul3(sized, change).mT, weighted * at.error)
        d_source = d_source - transform(sized.mT, p)
        return d_source, p, at.factor * along, None, None, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor, Tensor]:
        source, target, prior, cutoff, R, t, s = ctx.saved_tensors
        d_source, d_target, d_prior = (
            torch.zeros_like(primal) if tangent is None else tangent
            for primal, tangent in zip((source, target, prior), tangents[:3], strict=True)
        )
        at = _state(source, target, prior, cutoff, R, t, s, ctx.loss, ctx.scaled)
        scale = at.scale
        d_error = d_target - transform(scale[..., None, None] * R, d_source)
        d_factor = at.slope * (at.error * d_error).sum(-2)
        changed = (d_prior * at.factor + prior * d_factor).unsqueeze(-2) * at.error
        force = changed + (prior * at.factor).unsqueeze(-2) * d_error
        weighted = (prior * at.factor).unsqueeze(-2) * transform(R.mT, at.error)
        # F = sum J^T (w e), and J moves with the source.
        turn = torch.linalg.cross(d_source, weighted, dim=-2).sum(-1) * scale.unsqueeze(-1)
        grow = (d_source * weighted).sum((-1, -2)) * scale
        moved = _columns(R, scale, at.arms, force).sum(-1)
        moved = moved + torch.cat([turn, torch.zeros_like(turn), grow.unsqueeze(-1)], -1)
        answer = matvec3(at.inverse, moved)
        omega, shift, growth = answer[..., :3], answer[..., 3:6], answer[..., 6]
        d_R, d_s = turned(R, omega), scale * growth
        lever = matvec3(scale[..., None, None] * d_R + d_s[..., None, None] * R, at.mean)
        return d_R, shift - lever, d_s


_minimum = applier(_Minimum)


class _State(NamedTuple):
    """All that both directions of the derivative need, at the minimum. Points are rows."""

    scale: Tensor
    mean: Tensor
    arms: Tensor
    error: Tensor
    factor: Tensor
    slope: Tensor
    inverse: Tensor


def _columns(rotation: Tensor, scale: Tensor, arms: Tensor, force: Tensor) -> Tensor:
    """`J_i^T force_i` for each point, (..., 7, N): turn, shift, growth."""
    back = transform(scale[..., None, None] * rotation.mT, force)
    grow = (arms * back).sum(-2, keepdim=True)
    return torch.cat([torch.linalg.cross(arms, back, dim=-2), force, grow], -2)


def _state(
    source: Tensor,
    target: Tensor,
    prior: Tensor,
    cutoff: Tensor,
    rotation: Tensor,
    translation: Tensor,
    scale: Tensor,
    loss: str,
    scaled: bool,
) -> _State:
    moved = transform(scale[..., None, None] * rotation, source) + translation.unsqueeze(-1)
    error = target - moved
    c2 = cutoff.square().unsqueeze(-1)
    ratio = error.square().sum(-2) / c2
    factor, slope = _factor(ratio, loss), _slope(ratio, loss) * 2 / c2
    # The derivative does not depend on the size of the factors; where no match fits, all are tiny.
    largest = or_one((prior * factor).detach().amax(-1, keepdim=True))
    factor, slope = factor / largest, slope / largest
    weight = prior * factor
    m = checked_moments(source.mT, target.mT, weight, None, "source")
    arms = source - m.source_mean.unsqueeze(-1)
    columns = _columns(rotation, scale, arms, error)
    total = weight.sum(-1)  # the moments' own total passes no gradient
    bent = outer_sum(columns * (prior * slope).unsqueeze(-2), columns)
    system = fit_hessian(m, rotation, scale, total) + bent
    if not scaled:
        system = system[..., :6, :6]
    inverse = symmetric_inverse(system)
    if not scaled:
        inverse = torch.nn.functional.pad(inverse, (0, 1, 0, 1))
    return _State(scale, m.source_mean, arms, error, factor, slope, inverse)
