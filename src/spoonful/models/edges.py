"""The first layer of an edge network, split into a part per point and a part per neighbour.

An edge from point i to its neighbour j carries (x_j, x_i, f_ij). A linear layer on it is

    y_ij = A x_j + (C x_i + b) + F f_ij

so the products with coordinates are made once a point, in float32 and without TF32, and only
their sum is made once an edge. Concatenated edge features never exist. The weights' gradients
are plain matrix products over edges; nothing is scattered unless the points need a gradient.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.geometry.exact import matmul3
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
        return y.to(dtype)

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
