"""The pose head in torch's own operations: Kabsch, similarity, refinements. The reference.

It is written for any mode of torch and for reading. The compiled kernels compute the same, and
tests hold them to it.

**Size.** The square of 1e20 is no float32 number, nor is that of 1e-25. So both clouds are first
multiplied by one power of two, which rounds nothing: rotations do not depend on it, and
translations are divided by it. Beyond `LARGEST` a gradient could overflow all the same, and clouds
are treated as if they were NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry.checks import Matched, all_known, working_dtype
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import Moments, Spreads, checked_moments
from spoonful.geometry.packed import checked_moments_packed, cloud_of_points
from spoonful.geometry.plan import Plan
from spoonful.geometry.pose import Pose
from spoonful.geometry.refinement import refine_moments
from spoonful.geometry.rotation import (
    best_scale,
    best_translation,
    nearest_rotation,
    pose_from_moments,
)

# Clouds whose largest coordinate lies between these are left as they are.
_USUAL = 2.0**-10, 2.0**10
# The largest coordinate for which there is a pose; also in pose_head.c and triton_sums.py.
LARGEST = {torch.float32: 1e34, torch.float64: 1e150}


def pose_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
    offsets: Tensor | None = None,
    *,
    stacked: bool = True,
) -> Pose:
    """The poses of a plan for matched clouds, which are checked already.

    Args:
        source: (..., N, 3); (M, 3) if packed.
        target: (..., N, 3).
        weights: (..., N), or None.
        mask: (..., N) bool, or None.
        start: rotations (..., 3, 3) if the plan's start is "given"; turns (..., K, 3, 3) of the
            Kabsch rotation if it is "perturbed"; otherwise None.
        plan: what to compute.
        offsets: (B + 1,) if clouds are packed, without a mask; otherwise None.
        stacked: whether results have the dimension P. Without it there is one pose.

    Returns:
        The Kabsch pose, unless the start is given, and the refined poses, iteration by iteration:
        rotation (..., P, 3, 3).
    """
    spreads: Spreads = plan.form if plan.iterations else "none"
    m, unit = scaled_moments(source, target, weights, mask, offsets, spreads=spreads)
    pose = _poses(m, start, plan) if stacked else pose_from_moments(m)
    if unit is None:
        return pose
    unit = unit.reshape(*unit.shape, *[1] * (pose.translation.ndim - unit.ndim))
    return Pose(pose.rotation, pose.translation / unit)


def similarity_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None,
    scale: str | float | Tensor = "source-to-target",
    bounds: tuple[float, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Rotation, translation and scale of `similarity`, whose arguments are checked already."""
    spreads: Spreads = "both" if isinstance(scale, str) and scale == "symmetric" else "source"
    m, unit = scaled_moments(source, target, weights, mask, offsets, spreads=spreads)
    rotation = nearest_rotation(m.cross)
    if isinstance(scale, str):
        factor = best_scale(m, rotation, scale)
    else:
        factor = torch.as_tensor(scale, dtype=rotation.dtype, device=rotation.device)
        factor = factor.expand(rotation.shape[:-2])
    if bounds is not None:
        factor = factor.clamp(*bounds)
    shift = best_translation(factor[..., None, None] * rotation, m.source_mean, m.target_mean)
    return rotation, shift if unit is None else shift / unit.unsqueeze(-1), factor


def scaled_moments(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None = None,
    *,
    spreads: Spreads = "both",
) -> tuple[Moments, Tensor | None]:
    """The moments of both clouds times a power of two, and that power (...); None if it is 1."""
    dtype = working_dtype(source, target, weights)
    source, target, unit = rescaled(source.to(dtype), target.to(dtype), mask, offsets)
    if offsets is not None:
        return checked_moments_packed(source, target, offsets, weights), unit
    return checked_moments(source, target, weights, mask, spreads), unit


def rescaled(
    source: Tensor, target: Tensor, mask: Tensor | None = None, offsets: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Both clouds times a power of two, NaN beyond `LARGEST`, and that power; None if it is 1."""
    size = torch.maximum(source.detach().abs().amax(-1), target.detach().abs().amax(-1))
    if mask is not None:
        size = torch.where(mask, size, 0)
    cloud = None
    if offsets is None:
        size = size.amax(-1)
    else:
        cloud = cloud_of_points(offsets, len(source))
        size = size.new_zeros(len(offsets) - 1).scatter_reduce(0, cloud, size, "amax")
    least, most = _USUAL
    usual = (size == 0) | ((size >= least) & (size <= most))
    unit = None
    if not all_known(usual):
        unit, beyond = unit_of(size)
        unit = torch.where(usual, 1, unit)
        each, lost = (
            x[..., None, None] if cloud is None else x[cloud, None] for x in (unit, beyond)
        )
        source, target = (torch.where(lost, torch.nan, x * each) for x in (source, target))
    return source, target, unit


def unit_of(size: Tensor) -> tuple[Tensor, Tensor]:
    """The power of two that makes a size about 1, and True for a size that is too large or NaN."""
    beyond = ~(size <= LARGEST[size.dtype])
    limit = 126 if size.dtype == torch.float32 else 1022  # so that 1 / unit is a number, too
    exponent = torch.where((size == 0) | beyond, 1.0, size).log2().floor()
    return torch.exp2(-exponent.clamp(-limit, limit)), beyond


class Prepared(NamedTuple):
    """Matched clouds that any sum over their points can take; see `prepared`.

    Attributes:
        source: (..., N, 3), times `unit`.
        target: (..., N, 3), times `unit`.
        weights: (..., N).
        unit: (...), a power of two.
        sound: (...) bool, False for clouds with NaN, inf or coordinates beyond `LARGEST`.
    """

    source: Tensor
    target: Tensor
    weights: Tensor
    unit: Tensor
    sound: Tensor

    def result(self, value: Tensor) -> Tensor:
        """A result (..., anything) with NaN, and no gradient, for clouds that are not sound."""
        if all_known(self.sound):
            return value
        shape = (*self.sound.shape, *[1] * (value.ndim - self.sound.ndim))
        return torch.where(self.sound.reshape(shape), value, torch.nan)


def prepared(points: Matched) -> Prepared:
    """Clouds in their working precision, with weights, of a size whose squares are numbers.

    Points that the mask removes, and all points of an unsound cloud, are zero with weight zero.
    """
    source, target, weights, mask = points
    dtype = working_dtype(source, target, weights)
    source, target, unit = rescaled(source.to(dtype), target.to(dtype), mask)
    w = torch.ones_like(source[..., 0]) if weights is None else weights.to(dtype)
    if mask is not None:
        w = torch.where(mask, w, 0)
        source, target = (torch.where(mask.unsqueeze(-1), x, 0) for x in (source, target))
    each = (source + target).sum(-1) + w  # NaN or inf where an entry is
    sound = each.detach().sum(-1).isfinite() & (w.detach() >= 0).all(-1)
    if not all_known(sound):
        w = torch.where(sound.unsqueeze(-1), w, 0)
        source, target = (torch.where(sound[..., None, None], x, 0) for x in (source, target))
    return Prepared(source, target, w, torch.ones_like(w[..., 0]) if unit is None else unit, sound)


def _poses(m: Moments, start: Tensor | None, plan: Plan) -> Pose:
    pose = None if plan.start == "given" else pose_from_moments(m)
    found = []
    if pose is not None:
        found.append(Pose(pose.rotation.unsqueeze(-3), pose.translation.unsqueeze(-2)))
    if not plan.iterations:
        return found[0]
    rotation = start if pose is None else pose.rotation
    assert rotation is not None
    if plan.start in ("detached", "perturbed"):
        rotation = rotation.detach()
    if plan.start == "perturbed":
        assert start is not None
        rotations = matmul3(rotation.unsqueeze(-3), start)
        refined = refine_moments(
            m.per_start(start.shape[-3]), rotations, iterations=plan.iterations, form=plan.form
        )
        refined = Pose(
            refined.rotation.transpose(-4, -3).flatten(-4, -3),
            refined.translation.transpose(-3, -2).flatten(-3, -2),
        )
    else:
        refined = refine_moments(m, rotation, iterations=plan.iterations, form=plan.form)
    found.append(refined)
    if len(found) == 1:
        return refined
    return Pose(
        torch.cat([pose.rotation for pose in found], dim=-3),
        torch.cat([pose.translation for pose in found], dim=-2),
    )
