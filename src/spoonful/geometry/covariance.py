"""Covariance of a fitted pose: how far noise in the points moves the result.

The fit minimises `sum_i w_i |e_i|^2 / 2`, e_i = target_i - (s R source_i + t). With J_i the
derivative of `s R source_i + t` by the pose, and N the Hessian at the minimum,

    Cov = N^-1 (sum_i w_i^2 J_i^T V_i J_i) N^-1,      V_i = variance of e_i

For matched points N follows from the moments (`fit_hessian`). For point-to-plane fits e_i is one
number, the distance along the normal.

**Frames and order**. A small change of the pose is the 6-vector
xi = (omega, v): a turn and a shift in the *source* frame, R' = R exp(hat omega), t' = t + R v. It
has the turn first, in radians, then the shift, in the unit of the points; a similarity adds the
relative change of its scale, s' = s exp(sigma), as the seventh. That is GTSAM's convention
(`Pose3`). ROS has the shift first and axes of the target's frame: `to_ros` converts.

The covariance is of noise alone. It does not know about wrong matches, or another pose that fits.
Errors that neighbouring points share are noise too: see `groups` of `plane_covariance`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.checks import check_shape, matched
from spoonful.geometry.exact import gram, matmul3, trace
from spoonful.geometry.head import prepared
from spoonful.geometry.inverse import symmetric_inverse
from spoonful.geometry.moments import moments
from spoonful.geometry.point_to_plane import plane_inputs, plane_rows
from spoonful.geometry.pose import Pose
from spoonful.geometry.similarity import Similarity, fit_hessian
from spoonful.geometry.so3 import hat
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
        mask: (..., N) bool, that of the fit (padding: there is no packed form).
        noise: standard deviation of the error of a match along one axis: a number, (...) for each
            cloud or (..., N) for each match. (If both clouds have noise: the root of the sum of
            their squares.) None estimates one value for each cloud from the residuals.

    Returns:
        (..., 6, 6): the turn first, in radians about x, y, z, then the shift, both in the source's
        axes, `R' = R exp(hat omega)` and `t' = t + R v`, as in GTSAM; `to_ros` converts. For a
        `Similarity` (..., 7, 7), with the relative change of the scale last. Zero along what the
        points do not determine.

    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.randn(1000, 3, generator=generator)
    >>> target = source + 0.1 * torch.randn(1000, 3, generator=generator)
    >>> from spoonful.geometry import kabsch
    >>> spread = covariance(source, target, kabsch(source, target)).diagonal().sqrt()
    >>> bool((spread[3:] - 0.1 / 1000**0.5).abs().max() < 2e-4)  # as a mean's
    True
    """
    points = prepared(matched(source, target, weights, mask))
    source, target, w, unit, _ = points
    scaled = isinstance(pose, Similarity)
    size = 7 if scaled else 6
    pose = pose._replace(translation=pose.translation * unit.unsqueeze(-1))
    R = pose.rotation
    s = pose.scale if isinstance(pose, Similarity) else torch.ones_like(R[..., 0, 0])
    m = moments(source, target, w, spreads="source")
    # About the weighted mean, where turn, shift and growth do not mix; in the source's frame.
    total = w.sum(-1)  # that of the moments has no gradient
    inverse = symmetric_inverse(fit_hessian(m, R, s, total)[..., :size, :size])
    arms = s[..., None, None] * (source - m.source_mean.unsqueeze(-2))
    variance = _variance(noise, unit, pose.apply(source) - target, w, size)
    middle = _scatter(arms, w.square() * variance, scaled)
    # The source's origin shifts by v - omega x mean - growth mean.
    mean = s.unsqueeze(-1) * m.source_mean
    moved = torch.cat([hat(mean), torch.ones_like(mean).diag_embed(), -mean.unsqueeze(-1)], -1)
    change = torch.ones_like(w[..., :1].expand(*w.shape[:-1], size)).diag_embed()
    change = torch.cat([change[..., :3, :], moved[..., :size], change[..., 6:, :]], -2)
    return points.result(_sandwich(matmul3(_in_unit(change, unit), inverse), middle))


def plane_covariance(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    pose: Pose,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    noise: float | Tensor | None = None,
    groups: Tensor | None = None,
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
        groups: (..., N) int64, from 0 to N - 1. Errors of matches with the same number may depend
            on each other, as those of neighbours on an uneven surface do; errors of different
            groups are independent. `noise` is not used. A result from few groups is rough: there
            should be twenty or more.

    Returns:
        As `covariance`. Zero along what the planes leave free (a floor fixes no shift along it).

    >>> floor = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> up = torch.tensor([[0.0, 0, 1]]).expand(4, 3)
    >>> found = plane_covariance(floor, floor, up, Pose.identity(), noise=0.1)
    >>> found.diagonal() > 1e-6  # turns about x and y and the height are known
    tensor([ True,  True, False, False, False,  True])
    """
    points, n, pose = plane_inputs(source, target, normals, weights, mask, pose)
    x, y, w, unit, _ = points
    _, gap, rows = plane_rows(x, y, n, pose)
    inverse = symmetric_inverse(gram(rows, w))
    if groups is None:
        middle = gram(rows, w.square() * _variance(noise, unit, gap, w, 6))
    else:
        middle = _between(groups, w.unsqueeze(-1) * gap * rows, w)
    return points.result(_sandwich(_in_unit(inverse, unit), middle))


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


def _sandwich(outer: Tensor, middle: Tensor) -> Tensor:
    return matmul3(matmul3(outer, middle), outer.mT)


def _in_unit(change: Tensor, unit: Tensor) -> Tensor:
    """Rows of a matrix that are shifts, as lengths that the user knows."""
    u, one = unit.reciprocal(), torch.ones_like(unit)
    size = torch.stack([one] * 3 + [u] * 3 + [one] * (change.shape[-1] - 6), -1)
    return size.unsqueeze(-1) * change


def _variance(
    noise: float | Tensor | None, unit: Tensor, error: Tensor, w: Tensor, unknowns: int
) -> Tensor:
    """The variance of one coordinate of each error, (..., N)."""
    if noise is None:
        # Weights of a fit are the inverse variances up to a factor; the factor is estimated.
        used = (w > 0).sum(-1, keepdim=True) * error.shape[-1]
        total = (w.unsqueeze(-1) * error.square()).sum((-1, -2)).unsqueeze(-1)
        unit = total / (used - unknowns).clamp_min(1)
        return torch.where(w > 0, unit / torch.where(w > 0, w, 1), 0)
    value = torch.as_tensor(noise, dtype=w.dtype, device=w.device)
    value = value if value.ndim == w.ndim else value.unsqueeze(-1)
    return (value * unit.unsqueeze(-1)).square().expand_as(w)


def _between(groups: Tensor, pulls: Tensor, w: Tensor) -> Tensor:
    """`sum_g p_g p_g^T`, with p_g the sum of a group's pulls on the pose (Liang and Zeger 1986).

    The fit makes all pulls cancel, so they are smaller than the errors: by the share of the groups
    that the unknowns take up.
    """
    if groups.dtype != torch.int64:
        raise TypeError(f"groups must be int64, got {groups.dtype}")
    if groups.shape != w.shape:
        raise ValueError(f"groups must have shape {tuple(w.shape)}, got {tuple(groups.shape)}")
    sums = torch.zeros_like(pulls).scatter_add(-2, groups.unsqueeze(-1).expand_as(pulls), pulls)
    count = (torch.zeros_like(w).scatter_add(-1, groups, w.detach()) > 0).sum(-1, keepdim=True)
    share = count / (count - pulls.shape[-1]).clamp_min(1)
    return gram(sums, share.to(w).expand_as(w))


def _scatter(arms: Tensor, weight: Tensor, scaled: bool) -> Tensor:
    """`sum_i weight_i J_i^T J_i` for errors of the same size along every axis.

    J changes a point by cross(omega, arm) + v + growth arm, in the source's frame.
    """
    first = (weight.unsqueeze(-1) * arms).sum(-2)
    second = gram(arms, weight)
    eye = torch.ones_like(first).diag_embed()
    turn = torch.cat([spread(second), hat(first)], -1)
    shift = torch.cat([hat(first).mT, weight.sum(-1)[..., None, None] * eye], -1)
    rigid = torch.cat([turn, shift], -2)
    if not scaled:
        return rigid
    mixed = torch.nn.functional.pad(first, (3, 0)).unsqueeze(-1)
    last = torch.cat([mixed.mT, trace(second)[..., None, None]], -1)
    return torch.cat([torch.cat([rigid, mixed], -1), last], -2)
