"""Errors of poses: angles in degrees, translations in the clouds' unit.

All results are float64: the inputs' rounding errors are theirs, none are added.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from spoonful.geometry import vee
from spoonful.geometry.checks import check_choice, check_tensor
from spoonful.geometry.euler import euler_from_rotation
from spoonful.geometry.exact import matmul3
from spoonful.inputs import check_leading

Convention = Literal["dcp", "paper", "rpmnet"]
"""Whose anisotropic rotation error: see `anisotropic_error_degrees`."""


def rotation_error_degrees(rotation: Tensor, truth: Tensor) -> Tensor:
    """The angle of `R^T R_gt`, the isotropic rotation error (the paper's Eqs. 20 and 21).

    It is atan2(|v|, tr D - 1) with D = R^T R_gt and v = vee(D), that is atan2(2 sin, 2 cos).
    The usual arccos((tr D - 1) / 2) knows an angle near 0 or 180 degrees to the square root of
    the precision only: 0.02 degrees in float32.

    Args:
        rotation: (..., 3, 3) estimated rotations.
        truth: (..., 3, 3) true rotations.

    Returns:
        (...) angles in [0, 180].

    >>> from spoonful.geometry.euler import rotation_from_euler
    >>> tiny = rotation_from_euler(torch.tensor([1e-6, 0, 0]), "zyx", degrees=True)
    >>> f"{rotation_error_degrees(tiny, torch.eye(3)):.3g}"
    '1e-06'
    """
    _check("rotation", rotation, truth, 3, 3)
    D = matmul3(rotation.double().mT, truth.double())
    trace = D[..., 0, 0] + D[..., 1, 1] + D[..., 2, 2]
    return torch.rad2deg(torch.atan2(torch.linalg.vector_norm(vee(D), dim=-1), trace - 1))


def anisotropic_error_degrees(
    rotation: Tensor, truth: Tensor, convention: Convention = "dcp"
) -> Tensor:
    """The rotation error by axis, in the convention of one of three papers.

    - "dcp": difference of the extrinsic zyx Euler angles, as the code of Deep Closest Point
      reports it. All published DCP figures are of this kind.
    - "paper": intrinsic zyx Euler angles of the difference `R^T R_gt`, as the refinement paper
      defines it (Eq. 22).
    - "rpmnet": difference of the extrinsic xyz Euler angles, as RPM-Net's code reports it.

    A difference of angles is not a distance. It depends on the frame, grows near gimbal lock, and
    jumps by 360 degrees when an angle passes 180, as in the published code.
    `rotation_error_degrees` is the error to trust.

    Args:
        rotation: (..., 3, 3) estimated rotations.
        truth: (..., 3, 3) true rotations.
        convention: "dcp", "paper" or "rpmnet".

    Returns:
        (..., 3) signed angles, in the order of the letters: z, y, x, or x, y, z for "rpmnet".

    >>> from spoonful.geometry.euler import rotation_from_euler
    >>> truth = rotation_from_euler(torch.tensor([30.0, 20, 10]), "zyx", degrees=True)
    >>> guess = rotation_from_euler(torch.tensor([31.0, 18, 10]), "zyx", degrees=True)
    >>> anisotropic_error_degrees(guess, truth, "dcp").round(decimals=4)
    tensor([ 1., -2., -0.], dtype=torch.float64)
    """
    check_choice("convention", convention, get_args(Convention))
    _check("rotation", rotation, truth, 3, 3)
    rotation, truth = rotation.double(), truth.double()
    if convention == "paper":
        return _euler(matmul3(rotation.mT, truth), "ZYX")
    order = "zyx" if convention == "dcp" else "xyz"
    return _euler(rotation, order) - _euler(truth, order)


def translation_error(translation: Tensor, truth: Tensor, p: Literal[1, 2] = 2) -> Tensor:
    """`|t - t_gt|_p`, the translation error (the paper's Eq. 23).

    Args:
        translation: (..., 3) estimated translations.
        truth: (..., 3) true translations.
        p: 2 for the length of the difference; 1 for the sum of its absolute components, which is
            three times what DCP and RPM-Net call MAE(t).

    Returns:
        (...) errors.

    >>> translation_error(torch.tensor([3.0, 4, 0]), torch.zeros(3))
    tensor(5., dtype=torch.float64)
    >>> translation_error(torch.tensor([3.0, 4, 0]), torch.zeros(3), p=1)
    tensor(7., dtype=torch.float64)
    """
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, got {p!r}")
    _check("translation", translation, truth, 3)
    difference = translation.double() - truth.double()
    error: Tensor = torch.linalg.vector_norm(difference, ord=p, dim=-1)
    return error


def relative_rotation_error(rotation: Tensor, truth: Tensor) -> Tensor:
    """The isotropic error as a fraction of the true rotation's angle; no motion has 1.

    Args:
        rotation: (..., 3, 3) estimated rotations.
        truth: (..., 3, 3) true rotations.

    Returns:
        (...) fractions (the paper prints percent). With a true angle of zero, inf, or NaN where
        the error is zero too.

    >>> from spoonful.geometry.euler import rotation_from_euler
    >>> truth = rotation_from_euler(torch.tensor([40.0, 0, 0]), "zyx", degrees=True)
    >>> guess = rotation_from_euler(torch.tensor([30.0, 0, 0]), "zyx", degrees=True)
    >>> f"{relative_rotation_error(guess, truth):.4f}"
    '0.2500'
    """
    nothing = torch.eye(3, dtype=truth.dtype, device=truth.device).expand(truth.shape)
    return rotation_error_degrees(rotation, truth) / rotation_error_degrees(nothing, truth)


def relative_translation_error(translation: Tensor, truth: Tensor) -> Tensor:
    """The L2 error as a fraction of the true translation's length; no motion has 1.

    Args:
        translation: (..., 3) estimated translations.
        truth: (..., 3) true translations.

    Returns:
        (...) fractions (the paper prints percent). With a true translation of zero, inf, or NaN
        where the error is zero too.

    >>> relative_translation_error(torch.tensor([0.0, 0, 3]), torch.tensor([0.0, 0, 4]))
    tensor(0.2500, dtype=torch.float64)
    """
    nothing = torch.zeros_like(truth)
    return translation_error(translation, truth) / translation_error(nothing, truth)


def _euler(rotation: Tensor, order: str) -> Tensor:
    return euler_from_rotation(rotation, order, degrees=True)


def _check(name: str, estimate: Tensor, truth: Tensor, *tail: int) -> None:
    check_tensor(name, estimate, *tail)
    check_tensor("truth", truth, *tail)
    check_leading(name, estimate, len(tail), "truth", truth, len(tail))
