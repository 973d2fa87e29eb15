"""Move points, clouds and meshes of supported libraries by a pose; the type stays the same."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh
from spoonful.extras import require
from spoonful.geometry import Pose
from spoonful.pipeline.shapes import moved, scaled


def apply_pose(pose: Pose, value: Any, *, scale: float = 1.0) -> Any:
    """A scaled and moved copy of `value`, of its own type.

    Accepted are (..., 3) tensors and arrays, `Cloud` and `Mesh` of this package, and objects of
    Open3D, trimesh and PyVista, whose normals turn with them. Tensors and arrays keep their dtype;
    whole numbers become float64. The sum is done in float64.

    Args:
        pose: rotation (3, 3) and translation (3,).
        value: what to move; it is not changed.
        scale: what to multiply coordinates by before they are moved.

    Raises:
        ValueError: an array is not (..., 3).
        TypeError: an object that cannot be moved.

    >>> shift = Pose(torch.eye(3), torch.tensor([0.0, 0, 5]))
    >>> apply_pose(shift, Cloud(torch.eye(3))).points[0]
    tensor([1., 0., 5.])
    """
    pose = Pose(*(part.detach().to("cpu", torch.float64) for part in pose))
    if isinstance(value, Cloud | Mesh):
        return moved(value if scale == 1 else scaled(value, scale), pose)
    if isinstance(value, Tensor):
        points = value.detach().to("cpu", torch.float64)
        dtype = value.dtype if value.is_floating_point() else torch.float64
        return pose.apply(scale * _checked(points)).to(value.device, dtype)
    library, matrix = type(value).__module__.split(".")[0], pose.matrix().numpy()
    if library == "open3d":
        result = value.clone() if hasattr(value, "clone") else copy.deepcopy(value)
        return result.scale(scale, matrix[:3, 3] * 0).transform(matrix)
    matrix[:3, :3] *= scale
    if library == "trimesh":
        return value.copy().apply_transform(matrix)
    if library == "pyvista":
        return value.transform(matrix, inplace=False)
    np = require("numpy", extra="data", why="Moving arrays")
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"cannot move a {type(value).__name__}: give (N, 3) points or a cloud")
    points = _checked(torch.from_numpy(array.astype(np.float64)))
    placed = pose.apply(scale * points).numpy()
    return placed.astype(array.dtype) if array.dtype.kind == "f" else placed


def _checked(points: Tensor) -> Tensor:
    if points.ndim == 0 or points.shape[-1] != 3:
        raise ValueError(f"points must be (..., 3), got {tuple(points.shape)}")
    return points
