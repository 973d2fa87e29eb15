"""Look up the nearest point of a scan in a voxel grid, and test poses against free space.

The search needs millions of nearest-neighbour queries to the same scan. A grid that stores the
nearest point of each cell answers them by indexing, for hundreds of poses at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose, kernels
from spoonful.geometry.exact import dot3
from spoonful.icp import FEWEST, Matches, plane_step, tukey
from spoonful.neighbors import Index

# What the points do not determine stays as it is, see `plane_step`.
DAMPING = 1e-4
# How parallel normals of matches are in `settle`, as the cosine of the angle between them.
_PARALLEL = 0.5
# How far beyond its points a field reaches, in cells.
_MARGIN = 3
# Points this near the other scan's points, in voxels, are where that scan knows the surface;
_AROUND = 5.0
# those this far from its tangent plane are not on the surface.
_APART = 2.0
# Cells that a field looks at in each direction: two points in cells that are farther apart are
# farther apart than `_AROUND`.
_FAR = 7
# Rows of a sensor's view; it has twice as many columns.
_ROWS = 128
# A point in free space is solid if `_TOGETHER` of its `_BESIDE` nearest points within `_REACH`
# voxels are there, too,
_TOGETHER, _BESIDE, _REACH = 4, 6, 3.0
# and if the cosine of the angle between its normal and its ray is larger than this.
_FACING = 0.2
# Cells of a field at most; larger scans get larger cells.
_MOST_CELLS = 2_000_000


class Field:
    """A grid around points that stores the nearest point of each cell.

    Args:
        points: (N, 3) float32, about one per cell.
        normals: (N, 3).
    """

    def __init__(self, points: Tensor, normals: Tensor) -> None:
        self.points, self.normals = points, normals
        extent = (points.amax(0) - points.amin(0)).double() + 2 * _MARGIN + 1
        self.cell = max(1.0, float(extent.prod() / _MOST_CELLS) ** (1 / 3))
        self.low = points.amin(0) - _MARGIN * self.cell
        index = ((points - self.low) / self.cell).long()
        self.last = index.amax(0) + _MARGIN
        self.first = torch.zeros_like(self.last)
        width, height, depth = (self.last + 1).tolist()
        self.row, self.layer = width, width * height
        owner = self.last.new_full((width * height * depth,), -1)
        # The last of several points in a cell, on any device.
        each = torch.arange(len(points), device=points.device)
        owner.scatter_reduce_(0, self._number(index), each, "amax")
        # A cell without points in reach gets an arbitrary point, which is too far away to count.
        self.nearest = owner[_nearest_cell(owner.view(depth, height, width) >= 0)].clamp_min_(0)

    def look(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Indices of the approximate nearest points of places (..., 3), and if each is known."""
        cell = ((places - self.low) / self.cell).floor().long()
        known = cell.clamp(self.first, self.last)
        return self.nearest.take(self._number(known)), (known == cell).all(-1)

    def _number(self, cell: Tensor) -> Tensor:
        """The number of each cell (..., 3)."""
        x, y, z = cell.unbind(-1)
        return x.add(y, alpha=self.row).add_(z, alpha=self.layer)


def _nearest_cell(taken: Tensor) -> Tensor:
    """The nearest occupied cell of each cell, flattened, up to `_FAR` cells along each axis.

    If several are equally near, the first is returned. A cell without any in reach gets an empty
    cell.
    """
    bits = taken.numel().bit_length()
    # One number with the squared distance in its high bits and the cell in its low bits.
    kind = torch.int32 if bits <= 22 else torch.int64
    key = torch.arange(taken.numel(), dtype=kind, device=taken.device).view_as(taken)
    key = key.masked_fill_(~taken, 1 << (bits + 8))
    for axis in range(3):
        key = _along(key, axis, bits)
    return (key & ((1 << bits) - 1)).flatten().long()


def _along(key: Tensor, axis: int, bits: int) -> Tensor:
    """The least keys along an axis, with squared distances added; it may overwrite `key`."""
    if key.is_cuda and kernels.usable(key, key, None, None):
        from spoonful.pipeline import field_triton

        return field_triton.along(key, axis, _FAR, bits)
    sides = [0] * (2 * (2 - axis)) + [_FAR, _FAR]
    padded = torch.nn.functional.pad(key, sides, value=1 << (bits + 8))
    for step in range(1, _FAR + 1):
        before, after = (padded.narrow(axis, _FAR + x, key.shape[axis]) for x in (-step, step))
        beside = torch.minimum(before, after).add_(step * step << bits)
        torch.minimum(key, beside, out=key)
    return key


class View:
    """A spherical depth map of a scan, and its points that may be solid.

    Args:
        grid: (N, 3) points of the scan.
        normals: (N, 3) of either sign.
        fine: (F, 3) more points of it, for the depth map.
        eye: (3,) the position of the sensor.
    """

    def __init__(self, grid: Index, normals: Tensor, fine: Tensor, eye: Tensor) -> None:
        self.points, self.eye = grid.points, eye
        cell, away = self._cells(fine)
        nearest = fine.new_full((_ROWS * 2 * _ROWS,), torch.inf)
        nearest.scatter_reduce_(0, cell, away, "amin")
        self.known = nearest.isfinite()
        # The nearest of a cell and those around it, so that no edge of a surface is seen through.
        image = -nearest.view(1, 1, _ROWS, 2 * _ROWS)
        image = torch.cat([image[..., -1:], image, image[..., :1]], -1)
        around = torch.nn.functional.max_pool2d(image, 3, stride=1, padding=(1, 0))
        self.nearest = -around.flatten()
        # At an edge a sensor measures points between the near and the far surface, along its rays.
        ray = torch.nn.functional.normalize(self.points - eye, dim=-1)
        self.facing = (ray * normals).sum(-1).abs() > _FACING
        beside = grid.k_nearest(self.points, min(_BESIDE + 1, len(self.points)), reach=_REACH)
        self.beside = beside.index[:, 1:]
        self.near = beside.squared_distance[:, 1:].isfinite()

    def _cells(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """The cell of the image that each place (..., 3) is in, and its distance from the eye."""
        x, y, z = (places - self.eye).unbind(-1)
        flat = torch.hypot(x, y)
        row = (torch.atan2(z, flat) / math.pi + 0.5) * _ROWS
        column = (torch.atan2(y, x) / math.pi + 1) * _ROWS
        cell = row.long().clamp(0, _ROWS - 1) * 2 * _ROWS + column.long().clamp(0, 2 * _ROWS - 1)
        return cell, torch.hypot(flat, z)

    def through(self, other: View, pose: Pose) -> Tensor:
        """(H,) the share of another scan that is solid in this sensor's free space, per pose.

        A point is in free space if it is nearer than everything that the sensor saw in that
        direction, by two voxels and a twentieth of the distance. It is solid if its neighbours are
        in free space too and its surface is not parallel to the rays of its own sensor.
        """
        moved = other.points @ pose.rotation.mT + pose.translation.unsqueeze(-2)
        cell, away = self._cells(moved)
        before = self.known.take(cell) & (away < 0.95 * self.nearest.take(cell) - 2)
        # One row for each point: rows are copied as a whole.
        before = before.mT.contiguous()
        beside = before.index_select(0, other.beside.flatten()).unflatten(0, other.beside.shape)
        together = (beside & other.near.unsqueeze(-1)).sum(1) >= _TOGETHER
        return (before & together & other.facing.unsqueeze(-1)).float().mean(0)


class Fit(NamedTuple):
    """The fit of one scan's points to another scan, for H poses.

    Attributes:
        near: (H, N) bool, which points have a partner: nearby, and with a parallel normal.
        square: (H, N) squared distance to the partner, inf outside the field.
        alike: (H, N) cosine of the angle between the normals, positive unless signs count.
        gap: (H, N) distance to the partner's tangent plane, signed, in voxels.
        partner: (H, N) position of the partner.
        moved: (H, N, 3) the points, moved.
        onto: (H, N, 3) the partners.
        facing: (H, N, 3) the partners' normals.
    """

    near: Tensor
    square: Tensor
    alike: Tensor
    gap: Tensor
    partner: Tensor
    moved: Tensor
    onto: Tensor
    facing: Tensor

    @property
    def off(self) -> Tensor:
        """(H, N) bool, the points that contradict the pose.

        They are within a few voxels of the other scan, but not on its surface, or they cross it.
        Points that continue a surface beyond its edge do not count: the other scan may end there.
        """
        on = (self.gap.abs() < _APART) & (self.alike > 0.5)
        return (self.square < _AROUND**2) & ~on


def meet(
    field: Field,
    points: Tensor,
    normals: Tensor,
    pose: Pose,
    *,
    reach: float = 1.5,
    cosine: float = 0.7,
    signed: bool = False,
) -> Fit:
    """Find the points that lie on the surface of the field's scan, for each pose.

    Args:
        field: of the other scan.
        points: (N, 3).
        normals: (N, 3).
        pose: rotation (H, 3, 3), translation (H, 3).
        reach: how near, in voxels.
        cosine: how parallel the normals, as the cosine of the angle between them.
        signed: whether normals must point to the same side, too.
    """
    moved = points @ pose.rotation.mT + pose.translation.unsqueeze(-2)
    turned = normals @ pose.rotation.mT
    partner, inside = field.look(moved)
    # Four times faster than an index for each point in brackets.
    some = partner.flatten()
    onto = field.points.index_select(0, some).view_as(moved)
    facing = field.normals.index_select(0, some).view_as(moved)
    offset = moved - onto
    alike = dot3(turned, facing)
    alike = alike if signed else alike.abs()
    square = dot3(offset, offset).where(inside, torch.inf)
    gap = dot3(offset, facing)
    near = (square < reach**2) & (alike > cosine)
    return Fit(near, square, alike, gap, partner, moved, onto, facing)


def settle(
    field: Field,
    points: Tensor,
    normals: Tensor,
    pose: Pose,
    *,
    rounds: int = 8,
    reach: float = 2.5,
    signed: bool = False,
) -> Pose:
    """Run a few point-to-plane ICP steps for many poses, with nearest points from the field.

    Each round minimises, over small turns w and shifts v, the weighted sum of squares of

        gap_i + n_i . (w x p_i + v),

    with weights that fall from one to zero at `reach`.

    Returns:
        Poses (H, ...) that have come to rest, or nearly so.
    """
    if points.is_cuda and kernels.usable(points, normals, field.points, pose.rotation):
        from spoonful.pipeline import field_triton

        return field_triton.settle(
            field,
            points,
            normals,
            pose,
            rounds=rounds,
            reach=reach,
            cosine=_PARALLEL,
            signed=signed,
            damping=DAMPING,
            fewest=FEWEST,
        )
    for step in range(rounds):
        # From far to near: the last rounds trust only what has come close.
        limit = reach if step < rounds // 2 else 0.5 * reach
        fit = meet(field, points, normals, pose, reach=limit, cosine=_PARALLEL, signed=signed)
        weight = fit.near * tukey(fit.gap, limit)
        found = Matches(fit.onto, fit.square, weight, fit.facing)
        pose = plane_step(fit.moved, found, pose, damping=DAMPING)
    return pose
