"""Maxima over neighbours and the norm's sums of a layer on edges, in Triton.

Tensors are (items, points, K, channels), channels last. A program has one item, some tiles of ROWS
points, and SOME of the channels.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl


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
    """Extremes over neighbours and the norm's sums of a layer, read once.

    A thread walks along the neighbours of a point: nothing is exchanged between threads but the
    sums, once at the end.
    """
    item = tl.program_id(0).to(tl.int64)
    y += item * points * K * C
    extreme += item * points * C
    arg += item * points * C
    channel = tl.program_id(2) * SOME + tl.arange(0, SOME)
    weight = tl.load(gamma + channel, mask=channel < C, other=0)
    sign = tl.where(weight < 0, -1.0, 1.0)[None, :]
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
