"""Triton kernels for fields: their nearest cells, and ICP with them for many poses at once.

A step of ICP with a field is 35 operations, and the nearest cells along an axis are 22.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.geometry.kernels.plane_step_triton import (
    _add_rows,
    _add_weight,
    _mean,
    _no_rows,
    _no_weight,
    _points,
    _stepped,
)
from spoonful.geometry.kernels.triton_matrices import (
    _add3,
    _dot,
    _load3,
    _load9,
    _matvec,
    _scale3,
    _store3,
    _store9,
    _subtract3,
    _to3,
    _to9,
)

_SIZE, _WARPS = 256, 4
_LANES, _SETTLE_WARPS = 512, 16


def along(key: Tensor, axis: int, far: int, bits: int) -> Tensor:
    """The least `key + (step**2 << bits)` of the cells up to `far` steps away along an axis.

    Args:
        key: (D, H, W) int32 or int64, contiguous.
        axis: 0, 1 or 2.
        far: how many steps.
        bits: of the cell's number in a key.
    """
    found = torch.empty_like(key)
    with torch.cuda.device_of(key):
        along_kernel[(triton.cdiv(key.numel(), _SIZE),)](
            key,
            found,
            key.numel(),
            key.stride(axis),
            key.shape[axis],
            bits,
            FAR=far,
            SIZE=_SIZE,
            num_warps=_WARPS,
        )
    return found


@triton.jit(do_not_specialize=["count", "stride", "length", "bits"])
def along_kernel(key, found, count, stride, length, bits, FAR: tl.constexpr, SIZE: tl.constexpr):
    """One cell a lane."""
    cell = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    there = cell < count
    place = cell // stride % length
    least = tl.load(key + cell, mask=there, other=0)
    for step in range(-FAR, FAR + 1):
        inside = there & (place + step >= 0) & (place + step < length)
        beside = tl.load(key + cell + step * stride, mask=inside, other=0)
        beside += (step * step) << bits
        least = tl.where(inside, tl.minimum(least, beside), least)
    tl.store(found + cell, least, mask=there)


def settle(
    field: Any,
    points: Tensor,
    normals: Tensor,
    pose: Pose,
    *,
    rounds: int,
    reach: float,
    cosine: float,
    signed: bool,
    damping: float,
    fewest: int,
) -> Pose:
    """The poses after the rounds of `field.settle`. A program does all rounds of one pose.

    Args:
        field: a `Field`.
        points: (N, 3) of the source.
        normals: (N, 3).
        pose: rotation (H, 3, 3).
        rounds: steps of each pose.
        reach: as for `field.settle`.
        cosine: as for `field.meet`.
        signed: likewise.
        damping: as for `icp.plane_step`, at least 1e-6.
        fewest: a pose with fewer matches stays where it is.
    """
    grid = field.nearest, field.points, field.normals, field.low, field.last
    tensors = [x.contiguous() for x in (*grid, points, normals, *pose)]
    found = Pose(torch.empty_like(tensors[-2]), torch.empty_like(tensors[-1]))
    with torch.cuda.device_of(points):
        settle_kernel[(len(found.rotation),)](
            *tensors,
            *found,
            len(points),
            rounds,
            field.cell,
            reach,
            cosine,
            damping,
            SIGNED=signed,
            FEWEST=fewest,
            LANES=_LANES,
            num_warps=_SETTLE_WARPS,
        )
    return found


@triton.jit
def _cells(v):
    """The cells of coordinates, as integers."""
    x, y, z = v
    return _to3((tl.floor(x), tl.floor(y), tl.floor(z)), tl.int64)


@triton.jit
def _clamped(i, last):
    return tl.minimum(tl.maximum(i, 0), last)


@triton.jit
def _matches(
    field, scan, start, count, cell, R, t, reach, cosine, SIGNED: tl.constexpr, LANES: tl.constexpr
):
    """The matches of a block of points: weights, moved points, planes' normals and gaps."""
    nearest, onto, facing, low, last = field
    points, normals = scan
    place = start + tl.arange(0, LANES)
    there = place < count
    p = _add3(_matvec(R, _points(points, place, there)), t)
    x, y, z = _cells(_scale3(_subtract3(p, _load3(low)), 1 / cell))
    wide, high, deep = _load3(last)
    i, j, k = _clamped(x, wide), _clamped(y, high), _clamped(z, deep)
    inside = there & (i == x) & (j == y) & (k == z)
    partner = tl.load(nearest + i + (wide + 1) * (j + (high + 1) * k), mask=there, other=0)
    n = _points(facing, partner, there)
    offset = _subtract3(p, _points(onto, partner, there))
    gap = _dot(offset, n)
    alike = _dot(_matvec(R, _points(normals, place, there)), n)
    if not SIGNED:
        alike = tl.abs(alike)
    near = inside & (_dot(offset, offset) < reach * reach) & (alike > cosine)
    ratio = gap / reach
    w = tl.maximum(1 - ratio * ratio, 0.0)
    w = tl.where(near, w * w, 0.0).to(tl.float64)
    return w, _to3(p, tl.float64), _to3(n, tl.float64), -gap.to(tl.float64)


@triton.jit(do_not_specialize=["count", "rounds", "cell", "reach", "cosine", "damping"])
def settle_kernel(
    nearest,
    onto,
    facing,
    low,
    last,
    points,
    normals,
    rotation,
    translation,
    new_rotation,
    new_translation,
    count,
    rounds,
    cell,
    reach,
    cosine,
    damping,
    SIGNED: tl.constexpr,
    FEWEST: tl.constexpr,
    LANES: tl.constexpr,
):
    """All rounds of one pose. Matches have the precision of the points, sums have float64."""
    dtype: tl.constexpr = rotation.dtype.element_ty
    pose = tl.program_id(0).to(tl.int64)
    field, scan = (nearest, onto, facing, low, last), (points, normals)
    R, t = _load9(rotation + 9 * pose), _load3(translation + 3 * pose)
    for step in range(rounds):
        limit = tl.where(step < rounds // 2, reach, 0.5 * reach)
        sums = _no_weight(LANES)
        for start in range(0, count, LANES):
            w, p, n, gap = _matches(
                field, scan, start, count, cell, R, t, limit, cosine, SIGNED, LANES
            )
            sums = _add_weight(sums, w, p)
        used, total, middle = _mean(sums)
        rows = _no_rows(LANES)
        for start in range(0, count, LANES):
            w, p, n, gap = _matches(
                field, scan, start, count, cell, R, t, limit, cosine, SIGNED, LANES
            )
            rows = _add_rows(rows, w, p, n, gap, middle)
        own = _to9(R, tl.float64), _to3(t, tl.float64)
        own = _stepped(rows, used, total, middle, own[0], own[1], damping, FEWEST)
        R, t = _to9(own[0], dtype), _to3(own[1], dtype)
    _store9(new_rotation + 9 * pose, R)
    _store3(new_translation + 3 * pose, t)
