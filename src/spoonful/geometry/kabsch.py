"""Weighted Kabsch: the rotation and translation that best map source to target.

    R = argmax over SO(3) of tr(R^T H),      t = mean(target) - R mean(source)

Its derivative needs no derivative of an SVD. At the optimum K = R^T H is symmetric; keeping it so
while H changes gives, by the implicit function theorem,

    dR = R hat(u),      spread(K) u = vee(R^T dH),

one symmetric 3x3 solve, finite exactly where the best rotation is unique. (Differentiating the SVD
divides by s_i^2 - s_j^2: NaN for equal singular values, where the rotation is perfectly smooth.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.exact import matmul3, matvec3
from spoonful.geometry.moments import Moments, moments
from spoonful.geometry.pose import Pose
from spoonful.geometry.so3 import hat, vee
from spoonful.geometry.spread import spread_inverse


def kabsch(
    source: Tensor, target: Tensor, weights: Tensor | None = None, mask: Tensor | None = None
) -> Pose:
    """The rigid pose that minimises `sum_i w_i |R source_i + t - target_i|^2`.

    Always a proper rotation, never a reflection. Differentiable any number of times, in forward
    and reverse mode, under `torch.func.vmap` and `torch.compile`. Where the points do not
    determine the rotation, result and gradient are finite all the same:

    - two points, or points on a line: the best rotation that turns least, with no gradient about
      the line; where several turn equally little (a line reversed), one of them;
    - one point, or coinciding points: no rotation, a translation alone;
    - points in a plane, or three points: nothing special, the rotation is unique;
    - a mirrored cloud: the best proper rotation; if its two smallest singular values tie, one of
      the equally good ones, with no gradient about the undetermined axis;
    - no points or no weight: the identity and zero gradient;
    - NaN or inf in a cloud: a NaN pose for that cloud alone and, for its points, zero gradient.

    `stability` tells which of these happened.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        weights: (..., N), >= 0, of any total; equal weights if None.
        mask: (..., N) bool; False removes a point (padding).

    Returns:
        `Pose` with rotation (..., 3, 3) and translation (..., 3), in float32 whatever lower
        precision the points have (float64 if an input is); `pose.to(dtype)` converts.

    >>> source = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    >>> target = source @ torch.tensor([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + 5
    >>> pose = kabsch(source, target)
    >>> pose.rotation.round(decimals=4) + 0.0
    tensor([[ 0., -1.,  0.],
            [ 1.,  0.,  0.],
            [ 0.,  0.,  1.]])
    >>> bool(torch.allclose(pose.apply(source), target, atol=1e-5))
    True
    """
    return pose_from_moments(moments(source, target, weights, mask))


def pose_from_moments(m: Moments) -> Pose:
    """The best pose for clouds with these moments."""
    rotation = best_rotation(m.cross)
    return Pose(rotation, best_translation(m, rotation))


def best_translation(m: Moments, rotation: Tensor) -> Tensor:
    """The paper's translation estimator, `mean(target) - R mean(source)`."""
    return m.target_mean - matvec3(rotation, m.source_mean)


def best_rotation(cross: Tensor) -> Tensor:
    """The rotation that maximises `tr(R^T H)`, for (..., 3, 3) cross moments H."""
    rotation: Tensor = _rotation(cross)
    return rotation


def turn(rotation: Tensor, cross: Tensor, change: Tensor) -> Tensor:
    """`R hat(u)` with `spread(R^T H) u = vee(R^T change)`: how the best rotation follows a change.

    Being self-adjoint it is the derivative in both directions: applied to dH it gives dR, applied
    to the gradient at R it gives the gradient at H.
    """
    K = matmul3(rotation.mT, cross)
    u = matvec3(spread_inverse((K + K.mT) / 2), vee(matmul3(rotation.mT, change)))
    sound = rotation.isfinite().all(-1, keepdim=True).all(-2, keepdim=True)
    return torch.where(sound, matmul3(rotation, hat(u)), 0)


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
    eye = torch.eye(3, dtype=cross.dtype, device=cross.device)
    size = cross.abs().amax((-1, -2), keepdim=True)
    sound = size.isfinite()
    H = torch.where(sound & (size > 0), cross / torch.where(size > 0, size, 1), eye)
    # Points on a line leave all turns about it equally good. A trace of the identity, larger than
    # the rounding in H and smaller than anyone's tolerance, decides for the least turn.
    eps = torch.finfo(H.dtype).eps
    minors = torch.linalg.cross(H, H.roll(1, -1), dim=-2).abs().amax((-1, -2), keepdim=True)
    H = H + torch.where(minors <= 4 * eps, 16 * eps, 0) * eye
    U, _, Vh = torch.linalg.svd(H)
    # A reflection is mended where it costs least: at the smallest singular value, the last.
    flip = torch.sign(_det(U) * _det(Vh))
    U = torch.cat([U[..., :2], U[..., 2:] * flip], dim=-1)
    return torch.where(sound, matmul3(U, Vh), torch.nan)


def _det(matrix: Tensor) -> Tensor:
    x, y, z = matrix.unbind(-1)
    return (torch.linalg.cross(x, y) * z).sum(-1)[..., None, None]
