"""The compiled pose head as one differentiable function of the points.

Forward and backward are each one call into pose_head.c, or one kernel of pose_head_triton.py on a
GPU. Derivatives of derivatives, and gradients that are themselves batched or traced, are taken
through torch's own operations instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from spoonful.geometry.checks import working_dtype
from spoonful.geometry.kernels import cuda, node
from spoonful.geometry.kernels.build import library
from spoonful.geometry.kernels.call import STARTS, STATE, Form, Plan, call_of
from spoonful.geometry.kernels.switch import disabled, plain, real_of, within_disabled
from spoonful.geometry.pose import Pose


def kabsch_pose(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None = None,
) -> Pose:
    """`kabsch`, or with offsets `kabsch_packed`, for tensors that are checked and `usable`."""
    return Pose(*_apply(source, target, weights, mask, None, _KABSCH, False, offsets))


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
    offsets: Tensor | None = None,
) -> Pose:
    """`layer.composite_head`, for tensors that are checked and `usable`."""
    return Pose(*_apply(source, target, weights, mask, turns, plan, offsets=offsets))


def build_all() -> bool:
    """Compile now what is otherwise compiled when it is first, or often, used.

    Returns:
        Whether everything could be. What could not is done without.
    """
    return all([library("float") is not None, library("double") is not None, node.build_now()])


_PLAIN = (Tensor, nn.Parameter)
_KABSCH = Plan(0, "source", "kabsch")


def _apply(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
    stacked: bool = True,
    offsets: Tensor | None = None,
) -> Any:
    """Rotations (..., P, 3, 3) and translations (..., P, 3); without P if not `stacked`."""
    dtype = working_dtype(source, target, weights)
    source, target = _dense(source, dtype), _dense(target, dtype)
    weights = None if weights is None else _dense(weights, dtype)
    start = None if start is None else _dense(start, dtype)
    mask = None if mask is None else mask.contiguous()
    if offsets is not None:
        offsets = offsets.to(torch.int64).contiguous()
        return _PoseHead.apply(source, target, weights, start, mask, plan, stacked, offsets)
    head: Callable[..., Any] = _PoseHead.apply
    if torch.compiler.is_compiling():
        head = cuda.traced
    elif _found_way(source, weights, mask, start, plan):
        found = quick_pose(source, target, weights, mask, plan, start, stacked, checked=True)
        if found is not None:
            return found
    return head(source, target, weights, start, mask, plan, stacked)


# ---- The node in C++ -----------------------------------------------------------------------------

# Programs of node.cpp, by what is asked of them.
_ways: dict[tuple[Any, ...], tuple[int, int]] = {}
_MOST_WAYS = 4096


def quick_pose(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    plan: Plan,
    start: Tensor | None = None,
    stacked: bool = True,
    *,
    checked: bool = False,
) -> Pose | None:
    """`layer_poses` for tensors like some that were checked before, which are not `checked` again.

    None if they are not quite like those, or anything else is unusual: all checks and every error
    message are still to come. (Values are looked at where that is for free: not on a GPU.)
    """
    if torch.compiler.is_compiling() or node.operator is None:
        return None
    if (
        type(source) not in _PLAIN
        or type(target) not in _PLAIN
        or (weights is not None and type(weights) not in _PLAIN)
        or (mask is not None and type(mask) not in _PLAIN)
    ):
        return None
    key = _key(source, weights, mask, start, plan)
    way = _ways.get(key)
    if way is None or not (checked or source.is_cuda) or within_disabled():
        return None
    found = node.operator(source, target, weights, start, mask, *way, plan.iterations, stacked)
    return Pose(*found) if found else None


def _key(
    source: Tensor, weights: Tensor | None, mask: Tensor | None, start: Tensor | None, plan: Plan
) -> tuple[Any, ...]:
    starts = None if start is None else start.shape
    return (
        plan,
        source.shape,
        source.dtype,
        source.get_device(),
        weights is None,
        mask is None,
        starts,
    )


def _found_way(
    source: Tensor, weights: Tensor | None, mask: Tensor | None, start: Tensor | None, plan: Plan
) -> bool:
    """Whether the node in C++ knows what to do with such tensors. Asks for it if it is missing."""
    if node.operator is None:
        if source.is_cuda:
            node.want()
        return False
    key = _key(source, weights, mask, start, plan)
    if key in _ways:
        return True
    way: tuple[int, int] | None
    if source.is_cuda:
        way = cuda.program_of(source, weights, mask, start, plan)
    else:
        program = node.cpu_program(real_of(source.dtype), plan)
        way = None if program is None else (program, 1)
    if way is None:
        return False
    if len(_ways) >= _MOST_WAYS:
        _ways.clear()
    _ways[key] = way
    return True


def _gradients_of_node(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    rotation: Tensor,
    state: Tensor,
    g_rotation: Tensor | None,
    g_translation: Tensor | None,
    wanted: list[bool],
    iterations: int,
    target_form: int,
    start_kind: int,
    stacked: bool,
) -> list[Tensor]:
    """What node.cpp asks for where it does not know what to do. No gradient: an empty one."""
    kind = STARTS[start_kind]
    found = _gradients(
        [source, target, weights, start, mask, None],
        rotation,
        state,
        (g_rotation, g_translation),
        wanted,
        Plan(iterations, "target" if target_form else "source", kind),
        stacked,
    )
    return [source.new_empty(0) if x is None else x for x in found]


_operators = torch.library.Library("spoonful", "FRAGMENT")
_operators.define(
    "pose_head_gradients(Tensor source, Tensor target, Tensor? weights, Tensor? start, "
    "Tensor? mask, Tensor rotation, Tensor state, Tensor? g_rotation, Tensor? g_translation, "
    "bool[] wanted, int iterations, int target_form, int start_kind, bool stacked) -> Tensor[]"
)
_operators.impl("pose_head_gradients", _gradients_of_node, "CompositeImplicitAutograd")


# ---- The node in Python --------------------------------------------------------------------------


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
        offsets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        size = _size(source, start, offsets, plan)
        batch = [*source.shape[:-2]] if offsets is None else [size[0]]
        if stacked:
            batch.append((plan.start != "given") + plan.iterations * size[2])
        R, t = source.new_empty(*batch, 3, 3), source.new_empty(*batch, 3)
        state = source.new_empty(size[0], STATE, dtype=torch.float64)
        ctx.plan, ctx.stacked = plan, stacked
        _call(
            "pose_head_forward",
            source.dtype,
            plan,
            size,
            source=source,
            target=target,
            weights=weights,
            mask=mask,
            offsets=offsets,
            start=start,
            rotation=R,
            translation=t,
            state=state,
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(source, target, weights, start, mask, offsets, R, state)
        return R, t

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, R, state = ctx.saved_tensors
        if gradients == (None, None):
            return (None,) * 8
        found = _gradients(
            inputs, R, state, gradients, ctx.needs_input_grad[:4], ctx.plan, ctx.stacked
        )
        return *found, None, None, None, None


# ---- Both ----------------------------------------------------------------------------------------


def _gradients(
    inputs: list[Any],
    R: Tensor,
    state: Tensor,
    gradients: tuple[Tensor | None, ...],
    wanted: Sequence[bool],
    plan: Plan,
    stacked: bool,
) -> list[Tensor | None]:
    """Gradients at source, target, weights and start, those that are wanted."""
    source, target, weights, start, mask, offsets = inputs
    g_R, g_t = gradients
    if torch.is_grad_enabled() or not plain(g_R, g_t, *inputs):
        return _by_torch(inputs, gradients, wanted, plan, stacked)
    # The turns of a perturbed start are not ours to differentiate.
    own = [*wanted[:3], wanted[3] and plan.start == "given"]
    found = [torch.empty_like(x) if want else None for x, want in zip(inputs[:4], own, strict=True)]
    _call(
        "pose_head_backward",
        source.dtype,
        plan,
        _size(source, start, offsets, plan),
        source=source,
        target=target,
        weights=weights,
        mask=mask,
        offsets=offsets,
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
    return found


def _size(
    source: Tensor, start: Tensor | None, offsets: Tensor | None, plan: Plan
) -> tuple[int, int, int]:
    """How many clouds, points a cloud (in all, if packed), and starts a cloud."""
    clouds, points, starts = cuda.size_of(source, start, plan.start)
    return clouds if offsets is None else len(offsets) - 1, points, starts


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
    call = call_of(plan, size, torch.get_num_threads(), tensors)
    if getattr(library(real_of(dtype)), entry)(ctypes.byref(call)):
        raise MemoryError(f"no memory to fit {size[0]} clouds of {size[1]} points")


def _by_torch(
    inputs: list[Any],
    gradients: tuple[Tensor | None, ...],
    needed: Sequence[bool],
    plan: Plan,
    stacked: bool,
) -> list[Tensor | None]:
    """The same gradients from torch's own operations, to be differentiated, batched or traced."""
    from spoonful.geometry.layer import composite_head  # which imports this module

    again = torch.is_grad_enabled()
    with torch.enable_grad(), disabled():
        # Views, so that an input that was passed twice is two inputs here.
        leaves: list[Any] = [None if x is None else x.view_as(x) for x in inputs]
        source, target, weights, start, mask, offsets = leaves
        flat = composite_head(source, target, weights, mask, start, plan, offsets)
        if not stacked:
            flat = Pose(flat.rotation.squeeze(-3), flat.translation.squeeze(-2))
        wanted = [i for i, need in enumerate(needed) if need]
        used = [i for i, g in enumerate(gradients) if g is not None and flat[i].requires_grad]
        found = torch.autograd.grad(
            [flat[i] for i in used],
            [leaves[i] for i in wanted],
            [gradients[i] for i in used],
            create_graph=again,
            allow_unused=True,
        )
    result: list[Tensor | None] = [None] * 4
    for i, gradient in zip(wanted, found, strict=True):
        result[i] = gradient
    return result


def _dense(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor's numbers as C expects them: by rows, and with no sign left to apply."""
    if torch.compiler.is_compiling():
        return tensor.to(dtype).contiguous()
    if tensor.dtype == dtype and tensor.is_contiguous() and not tensor.is_neg():
        return tensor  # as the operations below would, but without asking them
    return tensor.to(dtype).contiguous().resolve_neg()
