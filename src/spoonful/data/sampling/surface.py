"""Points on the triangles of a mesh."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.data.sampling.common import check_cloud, unit


class SurfaceSample(NamedTuple):
    """Points on a mesh.

    Attributes:
        points: (count, 3).
        normals: (count, 3) unit normals of the triangles they lie on.
        face: (count,) which triangle that is.
    """

    points: Tensor
    normals: Tensor
    face: Tensor


def sample_surface(
    vertices: Tensor, faces: Tensor, count: int, generator: torch.Generator | None = None
) -> SurfaceSample:
    """Points spread uniformly by area over triangles.

    A triangle is chosen with probability proportional to its area, then a point in it as
    `a + sqrt(u) ((1 - v) (b - a) + v (c - a))` with u, v uniform. Triangles without area are
    never chosen.

    Args:
        vertices: (V, 3).
        faces: (F, 3) int64, counter-clockwise seen from the side the normals point to.
        count: how many points.
        generator: makes all choices.

    >>> vertices = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> sample = sample_surface(vertices, torch.tensor([[0, 1, 2]]), 5)
    >>> sample.normals[0]
    tensor([0., 0., 1.])
    """
    check_cloud(vertices, "vertices")
    if faces.ndim != 2 or faces.shape[1] != 3:
        raise ValueError(f"faces must have shape (F, 3), got {tuple(faces.shape)}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    corners = vertices[faces].double()
    a = corners[:, 0]
    ab, ac = corners[:, 1] - a, corners[:, 2] - a
    cross = torch.linalg.cross(ab, ac)
    cumulative = torch.linalg.vector_norm(cross, dim=-1).cumsum(0)
    total = cumulative[-1] if len(faces) else cumulative.new_zeros(())
    if not 0 < total < torch.inf:
        raise ValueError(
            f"faces must have a total area above 0, and finite; got {float(total) / 2}"
        )
    device = vertices.device
    where, u, v = torch.rand(
        3, count, generator=generator, dtype=torch.float64, device=device
    ).unbind()
    # `right`: the first triangle whose cumulative area exceeds the number, never an empty one.
    face = torch.searchsorted(cumulative, where * total, right=True).clamp_max(len(faces) - 1)
    root, v = u.sqrt().unsqueeze(-1), v.unsqueeze(-1)
    points = a[face] + root * ((1 - v) * ab[face] + v * ac[face])
    return SurfaceSample(points.to(vertices.dtype), unit(cross)[face].to(vertices.dtype), face)
