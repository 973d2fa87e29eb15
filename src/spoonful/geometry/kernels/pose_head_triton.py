"""The pose head on a GPU, in Triton: one kernel forward, one backward, a program for each cloud.

The mathematics is that of moments.py, spread.py, rotation.py, refinement.py, similarity.py and
robust.py, in the same order and under the same names; those files explain it and remain the
reference, and pose_head.c is the same for the CPU. Its parts are in triton_matrices.py and
triton_sums.py, whose names with an underscore are private to the three files.

Points are read once forward, and read and written once backward. Of large clouds, and in each
round of a robust fit, several programs sum the points of each cloud (`cloud_sums`), and another one
fits. Threads are added up, and Horn's eigenproblem is solved, in float64. The rest of a cloud's
work is in the points' precision, because its rounding is what the paper's layer amplifies.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl

from spoonful.geometry.kernels.triton_matrices import (
    _EPS32,
    _add3,
    _add9,
    _divide,
    _divide3,
    _dot,
    _inner,
    _load3,
    _load9,
    _matmul,
    _matvec,
    _nearest_rotation,
    _outer,
    _plus_diagonal,
    _scale3,
    _scale9,
    _spread,
    _spread_inverse,
    _step,
    _store3,
    _store9,
    _subtract3,
    _subtract9,
    _to3,
    _to9,
    _torque,
    _trace,
    _transpose,
    _turn,
    _turned,
    _unstep,
    _vanishing,
    _where3,
    _where9,
    _zero3,
    _zero9,
)
from spoonful.geometry.kernels.triton_sums import (
    _PART,
    NO_LOSS,
    _extent,
    _frame,
    _in_order,
    _keep,
    _less,
    _origin,
    _scaled_sums,
    _state_origin,
    _store_part,
    _sums,
    _weights,
)

_STATE = tl.constexpr(35)  # numbers for each cloud: total, two means, S or G, H, P and the scale
_EPS64 = tl.constexpr(2.0**-52)

# Compiled once for all sizes, and for pointers wherever they point: cuda.py relies on that. (Nor
# would it help to know of multiples of 16: weights would be read in an order of their own, and then
# exchanged between threads.)
_SIZES = ["points", "starts", "iterations", "parts"]
_POINTERS = ["source", "target", "weights", "mask", "offsets", "start"]
_POINTERS += ["rotation", "translation", "state", "g_rotation", "g_translation"]
_POINTERS += ["d_source", "d_target", "d_weights", "d_start", "factor", "g_factor"]
_POINTERS += ["sums", "noise", "sharpness", "factors"]


@triton.jit
def nothing(pointer):
    """Show that kernels can be compiled and run."""
    tl.store(pointer, 0.0)


@triton.jit
def _best_translation(R, factor, source_mean, target_mean):
    moved = _scale3(_matvec(_to9(R, tl.float64), source_mean), factor.to(tl.float64))
    return _to3(_subtract3(target_mean, moved), R[0][0].dtype)


@triton.jit
def _best_factor(R, H, S):
    """The scale of a similarity, tr(R^T H) / tr(S), at least 0; 1 for a source without extent."""
    extent, along = _trace(S), _inner(R, H)
    ratio = _divide(along, tl.where(extent == 0, 1.0, extent))
    return tl.where(extent == 0, 1 + 0 * along, tl.where(ratio < 0, 0.0, ratio))


@triton.jit
def _first_pose(cloud, starts, iterations, START: tl.constexpr):
    """The index of a cloud's first pose."""
    if START == "given":
        return cloud * iterations * starts
    else:
        return cloud * (1 + iterations * starts)


@triton.jit
def _start_rotation(start, at, R, START: tl.constexpr):
    """The start of a refinement: a given rotation, or Kabsch's, perhaps turned."""
    if START == "given":
        return _load9(start + 9 * at)
    elif START == "perturbed":
        return _matmul(R, _load9(start + 9 * at))
    else:
        return R


@triton.jit(do_not_specialize=_SIZES, do_not_specialize_on_alignment=_POINTERS)
def pose_head_forward(
    source,  # (clouds, points, 3)
    target,  # (clouds, points, 3)
    weights,  # (clouds, points) or None
    mask,  # (clouds, points) or None
    offsets,  # (clouds + 1,), or None: see `_extent`
    start,  # (clouds, starts, 3, 3): rotations if START is "given", turns if "perturbed", or None
    rotation,  # (clouds, poses, 3, 3): Kabsch's unless START is "given", then the refined
    translation,  # (clouds, poses, 3)
    state,  # (clouds, 35), float64
    factor,  # (clouds,): the scale of a similarity, or None
    sums,  # (clouds, parts, 22), float64, from `cloud_sums`; or None
    points,
    starts,
    iterations,
    parts,
    SPREAD: tl.constexpr,  # whose own moment is needed: see `_sums`
    TARGET: tl.constexpr,
    START: tl.constexpr,
    REFINE: tl.constexpr,  # whether there are iterations
    AGAIN: tl.constexpr,  # whether this is a round of a robust fit: see `_scaled_sums`
    LANES: tl.constexpr,  # points at a time: one a thread
    UNROLL: tl.constexpr,
):
    """Fit one cloud."""
    dtype: tl.constexpr = source.dtype.element_ty
    EPS: tl.constexpr = _EPS32 if dtype == tl.float32 else _EPS64
    cloud = tl.program_id(0).to(tl.int64)
    first, own = _extent(offsets, cloud, points)
    note = state + cloud * _STATE
    clouds = (source, target, weights, mask)
    total, source_mean, target_mean, X, H, scale = _scaled_sums(
        clouds, sums, cloud, first, own, parts, note, SPREAD, AGAIN, LANES, UNROLL
    )
    if offsets is not None:
        fine = _in_order(offsets, cloud, points)
        total = tl.where(fine, total, float("nan"))
        H = _scale9(H, tl.where(fine, 1.0, float("nan")))
        source_mean = _scale3(source_mean, tl.where(fine, 1.0, float("nan")))
    X, H = _to9(X, dtype), _to9(H, dtype)
    tl.store(note, total)
    if not AGAIN:
        tl.store(note + 34, scale)
    _store3(note + 1, source_mean)
    _store3(note + 4, target_mean)
    _store9(note + 16, _to9(H, tl.float64))
    if SPREAD != "none":
        _store9(note + 7, _to9(X, tl.float64))
    one = tl.full((), 1, dtype)
    R = H
    here = _first_pose(cloud, starts, iterations, START)
    if START != "given":
        R = _nearest_rotation(H, EPS)
        _store9(rotation + 9 * here, R)
        scaled = one
        if factor is not None:
            scaled = _best_factor(R, H, X)
            tl.store(factor + cloud, scaled)
        _store3(translation + 3 * here, _best_translation(R, scaled, source_mean, target_mean))
        here += 1
    if REFINE:
        P = _spread_inverse(X, EPS)
        _store9(note + 25, _to9(P, tl.float64))
        for k in range(starts):
            now = _start_rotation(start, cloud * starts + k, R, START)
            for i in range(iterations):
                now = _step(H, P, now, TARGET)
                at = here + i * starts + k
                _store9(rotation + 9 * at, now)
                offset = _best_translation(now, one, source_mean, target_mean)
                _store3(translation + 3 * at, offset)


@triton.jit(do_not_specialize=_SIZES, do_not_specialize_on_alignment=_POINTERS)
def cloud_sums(
    source,
    target,
    weights,
    mask,
    offsets,
    rotation,  # the pose and state of the fit before; None with NO_LOSS
    translation,
    factor,
    noise,  # (clouds,)
    sharpness,  # (clouds,), of GNC_TLS
    state,
    factors,  # (clouds, points): where factors are written, or squared errors; or None
    sums,  # (clouds, parts, 22)
    points,
    SPREAD: tl.constexpr,
    LOSS: tl.constexpr,
    CUTOFF: tl.constexpr,  # of the loss, in standard deviations of the noise
    LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """The sums of some blocks of a cloud, for `pose_head_forward`.

    Program (c, j) of (clouds, parts) has blocks j, j + parts, j + 2 parts, ...
    """
    dtype: tl.constexpr = source.dtype.element_ty
    cloud = tl.program_id(0).to(tl.int64)
    clouds = (source, target, weights, mask)
    part, parts = tl.program_id(1), tl.num_programs(1)
    first, own = _extent(offsets, cloud, points)
    if LOSS == NO_LOSS:
        origin = _origin(clouds, first, own, LANES)
        unit, pose = tl.full((), 1, dtype), None
    else:
        note = state + cloud * _STATE
        origin, unit = _state_origin(note, dtype)
        pose = _frame(rotation, translation, factor, noise, sharpness, note, cloud, CUTOFF)
    begin, step = part * LANES, parts * LANES
    found = _sums(
        clouds, first, own, begin, step, origin, unit, pose, factors, SPREAD, LOSS, LANES, UNROLL
    )
    _store_part(sums + (cloud * parts + part) * _PART, found)


@triton.jit
def _gather(R, factor, source_mean, g_rotation, g_translation, at):
    """The gradient at a rotation, its own and through the translation; and at the two means."""
    dtype: tl.constexpr = R[0][0].dtype
    G = _zero9(dtype)
    at_s, at_t = _zero3(dtype), _zero3(dtype)
    if g_rotation is not None:
        G = _load9(g_rotation + 9 * at)
    if g_translation is not None:
        at_t = _load3(g_translation + 3 * at)
        at_s = _scale3(_matvec(_transpose(R), at_t), -factor)
        G = _subtract9(G, _outer(_scale3(at_t, factor), source_mean))
    return G, at_s, at_t


@triton.jit(do_not_specialize=_SIZES, do_not_specialize_on_alignment=_POINTERS)
def pose_head_backward(
    source,
    target,
    weights,
    mask,
    offsets,
    start,
    rotation,
    state,  # all as forward left them
    g_rotation,  # gradients at forward's results, or None
    g_translation,
    factor,  # as forward left it, or None
    g_factor,
    d_source,  # where gradients are wanted, or None
    d_target,
    d_weights,
    d_start,
    points,
    starts,
    iterations,
    TARGET: tl.constexpr,
    START: tl.constexpr,
    REFINE: tl.constexpr,
    LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """The gradients at one cloud, or at some of its blocks: program (c, j) of (clouds, J) has
    blocks j, j + J, j + 2 J, ... The 3x3 work is small enough to be done by each of them.
    """
    dtype: tl.constexpr = source.dtype.element_ty
    EPS: tl.constexpr = _EPS32 if dtype == tl.float32 else _EPS64
    cloud = tl.program_id(0).to(tl.int64)
    note = state + cloud * _STATE
    total = tl.load(note)
    origin, scale = _state_origin(note, dtype)
    source_mean, target_mean, rest_s, rest_t = origin
    H = _to9(_load9(note + 16), dtype)
    at_R, d_H, d_X = _zero9(dtype), _zero9(dtype), _zero9(dtype)
    at_s, at_t = _zero3(dtype), _zero3(dtype)
    present = at_s[0]
    R = H
    one = tl.full((), 1, dtype)
    here = _first_pose(cloud, starts, iterations, START)
    if START != "given":
        R = _load9(rotation + 9 * here)
        scaled = one
        if factor is not None:
            scaled = tl.load(factor + cloud)
        at_R, at_s, at_t = _gather(R, scaled, source_mean, g_rotation, g_translation, here)
        here += 1

    if REFINE:
        X = _to9(_load9(note + 7), dtype)
        P = _to9(_load9(note + 25), dtype)
        d_P = _zero9(dtype)
        for k in range(starts):
            first = _start_rotation(start, cloud * starts + k, R, START)
            pull, k_H, k_P = _zero3(dtype), _zero9(dtype), _zero9(dtype)
            given = 0 * one
            k_s, k_t = _zero3(dtype), _zero3(dtype)
            last = here + (iterations - 1) * starts + k
            after = _load9(rotation + 9 * last)
            # A start whose refinement is NaN has no gradient. (Once NaN, it is NaN to the last.)
            fine = _vanishing(after) == 0
            for back in range(iterations):
                at = last - back * starts
                # (Before the first iteration there is the start; what is read then is not used.)
                before = _load9(rotation + 9 * tl.maximum(at - starts, 0))
                before = _where9(back == iterations - 1, first, before)
                G, more_s, more_t = _gather(after, one, source_mean, g_rotation, g_translation, at)
                k_s, k_t = _add3(k_s, more_s), _add3(k_t, more_t)
                own = _torque(after, G)
                given += 0 * (own[0] + own[1] + own[2])
                pull = _add3(pull, own)
                pull, more_H, more_P = _unstep(H, P, before, after, pull, TARGET)
                k_H, k_P = _add9(k_H, more_H), _add9(k_P, more_P)
                after = before
            # A chain that overflows has no gradient. (One that is given NaN or inf keeps it.)
            left = _vanishing(k_H) + _vanishing(k_P) + 0 * (pull[0] + pull[1] + pull[2])
            fine &= (left == 0) | (given != 0)
            none = _zero3(dtype)
            at_start = _scale9(_turned(first, _where3(fine, pull, none)), 0.5)
            at_start = _where9(fine, at_start, _zero9(dtype))
            d_H = _add9(d_H, _where9(fine, k_H, _zero9(dtype)))
            d_P = _add9(d_P, _where9(fine, k_P, _zero9(dtype)))
            at_s = _add3(at_s, _where3(fine, k_s, none))
            at_t = _add3(at_t, _where3(fine, k_t, none))
            if START == "kabsch":
                at_R = _add9(at_R, at_start)
            if d_start is not None:  # the same numbers from all programs of the cloud
                _store9(d_start + 9 * (cloud * starts + k), at_start)
        # P = spread(X)^-1, so the gradient at X is -spread(P d_P P).
        d_X = _scale9(_spread(_matmul(_matmul(P, d_P), P)), -1.0)
        fine = (_vanishing(d_X) == 0) | (_vanishing(d_P) != 0)
        fine &= _vanishing(P) == 0
        d_X = _where9(fine, d_X, _zero9(dtype))
        present = tl.where(fine, _inner(d_X, X), 0.0)
    if factor is not None:
        # factor = tr(R^T H) / tr(S). A turn of R leaves it as it is.
        X = _to9(_load9(note + 7), dtype)
        extent, g = _trace(X), -_dot(at_t, _matvec(R, source_mean))
        if g_factor is not None:
            g += tl.load(g_factor + cloud)
        follows = (extent > 0) & (_inner(R, H) >= 0)
        g = tl.where(follows, _divide(g, tl.where(follows, extent, 1.0)), 0.0)
        d_H = _scale9(R, g)
        d_X = _plus_diagonal(d_X, -g * scaled)
        present = _inner(d_X, X)
    if START != "given":
        d_H = _add9(d_H, _turn(R, H, at_R, EPS))
    present += _inner(d_H, H)

    # With p the points of the cloud whose spread is in use and o the other's, less their means and
    # times the scale, the gradient is  share (A p + B^T o + at_p)  at p  and  share (B p + at_o)
    # at o; and that at the points themselves is scale times it.
    A = _add9(d_X, _transpose(d_X))
    at_s, at_t = _divide3(at_s, scale), _divide3(at_t, scale)
    if TARGET:
        B, at_p, at_o = _transpose(d_H), at_t, at_s
    else:
        B, at_p, at_o = d_H, at_s, at_t
    B_t = _transpose(B)
    share = _divide(tl.full((), 1, dtype), total.to(dtype))
    begin, points = _extent(offsets, cloud, points)
    # A cloud that is empty or unsound has no points that count, and all their gradients are 0.
    reach = tl.where((_vanishing(H) == 0) & (total > 0), points, 0)
    BLOCK: tl.constexpr = LANES * UNROLL
    lanes = tl.arange(0, BLOCK)
    if d_source is not None or d_target is not None or d_weights is not None:
        for block in range(tl.program_id(1) * BLOCK, points, tl.num_programs(1) * BLOCK):
            index = block + lanes
            inside = index < points
            kept = _keep(mask, begin, index, reach)
            w = _weights(weights, begin, index, kept, dtype) * (share * scale)
            s = _subtract3(_less(source, begin, index, kept, source_mean), rest_s)
            t = _subtract3(_less(target, begin, index, kept, target_mean), rest_t)
            s, t = _scale3(s, scale), _scale3(t, scale)
            if TARGET:
                p, o = t, s
            else:
                p, o = s, t
            a = _matvec(A, p)
            at_other = _add3(_matvec(B, p), at_o)
            at_own = _add3(_add3(a, _matvec(B_t, o)), at_p)
            # Selected, not multiplied, as an unsound cloud's numbers are NaN.
            d_p = _where3(kept, _scale3(at_own, w), (0.0, 0.0, 0.0))
            d_o = _where3(kept, _scale3(at_other, w), (0.0, 0.0, 0.0))
            if TARGET:
                d_s, d_t = d_o, d_p
            else:
                d_s, d_t = d_p, d_o
            if d_source is not None:
                _store_points(d_source, begin + block, index < points, d_s, BLOCK)
            if d_target is not None:
                _store_points(d_target, begin + block, index < points, d_t, BLOCK)
            if d_weights is not None:
                # More weight on a point pulls each moment from its present value to the point's.
                own = _dot(p, _add3(_scale3(a, 0.5), at_p)) + _dot(o, at_other)
                d_w = tl.where(kept, share * (own - present), 0.0)
                tl.store(d_weights + begin + index, d_w, mask=inside)


@triton.jit
def _store_points(cloud, first, inside, a, BLOCK: tl.constexpr):
    """Three numbers a point, of which neighbouring threads write neighbouring ones.

    (Each thread writing its own three would touch every sector of memory three times.)
    """
    four = tl.permute(tl.join(tl.join(a[0], a[1]), tl.join(a[2], a[2])), (0, 2, 1))
    axis = tl.arange(0, 4)[None, :]
    at = cloud + 3 * first + 3 * tl.arange(0, BLOCK)[:, None] + axis
    tl.store(at, tl.reshape(four, (BLOCK, 4)), mask=inside[:, None] & (axis < 3))
