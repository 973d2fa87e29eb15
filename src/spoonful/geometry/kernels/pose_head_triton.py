"""The pose head on a GPU, in Triton: one kernel forward, one backward, a program for each cloud.

The mathematics is that of moments.py, spread.py, rotation.py, refinement.py, similarity.py and
robust.py, in the same order and under the same names; those files explain it and remain the
reference, and pose_head.c is the same for the CPU. Points are read once forward, and read and
written once backward. Of large clouds, and in each round of a robust fit, several programs sum the
points of each cloud (`cloud_sums`), and another one fits.

Triton has no small arrays: a vector is a tuple of three numbers here, a matrix a tuple of three
rows. Where a choice depends on numbers, both sides are computed and one is selected. Each thread
sums over points of its own in the points' precision, about a point amid the cloud; threads are
added up, and Horn's eigenproblem is solved, in float64. The rest of a cloud's work is in the
points' precision, because its rounding is what the paper's layer amplifies. Moments are multiplied
by a power of two that makes them about 1, so that none of it overflows. A cloud so large or small
that its squares overflow or underflow is summed a second time, in another unit.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl

_STATE = tl.constexpr(35)  # numbers for each cloud: total, two means, S or G, H, P and the scale
_SWEEPS = tl.constexpr(12)  # at most; Jacobi needs 4 or 5
_EPS32 = tl.constexpr(2.0**-23)
_EPS64 = tl.constexpr(2.0**-52)
# The least moment whose inverse is held: tiny / (16 eps).
_LEAST32 = tl.constexpr(2.0**-107)
_LEAST64 = tl.constexpr(2.0**-974)
# Moments between these have neither overflown nor underflown; clouds with others are summed again,
# in units of 2^UNIT or 2^-UNIT. And the largest coordinate for which there is a pose: see head.py.
_LOW32, _HIGH32, _UNIT32 = tl.constexpr(1e-25), tl.constexpr(1e30), tl.constexpr(2.0**80)
_LOW64, _HIGH64, _UNIT64 = tl.constexpr(1e-250), tl.constexpr(1e280), tl.constexpr(2.0**500)
_LARGEST32, _LARGEST64 = tl.constexpr(1e34), tl.constexpr(1e150)
_PART = tl.constexpr(22)  # numbers that a program of `cloud_sums` writes: what `_sums` returns
_TINY32, _TINY64 = tl.constexpr(2.0**-31.5), tl.constexpr(2.0**-255.5)  # the least noise
# Losses, as `enum loss` of pose_head.c. TRUNCATED ends GNC_TLS; NO_LOSS sums without factors, and
# RESIDUALS writes squared errors instead of factors.
HUBER, TUKEY, GEMAN_MCCLURE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
GNC_TLS, TRUNCATED, NO_LOSS = tl.constexpr(3), tl.constexpr(4), tl.constexpr(5)
RESIDUALS = tl.constexpr(6)


# ---- Numbers, vectors and matrices ---------------------------------------------------------------


@triton.jit
def _divide(a, b):
    # `/` in float32 is not rounded correctly on a GPU.
    if b.dtype == tl.float32:
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def _root(a):
    if a.dtype == tl.float32:
        return tl.sqrt_rn(a)
    else:
        return tl.sqrt(a)


@triton.jit
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@triton.jit
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@triton.jit
def _add3(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@triton.jit
def _subtract3(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@triton.jit
def _scale3(a, factor):
    return a[0] * factor, a[1] * factor, a[2] * factor


@triton.jit
def _divide3(a, divisor):
    return _divide(a[0], divisor), _divide(a[1], divisor), _divide(a[2], divisor)


@triton.jit
def _where3(condition, a, b):
    x = tl.where(condition, a[0], b[0])
    y = tl.where(condition, a[1], b[1])
    z = tl.where(condition, a[2], b[2])
    return x, y, z


@triton.jit
def _to3(a, dtype: tl.constexpr):
    return a[0].to(dtype), a[1].to(dtype), a[2].to(dtype)


@triton.jit
def _zero3(dtype: tl.constexpr):
    zero = tl.full((), 0, dtype)
    return zero, zero, zero


@triton.jit
def _load3(pointer):
    return tl.load(pointer), tl.load(pointer + 1), tl.load(pointer + 2)


@triton.jit
def _store3(pointer, a):
    tl.store(pointer, a[0])
    tl.store(pointer + 1, a[1])
    tl.store(pointer + 2, a[2])


@triton.jit
def _column(A, i: tl.constexpr):
    return A[0][i], A[1][i], A[2][i]


@triton.jit
def _transpose(A):
    return _column(A, 0), _column(A, 1), _column(A, 2)


@triton.jit
def _add9(A, B):
    return _add3(A[0], B[0]), _add3(A[1], B[1]), _add3(A[2], B[2])


@triton.jit
def _subtract9(A, B):
    return _subtract3(A[0], B[0]), _subtract3(A[1], B[1]), _subtract3(A[2], B[2])


@triton.jit
def _scale9(A, factor):
    return _scale3(A[0], factor), _scale3(A[1], factor), _scale3(A[2], factor)


@triton.jit
def _divide9(A, divisor):
    return _divide3(A[0], divisor), _divide3(A[1], divisor), _divide3(A[2], divisor)


@triton.jit
def _where9(condition, A, B):
    x = _where3(condition, A[0], B[0])
    y = _where3(condition, A[1], B[1])
    z = _where3(condition, A[2], B[2])
    return x, y, z


@triton.jit
def _to9(A, dtype: tl.constexpr):
    return _to3(A[0], dtype), _to3(A[1], dtype), _to3(A[2], dtype)


@triton.jit
def _zero9(dtype: tl.constexpr):
    return _zero3(dtype), _zero3(dtype), _zero3(dtype)


@triton.jit
def _load9(pointer):
    return _load3(pointer), _load3(pointer + 3), _load3(pointer + 6)


@triton.jit
def _store9(pointer, A):
    _store3(pointer, A[0])
    _store3(pointer + 3, A[1])
    _store3(pointer + 6, A[2])


@triton.jit
def _matvec(A, v):
    return _dot(A[0], v), _dot(A[1], v), _dot(A[2], v)


@triton.jit
def _matmul(A, B):
    columns = _transpose(B)
    return _matvec(columns, A[0]), _matvec(columns, A[1]), _matvec(columns, A[2])


@triton.jit
def _outer(a, b):
    return _scale3(b, a[0]), _scale3(b, a[1]), _scale3(b, a[2])


@triton.jit
def _inner(A, B):
    return _dot(A[0], B[0]) + _dot(A[1], B[1]) + _dot(A[2], B[2])


@triton.jit
def _trace(A):
    return A[0][0] + A[1][1] + A[2][2]


@triton.jit
def _plus_diagonal(A, d):
    """`A + d I`."""
    x, y, z = A
    return (x[0] + d, x[1], x[2]), (y[0], y[1] + d, y[2]), (z[0], z[1], z[2] + d)


@triton.jit
def _vanishing(A):
    """0, but NaN if anything in A is NaN or inf."""
    # Not A - A: if an entry is a product, a fused `a b - a b` is the rounding error of `a b`.
    x, y, z = _scale9(A, 0.0)
    return (x[0] + x[1] + x[2]) + (y[0] + y[1] + y[2]) + (z[0] + z[1] + z[2])


@triton.jit
def _torque(R, A):
    """`vee(R^T A)`."""
    return _add3(_add3(_cross(A[0], R[0]), _cross(A[1], R[1])), _cross(A[2], R[2]))


@triton.jit
def _turned(R, v):
    """`R hat(v)`."""
    return _cross(R[0], v), _cross(R[1], v), _cross(R[2], v)


# ---- spread.py -----------------------------------------------------------------------------------


@triton.jit
def _spread(X):
    """`tr(X) I - X`."""
    return _plus_diagonal(_scale9(X, -1.0), _trace(X))


@triton.jit
def _spread_inverse(moment, EPS: tl.constexpr):
    size = _trace(moment)
    size = tl.where(size < (_LEAST32 if EPS == _EPS32 else _LEAST64), float("inf"), size)  # a point
    X = _divide9(moment, size)
    # X is symmetric: its rows are its columns.
    adjugate = (_cross(X[1], X[2]), _cross(X[2], X[0]), _cross(X[0], X[1]))
    numerator = _add9(X, adjugate)
    denominator = _trace(adjugate) - _dot(X[0], adjugate[0])
    minors = _trace(numerator)
    M = _spread(X)
    whole = _trace(M)
    rank3 = _divide9(numerator, denominator)
    null = _divide9(numerator, minors)
    rank2 = _subtract9(_plus_diagonal(_scale9(null, -whole), whole), M)
    rank2 = _divide9(rank2, minors)
    rank1 = _divide9(M, whole * whole)
    low = _where9(minors > 16 * EPS, rank2, rank1)
    low = _where9(whole > 0, low, _scale9(M, 0.0))
    inverse = _where9(denominator > minors * (16 * EPS), rank3, low)
    return _divide9(inverse, size)  # by NaN, where the moment has NaN


# ---- rotation.py ---------------------------------------------------------------------------------


@triton.jit
def _turn_pair(c, s, p, q):
    """Two columns of four, turned in their plane."""
    left = (c * p[0] - s * q[0], c * p[1] - s * q[1], c * p[2] - s * q[2], c * p[3] - s * q[3])
    right = (s * p[0] + c * q[0], s * p[1] + c * q[1], s * p[2] + c * q[2], s * p[3] + c * q[3])
    return left, right


@triton.jit
def _annihilate(pp, qq, pq, kp, kq, lp, lq, vp, vq):
    """Jacobi's rotation that makes entry pq of a symmetric 4x4 matrix zero.

    k and l are the other two rows; vp and vq the columns of eigenvectors that turn along.
    """
    gap = (qq - pp) / 2
    r = tl.sqrt(gap * gap + pq * pq)
    # Far below rounding there is nothing to turn, and a square would underflow.
    idle = tl.abs(pq) < 1e-20
    t = tl.where(idle, 0.0, pq / tl.where(idle, 1.0, tl.where(gap >= 0, gap + r, gap - r)))
    c = 1 / tl.sqrt(t * t + 1)
    s = t * c
    vp, vq = _turn_pair(c, s, vp, vq)
    pp, qq = pp - t * pq, qq + t * pq
    kp, kq = c * kp - s * kq, s * kp + c * kq
    lp, lq = c * lp - s * lq, s * lp + c * lq
    return pp, qq, pq * 0, kp, kq, lp, lq, vp, vq


@triton.jit
def _nearest_rotation(H, EPS: tl.constexpr):
    """The rotation that maximises tr(R^T H): the top eigenvector of Horn's 4x4 matrix.

    Where several are best they fill an eigenspace, and the projection of (1, 0, 0, 0) onto it is
    the one that turns least. (pose_head.c has the argument.)
    """
    x, y, z = _to9(H, tl.float64)
    size = tl.maximum(_largest(x), tl.maximum(_largest(y), _largest(z)))
    size = tl.where(size == 0, 1.0, size)
    x, y, z = _divide3(x, size), _divide3(y, size), _divide3(z, size)
    a00, a11 = x[0] + y[1] + z[2], x[0] - y[1] - z[2]
    a22, a33 = y[1] - x[0] - z[2], z[2] - x[0] - y[1]
    a01, a02, a03 = z[1] - y[2], x[2] - z[0], y[0] - x[1]
    a12, a13, a23 = x[1] + y[0], x[2] + z[0], y[2] + z[1]
    one, nil = tl.full((), 1, tl.float64), tl.full((), 0, tl.float64)
    v0, v1 = (one, nil, nil, nil), (nil, one, nil, nil)
    v2, v3 = (nil, nil, one, nil), (nil, nil, nil, one)
    sweep, off = 0, one
    while (sweep < _SWEEPS) & (off > 1e-32):
        # In an order in which every second rotation need not wait for the one before.
        a00, a11, a01, a02, a12, a03, a13, v0, v1 = _annihilate(
            a00, a11, a01, a02, a12, a03, a13, v0, v1
        )
        a22, a33, a23, a02, a03, a12, a13, v2, v3 = _annihilate(
            a22, a33, a23, a02, a03, a12, a13, v2, v3
        )
        a00, a22, a02, a01, a12, a03, a23, v0, v2 = _annihilate(
            a00, a22, a02, a01, a12, a03, a23, v0, v2
        )
        a11, a33, a13, a01, a03, a12, a23, v1, v3 = _annihilate(
            a11, a33, a13, a01, a03, a12, a23, v1, v3
        )
        a00, a33, a03, a01, a13, a02, a23, v0, v3 = _annihilate(
            a00, a33, a03, a01, a13, a02, a23, v0, v3
        )
        a11, a22, a12, a01, a02, a13, a23, v1, v2 = _annihilate(
            a11, a22, a12, a01, a02, a13, a23, v1, v2
        )
        sweep += 1
        off = a01 * a01 + a02 * a02 + a03 * a03 + a12 * a12 + a13 * a13 + a23 * a23
    top = tl.maximum(tl.maximum(a00, a11), tl.maximum(a22, a33))
    q = (nil, nil, nil, nil)
    tie = top * (1 - 16 * EPS)
    q = _plus_projection(q, v0, a00 >= tie)
    q = _plus_projection(q, v1, a11 >= tie)
    q = _plus_projection(q, v2, a22 >= tie)
    q = _plus_projection(q, v3, a33 >= tie)
    # Nothing of the identity in any of them: all are half turns, and any will do.
    half = _dot(q, q) + q[3] * q[3] == 0
    q = _where4(half & (a00 == top), v0, q)
    q = _where4(half & (a11 == top), v1, q)
    q = _where4(half & (a22 == top), v2, q)
    q = _where4(half & (a33 == top), v3, q)
    scale = 2 / (_dot(q, q) + q[3] * q[3])
    qw, qx, qy, qz = q
    u = (qx * scale, qy * scale, qz * scale)
    first = (1 - u[1] * qy - u[2] * qz, u[0] * qy - u[2] * qw, u[0] * qz + u[1] * qw)
    second = (u[0] * qy + u[2] * qw, 1 - u[0] * qx - u[2] * qz, u[1] * qz - u[0] * qw)
    third = (u[0] * qz - u[1] * qw, u[1] * qz + u[0] * qw, 1 - u[0] * qx - u[1] * qy)
    # The zero matrix has arrived at the identity by itself; NaN and inf must not.
    sound = _vanishing(H) == 0
    return _where9(sound, _to9((first, second, third), H[0][0].dtype), _scale9(H, float("nan")))


@triton.jit
def _largest(a):
    return tl.maximum(tl.abs(a[0]), tl.maximum(tl.abs(a[1]), tl.abs(a[2])))


@triton.jit
def _plus_projection(q, v, chosen):
    """q, plus the projection of (1, 0, 0, 0) on v if v is chosen."""
    along = tl.where(chosen, v[0], 0.0)
    return q[0] + along * v[0], q[1] + along * v[1], q[2] + along * v[2], q[3] + along * v[3]


@triton.jit
def _where4(condition, a, b):
    first = tl.where(condition, a[0], b[0])
    second, third, fourth = _where3(condition, (a[1], a[2], a[3]), (b[1], b[2], b[3]))
    return first, second, third, fourth


@triton.jit
def _turn(R, H, change, EPS: tl.constexpr):
    """The change of the best rotation for a change of H; its own adjoint, so also the gradient."""
    K = _matmul(_transpose(R), H)
    inverse = _spread_inverse(_scale9(_add9(K, _transpose(K)), 0.5), EPS)
    return _turned(R, _matvec(inverse, _torque(R, change)))


# ---- refinement.py -------------------------------------------------------------------------------


@triton.jit
def _unit(a):
    """`a / |a|`, for a length of at least one, with one division instead of three.

    Each quotient is corrected by what it leaves over, which rounds it as a division would.
    """
    length = _root(_dot(a, a))
    inverse = _divide(length * 0 + 1, length)
    x, y, z = _scale3(a, inverse)
    x = tl.fma(tl.fma(-x, length, a[0]), inverse, x)
    y = tl.fma(tl.fma(-y, length, a[1]), inverse, y)
    z = tl.fma(tl.fma(-z, length, a[2]), inverse, z)
    return x, y, z


@triton.jit
def _gram_schmidt(A):
    x = _unit(_column(A, 0))
    z = _unit(_cross(x, _column(A, 1)))
    return _transpose((x, _cross(z, x), z))


@triton.jit
def _step(H, P, R, TARGET: tl.constexpr):
    if TARGET:  # the clouds exchange their roles: R^T maps target to source
        back = _transpose(R)
        u = _matvec(P, _torque(back, _transpose(H)))
        return _gram_schmidt(_transpose(_add9(back, _turned(back, u))))
    else:
        u = _matvec(P, _torque(R, H))
        return _gram_schmidt(_add9(R, _turned(R, u)))


@triton.jit
def _assembler_pull(u, Q, pull):
    """`T^T pull`, with T the derivative of the assembler at u, whose rows are not written out."""
    n1 = Q[0][0] + Q[1][0] * u[2] - Q[2][0] * u[1]
    m = Q[1][0] - Q[0][0] * u[2] + Q[2][0] * u[0]
    n2 = Q[1][1] - Q[0][1] * u[2] + Q[2][1] * u[0]
    first = _divide(pull[0], n2)
    second = _divide(pull[1] + m * first, n1)
    third = _divide(pull[2], n1)
    x = Q[2][2] * first
    y = Q[2][2] * second - Q[2][1] * third
    z = Q[1][1] * third - Q[0][2] * first - Q[1][2] * second
    return x, y, z


@triton.jit
def _unstep(H, P, R, after, pull, TARGET: tl.constexpr):
    """One link of the chain backwards: the pull at R from that at R', and what H and P receive.

    No product of matrices but Q: each acts on one vector, and all threads of a cloud do this.
    """
    back = _transpose(R)
    v = _torque(R, H)
    Q = _matmul(back, after)
    if TARGET:  # P is at home in the target's frame
        turned_v = _matvec(R, v)
        u = _matvec(back, _matvec(P, turned_v))
        at_u = _assembler_pull(u, Q, pull)
        turned_at_u = _matvec(R, at_u)
        at_v = _matvec(back, _matvec(P, turned_at_u))
        d_P = _outer(turned_at_u, turned_v)
    else:
        u = _matvec(P, v)
        at_u = _assembler_pull(u, Q, pull)
        at_v = _matvec(P, at_u)
        d_P = _outer(at_u, v)
    # J^T pull = Q pull + follow^T at_u. In it, with K = R^T H,
    # spread(K)^T at_v = tr(K) at_v - K^T at_v.
    resisted = _scale3(at_v, _inner(R, H))
    resisted = _subtract3(resisted, _matvec(_transpose(H), _matvec(R, at_v)))
    pull = _subtract3(_matvec(Q, pull), resisted)
    if TARGET:
        pull = _add3(pull, _subtract3(_cross(at_u, u), _cross(at_v, v)))
    return pull, _turned(R, at_v), d_P


# ---- moments.py: sums over points ----------------------------------------------------------------


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


# ---- The kernels ---------------------------------------------------------------------------------

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
                pull = _add3(pull, _torque(after, G))
                pull, more_H, more_P = _unstep(H, P, before, after, pull, TARGET)
                k_H, k_P = _add9(k_H, more_H), _add9(k_P, more_P)
                after = before
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
        fine = _vanishing(P) == 0
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
