"""Voxel averages: one point for each occupied cell of a grid."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.data.sampling.common import check_cloud, unit
from spoonful.data.sampling.subsets import random_points


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

    The grid starts at the least coordinates of the cloud, so that a cloud and its translated
    copy give the same result, and a cell as large as the cloud gives one point.

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
    cell, cells = _cells(points, size)
    count = torch.bincount(cell, minlength=cells).unsqueeze(-1)

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
        best = _cells(points, small)[1]
    chosen = small
    for _ in range(48):
        if best == count or small >= large * (1 - 1e-12):
            break
        middle = 0.5 * (small + large)
        cells = _cells(points, middle)[1]
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


def _cells(points: Tensor, size: float) -> tuple[Tensor, int]:
    """The number of each point's cell among the occupied ones, (N,), and how many there are."""
    cell = ((points.double() - points.amin(0).double()) / size).floor()
    # Cells in a row, numbered in one integer where they fit, which sorts ten times faster.
    sides = cell.amax(0) + 1
    if not float(sides.max()) < 2**62:
        raise ValueError(f"size must not be so much smaller than the cloud, got {size}")
    numbers = cell.long()
    if float(sides.prod()) < 2**62:
        side = sides.long()
        key = (numbers[:, 0] * side[1] + numbers[:, 1]) * side[2] + numbers[:, 2]
        occupied, inverse = torch.unique(key, return_inverse=True)
    else:
        occupied, inverse = torch.unique(numbers, dim=0, return_inverse=True)
    return inverse, len(occupied)
