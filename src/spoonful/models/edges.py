"""Layers on the edges between neighbours, without the edge features that they are written with.

An edge from point i to its neighbour j carries (x_j, x_i, f_ij). A linear layer on it is

    y_ij = A x_j + (C x_i + b) + F f_ij

so the products with coordinates are made once a point, in float32 and without TF32, and only
their sum is made once an edge (`edge_linear`). Concatenated edge features never exist. The weights'
gradients are plain matrix products over edges; nothing is scattered unless the points need a
gradient. In bfloat16 a whole stack of layers with norms and maxima is one function (`edge_stack`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from spoonful.geometry.exact import matmul3
from spoonful.models import kernels
from spoonful.models.kernels.edge_ops import MOST_NEIGHBORS, edge_summary
from spoonful.models.neighborhoods import gather
from spoonful.models.precision import at_least_float32, full_precision, network_dtype


def edge_linear(
    points: Tensor,
    index: Tensor,
    to_neighbor: Tensor,
    to_center: Tensor,
    bias: Tensor | None = None,
    features: Tensor | None = None,
    to_features: Tensor | None = None,
) -> Tensor:
    """`y_ij = to_neighbor x_j + to_center x_i + bias + to_features f_ij`.

    Args:
        points: (B, N, 3).
        index: (B, N, k) the neighbours of each point.
        to_neighbor: (C, 3).
        to_center: (C, 3).
        bias: (C,) or None.
        features: (B, N, k, D) a few numbers an edge, or None.
        to_features: (C, D), with `features`.

    Returns:
        (B, N, k, C), computed in float32, given in the dtype of the network around it.

    >>> points = torch.tensor([[[0.0, 0, 0], [1, 0, 0]]])
    >>> index = torch.tensor([[[0, 1], [0, 1]]])
    >>> edge_linear(points, index, torch.eye(3), -torch.eye(3))[0, :, :, 0]  # x_j - x_i
    tensor([[ 0.,  1.],
            [-1.,  0.]])
    """
    dtype = network_dtype(to_neighbor)
    with full_precision(points):
        edges: Tensor = _EdgeLinear.apply(
            at_least_float32(points),
            index,
            to_neighbor,
            to_center,
            bias,
            features,
            to_features,
            dtype,
        )
    return edges


class Entry(NamedTuple):
    """The arguments of `edge_linear` after the index."""

    to_neighbor: Tensor
    to_center: Tensor
    bias: Tensor | None = None
    features: Tensor | None = None
    to_features: Tensor | None = None


def stackable(points: Tensor, layers: Sequence[nn.Module]) -> bool:
    """True if `edge_stack` is for this network: in bfloat16, for which sums are exact enough."""
    weight = layers[0].weight
    assert isinstance(weight, Tensor)
    return (
        network_dtype(weight) == torch.bfloat16
        and points.dtype == torch.float32
        and not (points.requires_grad and torch.is_grad_enabled())
    )


def edge_stack(
    points: Tensor,
    index: Tensor,
    entry: Entry,
    layers: Sequence[nn.Module],
    norms: Sequence[nn.Module],
    affine: Callable[[Tensor, Any, Tensor], tuple[Tensor, Tensor]],
    *,
    mask: Tensor | None = None,
    pool_all: bool = False,
) -> list[Tensor]:
    """A stack of layers on edges, each with norm and ReLU, and its maxima over the neighbours.

    A norm followed by a ReLU is monotonous in each channel. So the maximum over neighbours is that
    of the largest value before the norm (of the smallest, if its weight is negative), and one edge
    gets its gradient. Norms are affine maps of each item, found from sums.

    Args:
        points: (B, N, 3), for which `stackable` is True; they get no gradient.
        index: (B, N, k).
        entry: the first layer.
        layers: the linear layers after it, L of them.
        norms: L + 1 norms, one after each layer.
        affine: (stats, norm, count) to scale and shift, see `norms.batch_affine`.
        mask: (B, N) bool, False for padding, or None.
        pool_all: whether every layer is pooled, or only the last.

    Returns:
        (B, N, C) float32, one for each layer that is pooled.
    """
    dtype = network_dtype(entry.to_neighbor)  # before autocast is switched off
    y: Tensor
    pooled: list[Tensor] = []
    with full_precision(points):
        if mask is None:
            count = torch.full_like(points[:, 0, 0], points.shape[1] * index.shape[-1])
        else:
            mask = mask.contiguous()
            count = mask.sum(-1, dtype=points.dtype) * index.shape[-1]
        y = _EdgeLinear.apply(points, index, *entry, dtype)
        for number, norm in enumerate(norms):
            last = number == len(layers)
            pool = last or pool_all
            extreme, stats, _ = _Summary.apply(y, norm.weight, mask, pool)
            scale, shift = affine(stats, norm, count)
            if pool:
                pooled.append(F.relu(extreme * scale.unsqueeze(1) + shift.unsqueeze(1)))
            if not last:
                y = _layer(y, scale, shift, layers[number])
    return pooled


def _layer(before: Tensor, scale: Tensor, shift: Tensor, layer: Any) -> Tensor:
    """A layer's output from the one before it, which is not normalised yet."""
    dtype, bias = before.dtype, layer.bias
    if torch.compiler.is_compiling():
        # By default a compiler keeps this for backward, and `before` in float32 too.
        x = checkpoint(_normed, before, scale, shift, use_reentrant=False)
    else:
        x = _normed(before, scale, shift)
    weight = layer.weight.flatten(1).to(dtype)
    return F.linear(x, weight, None if bias is None else bias.to(dtype))


def _normed(before: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """A layer's output after norm and ReLU."""
    x = torch.addcmul(shift[:, None, None], at_least_float32(before), scale[:, None, None])
    return F.relu(x).to(before.dtype)


class _Summary(torch.autograd.Function):
    """Extremes over neighbours and sums over items of (B, N, k, C); see `edge_ops`."""

    @staticmethod
    def forward(
        y: Tensor, gamma: Tensor, mask: Tensor | None, pool: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        if pool and y.shape[2] <= MOST_NEIGHBORS and kernels.usable(y):
            extreme, arg, stats = edge_summary(y.contiguous(), gamma, mask)
            return extreme, stats, arg
        exact = at_least_float32(y)
        counted = exact if mask is None else exact * mask[:, :, None, None]
        stats = torch.stack([counted.sum((1, 2)), (counted * exact).sum((1, 2))], 1)
        if not pool:
            return y.new_empty(0), stats, y.new_empty(0)
        turned = gamma < 0
        best, arg = torch.where(turned, -exact, exact).max(dim=2)
        return torch.where(turned, -best, best), stats, arg.to(torch.int8)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        y, _, mask, ctx.pool = inputs
        arg = output[2]
        ctx.save_for_backward(y, mask, arg)
        ctx.mark_non_differentiable(arg)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_extreme, d_stats, _ = gradients
        y, mask, arg = ctx.saved_tensors
        at_sum, at_squares = (d[:, None, None] for d in d_stats.unbind(1))
        d_y = at_sum + 2 * at_least_float32(y) * at_squares
        if mask is not None:
            d_y = d_y * mask[:, :, None, None]
        if ctx.pool:
            place = torch.arange(y.shape[2], dtype=arg.dtype, device=y.device).unsqueeze(-1)
            d_y = d_y + torch.where(arg.unsqueeze(2) == place, d_extreme.unsqueeze(2), 0.0)
        return d_y.to(y.dtype), None, None, None


class _EdgeLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        points: Tensor,
        index: Tensor,
        to_neighbor: Tensor,
        to_center: Tensor,
        bias: Tensor | None,
        features: Tensor | None,
        to_features: Tensor | None,
        dtype: torch.dtype,
    ) -> Tensor:
        center = matmul3(points, to_center.mT)
        if bias is not None:
            center = center + bias
        y = gather(matmul3(points, to_neighbor.mT), index) + center.unsqueeze(-2)
        if features is not None:
            assert to_features is not None
            if features.is_cuda or torch.compiler.is_compiling():
                # Elementwise, so that TF32 stays out and a compiler fuses it into the sum.
                for channel in range(features.shape[-1]):
                    y = y + features[..., channel, None] * to_features[:, channel]
            else:
                y = y + features @ to_features.mT
        # Not `y.to(dtype)` alone: where it changes nothing, compiled code of torch 2.11 passes
        # zeros to `backward` (pytorch issue 180642).
        return y if y.dtype == dtype else y.to(dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        points, index, to_neighbor, to_center, bias, features, to_features, _ = inputs
        ctx.save_for_backward(points, index, to_neighbor, to_center, features, to_features)
        ctx.has_bias = bias is not None

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = gradients
        points, index, to_neighbor, to_center, features, to_features = ctx.saved_tensors
        need = ctx.needs_input_grad
        channels = grad.shape[-1]
        flat = grad.reshape(-1, channels)

        # All weights' gradients in one product, so that the large gradient is read once. The
        # column of ones is the bias's; zeros fill up to a width that tensor cores like.
        neighbors = gather(points, index)
        columns = [neighbors, points.unsqueeze(-2).expand_as(neighbors)]
        if features is not None:
            columns.append(features)
        columns.append(torch.ones_like(neighbors[..., :1]))
        edges = torch.cat(columns, dim=-1)
        width = edges.shape[-1]
        edges = F.pad(edges, (0, -width % 8)).reshape(flat.shape[0], -1).to(grad.dtype)
        of_weights = (flat.mT @ edges).to(points.dtype)

        of_points = of_features = None
        if need[0]:
            batch, count = index.shape[:2]
            base = torch.arange(batch, device=index.device).reshape(-1, 1, 1) * count
            of_neighbor = torch.zeros(
                batch * count, channels, dtype=points.dtype, device=points.device
            ).index_add(0, (index + base).flatten(), flat.to(points.dtype))
            of_center = grad.sum(-2, dtype=points.dtype)
            of_points = of_neighbor.reshape_as(of_center) @ to_neighbor + of_center @ to_center
        if features is not None and need[5]:
            of_features = grad.to(points.dtype) @ to_features
        return (
            of_points,
            None,
            of_weights[:, :3],
            of_weights[:, 3:6],
            of_weights[:, width - 1] if ctx.has_bias else None,
            of_features,
            None if features is None else of_weights[:, 6 : width - 1],
            None,
        )
