"""The pose head on a GPU: whether Triton is to be had, and how its kernels are launched, at once or
as operators that torch.compile can put into its graphs.
"""

from __future__ import annotations

import functools
import logging
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry.kernels import node
from spoonful.geometry.kernels.call import STATE, Plan, call_of

_WARP = 32
_POINTS = 4  # that a thread holds at once: enough to keep the memory busy, few enough for registers
_MOST_WARPS = 16  # for one cloud
_ENOUGH_WARPS = 2048  # on the whole device; with more, clouds only wait for each other

_log = logging.getLogger(__name__)
_compiled: dict[tuple[Any, ...], Any] = {}
_programs: dict[tuple[Any, ...], int | None] = {}  # of node.cpp, by what their machine code is for
_offered: set[tuple[Any, ...]] = set()  # keys of what node.cpp was given, or refused


@functools.cache
def available(device: torch.device) -> bool:
    """Whether Triton can run on this device. Looks once, by running a kernel that does nothing."""
    try:
        from spoonful.geometry.kernels import pose_head_triton

        if torch.version.hip:
            raise RuntimeError("the kernels have not been tried on AMD's devices")
        with torch.cuda.device(device):
            pose_head_triton.nothing[(1,)](torch.empty(1, device=device))
    # Triton is missing, or has no C compiler or no support of this device: each its own exception.
    except Exception as error:
        _log.debug("no Triton kernels, using torch's own operations: %s", error)
        return False
    return True


def launch(
    entry: str, plan: tuple[int, str, str], size: tuple[int, int, int], **tensors: Tensor | None
) -> None:
    """Queue a kernel of pose_head_triton.py.

    Args:
        entry: "pose_head_forward" or "pose_head_backward".
        plan: a `head.Plan`, or its items.
        size: how many clouds, points a cloud (in all, if packed), and starts a cloud.
        tensors: the kernel's pointers by name, contiguous; those left out are None.
    """
    kernel, names = _kernel(entry)
    given = [tensors.get(name) for name in names]
    source = given[0]
    assert source is not None
    iterations, form, start = plan
    clouds, points, starts = size
    packed = tensors.get("offsets") is not None
    # How large the largest of packed clouds is only the device knows: they are taken to be equal.
    warps, parts = _split(clouds, -(-points // clouds) if packed else points)
    if entry == "pose_head_forward":
        parts = 1
    lanes = _WARP * warps
    rest = (points, starts, iterations, form == "target", start, iterations > 0, lanes, _POINTS)
    device = source.device.index
    # Everything that the machine code depends on.
    there = tuple([tensor is not None for tensor in given])
    key = (entry, device, source.dtype, form, start, iterations > 0, lanes, _POINTS, there)
    compiled = _compiled.get(key)
    if compiled is not None and device == torch.cuda.current_device():
        # What Triton found in looking at the arguments is known, and need not be found again.
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in given]
        compiled[(clouds, parts, 1)](*pointers, *rest)
    else:
        with torch.cuda.device_of(source):
            compiled = kernel[(clouds, parts)](*given, *rest, num_warps=warps)
        if compiled is None:  # which it is in the interpreter
            return
        _compiled[key] = compiled
    if node.operator is not None and not packed and key not in _offered:
        _offer(key, compiled, plan, size, parts, dict(tensors))


def _offer(
    key: tuple[Any, ...],
    compiled: Any,
    plan: tuple[int, str, str],
    size: tuple[int, int, int],
    parts: int,
    tensors: dict[str, Tensor | None],
) -> None:
    """Give a kernel that just ran to node.cpp, if its launch there finds the same, bit for bit."""
    entry, device, *_, there = key
    forward = entry == "pose_head_forward"
    program = (*key[1:-1], there[:6])
    if (
        torch.cuda.is_current_stream_capturing()
        or torch.cuda.get_sync_debug_mode()  # somebody looks for waits, and this is one
        or device != torch.cuda.current_device()
        or not (forward or _programs.get(program) is not None)
    ):
        return  # another time
    _offered.add(key)
    kernel = node.kernel_of(compiled, sum(there)) if node.has_cuda(device) else None
    if kernel is None:
        _log.debug("%s is not known well enough to be launched from C++", entry)
        return
    # On a few clouds, so that it takes no memory to speak of.
    clouds, points, starts = size
    few = min(clouds, _FEW)
    results = {
        name: tensor.view(clouds, -1)[:few]
        for name, tensor in tensors.items()
        if tensor is not None and name in (_RESULTS if forward else _GRADIENTS)
    }
    try:
        copies = {name: torch.full_like(tensor, torch.nan) for name, tensor in results.items()}
    except torch.cuda.OutOfMemoryError:
        return
    call = call_of(plan, (few, points, starts), 1, {**tensors, **copies})
    error = node.run(kernel, call, parts, device)
    # The state has room that only refinements use.
    compared = [name for name in copies if name != "state"]
    if error or not all(node.same(copies[name], results[name]) for name in compared):
        _log.debug("%s differs when it is launched from C++ (error %d)", entry, error)
        return
    if forward:
        _programs[program] = node.new_program(plan, kernel)
    elif (number := _programs[program]) is not None:
        node.add_backward(number, kernel, node.kind_of(call))


_FEW = 16
_RESULTS = ("rotation", "translation", "state")
_GRADIENTS = ("d_source", "d_target", "d_weights", "d_start")


def program_of(
    source: Tensor, weights: Tensor | None, mask: Tensor | None, start: Tensor | None, plan: Plan
) -> tuple[int, int] | None:
    """The program of node.cpp for such tensors, and in how many parts it goes backward."""
    clouds, points, _ = size_of(source, start, plan.start)
    warps, parts = _split(clouds, points)
    there = (True, True, weights is not None, mask is not None, False, start is not None)
    # As in `launch`, less what is not a matter of forward.
    program = _programs.get(
        (
            source.device.index,
            source.dtype,
            plan.form,
            plan.start,
            plan.iterations > 0,
            _WARP * warps,
            _POINTS,
            there,
        )
    )
    return None if program is None else (program, parts)


@functools.cache
def _kernel(entry: str) -> tuple[Any, tuple[str, ...]]:
    """A kernel, and the names of its pointers in their order."""
    from spoonful.geometry.kernels import pose_head_triton

    kernel = getattr(pose_head_triton, entry)
    return kernel, tuple(kernel.arg_names[: kernel.arg_names.index("points")])


def _split(clouds: int, points: int) -> tuple[int, int]:
    """Warps for each block, and blocks for each cloud backward, where they are independent."""
    warps = _warps(clouds, points)
    blocks = -(-points // (_WARP * warps * _POINTS))
    return warps, max(1, min(blocks, _ENOUGH_WARPS // (clouds * warps)))


def _warps(clouds: int, points: int) -> int:
    """Warps a cloud: as many as its points can use and the other clouds leave, a power of two."""
    warps = 1
    while (
        warps < _MOST_WARPS
        and warps * _WARP * _POINTS < points
        and 2 * warps * clouds <= _ENOUGH_WARPS
    ):
        warps *= 2
    return warps


# ---- For torch.compile: the two kernels as operators ---------------------------------------------


def traced(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    plan: tuple[int, str, str],
    stacked: bool,
) -> tuple[Tensor, Tensor]:
    """The pose head as one node of a graph; arguments and results as those of `head._PoseHead`."""
    rotation, translation, _ = pose_head(source, target, weights, start, mask, *plan)
    if stacked:
        return rotation, translation
    return rotation.squeeze(-3), translation.squeeze(-2)


_INPUTS = ("source", "target", "weights", "start")

# An operator returns tensors only: a gradient that is not wanted is an empty one.


@torch.library.custom_op("spoonful::pose_head", mutates_args=())
def pose_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    iterations: int,
    form: str,
    kind: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """The poses of `layer.composite_head`, and the state that backward needs.

    Args:
        source: (..., N, 3), contiguous and in the working precision like the rest.
        target: (..., N, 3).
        weights: (..., N) or None.
        start: (..., 3, 3) if the start is "given", (..., K, 3, 3) if "perturbed", or None.
        mask: (..., N) or None.
        iterations: how many refinements, I >= 0.
        form: "source" or "target".
        kind: "given", "kabsch", "detached" or "perturbed".

    Returns:
        Rotations (..., P, 3, 3) and translations (..., P, 3), and the state.
    """
    rotation, translation, state = _poses_like(source, start, iterations, kind)
    launch(
        "pose_head_forward",
        (iterations, form, kind),
        size_of(source, start, kind),
        source=source,
        target=target,
        weights=weights,
        mask=mask,
        start=start,
        rotation=rotation,
        translation=translation,
        state=state,
    )
    return rotation, translation, state


@torch.library.custom_op("spoonful::pose_head_backward", mutates_args=())
def pose_head_backward(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    rotation: Tensor,
    state: Tensor,
    gradients: list[Tensor | None],
    wanted: list[bool],
    iterations: int,
    form: str,
    kind: str,
) -> list[Tensor]:
    """Gradients at source, target, weights and start from those at rotations and translations."""
    found = _gradients_like([source, target, weights, start], wanted)
    g_rotation, g_translation = (None if g is None else g.contiguous() for g in gradients)
    launch(
        "pose_head_backward",
        (iterations, form, kind),
        size_of(source, start, kind),
        source=source,
        target=target,
        weights=weights,
        mask=mask,
        start=start,
        rotation=rotation,
        state=state,
        g_rotation=g_rotation,
        g_translation=g_translation,
        **{f"d_{name}": x for name, x in zip(_INPUTS, found, strict=True) if x.numel()},
    )
    return found


@pose_head.register_fake
def _(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    iterations: int,
    form: str,
    kind: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return _poses_like(source, start, iterations, kind)


@pose_head_backward.register_fake
def _(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    start: Tensor | None,
    mask: Tensor | None,
    rotation: Tensor,
    state: Tensor,
    gradients: list[Tensor | None],
    wanted: list[bool],
    iterations: int,
    form: str,
    kind: str,
) -> list[Tensor]:
    return _gradients_like([source, target, weights, start], wanted)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.iterations, ctx.form, ctx.kind = inputs
    rotation, _, state = output
    ctx.save_for_backward(*tensors, rotation, state)
    ctx.mark_non_differentiable(state)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
    wanted = list(ctx.needs_input_grad[:4])
    # The turns of a perturbed start are not ours to differentiate.
    wanted[3] = wanted[3] and ctx.kind == "given"
    found = pose_head_backward(
        *ctx.saved_tensors,
        list(gradients[:2]),
        wanted,
        ctx.iterations,
        ctx.form,
        ctx.kind,
    )
    results = [d if want else None for d, want in zip(found, wanted, strict=True)]
    return *results, None, None, None, None


pose_head.register_autograd(_backward, setup_context=_setup_context)


def size_of(source: Tensor, start: Tensor | None, kind: str) -> tuple[int, int, int]:
    """How many clouds, points a cloud, and starts a cloud."""
    points = source.shape[-2]
    starts = start.shape[-3] if start is not None and kind == "perturbed" else 1
    return source.numel() // (3 * points), points, starts


def _poses_like(
    source: Tensor, start: Tensor | None, iterations: int, kind: str
) -> tuple[Tensor, Tensor, Tensor]:
    clouds, _, starts = size_of(source, start, kind)
    batch = (*source.shape[:-2], (kind != "given") + iterations * starts)
    return (
        source.new_empty(*batch, 3, 3),
        source.new_empty(*batch, 3),
        source.new_empty((clouds, STATE), dtype=torch.float64),
    )


def _gradients_like(inputs: list[Tensor | None], wanted: list[bool]) -> list[Tensor]:
    source = inputs[0]
    assert source is not None
    return [
        torch.empty_like(x) if want and x is not None else source.new_empty(0)
        for x, want in zip(inputs, wanted, strict=True)
    ]
