"""A cloud or a mesh, scaled or moved with its normals."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate


def scaled(shape: Cloud | Mesh, factor: float) -> Cloud | Mesh:
    """Multiply all coordinates; a factor of 0.001 turns millimetres into metres.

    >>> scaled(Cloud(torch.tensor([[1000.0, 0, 500]])), 0.001).points
    tensor([[1.0000, 0.0000, 0.5000]])
    """
    if isinstance(shape, Mesh):
        return replace(shape, vertices=shape.vertices * factor)
    return replace(shape, points=shape.points * factor)


def moved(shape: Cloud | Mesh, pose: Pose) -> Cloud | Mesh:
    """The shape at `pose`, its normals turned with it, computed in float64."""
    if isinstance(shape, Mesh):
        return replace(shape, vertices=_moved(shape.vertices, pose))
    points = _moved(shape.points, pose)
    normals = shape.normals
    if normals is not None:
        normals = rotate(pose.rotation, normals.to(torch.float64)).to(points.dtype)
    return replace(shape, points=points, normals=normals)


def _moved(points: Tensor, pose: Pose) -> Tensor:
    """The moved points; in float32 if they were float32 and rounding loses nothing."""
    result = pose.apply(points.to(torch.float64))
    extent = float((result.amax(0) - result.amin(0)).max())
    rounding = float(result.abs().max()) * 2**-24
    return result if rounding > 1e-5 * extent else result.to(points.dtype)
