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
from spoonful.geometry.kernels.switch import disabled, plain, present, real_of
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
                *("refined_rotation", "refined_translation", "state"),
                *("g_rotation", "g_translation", "g_refined_rotation", "g_refined_translation"),
                *("d_source", "d_target", "d_weights", "d_start"),
            )
        ),
    ]


def kabsch_pose(
    source: Tensor, target: Tensor, weights: Tensor | None, mask: Tensor | None
) -> Pose:
    """`kabsch`, for tensors that are checked and `usable`."""
    R, t, _, _ = _apply(source, target, weights, mask, None, Plan(0, "source", "kabsch"))
    return Pose(R, t)


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
    _, _, R, t = _apply(source, target, weights, mask, rotation, Plan(iterations, form, "given"))
    return Pose(R, t)


def layer_poses(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    turns: Tensor | None,
    plan: Plan,
) -> tuple[Pose, Pose | None]:
    """`layer.composite_head`, for tensors that are checked and `usable`."""
    R, t, refined_R, refined_t = _apply(source, target, weights, mask, turns, plan)
    return Pose(R, t), Pose(refined_R, refined_t) if plan.iterations else None


def _apply(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
) -> Any:
    dtype = working_dtype(*present(source, target, weights))
    inputs = (
        None if tensor is None else _dense(tensor, dtype)
        for tensor in (source, target, weights, start)
    )
    head: Callable[..., Any] = _PoseHead.apply
    if torch.compiler.is_compiling():
        head = cuda.traced
    return head(*inputs, None if mask is None else mask.contiguous(), plan)


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
    ) -> tuple[Tensor | None, ...]:
        *batch, points, _ = source.shape
        clouds = source.numel() // (3 * points)
        starts = start.shape[-3] if start is not None and plan.start == "perturbed" else 1
        poses = plan.iterations * starts
        R = t = refined_R = refined_t = None
        if plan.start != "given":
            R, t = source.new_empty(*batch, 3, 3), source.new_empty(*batch, 3)
        if poses:
            refined_R = source.new_empty(*batch, poses, 3, 3)
            refined_t = source.new_empty(*batch, poses, 3)
        state = source.new_empty(clouds, _STATE, dtype=torch.float64)
        ctx.plan, ctx.size = plan, (clouds, points, starts)
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
            refined_rotation=refined_R,
            refined_translation=refined_t,
            state=state,
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(source, target, weights, start, mask, R, refined_R, state)
        return R, t, refined_R, refined_t

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, R, refined_R, state = ctx.saved_tensors
        source, target, weights, start, mask = inputs
        if all(gradient is None for gradient in gradients):
            return (None,) * 6
        if torch.is_grad_enabled() or not plain(*gradients, *inputs):
            return _by_torch(ctx, inputs, gradients)
        names = ("d_source", "d_target", "d_weights", "d_start")
        wanted = {
            name: torch.empty_like(tensor)
            for name, tensor, needed in zip(names, inputs[:4], ctx.needs_input_grad, strict=False)
            # The turns of a perturbed start are not ours to differentiate.
            if needed and not (tensor is start and ctx.plan.start != "given")
        }
        g = [None if gradient is None else _dense(gradient, source.dtype) for gradient in gradients]
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
            refined_rotation=refined_R,
            state=state,
            g_rotation=g[0],
            g_translation=g[1],
            g_refined_rotation=g[2],
            g_refined_translation=g[3],
            **wanted,
        )
        return *(wanted.get(name) for name in names), None, None


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
        poses = composite_head(source, target, weights, mask, start, ctx.plan)
        flat: list[Any] = [tensor for pose in poses for tensor in pose or (None, None)]
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[:4]) if needed]
        used = [i for i, g in enumerate(gradients) if g is not None and flat[i].requires_grad]
        found = torch.autograd.grad(
            [flat[i] for i in used],
            [leaves[i] for i in wanted],
            [gradients[i] for i in used],
            create_graph=again,
            allow_unused=True,
        )
    result: list[Tensor | None] = [None] * 6
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
