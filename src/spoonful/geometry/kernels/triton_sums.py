"""Sums over the points of a cloud in Triton kernels: moments, and the weights of robust fits.

Each thread sums over points of its own in the points' precision, about a point amid the cloud.
Threads are added up in float64. Moments are multiplied by a power of two that makes them about 1,
so that none of the work on them overflows. A cloud so large or small that its squares overflow or
underflow is summed a second time, in another unit.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl

from spoonful.geometry.kernels.triton_matrices import (
    _add3,
    _divide,
    _divide3,
    _divide9,
    _dot,
    _largest,
    _load3,
    _load9,
    _matvec,
    _outer,
    _root,
    _scale3,
    _scale9,
    _store3,
    _store9,
    _subtract3,
    _subtract9,
    _to3,
    _to9,
    _vanishing,
    _where3,
    _where9,
    _zero3,
    _zero9,
)

# Moments between these have neither overflown nor underflown; clouds with others are summed again,
# in units of 2^UNIT or 2^-UNIT. And the largest coordinate for which there is a pose: see head.py.
_LOW32, _HIGH32, _UNIT32 = tl.constexpr(1e-25), tl.constexpr(1e30), tl.constexpr(2.0**80)
_LOW64, _HIGH64, _UNIT64 = tl.constexpr(1e-250), tl.constexpr(1e280), tl.constexpr(2.0**500)
_LARGEST32, _LARGEST64 = tl.constexpr(1e34), tl.constexpr(1e150)
_PART = tl.constexpr(22)  # numbers that a program of `cloud_sums` writes: what `_sums` returns
_TINY32, _TINY64 = tl.constexpr(2.0**-31.5), tl.constexpr(2.0**-255.5)  # the least noise
# Losses, as `enum loss` of pose_head.c. TRUNCATED, 4, ends GNC_TLS; NO_LOSS sums without factors,
# and RESIDUALS writes squared errors instead of factors.
HUBER, TUKEY, GEMAN_MCCLURE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
GNC_TLS, NO_LOSS, RESIDUALS = tl.constexpr(3), tl.constexpr(5), tl.constexpr(6)


# ---- moments.py ----------------------------------------------------------------------------------


@triton.jit
def _extent(offsets, cloud, points):
    """The index of a cloud's first point, and its number of points.

    Packed clouds have offsets, and their own sizes; `points` is then the number of all.
    """
    if offsets is None:
        return cloud * points, points
    else:
        # Offsets are not validated on a GPU: whatever they are, only points are read and written.
        begin = tl.minimum(tl.maximum(tl.load(offsets + cloud), 0), points)
        end = tl.minimum(tl.maximum(tl.load(offsets + cloud + 1), begin), points)
        # (One without points may stand behind the last point, where there is nothing to look at.)
        return tl.minimum(begin, points - 1), (end - begin).to(tl.int32)


@triton.jit
def _in_order(offsets, cloud, points):
    """True if a packed cloud's offsets are possible: in order, from the first point to the last."""
    begin, end = tl.load(offsets + cloud), tl.load(offsets + cloud + 1)
    inside = (begin >= 0) & (begin <= end) & (end <= points)
    more = cloud < tl.num_programs(0) - 1
    return inside & ((begin == 0) | (cloud > 0)) & ((end == points) | more)


@triton.jit
def _keep(mask, first, index, points):
    """True for the points of a block that exist."""
    kept = index < points
    if mask is not None:
        kept &= tl.load(mask + first + index, mask=kept, other=0) != 0
    return kept


@triton.jit
def _weights(weights, first, index, kept, dtype: tl.constexpr):
    if weights is None:
        return kept.to(dtype)
    else:
        w = tl.load(weights + first + index, mask=kept, other=0)
        # Weights are not validated on a GPU: a negative one makes its cloud NaN.
        return tl.where(w < 0, float("nan"), w)


@triton.jit
def _less(cloud, first, index, kept, origin):
    """A block of points less an origin; 0 if there is no point."""
    at = cloud + 3 * (first + index)
    x = tl.load(at, mask=kept, other=0) - origin[0]
    y = tl.load(at + 1, mask=kept, other=0) - origin[1]
    z = tl.load(at + 2, mask=kept, other=0) - origin[2]
    return tl.where(kept, x, 0.0), tl.where(kept, y, 0.0), tl.where(kept, z, 0.0)


@triton.jit
def _sum3(a):
    """The sums of three vectors, in float64."""
    x = tl.sum(a[0].to(tl.float64), 0)
    y = tl.sum(a[1].to(tl.float64), 0)
    z = tl.sum(a[2].to(tl.float64), 0)
    return x, y, z


@triton.jit
def _origin(clouds, first, points, LANES: tl.constexpr):
    """Points amid the two clouds: one of each, and how far the mean of some is from it.

    Sums about it lose nothing to cancellation, and for coinciding points it is the point exactly.

    clouds: pointers to sources, targets, weights and mask.
    """
    source, target, weights, mask = clouds
    dtype: tl.constexpr = source.dtype.element_ty
    lanes = tl.arange(0, LANES)
    own = points * 0
    if mask is not None:  # the first point that is not masked, if there is one
        own = points
        begin = points * 0
        while (own >= points) & (begin < points):
            index = begin + lanes
            own = tl.min(tl.where(_keep(mask, first, index, points), index, points), 0)
            begin += LANES
        own = tl.minimum(own, points - 1)
    near_s = _load3(source + 3 * (first + own))
    near_t = _load3(target + 3 * (first + own))
    index = own + lanes
    kept = _keep(mask, first, index, points)
    w = _weights(weights, first, index, kept, dtype)
    s = _less(source, first, index, kept, near_s)
    t = _less(target, first, index, kept, near_t)
    total = tl.sum(w, 0)
    divisor = tl.where(total == 0, 1.0, total)
    middle_s = tl.sum(w * s[0], 0), tl.sum(w * s[1], 0), tl.sum(w * s[2], 0)
    middle_t = tl.sum(w * t[0], 0), tl.sum(w * t[1], 0), tl.sum(w * t[2], 0)
    return near_s, near_t, _divide3(middle_s, divisor), _divide3(middle_t, divisor)


# ---- robust.py -----------------------------------------------------------------------------------


@triton.jit
def _factor(ratio, sharpness, LOSS: tl.constexpr):
    """Rho' at |e|^2 / c^2: the factor of a match in the next fit."""
    one = tl.full((), 1, ratio.dtype)
    if LOSS == HUBER:
        return _divide(one, _root(tl.maximum(ratio, one)))
    elif LOSS == TUKEY:
        inside = tl.maximum(1 - ratio, 0 * one)
        return inside * inside
    elif LOSS == GEMAN_MCCLURE:
        inverse = _divide(one, 1 + ratio)
        return inverse * inverse
    elif LOSS == GNC_TLS:
        high = sharpness * (sharpness + 1)
        middle = _root(_divide(high, tl.maximum(ratio, 1e-30 * one))) - sharpness
        return tl.minimum(tl.maximum(middle, 0 * one), one)
    else:
        return (ratio < 1).to(ratio.dtype)


@triton.jit
def _reweighted(s, t, w, pose, factors, at, inside, kept, LOSS: tl.constexpr):
    """The weights times the factors, which are written if they are wanted."""
    R, shift, per_c2, sharpness, sound = pose
    e = _subtract3(_subtract3(t, shift), _matvec(R, s))
    squared = _dot(e, e)
    if LOSS == RESIDUALS:
        tl.store(factors + at, tl.where(kept & (w > 0), squared, float("nan")), mask=inside)
        return w
    else:
        factor = _factor(squared * per_c2, sharpness, LOSS)
        if factors is not None:
            tl.store(factors + at, tl.where(kept, tl.where(sound, factor, 0.0), 0.0), mask=inside)
        return w * factor


@triton.jit
def _state_origin(note, dtype: tl.constexpr):
    """The means of a cloud that has a fit, as `_origin` returns them, and its scale."""
    mean_s, mean_t = _load3(note + 1), _load3(note + 4)
    near_s, near_t = _to3(mean_s, dtype), _to3(mean_t, dtype)
    # The rounding errors of the means, so that clouds far away are centred exactly.
    rest_s = _to3(_subtract3(mean_s, _to3(near_s, tl.float64)), dtype)
    rest_t = _to3(_subtract3(mean_t, _to3(near_t, tl.float64)), dtype)
    return (near_s, near_t, rest_s, rest_t), tl.load(note + 34).to(dtype)


@triton.jit
def _frame(rotation, translation, factor, noise, sharpness, note, cloud, CUTOFF: tl.constexpr):
    """A fit's pose in the frame of `_state_origin`, 1 / c^2, the sharpness, and if it is sound."""
    dtype: tl.constexpr = rotation.dtype.element_ty
    TINY: tl.constexpr = _TINY32 if dtype == tl.float32 else _TINY64
    mean_s, mean_t, scale = _load3(note + 1), _load3(note + 4), tl.load(note + 34)
    R = _to9(_load9(rotation + 9 * cloud), tl.float64)
    if factor is not None:
        R = _scale9(R, tl.load(factor + cloud).to(tl.float64))
    shift = _add3(_to3(_load3(translation + 3 * cloud), tl.float64), _matvec(R, mean_s))
    shift = _to3(_scale3(_subtract3(shift, mean_t), scale), dtype)
    cutoff = CUTOFF * tl.maximum(tl.load(noise + cloud).to(tl.float64) * scale, TINY)
    sharp = scale.to(dtype)
    if sharpness is not None:
        sharp = tl.load(sharpness + cloud)
    return _to9(R, dtype), shift, (1 / (cutoff * cutoff)).to(dtype), sharp, _vanishing(R) == 0


@triton.jit
def _sums(
    clouds,
    first,
    points,
    begin,
    step,
    origin,
    unit,
    pose,
    factors,
    SPREAD: tl.constexpr,
    LOSS: tl.constexpr,
    LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """The sums of w, w s, w t, w p p^T (diagonal, rest) and w t s^T over points, in float64.

    Every lane adds up points of its own, about an origin and times the unit; then lanes are added
    up.

    begin, step: which blocks of LANES points to sum.
    origin: as `_origin` returns it.
    pose: as `_frame` returns it; None with NO_LOSS.
    factors: where the factor of each match is written, or None.
    SPREAD: "source" or "target", whose own moment to compute; "trace", which is that of the
        source's, as its first entry; or "none".
    """
    source, target, weights, mask = clouds
    dtype: tl.constexpr = source.dtype.element_ty
    near_s, near_t, middle_s, middle_t = origin
    lanes = tl.arange(0, LANES)
    zero = tl.zeros((LANES,), dtype)
    none = (zero, zero, zero)
    total, sum_s, sum_t, X, Y = zero, none, none, none, none
    H = (none, none, none)
    for block in tl.range(begin, points, step, loop_unroll_factor=UNROLL):
        index = block + lanes
        kept = _keep(mask, first, index, points)
        w = _weights(weights, first, index, kept, dtype)
        s = _subtract3(_less(source, first, index, kept, near_s), middle_s)
        t = _subtract3(_less(target, first, index, kept, near_t), middle_t)
        s = _where3(kept, _scale3(s, unit), none)
        t = _where3(kept, _scale3(t, unit), none)
        if LOSS != NO_LOSS:
            w = _reweighted(s, t, w, pose, factors, first + index, index < points, kept, LOSS)
        ws, wt = _scale3(s, w), _scale3(t, w)
        total += w
        sum_s, sum_t = _add3(sum_s, ws), _add3(sum_t, wt)
        x, y, z = H
        x = _add3(x, _scale3(s, wt[0]))
        y = _add3(y, _scale3(s, wt[1]))
        z = _add3(z, _scale3(s, wt[2]))
        H = (x, y, z)
        if SPREAD == "source":
            X = _add3(X, (ws[0] * s[0], ws[1] * s[1], ws[2] * s[2]))
            Y = _add3(Y, (ws[0] * s[1], ws[0] * s[2], ws[1] * s[2]))
        elif SPREAD == "target":
            X = _add3(X, (wt[0] * t[0], wt[1] * t[1], wt[2] * t[2]))
            Y = _add3(Y, (wt[0] * t[1], wt[0] * t[2], wt[1] * t[2]))
        elif SPREAD == "trace":
            X = (X[0] + _dot(ws, s), zero, zero)
    H = (_sum3(H[0]), _sum3(H[1]), _sum3(H[2]))
    nil = _zero3(tl.float64)
    diagonal, rest = nil, nil
    if SPREAD == "trace":
        diagonal = (tl.sum(X[0].to(tl.float64), 0), nil[1], nil[2])
    elif SPREAD != "none":
        diagonal, rest = _sum3(X), _sum3(Y)
    return tl.sum(total.to(tl.float64), 0), _sum3(sum_s), _sum3(sum_t), diagonal, rest, H


@triton.jit
def _store_part(at, part):
    """Write what `_sums` returns."""
    total, sum_s, sum_t, diagonal, rest, H = part
    tl.store(at, total)
    _store3(at + 1, sum_s)
    _store3(at + 4, sum_t)
    _store3(at + 7, diagonal)
    _store3(at + 10, rest)
    _store9(at + 13, H)


@triton.jit
def _add_parts(at, there):
    """The sums of a cloud from those of its parts, which begin at these places."""
    x, y, z = _parts3(at + 13, there), _parts3(at + 16, there), _parts3(at + 19, there)
    H = (_sum3(x), _sum3(y), _sum3(z))
    total = tl.sum(tl.load(at, mask=there, other=0), 0)
    sum_s, sum_t = _sum3(_parts3(at + 1, there)), _sum3(_parts3(at + 4, there))
    return total, sum_s, sum_t, _sum3(_parts3(at + 7, there)), _sum3(_parts3(at + 10, there)), H


@triton.jit
def _parts3(at, there):
    x = tl.load(at, mask=there, other=0)
    y = tl.load(at + 1, mask=there, other=0)
    return x, y, tl.load(at + 2, mask=there, other=0)


@triton.jit
def _centred(sums, origin, unit, SPREAD: tl.constexpr):
    """Total, means and moments (times unit^2) of a cloud, in float64."""
    near_s, near_t, middle_s, middle_t = origin
    whole, all_s, all_t, diagonal, rest, H = sums
    divisor = tl.where(whole == 0, 1.0, whole)
    off_s, off_t = _divide3(all_s, divisor), _divide3(all_t, divisor)
    H = _subtract9(H, _outer(all_t, off_s))
    X = (
        (diagonal[0], rest[0], rest[1]),
        (rest[0], diagonal[1], rest[2]),
        (rest[1], rest[2], diagonal[2]),
    )
    if SPREAD == "source":
        X = _subtract9(X, _outer(all_s, off_s))
    elif SPREAD == "target":
        X = _subtract9(X, _outer(all_t, off_t))
    elif SPREAD == "trace":
        x, y, z = X
        X = ((x[0] - _dot(all_s, off_s), x[1], x[2]), y, z)
    off_s, off_t = _divide3(off_s, unit.to(tl.float64)), _divide3(off_t, unit.to(tl.float64))
    mean_s = _add3(_to3(near_s, tl.float64), _to3(middle_s, tl.float64))
    mean_t = _add3(_to3(near_t, tl.float64), _to3(middle_t, tl.float64))
    # The means of nothing are 0.
    mean_s = _where3(whole == 0, _zero3(tl.float64), _add3(mean_s, off_s))
    mean_t = _where3(whole == 0, _zero3(tl.float64), _add3(mean_t, off_t))
    return whole, mean_s, mean_t, _divide9(X, divisor), _divide9(H, divisor)


@triton.jit
def _largest9(A):
    return tl.maximum(_largest(A[0]), tl.maximum(_largest(A[1]), _largest(A[2])))


@triton.jit
def _power_of_two(size):
    """The power of two whose square times `size` is about 1; 1 if there is none."""
    usual = (size > 2.0**-1000) & (size < 2.0**1000)
    bits = tl.where(usual, size, 1.0).to(tl.int64, bitcast=True)
    half = ((bits >> 52) - 1023) >> 1
    return ((1023 - half) << 52).to(tl.float64, bitcast=True)


@triton.jit
def _judge(total, X, H, unit, tries):
    """The moments' size; 2 if it fits, otherwise one try more; and the unit to try then."""
    SINGLE: tl.constexpr = unit.dtype == tl.float32
    LOW: tl.constexpr = _LOW32 if SINGLE else _LOW64
    HIGH: tl.constexpr = _HIGH32 if SINGLE else _HIGH64
    UNIT: tl.constexpr = _UNIT32 if SINGLE else _UNIT64
    size = tl.maximum(_largest9(X), _largest9(H))
    size = tl.where((_vanishing(X) == 0) & (_vanishing(H) == 0), size, float("inf"))
    fits = ((size > LOW) & (size < HIGH)) | (total == 0)
    tries = tl.where(fits, 2, tries + 1)
    other = tl.where(size < 1, UNIT, 1 / UNIT).to(unit.dtype)
    return size, tries, tl.where(tries == 2, unit, other)


@triton.jit
def _scaled_sums(
    clouds,
    sums,
    cloud,
    first,
    points,
    parts,
    note,
    SPREAD: tl.constexpr,
    AGAIN: tl.constexpr,
    LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """Total, means, moments times scale^2 and divided by the total, and the scale, in float64.

    For a cloud that is too large the scale is NaN, and so are its moments.

    sums: of the cloud's parts, from `cloud_sums`; or None.
    note: the cloud's state.
    AGAIN: whether the sums are those of a robust round, about the means and in the unit of the
        state; they are not summed again.
    """
    dtype: tl.constexpr = clouds[0].dtype.element_ty
    LARGEST: tl.constexpr = _LARGEST32 if dtype == tl.float32 else _LARGEST64
    if AGAIN:
        origin, unit = _state_origin(note, dtype)
        tries = 1
    else:
        origin = _origin(clouds, first, points, LANES)
        unit = tl.full((), 1, dtype)
        tries = 0
    total = tl.full((), 0, tl.float64)
    mean_s, mean_t = _zero3(tl.float64), _zero3(tl.float64)
    X, H = _zero9(tl.float64), _zero9(tl.float64)
    size = total
    if sums is not None:
        lanes = tl.arange(0, LANES)
        added = _add_parts(sums + (cloud * parts + lanes) * _PART, lanes < parts)
        total, mean_s, mean_t, X, H = _centred(added, origin, unit, SPREAD)
        size, tries, unit = _judge(total, X, H, unit, tries)
    if not AGAIN:
        while tries < 2:
            block = (clouds, first, points, 0, LANES, origin, unit)
            added = _sums(*block, None, None, SPREAD, NO_LOSS, LANES, UNROLL)
            enlarged = unit > 1
            total, own_s, own_t, X, H = _centred(added, origin, unit, SPREAD)
            size, tries, unit = _judge(total, X, H, unit, tries)
            # What overflows when it is enlarged was not small: it had cancelled.
            zero = enlarged & (size == float("inf"))
            mean_s, mean_t = _where3(zero, mean_s, own_s), _where3(zero, mean_t, own_t)
            X, H = _where9(zero, _zero9(tl.float64), X), _where9(zero, _zero9(tl.float64), H)
            size = tl.where(zero, 0.0, size)
    power = _power_of_two(size)
    scale = tl.where(size == 0, 1.0, unit.to(tl.float64) * power)
    limit = unit.to(tl.float64) * LARGEST
    far = (tl.maximum(_largest(mean_s), _largest(mean_t)) > LARGEST) | (size > limit * limit)
    scale = tl.where(far, float("nan"), scale)
    power = tl.where(far, float("nan"), power)
    square = power * power
    return total, mean_s, mean_t, _scale9(X, square), _scale9(H, square), scale
