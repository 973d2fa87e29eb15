"""The compiled pose head as one differentiable function of the points.

Forward and backward are each one call into pose_head.c, or one kernel of pose_head_triton.py on a
GPU. Derivatives of derivatives, and gradients that are themselves batched or traced, are taken
through torch's own operations instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.checks import working_dtype
from spoonful.geometry.kernels import cuda
from spoonful.geometry.kernels.build import library
from spoonful.geometry.kernels.switch import disabled, plain, real_of
from spoonful.geometry.pose import Pose

Form = Literal["source", "target"]
# In the order of `enum start` in pose_head.c.
Start = Literal["given", "kabsch", "detached", "perturbed"]
_STARTS = get_args(Start)
_STATE = 34  # doubles in `struct state`


class Plan(NamedTuple):
    """What a pose head does: so many refinements, in this form, from such a start.

    A "given" start is a rotation for each cloud, and Kabsch is not computed. For a "perturbed" one
    the turns are given. No iterations: Kabsch alone.
    """

    iterations: int
    form: Form
    start: Start


class _Call(ctypes.Structure):
    """`struct call` of pose_head.c."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("clouds", "points", "starts", "iterations")),
        *((name, ctypes.c_int32) for name in ("target_form", "start_kind", "threads")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("source", "target", "weights", "mask", "start", "rotation", "translation"),
                *("state", "g_rotation", "g_translation"),
                *("d_source", "d_target", "d_weights", "d_start"),
            )
        ),
    ]


def kabsch_pose(
    source: Tensor, target: Tensor, weights: Tensor | None, mask: Tensor | None
) -> Pose:
    """`kabsch`, for tensors that are checked and `usable`."""
    return Pose(*_apply(source, target, weights, mask, None, _KABSCH, False))


def refined_poses(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    rotation: Tensor,
    iterations: int,
    form: Form,
) -> Pose:
    """`refine`, for tensors that are checked and `usable`."""
    return Pose(*_apply(source, target, weights, mask, rotation, Plan(iterations, form, "given")))


def layer_poses(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    turns: Tensor | None,
    plan: Plan,
) -> Pose:
    """`layer.composite_head`, for tensors that are checked and `usable`."""
    return Pose(*_apply(source, target, weights, mask, turns, plan))


_KABSCH = Plan(0, "source", "kabsch")


def _apply(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
    stacked: bool = True,
) -> Any:
    """Rotations (..., P, 3, 3) and translations (..., P, 3); without P if not `stacked`."""
    dtype = working_dtype(source, target, *(() if weights is None else (weights,)))
    head: Callable[..., Any] = _PoseHead.apply
    if torch.compiler.is_compiling():
        head = cuda.traced
    return head(
        _dense(source, dtype),
        _dense(target, dtype),
        None if weights is None else _dense(weights, dtype),
        None if start is None else _dense(start, dtype),
        None if mask is None else mask.contiguous(),
        plan,
        stacked,
    )


class _PoseHead(Function):
    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None,
        start: Tensor | None,
        mask: Tensor | None,
        plan: Plan,
        stacked: bool,
    ) -> tuple[Tensor, Tensor]:
        *batch, points, _ = source.shape
        clouds = source.numel() // (3 * points)
        starts = start.shape[-3] if start is not None and plan.start == "perturbed" else 1
        if stacked:
            batch.append((plan.start != "given") + plan.iterations * starts)
        R, t = source.new_empty(*batch, 3, 3), source.new_empty(*batch, 3)
        state = source.new_empty(clouds, _STATE, dtype=torch.float64)
        ctx.plan, ctx.size, ctx.stacked = plan, (clouds, points, starts), stacked
        _call(
            "pose_head_forward",
            source.dtype,
            plan,
            ctx.size,
            source=source,
            target=target,
            weights=weights,
            mask=mask,
            start=start,
            rotation=R,
            translation=t,
            state=state,
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(source, target, weights, start, mask, R, state)
        return R, t

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, R, state = ctx.saved_tensors
        source, target, weights, start, mask = inputs
        g_R, g_t = gradients
        if g_R is None and g_t is None:
            return (None,) * 7
        if torch.is_grad_enabled() or not plain(g_R, g_t, *inputs):
            return _by_torch(ctx, inputs, gradients)
        need = ctx.needs_input_grad
        # The turns of a perturbed start are not ours to differentiate.
        found = (
            torch.empty_like(source) if need[0] else None,
            torch.empty_like(target) if need[1] else None,
            torch.empty_like(weights) if need[2] else None,
            torch.empty_like(start) if need[3] and ctx.plan.start == "given" else None,
        )
        _call(
            "pose_head_backward",
            source.dtype,
            ctx.plan,
            ctx.size,
            source=source,
            target=target,
            weights=weights,
            mask=mask,
            start=start,
            rotation=R,
            state=state,
            g_rotation=None if g_R is None else _dense(g_R, source.dtype),
            g_translation=None if g_t is None else _dense(g_t, source.dtype),
            d_source=found[0],
            d_target=found[1],
            d_weights=found[2],
            d_start=found[3],
        )
        return *found, None, None, None


def _call(
    entry: str,
    dtype: torch.dtype,
    plan: Plan,
    size: tuple[int, int, int],
    **tensors: Tensor | None,
) -> None:
    """Call C, or on a GPU queue the kernel of the same name."""
    source = tensors["source"]
    assert source is not None
    if source.is_cuda:
        cuda.launch(entry, plan, size, **tensors)
        return
    clouds, points, starts = size
    call = _Call(
        clouds=clouds,
        points=points,
        starts=starts,
        iterations=plan.iterations,
        target_form=plan.form == "target",
        start_kind=_STARTS.index(plan.start),
        threads=torch.get_num_threads(),
        **{name: tensor.data_ptr() for name, tensor in tensors.items() if tensor is not None},
    )
    if getattr(library(real_of(dtype)), entry)(ctypes.byref(call)):
        raise MemoryError(f"no memory to fit {clouds} clouds of {points} points")


def _by_torch(
    ctx: Any, inputs: list[Tensor], gradients: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...]:
    """The same gradients from torch's own operations, to be differentiated, batched or traced."""
    from spoonful.geometry.layer import composite_head  # which imports this module

    again = torch.is_grad_enabled()
    with torch.enable_grad(), disabled():
        # Views, so that an input that was passed twice is two inputs here.
        leaves = [None if x is None else x.view_as(x) for x in inputs]
        source, target, weights, start, mask = leaves
        flat = composite_head(source, target, weights, mask, start, ctx.plan)
        if not ctx.stacked:
            flat = Pose(flat.rotation.squeeze(-3), flat.translation.squeeze(-2))
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[:4]) if needed]
        used = [i for i, g in enumerate(gradients) if g is not None and flat[i].requires_grad]
        found = torch.autograd.grad(
            [flat[i] for i in used],
            [leaves[i] for i in wanted],
            [gradients[i] for i in used],
            create_graph=again,
            allow_unused=True,
        )
    result: list[Tensor | None] = [None] * 7
    for i, gradient in zip(wanted, found, strict=True):
        result[i] = gradient
    return tuple(result)


def _dense(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor's numbers as C expects them: by rows, and with no sign left to apply."""
    if torch.compiler.is_compiling():
        return tensor.to(dtype).contiguous()
    if tensor.dtype == dtype and tensor.is_contiguous() and not tensor.is_neg():
        return tensor  # as the operations below would, but without asking them
    return tensor.to(dtype).contiguous().resolve_neg()
