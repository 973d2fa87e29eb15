"""Vectors and 3x3 matrices in Triton kernels, and the mathematics of a cloud's rotation.

Triton has no small arrays: a vector is a tuple of three numbers here, a matrix a tuple of three
rows. If a choice depends on numbers, both sides are computed and one is selected. Horn's
eigenproblem is solved in float64.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl

_SWEEPS = tl.constexpr(12)  # at most; Jacobi needs 4 or 5
_EPS32 = tl.constexpr(2.0**-23)
# The least moment whose inverse is held: tiny / (16 eps).
_LEAST32 = tl.constexpr(2.0**-107)
_LEAST64 = tl.constexpr(2.0**-974)
_LONG32, _LONG64 = tl.constexpr(2.0**60), tl.constexpr(2.0**500)  # the square is a number


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
def _shortened(a):
    """`a`, but a power of two shorter if its square might overflow (pose_head.c: `to_unit`)."""
    MOST: tl.constexpr = _LONG32 if a[0].dtype == tl.float32 else _LONG64
    longest = tl.maximum(tl.maximum(tl.abs(a[0]), tl.abs(a[1])), tl.abs(a[2]))
    return _where3(longest > MOST, _scale3(a, 1 / MOST), a)


@triton.jit
def _gram_schmidt(A):
    x = _unit(_shortened(_column(A, 0)))
    z = _unit(_shortened(_cross(x, _column(A, 1))))
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
