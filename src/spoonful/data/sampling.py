"""Fewer points, and points of triangles.

Every random choice takes a `torch.Generator`, on the device of the points; without one, torch's
own generator is used.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry.checks import check_float

__all__ = [
    "SurfaceSample",
    "VoxelAverage",
    "random_points",
    "sample_surface",
    "voxel_average",
    "voxel_average_to",
]


def random_points(points: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """A uniformly random subset of each cloud, without replacement, in random order.

    Args:
        points: (..., N, 3).
        count: how many, at most N.
        generator: makes the choice.

    Returns:
        (..., count) positions.

    >>> index = random_points(torch.rand(2, 10, 3), 4)
    >>> index.shape, len(set(index[0].tolist()))
    (torch.Size([2, 4]), 4)
    """
    if points.ndim < 2 or points.shape[-1] != 3:
        raise ValueError(f"points must have shape (..., N, 3), got {tuple(points.shape)}")
    there = points.shape[-2]
    if not 1 <= count <= there:
        raise ValueError(f"count must be between 1 and the number of points, {there}, got {count}")
    # float64: among millions of float32 numbers many are equal, and ties are not uniform.
    keys = torch.rand(
        points.shape[:-1], generator=generator, dtype=torch.float64, device=points.device
    )
    return keys.argsort(-1, descending=True)[..., :count]


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


class VoxelAverage(NamedTuple):
    """One point for each occupied cell of a grid.

    Attributes:
        points: (V, 3) the mean of the points in each cell, cells in lexicographic order.
        normals: (V, 3) the mean normals, made unit again (zero where they cancel), or None.
        size: the edge of a cell.
    """

    points: Tensor
    normals: Tensor | None
    size: float


def voxel_average(points: Tensor, size: float, normals: Tensor | None = None) -> VoxelAverage:
    """Replace the points in each cubic cell of edge `size` by their mean.

    The grid starts at the least coordinates of the cloud. So a cloud and its translated copy give
    the same result, and a cell as large as the cloud gives one point.

    Args:
        points: (N, 3).
        size: edge of a cell, in the units of the points.
        normals: (N, 3), averaged along.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [5, 0, 0]])
    >>> voxel_average(line, 2.0).points
    tensor([[0.5000, 0.0000, 0.0000],
            [5.0000, 0.0000, 0.0000]])
    """
    check_cloud(points, "points")
    if normals is not None and normals.shape != points.shape:
        raise ValueError(
            f"normals must have the shape of points, {tuple(points.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    if not 0 < size < torch.inf:
        raise ValueError(f"size must be positive and finite, got {size}")
    cell, cells = voxel_cells(points, size)
    # Not `bincount`, which waits for a GPU.
    count = cell.new_zeros(cells, 1).index_add_(0, cell, cell.new_ones(len(cell), 1))

    def mean(values: Tensor) -> Tensor:
        # Summed about one of the points: the mean of UTM coordinates keeps its last digits.
        first = values[0].double()
        total = first.new_zeros(cells, 3).index_add_(0, cell, values.double() - first)
        return total / count + first

    averaged = None if normals is None else unit(mean(normals)).to(normals.dtype)
    return VoxelAverage(mean(points).to(points.dtype), averaged, float(size))


def voxel_average_to(
    points: Tensor,
    count: int,
    normals: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> VoxelAverage:
    """Voxel average with the cell size, found by bisection, that leaves `count` points.

    The number of occupied cells falls as cells grow, but in jumps, and not quite monotonically:
    sometimes no size leaves exactly `count`. Then the size found that leaves the fewest cells
    not below `count` is used, and a random subset of that many is kept.

    Args:
        points: (N, 3), with at least `count` distinct points.
        count: how many to leave (the paper: 1024).
        normals: (N, 3), averaged along.
        generator: chooses the subset, in the rare case.

    >>> cloud = torch.rand(5000, 3, generator=torch.Generator().manual_seed(0))
    >>> voxel_average_to(cloud, 1024).points.shape
    torch.Size([1024, 3])
    """
    check_cloud(points, "points")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    extent = float((points.amax(0).double() - points.amin(0).double()).max()) or 1.0

    # `small` always leaves at least `count` cells, `large` fewer.
    large, small, best = 2.0 * extent, 2.0 * extent, 1
    while best < count:
        large, small = small, small / 2
        if small < 1e-9 * extent:
            distinct = len(torch.unique(points, dim=0))
            raise ValueError(f"points holds {distinct} distinct points, but count is {count}")
        best = voxel_cells(points, small)[1]
    chosen = small
    for _ in range(48):
        if best == count or small >= large * (1 - 1e-12):
            break
        middle = 0.5 * (small + large)
        cells = voxel_cells(points, middle)[1]
        if cells < count:
            large = middle
        else:
            small = middle
            if cells < best:
                chosen, best = middle, cells

    result = voxel_average(points, chosen, normals)
    if best > count:
        keep = random_points(result.points, count, generator).sort().values
        kept_normals = None if result.normals is None else result.normals[keep]
        result = VoxelAverage(result.points[keep], kept_normals, chosen)
    return result


def voxel_cells(points: Tensor, size: float) -> tuple[Tensor, int]:
    """The number of each point's cell among the occupied ones, (N,), and how many there are."""
    place = (points.double() - points.amin(0).double()) / size
    # Cells in a row, numbered in one integer where they fit, which sorts ten times faster.
    sides = [side + 1 for side in place.amax(0).tolist()]
    if not max(sides) < 2**62:
        raise ValueError(f"size must not be so much smaller than the cloud, got {size}")
    numbers = place.long()
    if math.prod(sides) < 2**62:
        x, y, z = numbers.unbind(1)
        key = z.add(y.add(x, alpha=int(sides[1])), alpha=int(sides[2]))
        occupied, inverse = torch.unique(key, return_inverse=True)
    else:
        occupied, inverse = torch.unique(numbers, dim=0, return_inverse=True)
    return inverse, len(occupied)


def check_cloud(points: Tensor, name: str, *, least: int = 1) -> None:
    """Refuse all but finite (N, 3) points, `least` or more; `name` is the argument's."""
    check_float(name, points)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < least:
        shape = tuple(points.shape)
        raise ValueError(f"{name} must have shape (N, 3) with N >= {least}, got {shape}")
    # The sum, which is faster, of finite points is finite, unless they are huge.
    finite = math.isfinite(float(points.sum()))
    if not finite and (bad := int((~points.isfinite().all(-1)).sum())):
        raise ValueError(f"{name} must be finite, but {bad} of {len(points)} points are not")


def unit(vectors: Tensor) -> Tensor:
    """Vectors (..., 3) of length one. Zero stays zero, and a vector with inf or NaN is NaN."""
    # Scaled by the largest component first, whose square neither overflows nor vanishes.
    largest = vectors.abs().amax(-1, keepdim=True)
    vectors = vectors / largest.where(largest > 0, 1.0)
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.where(length > 0, 1.0)
