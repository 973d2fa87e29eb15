"""The best rotation, translation and scale for matched clouds that are known by their moments.

    R = argmax over SO(3) of tr(R^T H),      t = mean(target) - R mean(source)

Its derivative needs no derivative of an SVD. At the optimum K = R^T H is symmetric; keeping it so
while H changes gives, by the implicit function theorem,

    dR = R hat(u),      spread(K) u = vee(R^T dH),

one symmetric 3x3 solve, finite exactly where the best rotation is unique. (Differentiating the SVD
divides by s_i^2 - s_j^2: NaN for equal singular values, where the rotation is perfectly smooth.)

In the plane the rotation is that of the vector (H00 + H11, H10 - H01), and torch differentiates it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.checks import all_known, check_float, check_tensor
from spoonful.geometry.exact import matmul3, matvec3, or_one, trace
from spoonful.geometry.moments import Moments
from spoonful.geometry.pose import Pose
from spoonful.geometry.so3 import rotation_from_vector, torque, turned, vee
from spoonful.geometry.spread import ROUNDINGS, spread_inverse


def pose_from_moments(m: Moments) -> Pose:
    """The best pose for clouds with these moments."""
    rotation = nearest_rotation(m.cross)
    return Pose(rotation, best_translation(rotation, m.source_mean, m.target_mean))


def best_translation(rotation: Tensor, source_mean: Tensor, target_mean: Tensor) -> Tensor:
    """The paper's translation estimator, `mean(target) - R mean(source)` (Eq. 2).

    A rotation that is NaN gives a NaN translation, and no gradient to the means.
    """
    sound = _each(rotation.isfinite())
    if all_known(sound):
        return target_mean - matvec3(rotation, source_mean)
    shift = target_mean - matvec3(torch.where(sound, rotation, 0), source_mean)
    return torch.where(sound.squeeze(-1), shift, torch.nan)


def best_scale(m: Moments, rotation: Tensor, rule: str) -> Tensor:
    """The scale of a similarity by either of its rules, which similarity.py explains."""
    assert m.source is not None
    extent = trace(m.source)
    flat = extent == 0
    extent = or_one(extent)
    if rule == "source-to-target":
        ratio = (rotation * m.cross).sum((-1, -2)) / extent
        return torch.where(flat, 1, ratio.clamp_min(0))
    assert m.target is not None
    ratio = trace(m.target) / extent
    # The derivative of a square root at zero is infinite: a target without extent passes none.
    positive = ratio > 0
    root = torch.where(positive, ratio, 1).sqrt()
    return torch.where(flat, 1, torch.where(positive, root, ratio * 0))


def nearest_rotation(matrix: Tensor) -> Tensor:
    """The rotation nearest a matrix, which is the one that maximises `tr(R^T H)`.

    With the cross moment of two clouds it is Kabsch's. With a rotation that has lost some digits it
    is the rotation again.

    Args:
        matrix: (..., 3, 3), or (..., 2, 2).

    Returns:
        Proper rotations of the same shape, differentiable any number of times. `kabsch` says what
        happens if several are equally near.

    >>> nearest_rotation(torch.diag(torch.tensor([1.01, 0.99, 1.0])))
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    if isinstance(matrix, Tensor) and matrix.shape[-2:] == (2, 2):
        check_float("matrix", matrix)
        return _in_the_plane(matrix)
    check_tensor("matrix", matrix, 3, 3)
    rotation: Tensor = _rotation(matrix)
    return rotation


def _in_the_plane(cross: Tensor) -> Tensor:
    """The best rotation (..., 2, 2); the identity without gradient if all are equally good."""
    a = cross[..., 0, 0] + cross[..., 1, 1]
    b = cross[..., 1, 0] - cross[..., 0, 1]
    size = cross.detach().abs().amax((-1, -2))
    least = ROUNDINGS * torch.finfo(cross.dtype).eps * size
    unique = torch.hypot(a, b).detach() > least  # False for NaN
    a, b = torch.where(unique, a, 1), torch.where(unique, b, 0)
    length = torch.hypot(a, b)
    cosine, sine = a / length, b / length
    rotation = torch.stack([cosine, -sine, sine, cosine], -1).unflatten(-1, (2, 2))
    return rotation + (size - size)[..., None, None]  # NaN where the cloud has NaN or inf


def turn(rotation: Tensor, cross: Tensor, change: Tensor) -> Tensor:
    """`R hat(u)` with `spread(R^T H) u = vee(R^T change)`: how the best rotation follows a change.

    Being self-adjoint it is the derivative in both directions: applied to dH it gives dR, applied
    to the gradient at R it gives the gradient at H.
    """
    K = matmul3(rotation.mT, cross)
    u = matvec3(spread_inverse((K + K.mT) / 2), torque(rotation, change))
    sound = rotation.isfinite()
    result = turned(rotation, u)
    return result if all_known(sound) else torch.where(_each(sound), result, 0)


class _BestRotation(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(cross: Tensor) -> Tensor:
        return _by_svd(cross)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        cross, rotation = ctx.saved_tensors
        return turn(rotation, cross, gradient)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        cross, rotation = ctx.saved_tensors
        return turn(rotation, cross, tangent)


_rotation = applier(_BestRotation)


def _by_svd(cross: Tensor) -> Tensor:
    # Scaled, because squares of tiny or huge entries leave float32; and without NaN, which LAPACK
    # refuses: an empty or unsound cloud is fitted as the zero matrix.
    size = cross.abs().amax((-1, -2), keepdim=True)
    U, s, Vh = torch.linalg.svd((cross / size).nan_to_num(0, 0, 0))
    rotation = matmul3(U, Vh)
    # A reflection is repaired at the smallest singular value, the last, where it costs least.
    x, y, z = rotation.unbind(-1)
    flip = torch.sign((torch.linalg.cross(x, y) * z).sum(-1))[..., None, None] - 1
    rotation = torch.addcmul(rotation, flip * U[..., 2:], Vh[..., 2:, :])
    unique = s[..., 1] > 4 * torch.finfo(s.dtype).eps * s[..., 0]
    if not all_known(unique):
        least = _least_turn(rotation, Vh[..., 0, :])
        eye = torch.eye(3, dtype=cross.dtype, device=cross.device)
        least = torch.where(s[..., :1, None] > 0, least, eye)
        rotation = torch.where(unique[..., None, None], rotation, least)
    return rotation + (size - size)  # NaN where the cloud has NaN or inf


def _least_turn(rotation: Tensor, axis: Tensor) -> Tensor:
    """The `R Rot(axis, angle)` nearest the identity: the one with the largest trace.

    The trace is a cos(angle) + b sin(angle) + constant.
    """
    along = (axis * matvec3(rotation, axis)).sum(-1, keepdim=True)
    a = rotation.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True) - along
    b = -(vee(rotation) * axis).sum(-1, keepdim=True)
    return matmul3(rotation, rotation_from_vector(axis * torch.atan2(b, a)))


def _each(condition: Tensor) -> Tensor:
    """True for matrices (..., 3, 3) whose entries all meet a condition; (..., 1, 1)."""
    return condition.all(-1, keepdim=True).all(-2, keepdim=True)
