"""Run parts of a mixed-precision network in float32.

Networks may run under `torch.autocast`; poses may not. The functions here cut geometry out of
autocast, and keep coordinates away from matrix products, which obey the process-wide TF32 switch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def full_precision(like: Tensor) -> AbstractContextManager[object]:
    """A context in which autocast is off for the device of `like`.

    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     low = x @ x
    ...     with full_precision(x):
    ...         high = x @ x
    >>> low.dtype, high.dtype
    (torch.bfloat16, torch.float32)
    """
    if torch.is_autocast_enabled(like.device.type):
        return torch.autocast(device_type=like.device.type, enabled=False)
    return nullcontext()  # entering autocast takes time, and most of all in torch.export


def network_dtype(like: Tensor) -> torch.dtype:
    """The dtype a matrix product of `like` would have here: autocast's where that is on.

    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     network_dtype(torch.ones(1))
    torch.bfloat16
    """
    device = like.device.type
    if torch.is_autocast_enabled(device) and like.dtype == torch.float32:
        return torch.get_autocast_dtype(device)
    return like.dtype


def at_least_float32(tensor: Tensor) -> Tensor:
    """`tensor` in float32, or as it is in float64."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def mix(shares: Tensor, points: Tensor, total: Tensor | None = None) -> Tensor:
    """`sum_j shares_ij points_j`: the matched point of each row, in the inputs' own precision.

    Soft matches lie close to the centroid, a thousand times closer to it than the centroid is to
    the origin. So the points are centred first, and what is summed is small numbers; and the sums
    are of elementwise products, where a matrix product would obey the TF32 switch.

    Args:
        shares: (..., N, M).
        points: (..., M, 3).
        total: (..., N), what the rows of `shares` sum to; None for 1, as after a softmax.

    Returns:
        (..., N, 3).

    >>> mix(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.0, 0, 2], [4, 0, 0]]))
    tensor([[2., 0., 1.]])
    """
    centre = points.mean(-2, keepdim=True)
    columns = (points - centre).mT.unsqueeze(-2)  # (..., 3, 1, M)
    sums = [(shares * columns[..., axis, :, :]).sum(-1) for axis in range(3)]
    return torch.stack(sums, dim=-1) + (centre if total is None else total.unsqueeze(-1) * centre)
