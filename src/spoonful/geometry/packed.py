"""Clouds of unequal sizes end to end in one tensor, without padding.

`points` (M, 3) holds them one after the other: cloud b is `points[offsets[b]:offsets[b + 1]]`.
Sums over clouds are sums over segments; what follows them is that of padded clouds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.checks import (
    check_is_tensor,
    matched,
    values_are_checked,
    working_dtype,
)
from spoonful.geometry.moments import Moments


def moments_packed(
    source: Tensor, target: Tensor, offsets: Tensor, weights: Tensor | None = None
) -> Moments:
    """`moments` of B clouds of any sizes, packed; arguments as of `kabsch_packed`.

    On a GPU segments are summed in no fixed order, so the last digits vary.

    >>> ones = torch.ones(5, 3)
    >>> moments_packed(ones, ones, torch.tensor([0, 2, 2, 5])).total
    tensor([2., 0., 3.])
    """
    check_packed(source, target, offsets, weights, flat=True)
    return checked_moments_packed(source, target, offsets, weights)


def cloud_of_points(offsets: Tensor, points: int) -> Tensor:
    """(M,) the number of each point's cloud."""
    clouds = torch.arange(len(offsets) - 1, device=offsets.device)
    return torch.repeat_interleave(clouds, offsets.diff(), output_size=points)


def checked_moments_packed(
    source: Tensor, target: Tensor, offsets: Tensor, weights: Tensor | None
) -> Moments:
    """`moments_packed` of clouds that are checked already."""
    dtype = working_dtype(source, target, weights)
    clouds, points = len(offsets) - 1, len(source)
    cloud = cloud_of_points(offsets, points)
    w = source.new_ones(points, dtype=dtype) if weights is None else weights.to(dtype)
    s, t = source.to(dtype), target.to(dtype)

    def total(values: Tensor) -> Tensor:
        return values.new_zeros(clouds, *values.shape[1:]).index_add(0, cloud, values)

    # A cloud with a number that is not finite, or a negative weight, is NaN and has no gradient.
    spoilt = ~((s + t).isfinite().all(-1) & w.isfinite() & (w >= 0))
    bad = total(spoilt.to(dtype)) > 0
    s, t = (torch.where(bad[cloud].unsqueeze(-1), 0, x) for x in (s, t))
    w = torch.where(bad[cloud], 0, w)
    # About the first point of each cloud, as in `moments`.
    first = offsets[:-1].clamp(max=max(points - 1, 0))
    origins = [x.detach()[first] for x in (s, t)]
    s, t = (x - origin[cloud] for x, origin in zip((s, t), origins, strict=True))
    weight = total(w)
    share = (w / torch.where(weight == 0, 1, weight)[cloud]).unsqueeze(-1)
    means = [total(share * x) for x in (s, t)]
    s, t = (x - mean[cloud] for x, mean in zip((s, t), means, strict=True))

    def outer(a: Tensor, b: Tensor) -> Tensor:
        found = total(a.unsqueeze(-1) * (share * b).unsqueeze(-2))
        return torch.where(bad[:, None, None], torch.nan, found)

    source_mean, target_mean = (
        torch.where(
            bad.unsqueeze(-1), torch.nan, mean + torch.where((weight == 0)[:, None], 0, origin)
        )
        for mean, origin in zip(means, origins, strict=True)
    )
    return Moments(source_mean, target_mean, outer(s, s), outer(t, t), outer(t, s), weight)


def check_packed(
    source: Tensor,
    target: Tensor,
    offsets: Tensor,
    weights: Tensor | None,
    *,
    flat: bool = False,
) -> None:
    """Raise unless these are packed clouds of matched points."""
    matched(source, target, weights, flat=flat)
    if source.ndim != 2 or source.shape != target.shape:
        raise ValueError(f"packed clouds must have shape (M, 3), got {tuple(source.shape)}")
    check_is_tensor("offsets", offsets)
    if offsets.ndim != 1 or len(offsets) < 2:
        raise ValueError(f"offsets must have shape (B + 1,), B >= 1, got {tuple(offsets.shape)}")
    if offsets.is_floating_point() or offsets.is_complex() or offsets.dtype == torch.bool:
        raise TypeError(f"offsets must be integers, got {offsets.dtype}")
    if offsets.device != source.device:
        raise ValueError(
            f"offsets must be on the device of source, {source.device}, got {offsets.device}"
        )
    if values_are_checked(offsets):
        begin, end = int(offsets[0]), int(offsets[-1])
        if begin != 0 or end != len(source) or bool((offsets.diff() < 0).any()):
            raise ValueError(
                f"offsets must go from 0 to the number of points, {len(source)}, "
                f"without decreasing, got {offsets.tolist()}"
            )
