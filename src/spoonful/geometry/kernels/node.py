"""The compiled pose head, and the compiled robust fit, each as one node of autograd.

Forward and backward are each one call into pose_head.c, or on a GPU kernels of
pose_head_triton.py. Derivatives of derivatives, and gradients that are themselves batched or
traced, are taken through the reference instead. So is the gradient of a robust fit on a GPU.
"""

# Without `from __future__ import annotations`, as all files with custom operators: torch 2.4 cannot
# read types from text.

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry import head
from spoonful.geometry.checks import working_dtype
from spoonful.geometry.kernels import cuda, library
from spoonful.geometry.kernels.switch import disabled, plain, usable
from spoonful.geometry.plan import KABSCH, SIMILARITY, Plan
from spoonful.geometry.pose import Pose


def pose_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
    offsets: Tensor | None = None,
    *,
    stacked: bool = True,
) -> Pose:
    """`head.pose_head`, compiled if that is possible."""
    if not usable(source, target, weights, mask, start, offsets):
        return head.pose_head(source, target, weights, mask, start, plan, offsets, stacked=stacked)
    source, target, weights, mask, offsets = _points(source, target, weights, mask, offsets)
    start = None if start is None else _dense(start, source.dtype)
    return Pose(*_PoseHead.apply(source, target, weights, start, mask, offsets, plan, stacked))


def similarity_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None,
) -> Sequence[Tensor]:
    """`head.similarity_head`, compiled if that is possible."""
    if not usable(source, target, weights, mask, None, offsets):
        return head.similarity_head(source, target, weights, mask, offsets)
    source, target, weights, mask, offsets = _points(source, target, weights, mask, offsets)
    fit = source, target, weights, None, mask, offsets, SIMILARITY, False
    found: Sequence[Tensor] = _PoseHead.apply(*fit)
    return found


class Robust(NamedTuple):
    """The settings of a robust fit, as C takes them.

    Attributes:
        loss: the place of the loss in `enum loss`.
        cutoff: of the loss, in standard deviations of the noise.
        rounds: how many times to weigh and fit.
        estimate: estimate the noise, instead of using the given one.
        scaled: fit a scale, too.
    """

    loss: int
    cutoff: float
    rounds: int
    estimate: bool
    scaled: bool


def robust_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    noise: Tensor,
    start: Tensor | None,
    settings: Robust,
    reference: Callable[..., Sequence[Tensor]],
) -> Sequence[Tensor]:
    """The factors of all matches, the noise and the pose (R, t, or R, t, s), compiled.

    Args:
        source: (..., N, 3), `usable`, as all tensors are.
        target: (..., N, 3).
        weights: (..., N), or None.
        mask: (..., N) bool, or None.
        noise: (...), which is replaced if it is estimated.
        start: (..., 13) R, t and scale; or None.
        settings: the rest.
        reference: `reference(source, target, weights, mask, noise, *pose)` is that pose again,
            with the derivative of the minimum that it lies at.
    """
    points = _points(source, target, weights, mask, None)
    begin = None if start is None else _dense(start.detach(), points[0].dtype)
    found: Sequence[Tensor] = _RobustHead.apply(*points[:4], noise, begin, settings, reference)
    return found


def _points(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Clouds of one dtype, as C expects them."""
    dtype = working_dtype(source, target, weights)
    return (
        _dense(source, dtype),
        _dense(target, dtype),
        None if weights is None else _dense(weights, dtype),
        None if mask is None else mask.contiguous(),
        None if offsets is None else offsets.to(torch.int64).contiguous(),
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
        offsets: Tensor | None,
        plan: Plan,
        stacked: bool,
    ) -> tuple[Tensor, ...]:
        size = _size(source, start, offsets, plan)
        batch = [*source.shape[:-2]] if offsets is None else [size[0]]
        if stacked:
            batch.append((plan.start != "given") + plan.iterations * size[2])
        R, t = source.new_empty(*batch, 3, 3), source.new_empty(*batch, 3)
        s = source.new_empty(batch) if plan.scaled else None
        state = source.new_empty(size[0], library.STATE, dtype=torch.float64)
        _run(_FORWARD, plan, size, source, target, weights, mask, offsets, start, R, t, s, state)
        ctx.plan, ctx.stacked = plan, stacked
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(source, target, weights, start, mask, offsets, R, s, state)
        return (R, t) if s is None else (R, t, s)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, R, s, state = ctx.saved_tensors
        source, target, weights, start, mask, offsets = inputs
        plan, wanted = ctx.plan, ctx.needs_input_grad[:4]
        traced = torch.compiler.is_compiling()
        if not traced and (torch.is_grad_enabled() or not plain(*gradients, *inputs)):

            def poses(
                s: Any, t: Any, w: Any, start: Any, mask: Any, offsets: Any
            ) -> Sequence[Tensor]:
                if plan.scaled:
                    return head.similarity_head(s, t, w, mask, offsets)
                return head.pose_head(s, t, w, mask, start, plan, offsets, stacked=ctx.stacked)

            return *_by_reference(inputs, gradients, wanted, poses)[:4], None, None, None, None
        # The turns of a perturbed start are constants.
        own = [*wanted[:3], wanted[3] and plan.start == "given"]
        found = [
            torch.empty_like(x) if want else None for x, want in zip(inputs[:4], own, strict=True)
        ]
        given = [None if g is None else _dense(g, source.dtype) for g in gradients]
        given = given if plan.scaled else [*given, None]
        size = _size(source, start, offsets, plan)
        points = source, target, weights, mask, offsets, start
        _run(_BACKWARD, plan, size, *points, R, s, state, *given, *found)
        return *found, None, None, None, None


class _RobustHead(Function):
    """The factors, the noise and the pose of a robust fit."""

    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None,
        mask: Tensor | None,
        noise: Tensor,
        start: Tensor | None,
        settings: Robust,
        reference: Callable[..., Sequence[Tensor]],
    ) -> tuple[Tensor, ...]:
        batch, shapes = source.shape[:-2], ((3, 3), (3,), ())  # rotation, translation, scale
        pose = [source.new_empty(batch + shape) for shape in shapes[: 2 + settings.scaled]]
        state = source.new_empty(batch.numel(), library.STATE, dtype=torch.float64)
        factors, noise = source.new_empty(source.shape[:-1]), noise.to(source.dtype).clone()
        ctx.mark_non_differentiable(factors, noise)
        ctx.settings, ctx.reference = settings, reference
        ctx.set_materialize_grads(False)
        saved = source, target, weights, mask, noise, state, *pose
        ctx.save_for_backward(*saved)
        _robust("robust_forward", settings, saved, robust_start=start, factors=factors)
        return factors, noise, *pose

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        saved, rest = ctx.saved_tensors, (None,) * 5
        inputs, wanted = saved[:4], ctx.needs_input_grad[:3]
        if not torch.is_grad_enabled() and plain(*gradients, *inputs):
            dense = [None if g is None else _dense(g, saved[0].dtype) for g in gradients[2:]]
            found = [
                torch.empty_like(x) if w else None for x, w in zip(inputs[:3], wanted, strict=True)
            ]
            more = dict(zip(("d_source", "d_target", "d_weights"), found, strict=True))
            more |= zip(("g_rotation", "g_translation", "g_factor"), dense, strict=False)
            if _robust("robust_backward", ctx.settings, saved, **more):
                return *found, *rest

        def again(*points: Any) -> Sequence[Tensor]:
            poses: Sequence[Tensor] = ctx.reference(*points, saved[4], *saved[6:])
            return poses

        return *_by_reference([*inputs], gradients[2:], wanted, again)[:3], *rest


def _robust(entry: str, settings: Robust, saved: Sequence[Any], **more: Tensor | None) -> bool:
    """Run an entry of pose_head.c, or its kernels; False leaves the work to the reference."""
    names = (*_POINTS[:4], "noise", "state", "rotation", "translation", "factor")
    tensors: dict[str, Any] = dict(zip(names, saved, strict=False)) | more
    size = _size(tensors["source"], None, None, KABSCH)
    numbers = {name: value for name, value in settings._asdict().items() if name != "scaled"}
    run = cuda.launch if tensors["source"].is_cuda else library.call
    return run(entry, KABSCH, size, tensors, **numbers)


def _by_reference(
    inputs: list[Any],
    gradients: tuple[Tensor | None, ...],
    wanted: Sequence[bool],
    reference: Callable[..., Sequence[Tensor]],
) -> list[Tensor | None]:
    """Gradients of `reference(*inputs)` that can be differentiated, batched or traced."""
    again = torch.is_grad_enabled()
    with torch.enable_grad(), disabled():
        # Views, so that an input that was passed twice is two inputs here.
        leaves: list[Any] = [None if x is None else x.view_as(x) for x in inputs]
        poses = reference(*leaves)
        chosen = [i for i, want in enumerate(wanted) if want]
        used = [i for i, g in enumerate(gradients) if g is not None and poses[i].requires_grad]
        found = torch.autograd.grad(
            [poses[i] for i in used],
            [leaves[i] for i in chosen],
            [gradients[i] for i in used],
            create_graph=again,
            allow_unused=True,
        )
    result: list[Tensor | None] = [None] * len(inputs)
    for i, gradient in zip(chosen, found, strict=True):
        result[i] = gradient
    return result


def _size(
    source: Tensor, start: Tensor | None, offsets: Tensor | None, plan: Plan
) -> tuple[int, int, int]:
    """The numbers of clouds, of points per cloud (in all, if packed), and of starts per cloud."""
    points = source.shape[-2]
    starts = start.shape[-3] if start is not None and plan.start == "perturbed" else 1
    clouds = source.numel() // (3 * points) if offsets is None else len(offsets) - 1
    return clouds, points, starts


# The tensors that an entry of pose_head.c, or a kernel of pose_head_triton.py, works on.
_POINTS = ("source", "target", "weights", "mask", "offsets", "start")
_FORWARD = ("pose_head_forward", (*_POINTS, "rotation", "translation", "factor", "state"))
_BACKWARD = (
    "pose_head_backward",
    (
        *(*_POINTS, "rotation", "factor", "state", "g_rotation", "g_translation", "g_factor"),
        *("d_source", "d_target", "d_weights", "d_start"),
    ),
)


def _run(
    entry: tuple[str, tuple[str, ...]], plan: Plan, size: tuple[int, int, int], *tensors: Any
) -> None:
    """Call C, or on a GPU queue the kernel of the same name."""
    name, names = entry
    source = tensors[0]
    if torch.compiler.is_compiling():
        _OPERATORS[name](*tensors[:4], *tensors[5:], *plan, *size)  # without offsets
        return
    run = cuda.launch if source.is_cuda else library.call
    run(name, plan, size, dict(zip(names, tensors, strict=True)))


def _dense(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor's numbers as C expects them: by rows, and with no sign left to apply."""
    if torch.compiler.is_compiling():
        return tensor.to(dtype).contiguous()
    if tensor.dtype == dtype and tensor.is_contiguous() and not tensor.is_neg():
        return tensor  # the operations below would return it, too, but take longer
    return tensor.to(dtype).contiguous().resolve_neg()


# ---- For torch.compile: the two kernels as operators, which write into tensors that they get -----


def _operator(entry: tuple[str, tuple[str, ...]], *written: str) -> Callable[..., None]:
    """An operator of torch that takes all tensors of an entry but offsets, a plan and a size."""
    name, names = entry
    schema = [
        f"Tensor({chr(97 + i)}!)? {each}" if each in written else f"Tensor? {each}"
        for i, each in enumerate(names)
        if each != "offsets"
    ]
    numbers = "int iterations, str form, str kind, bool scaled, int clouds, int size, int starts"

    def run(*arguments: Any) -> None:
        tensors, plan, size = arguments[:-7], Plan(*arguments[-7:-3]), arguments[-3:]
        _run(entry, plan, size, *tensors[:4], None, *tensors[4:])

    return torch.library.custom_op(
        f"spoonful::{name}",
        run,
        mutates_args=written,
        schema=f"({', '.join(schema)}, {numbers}) -> ()",
    )


_OPERATORS = {
    "pose_head_forward": _operator(_FORWARD, "rotation", "translation", "factor", "state"),
    "pose_head_backward": _operator(_BACKWARD, "d_source", "d_target", "d_weights", "d_start"),
}
