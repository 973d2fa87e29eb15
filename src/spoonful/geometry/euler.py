"""Euler angles, with SciPy's meaning: lower case turns about fixed axes, upper case about moving.

An intrinsic (upper-case) order such as "ZYX" with angles (a, b, c) is the product
`R_z(a) R_y(b) R_x(c)`; the extrinsic (lower-case) order "zyx" is the same turns about the axes of
the fixed frame, `R_x(c) R_y(b) R_z(a)`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry.checks import check_tensor
from spoonful.geometry.exact import matmul3


def rotation_from_euler(angles: Tensor, order: str, degrees: bool = False) -> Tensor:
    """The rotations with Euler angles `angles`.

    Args:
        angles: (..., 3), in the order of the letters of `order`.
        order: three different axes: "zyx" or the like (extrinsic), "ZYX" (intrinsic).
        degrees: whether `angles` are in degrees rather than radians.

    Returns:
        (..., 3, 3) rotation matrices.

    >>> rotation_from_euler(torch.tensor([90.0, 0, 0]), "zyx", degrees=True).round(decimals=4)
    tensor([[ 0., -1.,  0.],
            [ 1.,  0.,  0.],
            [ 0.,  0.,  1.]])
    """
    axes, extrinsic = _parse(order)
    check_tensor("angles", angles, 3)
    exact = angles.double()
    if degrees:
        exact = torch.deg2rad(exact)
    first, second, third = (_turn(axis, exact[..., k]) for k, axis in enumerate(axes))
    if extrinsic:
        first, third = third, first
    return matmul3(matmul3(first, second), third).to(angles.dtype)


def euler_from_rotation(rotation: Tensor, order: str, degrees: bool = False) -> Tensor:
    """The Euler angles of `rotation`, the inverse of `rotation_from_euler`.

    The first and third angle lie in [-180, 180] degrees, the second in [-90, 90]. With the second
    at +-90 degrees (gimbal lock) the first and third turn about the same axis: as in SciPy the
    third is then zero and the first makes up the rotation.

    Args:
        rotation: (..., 3, 3) rotation matrices.
        order: three different axes: "zyx" or the like (extrinsic), "ZYX" (intrinsic).
        degrees: whether to return degrees rather than radians.

    Returns:
        (..., 3) angles, in the order of the letters of `order`.

    >>> quarter_turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> euler_from_rotation(quarter_turn, "zyx", degrees=True)
    tensor([90.,  0.,  0.])
    """
    axes, extrinsic = _parse(order)
    check_tensor("rotation", rotation, 3, 3)
    # Inverting extrinsic turns gives the intrinsic ones of the same order, with angles negated.
    R = (rotation.mT if extrinsic else rotation).double()
    i, j, k = axes
    sign = 1.0 if (j - i) % 3 == 1 else -1.0  # whether i, j, k is a cyclic order
    # R = R_i(first) R_j(second) R_k(third)
    cosine = torch.hypot(R[..., i, i], R[..., i, j])
    second = torch.atan2(sign * R[..., i, k], cosine)
    third = torch.atan2(-sign * R[..., i, j], R[..., i, i])
    locked = cosine < max(1e-7, 8 * torch.finfo(rotation.dtype).eps)
    third = third.masked_fill(locked, 0.0)
    # Near the lock the third angle is read from rounding errors. The first is therefore read from
    # what the third leaves, column j of R R_k(third)^T, so that together they are always right.
    left = torch.cos(third).unsqueeze(-1) * R[..., :, j]
    left = left + sign * torch.sin(third).unsqueeze(-1) * R[..., :, i]
    first = torch.atan2(sign * left[..., k], left[..., j])

    angles = torch.stack([first, second, third], dim=-1)
    if extrinsic:
        angles = 0.0 - angles  # never -0.0 for 0.0
    if degrees:
        angles = torch.rad2deg(angles)
    return angles.to(rotation.dtype)


def _turn(axis: int, angle: Tensor) -> Tensor:
    """Rotations (..., 3, 3) about a coordinate axis."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    cos, sin = torch.cos(angle), torch.sin(angle)
    one, zero = torch.ones_like(angle), torch.zeros_like(angle)
    entry = {(u, u): cos, (u, v): -sin, (v, u): sin, (v, v): cos, (axis, axis): one}
    rows = [torch.stack([entry.get((r, c), zero) for c in range(3)], dim=-1) for r in range(3)]
    return torch.stack(rows, dim=-2)


def _parse(order: str) -> tuple[tuple[int, int, int], bool]:
    """The axes' numbers, and whether the order is extrinsic."""
    if sorted(order.lower()) != ["x", "y", "z"] or not (order.islower() or order.isupper()):
        raise ValueError(
            "order must name x, y and z once each, all lower case (extrinsic, 'zyx') "
            f"or all upper case (intrinsic, 'ZYX'), got {order!r}"
        )
    first, second, third = ("xyz".index(letter) for letter in order.lower())
    return (first, second, third), order.islower()
