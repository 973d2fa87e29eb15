"""Point-to-plane fits: the pose that brings source points onto the planes of their matches.

    minimise  sum_i w_i (n_i . (R source_i + t - target_i))^2

There is no closed form. `point_to_plane` is one Gauss-Newton step as a layer. `plane_minimum` gives
a converged pose the derivative of the minimum. With a_i = (source_i x m_i, m_i), m_i = R^T n_i, and
e_i the distance, the minimum satisfies F = sum_i w_i e_i a_i = 0, so

    A d(pose) = -dF,      A = sum_i w_i (a_i a_i^T + e_i B_i),

where B_i is the curvature of the rotation. A change of the pose is (omega, v) as in `covariance`:
R' = R exp(hat omega), t' = t + R v. What the planes leave free does not move.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import check_correspondences, check_tensor, working_dtype
from spoonful.geometry.exact import matmul3, rotate
from spoonful.geometry.inverse import symmetric_inverse
from spoonful.geometry.pose import Pose
from spoonful.geometry.so3 import rotation_from_vector, torque, turned


def point_to_plane(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    start: Pose | None = None,
    source_normals: Tensor | None = None,
) -> Pose:
    """The pose after one Gauss-Newton step from `start`, differentiable by all its tensors.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), a point of the plane that each source point belongs to.
        normals: (..., N, 3), unit normals of those planes.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False removes a point.
        start: the pose to improve; the identity if None.
        source_normals: (..., N, 3), unit normals of the source. If given, the step is that of the
            symmetric distance (Rusinkiewicz 2019), which is exact on surfaces that are spheres:
            each normal is the sum of the two, turned to the same side.

    Returns:
        `Pose`. If no plane resists a motion (one plane, all points on a line), the step has no
        part in it.

    >>> generator = torch.Generator().manual_seed(0)
    >>> normals = torch.nn.functional.normalize(torch.randn(50, 3, generator=generator), dim=-1)
    >>> target = torch.randn(50, 3, generator=generator)
    >>> pose = point_to_plane(target + 0.5, target, normals)
    >>> pose.translation.round(decimals=4)
    tensor([-0.5000, -0.5000, -0.5000])
    """
    start, w, x, y, n = _inputs(source, target, normals, weights, mask, start)
    moved = start.apply(x)
    if source_normals is not None:
        check_tensor("source_normals", source_normals, "N", 3)
        other = rotate(start.rotation, source_normals.to(n.dtype))
        if mask is not None:
            other = torch.where(mask.unsqueeze(-1), other, 0)
        same = (n * other).sum(-1, keepdim=True) >= 0
        n = n + torch.where(same, other, -other)
        # Half of the turn is applied to each cloud: the arm reaches to the middle of the pair.
        moved, gap = (moved + y) / 2, moved - y
    else:
        gap = moved - y
    # About the mean, so that turn and shift hardly mix.
    centre = (w.unsqueeze(-1) * moved).sum(-2) / _positive(w.sum(-1)).unsqueeze(-1)
    rows = torch.cat([torch.linalg.cross(moved - centre.unsqueeze(-2), n), n], -1)
    weighted = rows * w.unsqueeze(-1)
    system = torch.stack([(weighted[..., i : i + 1] * rows).sum(-2) for i in range(6)], -2)
    pull = -(weighted * (n * gap).sum(-1, keepdim=True)).sum(-2)
    answer = (symmetric_inverse(system) * pull.unsqueeze(-2)).sum(-1)
    turn = rotation_from_vector(answer[..., :3])
    arm = start.translation - centre
    translation = rotate(turn, arm.unsqueeze(-2)).squeeze(-2) + centre + answer[..., 3:]
    return Pose(matmul3(turn, start.rotation), translation)


def plane_minimum(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    pose: Pose,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
) -> Pose:
    """The same pose, with the gradient of the point-to-plane minimum that it lies at.

    Run any solver without gradients until it converges, then pass its pose through this function.
    The gradient is exact at the minimum and does not depend on how it was found.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), a point of the plane that each source point belongs to.
        normals: (..., N, 3), unit normals of those planes.
        pose: the minimum.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False removes a point.

    Returns:
        `Pose`, differentiable by `source`, `target`, `normals` and `weights`.
    """
    pose, w, x, y, n = _inputs(source, target, normals, weights, mask, pose)
    return Pose(*_minimum(x, y, n, w, pose.rotation.detach(), pose.translation.detach()))


def _inputs(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    pose: Pose | None,
) -> tuple[Pose, Tensor, Tensor, Tensor, Tensor]:
    check_correspondences(source, target, weights, mask)
    check_tensor("normals", normals, "N", 3)
    if normals.shape != target.shape:
        raise ValueError(
            f"normals must have the shape of target, {tuple(target.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    dtype = working_dtype(source, target, weights)
    x, y, n = (cloud.to(dtype) for cloud in (source, target, normals))
    w = torch.ones_like(x[..., 0]) if weights is None else weights.to(dtype)
    if mask is not None:
        w = torch.where(mask, w, 0)
        x, y, n = (torch.where(mask.unsqueeze(-1), cloud, 0) for cloud in (x, y, n))
    if pose is None:
        pose = Pose.identity(*x.shape[:-2], dtype=dtype, device=x.device)
    return pose.to(dtype), w, x, y, n


class _PlaneMinimum(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        source: Tensor,
        target: Tensor,
        normals: Tensor,
        weights: Tensor,
        rotation: Tensor,
        translation: Tensor,
    ) -> tuple[Tensor, Tensor]:
        return rotation.clone(), translation.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs[:4], *output)
        ctx.save_for_forward(*inputs[:4], *output)

    @staticmethod
    def backward(ctx: Any, d_R: Tensor, d_t: Tensor) -> tuple[Tensor | None, ...]:
        x, y, n, w, R, t = ctx.saved_tensors
        m, gap, _, inverse = _system(x, y, n, w, R, t)
        wanted = torch.cat([torque(R, d_R), rotate(R.mT, d_t.unsqueeze(-2)).squeeze(-2)], -1)
        answer = -(inverse * wanted.unsqueeze(-2)).sum(-1)
        omega, v = answer[..., None, :3].expand_as(x), answer[..., None, 3:].expand_as(x)
        # The gradient of sum_i w e_i (a_i . answer), with a . answer = m . (omega x source + v).
        push = torch.linalg.cross(omega, x) + v
        along = (m * push).sum(-1, keepdim=True)
        weight = w.unsqueeze(-1)
        d_x = weight * (along * m + gap * torch.linalg.cross(m, omega))
        d_y = -weight * along * n
        moved = rotate(R, x) + t.unsqueeze(-2)
        d_n = weight * (along * (moved - y) + gap * rotate(R, push))
        d_w = (gap * along).squeeze(-1)
        return d_x, d_y, d_n, d_w, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor]:
        x, y, n, w, R, t = ctx.saved_tensors
        d_x, d_y, d_n, d_w = (
            torch.zeros_like(primal) if tangent is None else tangent
            for primal, tangent in zip((x, y, n, w), tangents[:4], strict=True)
        )
        m, gap, rows, inverse = _system(x, y, n, w, R, t)
        d_m = rotate(R.mT, d_n)
        moved = rotate(R, x) + t.unsqueeze(-2)
        d_gap = (m * d_x).sum(-1) - (n * d_y).sum(-1) + (d_n * (moved - y)).sum(-1)
        d_rows = torch.cat([torch.linalg.cross(d_x, m) + torch.linalg.cross(x, d_m), d_m], -1)
        change = (d_w * gap.squeeze(-1) + w * d_gap).unsqueeze(-1) * rows
        change = (change + w.unsqueeze(-1) * gap * d_rows).sum(-2)
        answer = -(inverse * change.unsqueeze(-2)).sum(-1)
        shift = rotate(R, answer[..., None, 3:]).squeeze(-2)
        return turned(R, answer[..., :3]), shift


_minimum = applier(_PlaneMinimum)


def _system(
    x: Tensor, y: Tensor, n: Tensor, w: Tensor, R: Tensor, t: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normals in the source's frame, distances (..., N, 1), rows (..., N, 6), and A's inverse."""
    m = rotate(R.mT, n)
    gap = (n * (rotate(R, x) + t.unsqueeze(-2) - y)).sum(-1, keepdim=True)
    rows = torch.cat([torch.linalg.cross(x, m), m], -1)
    weighted = rows * w.unsqueeze(-1)
    system = torch.stack([(weighted[..., i : i + 1] * rows).sum(-2) for i in range(6)], -2)
    bent = w.unsqueeze(-1) * gap
    mixed = ((bent * m).unsqueeze(-1) * x.unsqueeze(-2)).sum(-3)
    eye = torch.eye(3, dtype=x.dtype, device=x.device)
    trace = mixed.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    curvature = (mixed + mixed.mT) / 2 - trace * eye
    system = system + torch.nn.functional.pad(curvature, (0, 3, 0, 3))
    return m, gap, rows, symmetric_inverse(system)


def _positive(total: Tensor) -> Tensor:
    return torch.where(total == 0, 1, total)
