"""Sinkhorn's steps and sums over its matrix, in Triton; the matrix itself is never stored.

After every step the matrix is `exp(A + u_i + v_j)` (sinkhorn.py). A step reads A once and writes
one of the two potentials; so does its gradient. The last pass back writes the gradient at A.
"""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl


@triton.jit
def _tile(A, row, column, rows, columns):
    real = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(A + row[:, None] * columns + column[None, :], mask=real, other=float("-inf"))


@triton.jit
def _more(x, top, total, AXIS: tl.constexpr):
    """Add a tile's exponentials to sums of exponentials, kept relative to their largest."""
    higher = tl.maximum(top, tl.max(x, AXIS))
    # Nothing but -inf so far: any finite number will do.
    level = tl.where(higher == float("-inf"), 0.0, higher)
    e = tl.exp(x - tl.expand_dims(level, AXIS))
    return higher, total * tl.exp(top - level) + tl.sum(e, AXIS)


@triton.jit
def _potential(top, total, SLACK: tl.constexpr):
    """`-log(sum)`, of the sum with 1 for the slack."""
    if SLACK:
        level = tl.maximum(top, 0.0)
        return -(level + tl.log(total * tl.exp(top - level) + tl.exp(-level)))
    else:
        return tl.where(total == 0, 0.0, -(top + tl.log(total)))


@triton.jit
def step(
    A,  # (items, rows, columns)
    given,  # (items, columns) if AXIS is 1, else (items, rows)
    made,  # (items, rows) if AXIS is 1, else (items, columns): written
    rows,
    columns,
    AXIS: tl.constexpr,
    SLACK: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Normalise rows (AXIS 1) or columns (AXIS 0)."""
    OWN: tl.constexpr = ROWS if AXIS == 1 else COLUMNS
    OTHER: tl.constexpr = COLUMNS if AXIS == 1 else ROWS
    count, others = (rows, columns) if AXIS == 1 else (columns, rows)
    item = tl.program_id(0).to(tl.int64)
    A += item * rows * columns
    given += item * others
    own = tl.program_id(1) * OWN + tl.arange(0, OWN)
    top = tl.full((OWN,), float("-inf"), tl.float32)
    total = tl.zeros((OWN,), tl.float32)
    for first in range(0, others, OTHER):
        other = first + tl.arange(0, OTHER)
        row, column = (own, other) if AXIS == 1 else (other, own)
        x = _tile(A, row, column, rows, columns)
        x += tl.expand_dims(tl.load(given + other, mask=other < others, other=0), 1 - AXIS)
        top, total = _more(x, top, total, AXIS)
    tl.store(made + item * count + own, _potential(top, total, SLACK), mask=own < count)


@triton.jit
def _wanted(g_rows, g_columns, g_mixed, points, row, column, rows, columns):
    """The gradient at the matrix itself: `g_rows_i + g_columns_j + g_mixed_i . points_j`."""
    g = tl.load(g_rows + row, mask=row < rows, other=0)[:, None]
    g = g + tl.load(g_columns + column, mask=column < columns, other=0)[None, :]
    for axis in tl.static_range(3):
        a = tl.load(g_mixed + row * 3 + axis, mask=row < rows, other=0)
        b = tl.load(points + column * 3 + axis, mask=column < columns, other=0)
        g += a[:, None] * b[None, :]
    return g


@triton.jit
def read_rows(
    A,
    u,
    v,
    points,  # (items, columns, 3)
    total,  # (items, rows): written
    mixed,  # (items, rows, 3): written
    rows,
    columns,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Sums of rows, and of points weighted by them."""
    item = tl.program_id(0).to(tl.int64)
    A += item * rows * columns
    v += item * columns
    points += item * columns * 3
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    level = tl.load(u + item * rows + row, mask=row < rows, other=0)
    s = tl.zeros((ROWS,), tl.float32)
    x, y, z = tl.zeros_like(s), tl.zeros_like(s), tl.zeros_like(s)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        real = column < columns
        e = _tile(A, row, column, rows, columns) + level[:, None]
        e = tl.exp(e + tl.load(v + column, mask=real, other=0)[None, :])
        s += tl.sum(e, 1)
        x += tl.sum(e * tl.load(points + column * 3, mask=real, other=0)[None, :], 1)
        y += tl.sum(e * tl.load(points + column * 3 + 1, mask=real, other=0)[None, :], 1)
        z += tl.sum(e * tl.load(points + column * 3 + 2, mask=real, other=0)[None, :], 1)
    at = item * rows + row
    tl.store(total + at, s, mask=row < rows)
    tl.store(mixed + at * 3, x, mask=row < rows)
    tl.store(mixed + at * 3 + 1, y, mask=row < rows)
    tl.store(mixed + at * 3 + 2, z, mask=row < rows)


@triton.jit
def sums(
    A,
    u,
    v,
    points,  # with g_rows, g_columns and g_mixed, or all None
    g_rows,
    g_columns,
    g_mixed,
    factor,  # (items, columns) if AXIS is 1, else (items, rows), or None
    plus,  # as `out`, or None
    out,  # (items, rows) if AXIS is 1, else (items, columns): written
    rows,
    columns,
    AXIS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Sums over rows (AXIS 1) or columns (AXIS 0) of P g, with g the gradient at the matrix.

    With `factor` instead of g: `plus - sum P factor`. With neither: `sum P`.
    """
    OWN: tl.constexpr = ROWS if AXIS == 1 else COLUMNS
    OTHER: tl.constexpr = COLUMNS if AXIS == 1 else ROWS
    count, others = (rows, columns) if AXIS == 1 else (columns, rows)
    potential, potentials = (u, v) if AXIS == 1 else (v, u)
    item = tl.program_id(0).to(tl.int64)
    A += item * rows * columns
    potential += item * count
    potentials += item * others
    if g_rows is not None:
        points += item * columns * 3
        g_rows += item * rows
        g_columns += item * columns
        g_mixed += item * rows * 3
    own = tl.program_id(1) * OWN + tl.arange(0, OWN)
    level = tl.load(potential + own, mask=own < count, other=0)
    s = tl.zeros((OWN,), tl.float32)
    for first in range(0, others, OTHER):
        other = first + tl.arange(0, OTHER)
        real = other < others
        row, column = (own, other) if AXIS == 1 else (other, own)
        e = _tile(A, row, column, rows, columns) + tl.expand_dims(level, AXIS)
        more = tl.load(potentials + other, mask=real, other=0)
        e = tl.exp(e + tl.expand_dims(more, 1 - AXIS))
        if g_rows is not None:
            e *= _wanted(g_rows, g_columns, g_mixed, points, row, column, rows, columns)
        elif factor is not None:
            scale = tl.load(factor + item * others + other, mask=real, other=0)
            e *= -tl.expand_dims(scale, 1 - AXIS)
        s += tl.sum(e, AXIS)
    if plus is not None:
        s += tl.load(plus + item * count + own, mask=own < count, other=0)
    tl.store(out + item * count + own, s, mask=own < count)


@triton.jit
def at_affinity(
    A,
    us,  # (steps, items, rows)
    vs,  # (steps + 1, items, columns), the first all 0
    d_us,  # (steps, items, rows), the gradients at the potentials
    d_vs,  # (steps, items, columns), at those of vs[1:]
    points,
    g_rows,
    g_columns,
    g_mixed,
    d_A,  # (items, rows, columns): written
    rows,
    columns,
    steps,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The gradient at the affinity, of the matrix itself and of every step."""
    items = tl.num_programs(0).to(tl.int64)
    item = tl.program_id(0).to(tl.int64)
    A += item * rows * columns
    d_A += item * rows * columns
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        in_row, in_column = row < rows, column < columns
        a = _tile(A, row, column, rows, columns)
        g = tl.zeros((ROWS, COLUMNS), tl.float32)
        for step in range(steps):
            at_u = (step * items + item) * rows + row
            at_v = (step * items + item) * columns + column
            u = tl.load(us + at_u, mask=in_row, other=0)
            before = tl.load(vs + at_v, mask=in_column, other=0)
            after = tl.load(vs + at_v + items * columns, mask=in_column, other=0)
            d_u = tl.load(d_us + at_u, mask=in_row, other=0)
            d_v = tl.load(d_vs + at_v, mask=in_column, other=0)
            e = a + u[:, None]
            g -= tl.exp(e + before[None, :]) * d_u[:, None]
            shares = tl.exp(e + after[None, :])
            g -= shares * d_v[None, :]
            if step == steps - 1:
                g += shares * _wanted(
                    g_rows + item * rows,
                    g_columns + item * columns,
                    g_mixed + item * rows * 3,
                    points + item * columns * 3,
                    row,
                    column,
                    rows,
                    columns,
                )
        at = row[:, None] * columns + column[None, :]
        tl.store(d_A + at, g, mask=in_row[:, None] & in_column[None, :])
