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
from spoonful.geometry.checks import check_tensor, matched
from spoonful.geometry.exact import gram, matmul3, matvec3, or_one, outer_sum, rotate
from spoonful.geometry.head import Prepared, prepared
from spoonful.geometry.inverse import symmetric_inverse
from spoonful.geometry.pose import Pose
from spoonful.geometry.so3 import rotation_from_vector, torque, turned
from spoonful.geometry.spread import spread


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
        mask: (..., N) bool; False removes a point (padding: there is no packed form).
        start: the pose to improve; the identity if None.
        source_normals: (..., N, 3), unit normals of the source. If given, the step is that of the
            symmetric distance (Rusinkiewicz 2019), which is zero for any two points of a sphere:
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
    points, n, start = plane_inputs(source, target, normals, weights, mask, start)
    x, y, w = points[:3]
    moved = start.apply(x)
    if source_normals is not None:
        check_tensor("source_normals", source_normals, "N", 3)
        other = rotate(start.rotation, _directions(source_normals, points, mask))
        same = (n * other).sum(-1, keepdim=True) >= 0
        n = n + torch.where(same, other, -other)
        # Half of the turn is applied to each cloud: the arm reaches to the middle of the pair.
        moved, gap = (moved + y) / 2, moved - y
    else:
        gap = moved - y
    # About the mean, so that turn and shift hardly mix.
    centre = (w.unsqueeze(-1) * moved).sum(-2) / or_one(w.sum(-1)).unsqueeze(-1)
    rows = torch.cat([torch.linalg.cross(moved - centre.unsqueeze(-2), n), n], -1)
    pull = -(rows * (w.unsqueeze(-1) * (n * gap).sum(-1, keepdim=True))).sum(-2)
    answer = matvec3(symmetric_inverse(gram(rows, w)), pull)
    turn = rotation_from_vector(answer[..., :3])
    translation = matvec3(turn, start.translation - centre) + centre + answer[..., 3:]
    return _result(points, matmul3(turn, start.rotation), translation)


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

    >>> target = torch.cat([torch.eye(3), torch.zeros(3, 3)])
    >>> normals = torch.eye(3).roll(1, 0).repeat(2, 1)  # of three walls, two points on each
    >>> source = target.clone().requires_grad_()
    >>> pose = plane_minimum(source, target, normals, Pose.identity())
    >>> pose.translation[2].backward()
    >>> source.grad[:, 2].sum().round(decimals=4)  # a source that rises moves the pose down
    tensor(-1.)
    """
    points, n, pose = plane_inputs(source, target, normals, weights, mask, pose.detach())
    return _result(points, *_minimum(*points[:2], n, points.weights, *pose))


def plane_inputs(
    source: Tensor,
    target: Tensor,
    normals: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    pose: Pose | None,
) -> tuple[Prepared, Tensor, Pose]:
    """Checked points and normals, and the pose (the identity if None) in the points' unit."""
    check_tensor("normals", normals, "N", 3)
    if normals.shape != target.shape:
        raise ValueError(
            f"normals must have the shape of target, {tuple(target.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    points = prepared(matched(source, target, weights, mask))
    x, unit = points.source, points.unit
    if pose is None:
        pose = Pose.identity(*x.shape[:-2], dtype=x.dtype, device=x.device)
    pose = Pose(pose.rotation.to(x.dtype), pose.translation.to(x.dtype) * unit.unsqueeze(-1))
    return points, _directions(normals, points, mask), pose


def _directions(normals: Tensor, points: Prepared, mask: Tensor | None) -> Tensor:
    """Normals (..., N, 3), zero where a point is removed or its cloud unsound."""
    kept = points.sound[..., None, None]
    if mask is not None:
        kept = kept & mask.unsqueeze(-1)
    return torch.where(kept, normals.to(points.source.dtype), 0)


def _result(points: Prepared, rotation: Tensor, translation: Tensor) -> Pose:
    return Pose(points.result(rotation), points.result(translation / points.unit.unsqueeze(-1)))


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
        wanted = torch.cat([torque(R, d_R), matvec3(R.mT, d_t)], -1)
        answer = -matvec3(inverse, wanted)
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
        answer = -matvec3(inverse, change)
        return turned(R, answer[..., :3]), matvec3(R, answer[..., 3:])


_minimum = applier(_PlaneMinimum)


def _system(
    x: Tensor, y: Tensor, n: Tensor, w: Tensor, R: Tensor, t: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The parts of `plane_rows`, and A's inverse."""
    m, gap, rows = plane_rows(x, y, n, Pose(R, t))
    bent = w.unsqueeze(-1) * gap
    mixed = outer_sum((bent * m).mT.contiguous(), x.mT.contiguous())
    curvature = -spread((mixed + mixed.mT) / 2)
    system = gram(rows, w) + torch.nn.functional.pad(curvature, (0, 3, 0, 3))
    return m, gap, rows, symmetric_inverse(system)


def plane_rows(x: Tensor, y: Tensor, n: Tensor, pose: Pose) -> tuple[Tensor, Tensor, Tensor]:
    """Normals in the source's frame, distances (..., N, 1), and the rows a_i (..., N, 6)."""
    m = rotate(pose.rotation.mT, n)
    gap = (n * (pose.apply(x) - y)).sum(-1, keepdim=True)
    return m, gap, torch.cat([torch.linalg.cross(x, m), m], -1)
