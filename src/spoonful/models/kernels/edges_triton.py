"""Networks on edges, in Triton: products, the norm's statistics and maxima of a layer in one pass.

Tensors are (items, points, K, channels), channels last. A program has one item and some of its
tiles; a tile is ROWS points with KP >= K places each, of which the last KP - K are empty. Numbers
of channels are padded to powers of two in the same way.

What the norm subtracts and divides by is only known when a layer is complete, so a layer reads
what the one before it wrote, and normalises it then: `relu(before * scale + shift)`. The last
layer of a stack is pooled and never written.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl


@triton.jit
def _places(tile, points, K: tl.constexpr, KP: tl.constexpr, ROWS: tl.constexpr):
    """The point and the place of each edge of a tile, and whether there is such an edge."""
    edge = tl.arange(0, ROWS * KP)
    point = tile * ROWS + edge // KP
    place = edge % KP
    return point, place, (point < points) & (place < K)


@triton.jit
def _counted(mask, point, there):
    """Which edges count in statistics: those of points that are not padding."""
    if mask is None:
        return there
    else:
        return there & (tl.load(mask + point, mask=there, other=0) != 0)


@triton.jit
def _vector(pointer, channel, COUNT: tl.constexpr):
    return tl.load(pointer + channel, mask=channel < COUNT, other=0).to(tl.float32)


@triton.jit
def _product(rows, row, there, weight, channel, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    """A few numbers of each row times the weights: exact, without the tensor cores."""
    first = tl.load(rows + row * WIDTH, mask=there, other=0)
    out = first[:, None] * _vector(weight, channel * WIDTH, COUNT * WIDTH)[None, :]
    for d in tl.static_range(1, WIDTH):
        x = tl.load(rows + row * WIDTH + d, mask=there, other=0)
        out += x[:, None] * _vector(weight + d, channel * WIDTH, COUNT * WIDTH)[None, :]
    return out


@triton.jit
def _extremes(
    out,
    gamma,
    extreme,
    arg,
    points,
    tile,
    there,
    channel,
    COUNT: tl.constexpr,
    KP: tl.constexpr,
    ROWS: tl.constexpr,
    PADDED: tl.constexpr,
):
    """For each point its largest value, or its smallest where the norm will turn the sign."""
    sign = tl.where(_vector(gamma, channel, COUNT) < 0, -1.0, 1.0)
    signed = tl.where(there[:, None], out * sign[None, :], float("-inf"))
    best, place = tl.max(tl.reshape(signed, (ROWS, KP, PADDED)), 1, return_indices=True)
    point = tile * ROWS + tl.arange(0, ROWS)
    at = point[:, None] * COUNT + channel[None, :]
    real = (point < points)[:, None] & (channel < COUNT)[None, :]
    tl.store(extreme + at, best * sign[None, :], mask=real)
    tl.store(arg + at, place.to(tl.int8), mask=real)


@triton.jit
def _at_output(
    out,
    mask,
    arg,
    d_y,
    d_extreme,
    d_stats,
    edge,
    point,
    place,
    there,
    channel,
    COUNT: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The whole gradient at a tile of a layer's output: the next layer's, pooling's and the norm's.

    d_stats are the gradients at the sums of the output and of its squares.
    """
    real = there[:, None] & (channel < COUNT)[None, :]
    g = tl.zeros_like(out)
    if d_y is not None:
        g += tl.load(d_y + edge[:, None] * COUNT + channel[None, :], mask=real, other=0).to(
            tl.float32
        )
    if d_stats is not None:
        at_sum = _vector(d_stats, channel, COUNT)
        at_squares = _vector(d_stats + COUNT, channel, COUNT)
        counted = _counted(mask, point, there)
        more = at_sum[None, :] + 2 * out * at_squares[None, :]
        g += tl.where(counted[:, None], more, 0.0)
    if d_extreme is not None:
        if ROWS == 1:  # one point, whose numbers all its edges share
            at = tl.min(point, 0) * COUNT + channel
            chosen = tl.load(arg + at, mask=channel < COUNT, other=-1).to(tl.int32)
            pull = tl.load(d_extreme + at, mask=channel < COUNT, other=0).to(tl.float32)
            g += tl.where(chosen[None, :] == place[:, None], pull[None, :], 0.0)
        else:
            at = point[:, None] * COUNT + channel[None, :]
            chosen = tl.load(arg + at, mask=real, other=-1).to(tl.int32) == place[:, None]
            g += tl.load(d_extreme + at, mask=real & chosen, other=0).to(tl.float32)
    return tl.where(real, g, 0.0)


@triton.jit
def first_forward(
    xyz,  # (items, points, 3)
    index,  # (items, points, K)
    features,  # (items, points, K, D) or None
    to_neighbor,  # (C, 3)
    to_center,  # (C, 3)
    to_features,  # (C, D) or None
    bias,  # (C,) or None
    gamma,  # (C,)
    mask,  # (items, points) or None
    y,  # (items, points, K, C)
    extreme,  # (items, points, C) or None
    arg,  # likewise
    sums,  # (items, programs, 2, C)
    points,
    C: tl.constexpr,
    D: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    ROWS: tl.constexpr,
    CP: tl.constexpr,
):
    """The first layer: a part of the neighbour, a part of the point, a few features of the edge."""
    item = tl.program_id(0).to(tl.int64)
    # 64 bits for items, 32 within one.
    xyz += item * (points * 3)
    index += item * (points * K)
    if features is not None:
        features += item * (points * K * D)
    y += item * (points * K * C)
    if mask is not None:
        mask += item * (points)
    if extreme is not None:
        extreme += item * (points * C)
        arg += item * (points * C)
    channel = tl.arange(0, CP)
    total, squares = tl.zeros((CP,), tl.float32), tl.zeros((CP,), tl.float32)
    for tile in range(tl.program_id(1), tl.cdiv(points, ROWS), tl.num_programs(1)):
        point, place, there = _places(tile, points, K, KP, ROWS)
        edge = point * K + place
        real = there[:, None] & (channel < C)[None, :]
        other = tl.load(index + edge, mask=there, other=0).to(tl.int32)
        out = tl.zeros((ROWS * KP, CP), tl.float32)
        if bias is not None:
            out += _vector(bias, channel, C)[None, :]
        out += _product(xyz, other, there, to_neighbor, channel, C, 3)
        out += _product(xyz, point, there, to_center, channel, C, 3)
        if features is not None:
            out += _product(features, edge, there, to_features, channel, C, D)
        tl.store(y + edge[:, None] * C + channel[None, :], out.to(y.dtype.element_ty), mask=real)
        counted = _counted(mask, point, there)
        kept = tl.where(counted[:, None], out, 0.0)
        total += tl.sum(kept, 0)
        squares += tl.sum(kept * kept, 0)
        if extreme is not None:
            _extremes(out, gamma, extreme, arg, points, tile, there, channel, C, KP, ROWS, CP)
    at = sums + ((item * tl.num_programs(1) + tl.program_id(1)) * 2) * C + channel
    tl.store(at, total, mask=channel < C)
    tl.store(at + C, squares, mask=channel < C)


@triton.jit
def first_backward(
    xyz,  # (items, points, 3)
    index,
    features,
    y,
    mask,
    arg,
    d_y,
    d_extreme,
    d_stats,
    d_weight,  # (items, programs, C, 16): neighbour 3, centre 3, features D, bias, and nothing
    points,
    C: tl.constexpr,
    D: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    ROWS: tl.constexpr,
    CP: tl.constexpr,
):
    """The gradients at the first layer's weights."""
    dtype: tl.constexpr = y.dtype.element_ty
    item = tl.program_id(0).to(tl.int64)
    # 64 bits for items, 32 within one.
    xyz += item * (points * 3)
    index += item * (points * K)
    if features is not None:
        features += item * (points * K * D)
    y += item * (points * K * C)
    if mask is not None:
        mask += item * (points)
    if d_y is not None:
        d_y += item * (points * K * C)
    if d_extreme is not None:
        d_extreme += item * (points * C)
        arg += item * (points * C)
    if d_stats is not None:
        d_stats += item * (2 * C)
    channel, column = tl.arange(0, CP), tl.arange(0, 16)
    found = tl.zeros((CP, 16), tl.float32)
    for tile in range(tl.program_id(1), tl.cdiv(points, ROWS), tl.num_programs(1)):
        point, place, there = _places(tile, points, K, KP, ROWS)
        edge = point * K + place
        real = there[:, None] & (channel < C)[None, :]
        out = tl.load(y + edge[:, None] * C + channel[None, :], mask=real, other=0).to(tl.float32)
        g = _at_output(
            out,
            mask,
            arg,
            d_y,
            d_extreme,
            d_stats,
            edge,
            point,
            place,
            there,
            channel,
            C,
            ROWS,
        )
        other = tl.load(index + edge, mask=there, other=0).to(tl.int32)
        e = column[None, :]
        read = tl.load(xyz + other[:, None] * 3 + e, mask=there[:, None] & (e < 3), other=0)
        read += tl.load(
            xyz + point[:, None] * 3 + e - 3, mask=there[:, None] & (e >= 3) & (e < 6), other=0
        )
        if features is not None:
            read += tl.load(
                features + edge[:, None] * D + e - 6,
                mask=there[:, None] & (e >= 6) & (e < 6 + D),
                other=0,
            )
        read += tl.where(there[:, None] & (e == 6 + D), 1.0, 0.0)
        found += tl.dot(tl.trans(g.to(dtype)), read.to(dtype))
    at = (item * tl.num_programs(1) + tl.program_id(1)) * C + channel
    tl.store(d_weight + at[:, None] * 16 + column[None, :], found, mask=(channel < C)[:, None])


@triton.jit
def layer_forward(
    before,  # (items, points, K, CIN), not normalised yet
    scale,  # (items, CIN)
    shift,  # (items, CIN)
    weight,  # (COUT, CIN)
    bias,  # (COUT,) or None
    gamma,  # (COUT,)
    mask,  # (items, points) or None
    y,  # (items, points, K, COUT) or None
    extreme,  # (items, points, COUT) or None
    arg,  # likewise
    sums,  # (items, programs, 2, COUT)
    points,
    CIN: tl.constexpr,
    COUT: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    ROWS: tl.constexpr,
    CINP: tl.constexpr,
    COUTP: tl.constexpr,
):
    """`y = weight relu(before scale + shift) + bias`, with its statistics and extremes."""
    dtype: tl.constexpr = before.dtype.element_ty
    item = tl.program_id(0).to(tl.int64)
    # 64 bits for items, 32 within one.
    before += item * (points * K * CIN)
    scale += item * (CIN)
    shift += item * (CIN)
    if mask is not None:
        mask += item * (points)
    if y is not None:
        y += item * (points * K * COUT)
    if extreme is not None:
        extreme += item * (points * COUT)
        arg += item * (points * COUT)
    c, o = tl.arange(0, CINP), tl.arange(0, COUTP)
    W = tl.load(
        weight + o[None, :] * CIN + c[:, None],
        mask=(c < CIN)[:, None] & (o < COUT)[None, :],
        other=0,
    )
    a, s = _vector(scale, c, CIN), _vector(shift, c, CIN)
    total, squares = tl.zeros((COUTP,), tl.float32), tl.zeros((COUTP,), tl.float32)
    for tile in range(tl.program_id(1), tl.cdiv(points, ROWS), tl.num_programs(1)):
        point, place, there = _places(tile, points, K, KP, ROWS)
        edge = point * K + place
        x = tl.load(
            before + edge[:, None] * CIN + c[None, :],
            mask=there[:, None] & (c < CIN)[None, :],
            other=0,
        ).to(tl.float32)
        x = tl.maximum(x * a[None, :] + s[None, :], 0.0).to(dtype)
        out = tl.dot(x, W)
        if bias is not None:
            out += _vector(bias, o, COUT)[None, :]
        if y is not None:
            tl.store(
                y + edge[:, None] * COUT + o[None, :],
                out.to(dtype),
                mask=there[:, None] & (o < COUT)[None, :],
            )
        counted = _counted(mask, point, there)
        kept = tl.where(counted[:, None], out, 0.0)
        total += tl.sum(kept, 0)
        squares += tl.sum(kept * kept, 0)
        if extreme is not None:
            _extremes(out, gamma, extreme, arg, points, tile, there, o, COUT, KP, ROWS, COUTP)
    at = sums + ((item * tl.num_programs(1) + tl.program_id(1)) * 2) * COUT + o
    tl.store(at, total, mask=o < COUT)
    tl.store(at + COUT, squares, mask=o < COUT)


@triton.jit
def layer_backward(
    before,
    scale,
    shift,
    weight,
    bias,
    mask,
    arg,
    d_y,
    d_extreme,
    d_stats,
    d_before,  # like before, or None
    d_affine,  # (items, programs, 2, CIN): at scale and shift; with d_before
    d_weight,  # (items, programs, COUT, CIN), or None
    d_bias,  # (items, programs, COUT); with d_weight
    points,
    CIN: tl.constexpr,
    COUT: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    ROWS: tl.constexpr,
    CINP: tl.constexpr,
    SOME: tl.constexpr,  # of COUT at a time; all, padded, with d_before
):
    """The gradients at a layer's input, at its scale and shift, and at its weights."""
    dtype: tl.constexpr = before.dtype.element_ty
    item = tl.program_id(0).to(tl.int64)
    program = item * tl.num_programs(1) + tl.program_id(1)
    # 64 bits for items, 32 within one.
    before += item * (points * K * CIN)
    scale += item * (CIN)
    shift += item * (CIN)
    if mask is not None:
        mask += item * (points)
    if d_y is not None:
        d_y += item * (points * K * COUT)
    if d_extreme is not None:
        d_extreme += item * (points * COUT)
        arg += item * (points * COUT)
    if d_stats is not None:
        d_stats += item * (2 * COUT)
    if d_before is not None:
        d_before += item * (points * K * CIN)
    c = tl.arange(0, CINP)
    o = tl.program_id(2) * SOME + tl.arange(0, SOME)
    W = tl.load(
        weight + o[None, :] * CIN + c[:, None],
        mask=(c < CIN)[:, None] & (o < COUT)[None, :],
        other=0,
    )
    a, s = _vector(scale, c, CIN), _vector(shift, c, CIN)
    at_scale, at_shift = tl.zeros((CINP,), tl.float32), tl.zeros((CINP,), tl.float32)
    at_bias = tl.zeros((SOME,), tl.float32)
    if d_weight is not None:
        at_weight = tl.zeros((SOME, CINP), tl.float32)
    for tile in range(tl.program_id(1), tl.cdiv(points, ROWS), tl.num_programs(1)):
        point, place, there = _places(tile, points, K, KP, ROWS)
        edge = point * K + place
        real = there[:, None] & (c < CIN)[None, :]
        raw = tl.load(before + edge[:, None] * CIN + c[None, :], mask=real, other=0).to(tl.float32)
        x = tl.maximum(raw * a[None, :] + s[None, :], 0.0)
        out = tl.dot(x.to(dtype), W)
        if bias is not None:
            out += _vector(bias, o, COUT)[None, :]
        g = _at_output(
            out,
            mask,
            arg,
            d_y,
            d_extreme,
            d_stats,
            edge,
            point,
            place,
            there,
            o,
            COUT,
            ROWS,
        )
        if d_before is not None:
            d_x = tl.dot(g.to(dtype), tl.trans(W))
            d_x = tl.where(x > 0, d_x, 0.0)
            at_scale += tl.sum(d_x * raw, 0)
            at_shift += tl.sum(d_x, 0)
            tl.store(
                d_before + edge[:, None] * CIN + c[None, :],
                (d_x * a[None, :]).to(dtype),
                mask=real,
            )
        if d_weight is not None:
            at_weight += tl.dot(tl.trans(g.to(dtype)), x.to(dtype))
            at_bias += tl.sum(g, 0)
    if d_before is not None:
        at = d_affine + program * 2 * CIN + c
        tl.store(at, at_scale, mask=c < CIN)
        tl.store(at + CIN, at_shift, mask=c < CIN)
    if d_weight is not None:
        tl.store(
            d_weight + (program * COUT + o)[:, None] * CIN + c[None, :],
            at_weight,
            mask=(o < COUT)[:, None] & (c < CIN)[None, :],
        )
        tl.store(d_bias + program * COUT + o, at_bias, mask=o < COUT)


@triton.jit
def summarize(
    y,  # (items, points, K, C)
    gamma,  # (C,)
    mask,  # (items, points) or None
    extreme,  # (items, points, C)
    arg,  # likewise
    sums,  # (items, programs, 2, C)
    points,
    C: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    SOME: tl.constexpr,
):
    """Extremes over neighbours and the norm's sums of a layer that is written, read once.

    A thread walks along the neighbours of a point: nothing is exchanged between threads but the
    sums, once at the end. A program has SOME of the channels.
    """
    item = tl.program_id(0).to(tl.int64)
    y += item * points * K * C
    extreme += item * points * C
    arg += item * points * C
    channel = tl.program_id(2) * SOME + tl.arange(0, SOME)
    sign = tl.where(_vector(gamma, channel, C) < 0, -1.0, 1.0)[None, :]
    total, squares = tl.zeros((ROWS, SOME), tl.float32), tl.zeros((ROWS, SOME), tl.float32)
    for tile in range(tl.program_id(1), tl.cdiv(points, ROWS), tl.num_programs(1)):
        point = tile * ROWS + tl.arange(0, ROWS)
        real = (point < points)[:, None] & (channel < C)[None, :]
        counted = (point < points)[:, None]
        if mask is not None:
            counted = tl.load(mask + item * points + point, mask=point < points, other=0) != 0
            counted = counted[:, None]
        best = tl.full((ROWS, SOME), float("-inf"), tl.float32)
        place = tl.zeros((ROWS, SOME), tl.int32)
        at = y + point[:, None] * (K * C) + channel[None, :]
        for k in range(K):
            value = tl.load(at + k * C, mask=real, other=0).to(tl.float32)
            kept = tl.where(counted, value, 0.0)
            total += kept
            squares += kept * kept
            signed = value * sign
            place = tl.where(signed > best, k, place)
            best = tl.maximum(signed, best)
        to = point[:, None] * C + channel[None, :]
        tl.store(extreme + to, best * sign, mask=real)
        tl.store(arg + to, place.to(tl.int8), mask=real)
    at = sums + ((item * tl.num_programs(1) + tl.program_id(1)) * 2) * C + channel
    tl.store(at, tl.sum(total, 0), mask=channel < C)
    tl.store(at + C, tl.sum(squares, 0), mask=channel < C)
