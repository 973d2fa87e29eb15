"""Normalisations over the last axis, with padding left out of the statistics.

Tensors here are (B, N, C) points or (B, N, k, C) edges, channels last: a 1x1 convolution is then
a plain matrix product. The parameters live in torch's own modules, so checkpoints keep their
names. Statistics are float32 whatever the network's dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from spoonful.models.precision import at_least_float32

# The published LayerNorm adds its eps to the standard deviation; below this a deviation is zero,
# and so is its gradient, where torch.std would give NaN.
_NO_VARIANCE = 1e-30


def linear(x: Tensor, layer: nn.Module) -> Tensor:
    """A 1x1 convolution, or a linear layer, on the last axis."""
    weight, bias = layer.weight, layer.bias
    assert isinstance(weight, Tensor)
    return F.linear(x, weight.flatten(1), bias)  # type: ignore[arg-type]


def linear_batch_norm(
    x: Tensor, layer: nn.Module, norm: _BatchNorm, *, clouds: int, mask: Tensor | None
) -> Tensor:
    """Batch norm after a bias-free 1x1 convolution; in eval mode it is folded into the weights.

    Args:
        x: (B, ..., Cin).
        layer: the convolution.
        norm: its batch norm.
        clouds: how many equal parts of the batch have statistics of their own; see `batch_norm`.
        mask: (B, N) bool or None.

    Returns:
        (B, ..., Cout).
    """
    if norm.training:
        return batch_norm(linear(x, layer), norm, clouds=clouds, mask=mask)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    scale, shift = running_affine(norm)
    return F.linear(x, weight.flatten(1) * scale.unsqueeze(-1), shift)


def running_affine(norm: _BatchNorm) -> tuple[Tensor, Tensor]:
    """Batch norm in eval mode as `x * scale + shift`, both (C,)."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    return scale, norm.bias - norm.running_mean * scale


def batch_norm(
    y: Tensor, norm: _BatchNorm, *, clouds: int = 1, mask: Tensor | None = None
) -> Tensor:
    """Batch norm in training mode over everything but the last axis.

    The published networks see source and target one after the other, so each has its own
    statistics and the running ones are updated twice. With `clouds=2` the first half of the batch
    is the source, the second the target, and the same happens in one pass.

    Padded points count in no statistic: the published networks have none.

    Args:
        y: (B, ..., C) with B a multiple of `clouds`.
        norm: holds weight, bias and running statistics, which are updated.
        clouds: number of parts with statistics of their own.
        mask: (B, N) bool, False for padding, where y is (B, N, ..., C).

    Returns:
        As `y`.
    """
    x = at_least_float32(y).unflatten(0, (clouds, -1))
    axes = tuple(range(1, x.ndim - 1))
    parts = None if mask is None else mask.reshape(clouds, -1, *mask.shape[1:])
    mean, var, count = _of_all_processes(*_moments(x, parts, axes))
    _update_running(norm, mean.flatten(1), var.flatten(1), count.flatten(1))
    scale = norm.weight * torch.rsqrt(var + norm.eps)
    return torch.addcmul(norm.bias - mean * scale, x, scale).flatten(0, 1).to(y.dtype)


def _of_all_processes(mean: Tensor, var: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and number over the slices of all processes that train one model.

    So a batch has the same statistics, and the network the same gradient, on one process and on
    several; with one, nothing happens.
    """
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return mean, var, count
    total, of_all = _Sum.apply(torch.stack([count, count * mean])).unbind()
    of_all = of_all / total
    spread = _Sum.apply(count * (var + (mean - of_all).square())) / total
    return of_all, spread, total


class _Sum(torch.autograd.Function):
    """The sum over all processes; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        # A copy: in compiled code of torch 2.11 a tensor that was changed in place has a wrong
        # gradient (pytorch issue 180642).
        return total.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total


@torch.no_grad()
def _update_running(norm: _BatchNorm, mean: Tensor, var: Tensor, count: Tensor) -> None:
    """One running update a cloud, in order, with the unbiased variance, as torch does."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    unbiased = var * (count / (count - 1).clamp_min(1))
    for part_mean, part_var in zip(mean.unbind(), unbiased.unbind(), strict=True):
        norm.running_mean.lerp_(part_mean.to(norm.running_mean), norm.momentum)
        norm.running_var.lerp_(part_var.to(norm.running_var), norm.momentum)
    norm.num_batches_tracked += mean.shape[0]


def group_norm(y: Tensor, norm: nn.GroupNorm, *, mask: Tensor | None = None) -> Tensor:
    """Group norm of each item over its points, its neighbours and each group of channels.

    Args:
        y: (B, N, ..., C), or (B, C) for one vector an item.
        norm: holds the number of groups, weight and bias.
        mask: (B, N) bool, False for padding, which counts in no statistic.

    Returns:
        As `y`.
    """
    if y.ndim == 2:
        return F.group_norm(y, norm.num_groups, norm.weight, norm.bias, norm.eps)
    x = at_least_float32(y)
    axes = tuple(range(1, x.ndim - 1))
    mean, var, _ = _moments(x, mask, axes)
    # The variance of a group: that inside its channels plus that between them.
    means = mean.unflatten(-1, (norm.num_groups, -1))
    group_mean = means.mean(-1, keepdim=True)
    spread = (means - group_mean).square().mean(-1, keepdim=True)
    group_var = var.unflatten(-1, (norm.num_groups, -1)).mean(-1, keepdim=True) + spread
    scale = torch.rsqrt(group_var + norm.eps)
    weight = norm.weight.unflatten(0, (norm.num_groups, -1)) * scale
    shift = norm.bias.unflatten(0, (norm.num_groups, -1)) - group_mean * weight
    return torch.addcmul(shift.flatten(-2), x, weight.flatten(-2)).to(y.dtype)


def batch_affine(
    stats: Tensor, norm: _BatchNorm, *, clouds: int, count: Tensor
) -> tuple[Tensor, Tensor]:
    """Batch norm as `y * scale + shift` of each item, from sums over its points; updates `norm`.

    Args:
        stats: (B, 2, C), the sums of y and of its squares over each item.
        norm: as for `batch_norm`; in eval mode its running statistics are used.
        clouds: as for `batch_norm`.
        count: (B,) how many values of a channel were summed.

    Returns:
        Scale and shift, (B, C).
    """
    items = stats.shape[0]
    if not norm.training:
        scale, shift = running_affine(norm)
        return scale.expand(items, -1), shift.expand(items, -1)
    number = count.reshape(clouds, -1).sum(-1, keepdim=True).clamp_min(1)
    mean, squares = (stats.unflatten(0, (clouds, -1)).sum(1) / number.unsqueeze(-1)).unbind(1)
    var = (squares - mean.square()).clamp_min(0)
    mean, var, number = _of_all_processes(mean, var, number.expand_as(mean))
    _update_running(norm, mean, var, number)
    scale = norm.weight * torch.rsqrt(var + norm.eps)
    shift = norm.bias - mean * scale
    part = items // clouds
    return scale.repeat_interleave(part, 0), shift.repeat_interleave(part, 0)


def group_affine(stats: Tensor, norm: nn.GroupNorm, *, count: Tensor) -> tuple[Tensor, Tensor]:
    """Group norm as `y * scale + shift` of each item, (B, C); arguments as of `batch_affine`."""
    groups = stats.unflatten(-1, (norm.num_groups, -1)).mean(-1)
    mean, squares = (groups / count.clamp_min(1).reshape(-1, 1, 1)).unbind(1)
    scale = torch.rsqrt((squares - mean.square()).clamp_min(0) + norm.eps).unsqueeze(-1)
    weight = norm.weight.unflatten(0, (norm.num_groups, -1)) * scale
    shift = norm.bias.unflatten(0, (norm.num_groups, -1)) - mean.unsqueeze(-1) * weight
    return weight.flatten(1), shift.flatten(1)


def _moments(
    x: Tensor, mask: Tensor | None, axes: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, biased variance and number of the unmasked values over `axes`, all with kept axes."""
    if mask is not None:
        mask = mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim))
        share = mask.to(x.dtype)
        count = share.expand(*x.shape[:-1], 1).sum(axes, keepdim=True).clamp_min(1)
        mean = (x * share).sum(axes, keepdim=True) / count
        var = ((x - mean).square() * share).sum(axes, keepdim=True) / count
        return mean, var, count.expand_as(mean)
    if x.is_cuda:
        var, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    else:
        # On the CPU var_mean walks strided axes one number at a time; these two are vectorised.
        mean = x.mean(axes, keepdim=True)
        var = (x - mean).square().mean(axes, keepdim=True)
    return mean, var, torch.full_like(mean, x.numel() // mean.numel())


def pointwise(layers: Iterable[nn.Module], x: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """Run a stack of 1x1 convolutions, group norms and ReLUs on the last axis of `x`."""
    for layer in layers:
        match layer:
            case nn.GroupNorm():
                x = group_norm(x, layer, mask=mask)
            case nn.ReLU():
                x = F.relu(x)
            case _:
                x = linear(x, layer)
    return x


def masked_max(x: Tensor, mask: Tensor | None) -> Tensor:
    """The maximum over points: (B, N, C) to (B, C), padding left out."""
    if mask is not None:
        x = x.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    return x.amax(dim=1)


class LayerNorm(nn.Module):
    """DCP's layer norm: `a_2 (x - mean) / (std + eps) + b_2`.

    It differs from torch's in three ways: the standard deviation is unbiased, eps is added to it
    and not to the variance, and the parameters have these names.
    """

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis."""
        exact = at_least_float32(x)
        centred = exact - exact.mean(-1, keepdim=True)
        var = centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)
        std = var.clamp_min(_NO_VARIANCE).sqrt()
        return (self.a_2 * centred / (std + self.eps) + self.b_2).to(x.dtype)
