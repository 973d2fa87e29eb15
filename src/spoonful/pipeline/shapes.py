"""A cloud or a mesh, scaled or moved with its normals."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh
from spoonful.data.clouds.splats import grown, is_splats, turned
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate
from spoonful.pipeline.posetext import quaternion


def scaled(shape: Cloud | Mesh, factor: float) -> Cloud | Mesh:
    """Multiply all coordinates; a factor of 0.001 turns millimetres into metres.

    >>> scaled(Cloud(torch.tensor([[1000.0, 0, 500]])), 0.001).points
    tensor([[1.0000, 0.0000, 0.5000]])
    """
    header = shape.header
    if hasattr(header, "scales"):  # LAS: the steps of its coordinates
        header = copy.deepcopy(header)
        header.scales, header.offsets = header.scales * factor, header.offsets * factor
    if isinstance(shape, Mesh):
        return replace(shape, vertices=shape.vertices * factor, header=header)
    fields = grown(shape.fields, factor) if is_splats(shape.fields) else shape.fields
    return replace(shape, points=shape.points * factor, header=header, fields=fields)


def moved(shape: Cloud | Mesh, pose: Pose) -> Cloud | Mesh:
    """The shape at `pose`, its normals and splats turned with it, computed in float64."""
    if isinstance(shape, Mesh):
        return replace(shape, vertices=_moved(shape.vertices, pose), fields=_turned(shape, pose))
    points = _moved(shape.points, pose)
    normals = shape.normals
    if normals is not None:
        normals = rotate(pose.rotation, normals.to(torch.float64)).to(points.dtype)
    if is_splats(shape.fields):
        x, y, z, w = quaternion(pose.rotation).tolist()
        columns = turned(shape.fields, (w, x, y, z))
        # Their colours are columns already.
        return replace(shape, points=points, normals=None, colors=None, fields=columns)
    return replace(shape, points=points, normals=normals)


def _turned(mesh: Mesh, pose: Pose) -> Mapping[str, Any]:
    """The columns of a mesh's vertices, their normals turned."""
    names = ("nx", "ny", "nz")
    if any(name not in mesh.fields for name in names):
        return mesh.fields
    given = torch.stack([torch.from_numpy(mesh.fields[name]).double() for name in names], -1)
    turned = rotate(pose.rotation, given).unbind(-1)
    return {**mesh.fields} | {
        name: column.numpy().astype(mesh.fields[name].dtype)
        for name, column in zip(names, turned, strict=True)
    }


def _moved(points: Tensor, pose: Pose) -> Tensor:
    """The moved points; in float32 if they were float32 and rounding loses nothing."""
    result = pose.apply(points.to(torch.float64))
    extent = float((result.amax(0) - result.amin(0)).max())
    rounding = float(result.abs().max()) * 2**-24
    return result if rounding > 1e-5 * extent else result.to(points.dtype)
