"""Checks of poses, clouds and devices that users give, and the treatment of padding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spoonful.geometry import Pose, Similarity, nearest_rotation
from spoonful.geometry.checks import check_is_tensor, check_tensor

# A rotation may be off by this much: it may have been rounded for a text file.
_OFF = 1e-3


def rigid_pose(matrix: Any, name: str = "pose") -> Pose:
    """Check a 4x4 or 3x4 matrix and make its 3x3 part a rotation to the last digit, float64.

    >>> rigid_pose([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]]).translation
    tensor([5., 0., 0.], dtype=torch.float64)
    >>> rigid_pose([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
    Traceback (most recent call last):
    ValueError: pose must be a rigid motion: its 3x3 part is a reflection (determinant -1)
    """
    checked = rigid_matrix(matrix, name)
    return Pose(nearest_rotation(checked[:3, :3]), checked[:3, 3].clone())


def scaled_pose(matrix: Any, name: str = "pose") -> Similarity:
    """Check a 4x4 or 3x4 matrix and take it apart into rotation, translation and scale, float64.

    >>> scaled_pose([[2, 0, 0, 5], [0, 2, 0, 0], [0, 0, 2, 0]]).scale
    tensor(2., dtype=torch.float64)
    """
    value = _homogeneous(matrix, name).clone()
    determinant = torch.linalg.det(value[:3, :3])
    # A reflection has no scale: the check of the pose names it.
    scale = determinant.where(determinant > 0, 1.0).pow(1 / 3)
    value[:3, :3] /= scale
    return Similarity(*rigid_pose(value, name), scale)


def rigid_matrix(matrix: Any, name: str = "pose") -> Tensor:
    """The matrix as (4, 4) float64 on the CPU; raises unless it is a rigid motion."""
    value = _homogeneous(matrix, name)
    rotation = value[:3, :3]
    determinant = float(torch.linalg.det(rotation))
    off = float((rotation @ rotation.T - torch.eye(3, dtype=torch.float64)).abs().max())
    if off > _OFF or determinant < 0:
        scale = abs(determinant) ** (1 / 3)
        gram = rotation @ rotation.T / max(scale, 1e-300) ** 2
        if float((gram - torch.eye(3, dtype=torch.float64)).abs().max()) > _OFF or scale < 1e-12:
            what = f"is not a rotation (R R^T differs from the identity by {off:.2g})"
        elif abs(scale - 1) > _OFF:
            what = f"scales by {scale:.4g}: use --scale auto, or bring the clouds to one unit first"
        else:
            what = f"is a reflection (determinant {determinant:.3g})"
        raise ValueError(f"{name} must be a rigid motion: its 3x3 part {what}")
    return value


def _homogeneous(matrix: Any, name: str) -> Tensor:
    """The matrix as (4, 4) float64; raises unless it has the shape and last row of a pose."""
    try:
        # At once in float64: a list of floats would be made float32.
        value = torch.as_tensor(matrix, dtype=torch.float64, device="cpu").detach()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} must be a matrix of numbers, 4 rows of 4") from None
    if value.shape not in ((4, 4), (3, 4)):
        raise ValueError(f"{name} must be a 4x4 matrix, got shape {tuple(value.shape)}")
    if not bool(value.isfinite().all()):
        raise ValueError(f"{name} has entries that are NaN or infinite")
    last = torch.tensor([0.0, 0, 0, 1], dtype=torch.float64)
    if len(value) == 3:
        value = torch.cat([value, last[None]])
    elif float((value[3] - last).abs().max()) > 1e-6:
        turned = float((value[:, 3] - last).abs().max()) <= 1e-6
        numbers = " ".join(f"{number:.4g}" for number in value[3].tolist())
        why = "; it looks column-major: transpose it" if turned else ""
        raise ValueError(f"{name} must have 0 0 0 1 as its last row, got {numbers}{why}")
    return value


def check_pose(name: str, pose: Pose) -> None:
    """Raise unless `pose` holds rotations (..., 3, 3) and as many translations (..., 3)."""
    if not isinstance(pose, Pose):
        raise TypeError(f"{name} must be a Pose(rotation, translation), got {type(pose).__name__}")
    check_tensor(f"{name}.rotation", pose.rotation, 3, 3)
    check_tensor(f"{name}.translation", pose.translation, 3)
    if pose.rotation.shape[:-1] != pose.translation.shape:
        raise ValueError(
            f"{name} must hold as many rotations as translations, "
            f"got {tuple(pose.rotation.shape)} and {tuple(pose.translation.shape)}"
        )


def check_leading(
    name: str, tensor: Tensor, own: int, name2: str, tensor2: Tensor, own2: int
) -> None:
    """Raise unless the tensors live together and their leading dimensions agree.

    `own` is the number of trailing dimensions that are not leading ones. Sizes may broadcast, but
    the *number* of leading dimensions must be the same. Otherwise (4, 3, 3) and (4, 4, 3, 3) would
    broadcast along the wrong dimension.
    """
    if tensor.device != tensor2.device:
        raise ValueError(
            f"{name} and {name2} must be on one device, got {tensor.device} and {tensor2.device}"
        )
    lead, lead2 = tensor.shape[: tensor.ndim - own], tensor2.shape[: tensor2.ndim - own2]
    if len(lead) != len(lead2) or any(
        a != b and a != 1 and b != 1 for a, b in zip(lead, lead2, strict=True)
    ):
        raise ValueError(
            f"{name} and {name2} must have the same leading dimensions, "
            f"got {tuple(tensor.shape)} and {tuple(tensor2.shape)}"
        )


def check_poses(pose: Pose, truth: Pose) -> None:
    """Raise unless `pose` and `truth` can be compared."""
    check_pose("pose", pose)
    check_pose("truth", truth)
    check_leading("pose.rotation", pose.rotation, 2, "truth.rotation", truth.rotation, 2)


def blank(name: str, cloud: Tensor, mask: Tensor | None) -> Tensor:
    """`cloud` (..., N, 3) with padding set to zero, so that it cannot reach a result."""
    if mask is None:
        return cloud
    check_is_tensor(f"the mask of {name}", mask)
    if mask.dtype != torch.bool or mask.shape != cloud.shape[:-1]:
        raise ValueError(
            f"the mask of {name} must be bool with shape {tuple(cloud.shape[:-1])}, "
            f"got {mask.dtype} {tuple(mask.shape)}"
        )
    return cloud.masked_fill(~mask.unsqueeze(-1), 0.0)


def masked_mean(values: Tensor, mask: Tensor | None, *, at_least: int = 0) -> Tensor:
    """Means over the last dimension, without padding.

    The mean of padding alone is NaN, as a metric needs it. With `at_least=1`, the least number to
    divide by, it is 0, as a loss needs it.

    >>> values, mask = torch.tensor([1.0, 3, 8]), torch.tensor([True, True, False])
    >>> masked_mean(values, mask), masked_mean(values, mask & False, at_least=1)
    (tensor(2.), tensor(0.))
    """
    if mask is None:
        return values.mean(-1)
    mask = mask.expand(values.shape)
    return values.masked_fill(~mask, 0.0).sum(-1) / mask.sum(-1).clamp(min=at_least)


def known_device(text: str, name: str) -> torch.device:
    """The device that a user named, or a `ValueError` if this machine has none.

    "auto" is CUDA if torch finds it, and the CPU otherwise.

    >>> known_device("gpu", "runtime.device")
    Traceback (most recent call last):
    ValueError: runtime.device must be cpu, cuda or auto, got 'gpu'
    """
    if text == "auto":
        text = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(text)
    except RuntimeError:
        raise ValueError(f"{name} must be cpu, cuda or auto, got {text!r}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"{name} {text}: torch finds no CUDA device here")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"{name} {text}: torch finds {torch.cuda.device_count()} CUDA devices")
    return device
