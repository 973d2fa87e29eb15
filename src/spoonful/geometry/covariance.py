"""Covariance of a fitted pose: how far noise in the points moves the result.

The fit minimises `sum_i w_i |e_i|^2 / 2`, e_i = target_i - (s R source_i + t). With J_i the
derivative of `s R source_i + t` by the pose, and N the Hessian at the minimum,

    Cov = N^-1 (sum_i w_i^2 J_i^T V_i J_i) N^-1,      V_i = variance of e_i

For matched points N is known from the moments (its blocks are s spread(K), I and s^2 tr(S), see
`robust`). For point-to-plane fits e_i is one number, the distance along the normal.

**Frames and order**, stated here and nowhere else. A small change of the pose is the 6-vector
xi = (omega, v): a turn and a shift in the *source* frame, R' = R exp(hat omega), t' = t + R v. It
has the turn first, in radians, then the shift, in the unit of the points; a similarity adds the
relative change of its scale, s' = s exp(sigma), as the seventh. That is GTSAM's convention
(`Pose3`). ROS has the shift first and axes of the target's frame: `to_ros` converts.

The covariance is of noise alone. It does not know about wrong matches, or another pose that fits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.checks import check_correspondences, check_shape, working_dtype
from spoonful.geometry.exact import matmul3, rotate
from spoonful.geometry.inverse import symmetric_inverse
from spoonful.geometry.moments import moments
from spoonful.geometry.pose import Pose
from spoonful.geometry.similarity import Similarity
from spoonful.geometry.spread import spread


def covariance(
    source: Tensor,
    target: Tensor,
    pose: Pose | Similarity,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    noise: float | Tensor | None = None,
) -> Tensor:
    """The covariance of the pose that `kabsch` or `similarity` fitted to matched points.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        pose: the result of the fit of these points with these weights.
        weights: (..., N), those of the fit; equal if None.
        mask: (..., N) bool, that of the fit.
        noise: standard deviation of the error of a match along one axis: a number, (...) for each
            cloud or (..., N) for each match. (If both clouds have noise: the root of the sum of
            their squares.) None estimates one value for each cloud from the residuals.

    Returns:
        (..., 6, 6), or (..., 7, 7) for a `Similarity`; see the module for order and frame. Zero
        along what the points do not determine.

    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.randn(1000, 3, generator=generator)
    >>> target = source + 0.1 * torch.randn(1000, 3, generator=generator)
    >>> from spoonful.geometry import kabsch
    >>> spread = covariance(source, target, kabsch(source, target)).diagonal().sqrt()
    >>> bool((spread[3:] - 0.1 / 1000**0.5).abs().max() < 2e-4)  # as a mean's
    True
    """
    check_correspondences(source, target, weights, mask)
    dtype = working_dtype(source, target, weights)
    source, target = source.to(dtype), target.to(dtype)
    w = torch.ones_like(source[..., 0]) if weights is None else weights.to(dtype)
    if mask is not None:
        w = torch.where(mask, w, 0)
        source, target = (torch.where(mask.unsqueeze(-1), x, 0) for x in (source, target))
    scaled = isinstance(pose, Similarity)
    R = pose.rotation
    s = pose.scale if isinstance(pose, Similarity) else torch.ones_like(R[..., 0, 0])
    m = moments(source, target, w, spreads="source")
    assert m.source is not None
    K = matmul3(R.mT, m.cross)
    extent = m.source.diagonal(dim1=-2, dim2=-1).sum(-1)
    size = 7 if scaled else 6
    hessian = torch.zeros(*R.shape[:-2], size, size, dtype=dtype, device=R.device)
    # About the weighted mean, where turn, shift and growth do not mix; in the source's frame.
    hessian[..., :3, :3] = s[..., None, None] * spread((K + K.mT) / 2)
    hessian[..., 3:6, 3:6] = torch.eye(3, dtype=dtype, device=R.device)
    if scaled:
        hessian[..., 6, 6] = s.square() * extent
    inverse = symmetric_inverse(hessian * m.total[..., None, None])
    arms = s[..., None, None] * (source - m.source_mean.unsqueeze(-2))
    variance = _variance(noise, pose.apply(source) - target, w, size)
    middle = _scatter(arms, w.square() * variance, scaled)
    about_mean = matmul_small(matmul_small(inverse, middle), inverse)
    return _at_origin(about_mean, s.unsqueeze(-1) * m.source_mean, scaled)


def plane_covariance(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    pose: Pose,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    noise: float | Tensor | None = None,
) -> Tensor:
    """The covariance of a point-to-plane fit, (..., 6, 6).

    Args:
        source: (..., N, 3).
        target: (..., N, 3), a point of the plane that each source point belongs to.
        normals: (..., N, 3), unit normals of those planes, in the target's frame.
        pose: the result of the fit.
        weights: (..., N), those of the fit; equal if None.
        mask: (..., N) bool, that of the fit.
        noise: standard deviation of the distance along the normal, as for `covariance`.

    Returns:
        As `covariance`. Zero along what the planes leave free (a floor fixes no shift along it).
    """
    check_correspondences(source, target, weights, mask)
    check_shape("normals", normals, "N", 3)
    dtype = working_dtype(source, target, weights)
    w = torch.ones_like(source[..., 0], dtype=dtype) if weights is None else weights.to(dtype)
    gap = (normals * (pose.apply(source) - target)).sum(-1, keepdim=True)
    n = rotate(pose.rotation.mT, normals.to(dtype))
    rows = torch.cat([torch.linalg.cross(source.to(dtype), n), n], -1)
    if mask is not None:
        w = torch.where(mask, w, 0)
        rows, gap = (torch.where(mask.unsqueeze(-1), x, 0) for x in (rows, gap))
    inverse = symmetric_inverse(_outer(rows, w))
    middle = _outer(rows, w.square() * _variance(noise, gap, w, 6))
    return matmul_small(matmul_small(inverse, middle), inverse)


def to_ros(covariance: Tensor, pose: Pose | Similarity) -> Tensor:
    """A 6x6 covariance in the order and frame of ROS' `PoseWithCovariance`.

    x, y, z, then turns about the fixed axes x, y, z, all in the target's frame.

    >>> ours = torch.diag(torch.tensor([1.0, 2, 3, 4, 5, 6]))
    >>> to_ros(ours, Pose.identity()).diagonal()
    tensor([4., 5., 6., 1., 2., 3.])
    """
    check_shape("covariance", covariance, 6, 6)
    R = pose.rotation
    blocks = covariance.reshape(*covariance.shape[:-2], 2, 3, 2, 3).transpose(-3, -2)
    turned = matmul3(matmul3(R[..., None, None, :, :], blocks), R[..., None, None, :, :].mT)
    swapped = turned.flip(-4, -3)
    return swapped.transpose(-3, -2).reshape(covariance.shape)


def matmul_small(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` for small matrices, in the inputs' own precision."""
    return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)


def _variance(noise: float | Tensor | None, error: Tensor, w: Tensor, unknowns: int) -> Tensor:
    """The variance of one coordinate of each error, (..., N) or (..., 1)."""
    if noise is None:
        # Weights of a fit are the inverse variances up to a factor; the factor is estimated.
        used = (w > 0).sum(-1, keepdim=True) * error.shape[-1]
        total = (w.unsqueeze(-1) * error.square()).sum((-1, -2)).unsqueeze(-1)
        unit = total / (used - unknowns).clamp_min(1)
        return torch.where(w > 0, unit / torch.where(w > 0, w, 1), 0)
    value = torch.as_tensor(noise, dtype=w.dtype, device=w.device).square()
    return value if value.ndim == w.ndim and value.ndim > 0 else value.unsqueeze(-1)


def _scatter(arms: Tensor, weight: Tensor, scaled: bool) -> Tensor:
    """`sum_i weight_i J_i^T J_i` for errors of the same size along every axis."""
    weight = weight.expand(arms.shape[:-1])
    x, y, z = arms.unbind(-1)
    o, one = torch.zeros_like(x), torch.ones_like(x)
    # The rows of J in the source's frame: cross(omega, arm) + v + growth arm.
    rows = [
        torch.stack([o, z, -y, one, o, o, x], -1),
        torch.stack([-z, o, x, o, one, o, y], -1),
        torch.stack([y, -x, o, o, o, one, z], -1),
    ]
    total = _outer(rows[0], weight) + _outer(rows[1], weight) + _outer(rows[2], weight)
    return total if scaled else total[..., :6, :6]


def _outer(rows: Tensor, weight: Tensor) -> Tensor:
    weighted = rows * weight.expand(rows.shape[:-1]).unsqueeze(-1)
    return torch.stack(
        [(weighted[..., i : i + 1] * rows).sum(-2) for i in range(rows.shape[-1])], -2
    )


def _at_origin(covariance: Tensor, mean: Tensor, scaled: bool) -> Tensor:
    """A covariance about the mean as one about the source's origin.

    The origin shifts by `v - omega x mean - growth mean`.
    """
    size = covariance.shape[-1]
    x, y, z = mean.unbind(-1)
    o = torch.zeros_like(x)
    change = torch.eye(size, dtype=mean.dtype, device=mean.device).repeat(*mean.shape[:-1], 1, 1)
    change[..., 3:6, :3] = torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).unflatten(-1, (3, 3))
    if scaled:
        change[..., 3:6, 6] = -mean
    return matmul_small(matmul_small(change, covariance), change.mT)
