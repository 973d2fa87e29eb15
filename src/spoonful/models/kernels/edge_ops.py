"""Layers on edges as operators of torch: the kernels of edges_triton.py with their gradients.

Each operator returns what the kernels write:

    y         (B, N, k, C), or empty where it is not wanted
    extreme   (B, N, C), for each point the largest value over its edges, or the smallest for
              channels whose norm has a negative weight: relu(norm(extreme)) is then the maximum of
              relu(norm(y)); empty where it is not wanted
    arg       (B, N, C) int8, at which of its edges
    stats     (B, 2, C), the sums of y and of its squares over an item, padding left out

Sums are added up in a fixed order: the same inputs give the same numbers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

MOST_CHANNELS = 256
MOST_NEIGHBORS = 64
_TILE = 64  # edges of a tile at least
_WAVES = 16  # programs for each multiprocessor
_FEW_WAVES = 4  # where each program leaves a matrix behind
_WIDE = 128 * 128  # larger matrices do not fit a program's registers beside the rest
_SUMMARY = (16, 64)  # points and channels of a tile that is only read: 8 numbers for a thread
_ENTRY = 16  # columns of the first layer's weights: 3 + 3 + features + bias, padded


def _padded(count: int) -> int:
    return max(16, 1 << (count - 1).bit_length())


def _shape(k: int) -> tuple[int, int]:
    """Places of a point, padded, and points of a tile."""
    places = 1 << max(0, k - 1).bit_length()
    return places, max(1, _TILE // places)


def _forward_warps(wide: int) -> int:
    return 4 if _padded(wide) <= 128 else 8


def _backward_warps(numbers: int) -> int:
    return 8 if numbers > _WIDE // 4 else 4


def _programs(items: int, points: int, rows: int, waves: int, device: torch.device) -> int:
    processors = 1
    if device.type == "cuda":
        processors = torch.cuda.get_device_properties(device).multi_processor_count
    return max(1, min(-(-points // rows), -(-waves * processors // items)))


def _tensors(
    like: Tensor, channels: int, dtype: torch.dtype, write: bool, pool: bool
) -> tuple[Tensor, Tensor, Tensor]:
    batch, points, k = like.shape[:3]
    none = (0,)
    return (
        like.new_empty((batch, points, k, channels) if write else none, dtype=dtype),
        like.new_empty((batch, points, channels) if pool else none, dtype=torch.float32),
        like.new_empty((batch, points, channels) if pool else none, dtype=torch.int8),
    )


def _there(tensor: Tensor | None) -> Tensor | None:
    """None for the empty tensor that stands for it."""
    return None if tensor is None or tensor.numel() == 0 else tensor


@torch.library.custom_op("spoonful::edge_first", mutates_args=())
def edge_first(
    points: Tensor,
    index: Tensor,
    to_neighbor: Tensor,
    to_center: Tensor,
    bias: Tensor | None,
    features: Tensor | None,
    to_features: Tensor | None,
    gamma: Tensor,
    mask: Tensor | None,
    pool: bool,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`edges.edge_linear` with statistics: y, extreme, arg, stats. Points get no gradient.

    Args:
        points: (B, N, 3), float32 like everything but the index, contiguous like everything.
        index: (B, N, k) int64.
        to_neighbor: (C, 3).
        to_center: (C, 3).
        bias: (C,) or None.
        features: (B, N, k, D), D <= 9, or None.
        to_features: (C, D) or None.
        gamma: (C,) the weight of the norm that follows.
        mask: (B, N) bool or None.
        pool: whether extremes are wanted.
        dtype: of y.
    """
    from spoonful.models.kernels import edges_triton

    items, count, k = index.shape
    channels = to_neighbor.shape[0]
    places, rows = _shape(k)
    programs = _programs(items, count, rows, _WAVES, points.device)
    y, extreme, arg = _tensors(index, channels, dtype, True, pool)
    sums = points.new_empty(items, programs, 2, channels)
    with torch.cuda.device_of(points):
        edges_triton.first_forward[(items, programs)](
            points,
            index,
            features,
            to_neighbor.contiguous(),
            to_center.contiguous(),
            None if to_features is None else to_features.contiguous(),
            bias,
            gamma,
            mask,
            y,
            _there(extreme),
            _there(arg),
            sums,
            count,
            C=channels,
            D=0 if features is None else features.shape[-1],
            K=k,
            KP=places,
            ROWS=rows,
            CP=_padded(channels),
            num_warps=4,
        )
    return y, extreme, arg, sums.sum(1)


@edge_first.register_fake
def _(
    points: Tensor,
    index: Tensor,
    to_neighbor: Tensor,
    to_center: Tensor,
    bias: Tensor | None,
    features: Tensor | None,
    to_features: Tensor | None,
    gamma: Tensor,
    mask: Tensor | None,
    pool: bool,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    channels = to_neighbor.shape[0]
    stats = points.new_empty(points.shape[0], 2, channels)
    return *_tensors(index, channels, dtype, True, pool), stats


@torch.library.custom_op("spoonful::edge_first_backward", mutates_args=())
def edge_first_backward(
    points: Tensor,
    index: Tensor,
    features: Tensor | None,
    y: Tensor,
    mask: Tensor | None,
    arg: Tensor,
    d_y: Tensor | None,
    d_extreme: Tensor | None,
    d_stats: Tensor | None,
) -> Tensor:
    """Gradients at the weights, (C, 16): neighbour's 3, centre's 3, features', bias's, padding."""
    from spoonful.models.kernels import edges_triton

    items, count, k = index.shape
    channels = y.shape[-1]
    places, rows = _shape(k)
    programs = _programs(items, count, rows, _FEW_WAVES, points.device)
    found = points.new_empty(items, programs, channels, _ENTRY)
    with torch.cuda.device_of(points):
        edges_triton.first_backward[(items, programs)](
            points,
            index,
            features,
            y,
            mask,
            _there(arg),
            d_y,
            d_extreme,
            d_stats,
            found,
            count,
            C=channels,
            D=0 if features is None else features.shape[-1],
            K=k,
            KP=places,
            ROWS=rows,
            CP=_padded(channels),
            num_warps=4,
        )
    return found.sum((0, 1))


@edge_first_backward.register_fake
def _(
    points: Tensor,
    index: Tensor,
    features: Tensor | None,
    y: Tensor,
    mask: Tensor | None,
    arg: Tensor,
    d_y: Tensor | None,
    d_extreme: Tensor | None,
    d_stats: Tensor | None,
) -> Tensor:
    return points.new_empty(y.shape[-1], _ENTRY)


def _first_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    points, index, _, _, bias, features, _, _, mask, *_ = inputs
    y, _, arg, _ = output
    ctx.save_for_backward(points, index, features, y, mask, arg)
    ctx.mark_non_differentiable(arg)
    ctx.set_materialize_grads(False)
    ctx.has_bias = bias is not None


def _first_backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
    d_y, d_extreme, _, d_stats = (None if g is None else g.contiguous() for g in gradients)
    points, index, features, y, mask, arg = ctx.saved_tensors
    found = edge_first_backward(
        points, index, features, y, mask, arg, d_y, _there(d_extreme), d_stats
    )
    extra = 0 if features is None else features.shape[-1]
    return (
        None,
        None,
        found[:, :3],
        found[:, 3:6],
        found[:, 6 + extra] if ctx.has_bias else None,
        None,
        found[:, 6 : 6 + extra] if extra else None,
        *(None,) * 4,
    )


edge_first.register_autograd(_first_backward, setup_context=_first_context)


@torch.library.custom_op("spoonful::edge_layer", mutates_args=())
def edge_layer(
    before: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor,
    mask: Tensor | None,
    write: bool,
    pool: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`weight relu(before scale + shift) + bias` on edges: y, extreme, arg, stats.

    Args:
        before: (B, N, k, Cin), a layer's output before its norm, contiguous like everything.
        scale: (B, Cin) float32.
        shift: (B, Cin) float32.
        weight: (C, Cin), rounded to the dtype of `before` for the products.
        bias: (C,) or None.
        gamma: (C,) the weight of the norm that follows.
        mask: (B, N) bool or None.
        write: whether y is wanted.
        pool: whether extremes are wanted.
    """
    from spoonful.models.kernels import edges_triton

    items, count, k, narrow = before.shape
    wide = weight.shape[0]
    places, rows = _shape(k)
    programs = _programs(items, count, rows, _WAVES, before.device)
    y, extreme, arg = _tensors(before, wide, before.dtype, write, pool)
    sums = scale.new_empty(items, programs, 2, wide)
    with torch.cuda.device_of(before):
        edges_triton.layer_forward[(items, programs)](
            before,
            scale,
            shift,
            weight.to(before.dtype),
            bias,
            gamma,
            mask,
            _there(y),
            _there(extreme),
            _there(arg),
            sums,
            count,
            CIN=narrow,
            COUT=wide,
            K=k,
            KP=places,
            ROWS=rows,
            CINP=_padded(narrow),
            COUTP=_padded(wide),
            num_warps=_forward_warps(wide),
        )
    return y, extreme, arg, sums.sum(1)


@edge_layer.register_fake
def _(
    before: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor,
    mask: Tensor | None,
    write: bool,
    pool: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    wide = weight.shape[0]
    stats = scale.new_empty(before.shape[0], 2, wide)
    return *_tensors(before, wide, before.dtype, write, pool), stats


@torch.library.custom_op("spoonful::edge_layer_backward", mutates_args=())
def edge_layer_backward(
    before: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    arg: Tensor,
    d_y: Tensor | None,
    d_extreme: Tensor | None,
    d_stats: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients at `before`, at scale and shift (B, 2, Cin), at weight and at bias."""
    from spoonful.models.kernels import edges_triton

    items, count, k, narrow = before.shape
    wide = weight.shape[0]
    places, rows = _shape(k)
    programs = _programs(items, count, rows, _FEW_WAVES, before.device)
    d_before = torch.empty_like(before)
    d_affine = scale.new_empty(items, programs, 2, narrow)
    d_weight = scale.new_empty(items, programs, wide, narrow)
    d_bias = scale.new_empty(items, programs, wide)
    rounded = weight.to(before.dtype)
    all_of_it = _padded(wide)

    def launch(some: int, for_input: bool, for_weights: bool, warps: int) -> None:
        edges_triton.layer_backward[(items, programs, -(-wide // some))](
            before,
            scale,
            shift,
            rounded,
            bias,
            mask,
            _there(arg),
            d_y,
            d_extreme,
            d_stats,
            d_before if for_input else None,
            d_affine if for_input else None,
            d_weight if for_weights else None,
            d_bias if for_weights else None,
            count,
            CIN=narrow,
            COUT=wide,
            K=k,
            KP=places,
            ROWS=rows,
            CINP=_padded(narrow),
            SOME=some,
            num_warps=warps,
        )

    with torch.cuda.device_of(before):
        if all_of_it * _padded(narrow) <= _WIDE:
            launch(all_of_it, True, True, _backward_warps(all_of_it * _padded(narrow)))
        else:
            launch(all_of_it, True, False, _backward_warps(all_of_it * _padded(narrow)))
            launch(128, False, True, _backward_warps(128 * _padded(narrow)))
    return d_before, d_affine.sum(1), d_weight.sum((0, 1)), d_bias.sum((0, 1))


@edge_layer_backward.register_fake
def _(
    before: Tensor,
    scale: Tensor,
    shift: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    arg: Tensor,
    d_y: Tensor | None,
    d_extreme: Tensor | None,
    d_stats: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return (
        torch.empty_like(before),
        scale.new_empty(scale.shape[0], 2, scale.shape[1]),
        scale.new_empty(weight.shape),
        scale.new_empty(weight.shape[0]),
    )


def _layer_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    before, scale, shift, weight, bias, _, mask, *_ = inputs
    arg = output[2]
    ctx.save_for_backward(before, scale, shift, weight, bias, mask, arg)
    ctx.mark_non_differentiable(arg)
    ctx.set_materialize_grads(False)


def _layer_backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
    d_y, d_extreme, _, d_stats = (None if g is None else g.contiguous() for g in gradients)
    *saved, arg = ctx.saved_tensors
    d_before, d_affine, d_weight, d_bias = edge_layer_backward(
        *saved, arg, _there(d_y), _there(d_extreme), d_stats
    )
    return (
        d_before,
        d_affine[:, 0],
        d_affine[:, 1],
        d_weight,
        None if saved[4] is None else d_bias,
        *(None,) * 4,
    )


edge_layer.register_autograd(_layer_backward, setup_context=_layer_context)


@torch.library.custom_op("spoonful::edge_summary", mutates_args=())
def edge_summary(y: Tensor, gamma: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Extreme, arg and stats of a layer that is written already; without a gradient.

    Args:
        y: (B, N, k, C), contiguous, k <= 127.
        gamma: (C,) the weight of the norm that follows.
        mask: (B, N) bool or None.
    """
    from spoonful.models.kernels import edges_triton

    items, count, k, channels = y.shape
    rows, some = _SUMMARY
    programs = _programs(items, count, rows, _WAVES, y.device)
    _, extreme, arg = _tensors(y, channels, y.dtype, False, True)
    sums = y.new_empty((items, programs, 2, channels), dtype=torch.float32)
    with torch.cuda.device_of(y):
        edges_triton.summarize[(items, programs, -(-channels // some))](
            y, gamma, mask, extreme, arg, sums, count, channels, k, rows, some, num_warps=4
        )
    return extreme, arg, sums.sum(1)


@edge_summary.register_fake
def _(y: Tensor, gamma: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    _, extreme, arg = _tensors(y, y.shape[-1], y.dtype, False, True)
    return extreme, arg, extreme.new_empty(y.shape[0], 2, y.shape[-1])
