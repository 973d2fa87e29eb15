"""The step of `icp.plane_step` in one Triton kernel, instead of a hundred small operations.

A program sums over the points of one pose, solves its equations, and moves the pose.
"""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

import torch
import triton
import triton.language as tl
from torch import Tensor

from spoonful.geometry.kernels.triton_matrices import (
    _add3,
    _add9,
    _cross,
    _divide9,
    _dot,
    _gram_schmidt,
    _load3,
    _load9,
    _matmul,
    _matvec,
    _outer,
    _plus_diagonal,
    _scale3,
    _scale9,
    _store3,
    _store9,
    _subtract3,
    _subtract9,
    _to3,
    _to9,
    _transpose,
    _turned,
    _where3,
    _where9,
)
from spoonful.geometry.kernels.triton_sums import _sum3

_LANES, _WARPS = 256, 8


def plane_step(
    moved: Tensor,
    onto: Tensor,
    normals: Tensor,
    weight: Tensor,
    rotation: Tensor,
    translation: Tensor,
    damping: float,
    fewest: int,
) -> tuple[Tensor, Tensor]:
    """The rotations (R, 3, 3) and translations (R, 3) after a step.

    Args:
        moved: (R, N, 3) source points under the poses.
        onto: (R, N, 3) points of their planes.
        normals: (R, N, 3) of their planes.
        weight: (R, N).
        rotation: (R, 3, 3) of the poses so far.
        translation: (R, 3).
        damping: as for `icp.plane_step`, at least 1e-6: the equations are solved without pivots.
        fewest: a pose with fewer matches stays where it is.
    """
    tensors = [x.contiguous() for x in (moved, onto, normals, weight, rotation, translation)]
    rows, count, _ = moved.shape
    found = torch.empty_like(tensors[-2]), torch.empty_like(tensors[-1])
    with torch.cuda.device_of(moved):
        step_kernel[(rows,)](
            *tensors, *found, count, damping, FEWEST=fewest, LANES=_LANES, num_warps=_WARPS
        )
    return found


@triton.jit
def _points(cloud, place, there):
    """Some points of a cloud; zero if there are none."""
    x = tl.load(cloud + 3 * place, mask=there, other=0)
    y = tl.load(cloud + 3 * place + 1, mask=there, other=0)
    z = tl.load(cloud + 3 * place + 2, mask=there, other=0)
    return x, y, z


@triton.jit
def _sum9(A):
    return _sum3(A[0]), _sum3(A[1]), _sum3(A[2])


@triton.jit
def _inverse(A):
    """The inverse of a symmetric matrix, whose rows are its columns."""
    adjugate = (_cross(A[1], A[2]), _cross(A[2], A[0]), _cross(A[0], A[1]))
    return _divide9(adjugate, _dot(A[0], adjugate[0]))


@triton.jit
def _rotation(v):
    """Rodrigues' formula, as `geometry.rotation_from_vector`."""
    squared = _dot(v, v)
    tiny = squared < 1e-8
    angle = tl.sqrt(tl.where(tiny, 1.0, squared))
    sine = tl.where(tiny, 1 - squared / 6, tl.sin(angle) / angle)
    half = tl.sin(angle / 2) / angle
    cosine = tl.where(tiny, 0.5 - squared / 24, 2 * half * half)
    one, nil = squared * 0 + 1, squared * 0
    eye = ((one, nil, nil), (nil, one, nil), (nil, nil, one))
    turn = _add9(eye, _scale9(_turned(eye, v), sine))
    return _add9(turn, _scale9(_plus_diagonal(_outer(v, v), -squared), cosine))


@triton.jit
def _limited(x):
    return tl.minimum(tl.maximum(x, -0.5), 0.5)


# A step has two sums over blocks of LANES matches. The first needs their weights and points:


@triton.jit
def _no_weight(LANES: tl.constexpr):
    """The number, weight and weighted points of no matches."""
    zero = tl.zeros((LANES,), tl.float64)
    return zero, zero, (zero, zero, zero)


@triton.jit
def _add_weight(sums, w, p):
    used, total, middle = sums
    return used + (w > 0).to(tl.float64), total + w, _add3(middle, _scale3(p, w))


@triton.jit
def _mean(sums):
    """The number of matches, their total weight and their mean."""
    used, total, middle = sums
    total = tl.maximum(tl.sum(total, 0), 1e-6)
    return tl.sum(used, 0), total, _scale3(_sum3(middle), 1 / total)


# The second needs the mean, too, and sums the system [[A, B], [B^T, C]] of turn and shift, its
# right side (a, c), and the squared size of the points.


@triton.jit
def _no_rows(LANES: tl.constexpr):
    """The system of no matches."""
    zero = tl.zeros((LANES,), tl.float64)
    none = (zero, zero, zero)
    nothing = (none, none, none)
    return nothing, nothing, nothing, none, none, zero


@triton.jit
def _add_rows(sums, w, p, n, gap, middle):
    """Add matches of points p with planes of normals n, which are `gap` farther along n."""
    A, B, C, a, c, size = sums
    arm = _subtract3(p, middle)
    lever = _cross(arm, n)
    A = _add9(A, _outer(_scale3(lever, w), lever))
    B = _add9(B, _outer(_scale3(lever, w), n))
    C = _add9(C, _outer(_scale3(n, w), n))
    a = _add3(a, _scale3(lever, w * gap))
    c = _add3(c, _scale3(n, w * gap))
    return A, B, C, a, c, size + w * _dot(arm, arm)


@triton.jit
def _stepped(sums, used, total, middle, R, t, damping, FEWEST: tl.constexpr):
    """The pose (R, t) after the step, in float64."""
    A, B, C, a, c, size = sums
    # Turns are in units of the points' spread, so that all six unknowns are lengths.
    size = tl.sqrt(tl.sum(size, 0) / total)
    unit = 1 / tl.where(size > 0, size, 1.0)
    A, B, C = _scale9(_sum9(A), unit * unit), _scale9(_sum9(B), unit), _sum9(C)
    a, c = _scale3(_sum3(a), unit), _sum3(c)
    A, C = _plus_diagonal(A, damping * total), _plus_diagonal(C, damping * total)
    # First the turn, with the shift eliminated.
    across = _matmul(B, _inverse(C))
    left = _subtract9(A, _matmul(across, _transpose(B)))
    turn = _matvec(_inverse(left), _subtract3(a, _matvec(across, c)))
    shift = _matvec(_inverse(C), _subtract3(c, _matvec(_transpose(B), turn)))
    x, y, z = _scale3(turn, unit)
    # Linearised steps beyond half a radian are wrong anyway.
    turn = _rotation((_limited(x), _limited(y), _limited(z)))
    away = _matvec(turn, _subtract3(t, middle))
    enough = used >= FEWEST
    R = _where9(enough, _gram_schmidt(_matmul(turn, R)), R)
    return R, _where3(enough, _add3(away, _add3(middle, shift)), t)


@triton.jit(do_not_specialize=["count", "damping"])
def step_kernel(
    moved,
    onto,
    normals,
    weight,
    rotation,
    translation,
    new_rotation,
    new_translation,
    count,
    damping,
    FEWEST: tl.constexpr,
    LANES: tl.constexpr,
):
    """One step of one pose."""
    pose = tl.program_id(0).to(tl.int64)
    first = pose * count
    moved, onto, normals = moved + 3 * first, onto + 3 * first, normals + 3 * first
    weight += first
    sums = _no_weight(LANES)
    for start in range(0, count, LANES):
        place = start + tl.arange(0, LANES)
        w = tl.load(weight + place, mask=place < count, other=0).to(tl.float64)
        p = _to3(_points(moved, place, place < count), tl.float64)
        sums = _add_weight(sums, w, p)
    used, total, middle = _mean(sums)
    rows = _no_rows(LANES)
    for start in range(0, count, LANES):
        place = start + tl.arange(0, LANES)
        w = tl.load(weight + place, mask=place < count, other=0).to(tl.float64)
        p = _to3(_points(moved, place, place < count), tl.float64)
        n = _to3(_points(normals, place, place < count), tl.float64)
        q = _to3(_points(onto, place, place < count), tl.float64)
        rows = _add_rows(rows, w, p, n, _dot(_subtract3(q, p), n), middle)
    R = _to9(_load9(rotation + 9 * pose), tl.float64)
    t = _to3(_load3(translation + 3 * pose), tl.float64)
    R, t = _stepped(rows, used, total, middle, R, t, damping, FEWEST)
    _store9(new_rotation + 9 * pose, R)
    _store3(new_translation + 3 * pose, t)
