"""Soft assignment as an operator of torch: Sinkhorn, and what is read off its matrix.

The kernels are those of sinkhorn_triton.py; the steps and their gradients those of sinkhorn.py.
"""

# Without `from __future__ import annotations`: torch 2.4 cannot read the types of a custom
# operation from text.

from typing import Any

import torch
from torch import Tensor

# Tiles of the matrix: rows are summed by programs that have few of them, columns likewise.
_FLAT = {"ROWS": 8, "COLUMNS": 256}
_TALL = {"ROWS": 64, "COLUMNS": 32}


def _grid(affinity: Tensor, axis: int, block: int) -> tuple[int, int]:
    return affinity.shape[0], -(-affinity.shape[axis] // block)


@torch.library.custom_op("spoonful::soft_assign", mutates_args=())
def soft_assign(
    affinity: Tensor, points: Tensor, iterations: int, slack: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Sums of `P = sinkhorn(affinity)` over rows and columns, and `P points`.

    Args:
        affinity: (B, N, M), float32 and contiguous.
        points: (B, M, 3), likewise; they get no gradient.
        iterations: I >= 1, of rows then columns.
        slack: whether a point may go unmatched.

    Returns:
        Row sums (B, N), column sums (B, M), mixed points (B, N, 3), and the potentials after each
        step: (I, B, N) of rows, (I + 1, B, M) of columns.
    """
    from spoonful.models.kernels import sinkhorn_triton as kernels

    total, columns, mixed, us, vs = _outputs(affinity, iterations)
    size = affinity.shape[1:]
    flat, tall = _grid(affinity, 1, _FLAT["ROWS"]), _grid(affinity, 2, _TALL["COLUMNS"])
    vs[0].zero_()
    with torch.cuda.device_of(affinity):
        for i in range(iterations):
            kernels.step[flat](affinity, vs[i], us[i], *size, SLACK=slack, AXIS=1, **_FLAT)
            kernels.step[tall](affinity, us[i], vs[i + 1], *size, SLACK=slack, AXIS=0, **_TALL)
        u, v = us[-1], vs[-1]
        kernels.read_rows[flat](affinity, u, v, points, total, mixed, *size, **_FLAT)
        none = (None,) * 6
        kernels.sums[tall](affinity, u, v, *none, columns, *size, AXIS=0, **_TALL)
    return total, columns, mixed, us, vs


@soft_assign.register_fake
def _(
    affinity: Tensor, points: Tensor, iterations: int, slack: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return _outputs(affinity, iterations)


def _outputs(affinity: Tensor, iterations: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    batch, rows, columns = affinity.shape
    return (
        affinity.new_empty(batch, rows),
        affinity.new_empty(batch, columns),
        affinity.new_empty(batch, rows, 3),
        affinity.new_empty(iterations, batch, rows),
        affinity.new_empty(iterations + 1, batch, columns),
    )


@torch.library.custom_op("spoonful::soft_assign_backward", mutates_args=())
def soft_assign_backward(
    affinity: Tensor,
    points: Tensor,
    us: Tensor,
    vs: Tensor,
    g_rows: Tensor,
    g_columns: Tensor,
    g_mixed: Tensor,
) -> Tensor:
    """The gradient at the affinity."""
    from spoonful.models.kernels import sinkhorn_triton as kernels

    size = affinity.shape[1:]
    iterations = us.shape[0]
    flat, tall = _grid(affinity, 1, _FLAT["ROWS"]), _grid(affinity, 2, _TALL["COLUMNS"])
    d_us, d_vs = torch.empty_like(us), torch.empty_like(vs[1:])
    d_affinity = torch.empty_like(affinity)
    wanted, nothing = (points, g_rows, g_columns, g_mixed), (None,) * 4
    with torch.cuda.device_of(affinity):
        u, v = us[-1], vs[-1]
        at_u = torch.empty_like(u)
        kernels.sums[flat](affinity, u, v, *wanted, None, None, at_u, *size, AXIS=1, **_FLAT)
        kernels.sums[tall](affinity, u, v, *wanted, None, None, d_vs[-1], *size, AXIS=0, **_TALL)
        for i in reversed(range(iterations)):
            plus = at_u if i == iterations - 1 else None
            kernels.sums[flat](
                affinity, us[i], vs[i + 1], *nothing, d_vs[i], plus, d_us[i], *size, AXIS=1, **_FLAT
            )
            if i > 0:
                step = (*nothing, d_us[i], None, d_vs[i - 1])
                kernels.sums[tall](affinity, us[i], vs[i], *step, *size, AXIS=0, **_TALL)
        kernels.at_affinity[flat](
            affinity, us, vs, d_us, d_vs, *wanted, d_affinity, *size, iterations, **_FLAT
        )
    return d_affinity


@soft_assign_backward.register_fake
def _(
    affinity: Tensor,
    points: Tensor,
    us: Tensor,
    vs: Tensor,
    g_rows: Tensor,
    g_columns: Tensor,
    g_mixed: Tensor,
) -> Tensor:
    return torch.empty_like(affinity)


def _context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    affinity, points, _, _ = inputs
    us, vs = output[3:]
    ctx.save_for_backward(affinity, points, us, vs)
    ctx.mark_non_differentiable(us, vs)


def _backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
    given = (gradient.contiguous() for gradient in gradients[:3])
    return soft_assign_backward(*ctx.saved_tensors, *given), None, None, None


soft_assign.register_autograd(_backward, setup_context=_context)
