"""Scale or move a cloud or a mesh, with its normals."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh
from spoonful.data.clouds.splats import grown, is_splats, turned
from spoonful.data.clouds.types import needs_float64
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate
from spoonful.pipeline.posetext import quaternion

_PORTION = 1 << 20  # points that are moved at a time, to use little memory


def scaled(shape: Cloud | Mesh, factor: float) -> Cloud | Mesh:
    """Multiply all coordinates; a factor of 0.001 turns millimetres into metres.

    >>> scaled(Cloud(torch.tensor([[1000.0, 0, 500]])), 0.001).points
    tensor([[1.0000, 0.0000, 0.5000]])
    """
    header = shape.header
    if hasattr(header, "scales"):  # LAS: the steps of its coordinates
        header = copy.deepcopy(header)
        header.scales, header.offsets = header.scales * factor, header.offsets * factor
    header = _with_sensor(header, Pose.identity(dtype=torch.float64), factor)
    if isinstance(shape, Mesh):
        return replace(shape, vertices=shape.vertices * factor, header=header)
    fields = grown(shape.fields, factor) if is_splats(shape.fields) else shape.fields
    sensor = None if shape.sensor is None else shape.sensor * factor
    return replace(shape, points=shape.points * factor, header=header, fields=fields, sensor=sensor)


def moved(shape: Cloud | Mesh, pose: Pose) -> Cloud | Mesh:
    """The shape at `pose`, its normals and splats turned with it, computed in float64."""
    if isinstance(shape, Mesh):
        return replace(shape, vertices=_moved(shape.vertices, pose), fields=_turned(shape, pose))
    points, normals, sensor = _moved(shape.points, pose), shape.normals, shape.sensor
    if sensor is not None:
        sensor = pose.to(torch.float64).apply(sensor.unsqueeze(0))[0]
    shape = replace(shape, points=points, sensor=sensor)
    if normals is not None:
        normals = rotate(pose.rotation, normals.to(torch.float64)).to(points.dtype)
    if is_splats(shape.fields):
        # Their colours are columns already.
        columns = turned(shape.fields, _real_first(pose))
        return replace(shape, normals=None, colors=None, fields=columns)
    return replace(shape, normals=normals, header=_with_sensor(shape.header, pose))


def _with_sensor(header: Any, pose: Pose, factor: float = 1.0) -> Any:
    """The header of a PCD file with its viewpoint scaled and moved; any other as it is."""
    if not hasattr(header, "viewpoint"):
        return header
    return header.moved(pose.to(torch.float64), _real_first(pose), factor)


def _real_first(pose: Pose) -> tuple[float, float, float, float]:
    """The quaternion of a pose's rotation, its real part first."""
    x, y, z, w = quaternion(pose.rotation).tolist()
    return w, x, y, z


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
    result = torch.empty_like(points, dtype=torch.float64)
    for part, given in zip(result.split(_PORTION), points.split(_PORTION), strict=True):
        part.copy_(pose.apply(given.to(torch.float64)))
    return result if needs_float64(result) else result.to(points.dtype)
