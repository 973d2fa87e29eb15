"""Many errors in a few numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from spoonful.geometry.checks import check_is_tensor


@dataclass(frozen=True)
class Summary:
    """Statistics of the errors of `count` items, signed errors by their absolute value.

    A non-finite error counts as infinite: it makes means infinite, moves medians and percentiles
    by one item, and is never left out.

    Attributes:
        count: number of items.
        nonfinite: how many of them have an error that is not finite.
        mean: mean error. MAE is another name for it.
        mse: mean squared error.
        median: the middle error.
        p95: the error that 95 % of the items stay below.
        max: the largest error.
    """

    count: int
    nonfinite: int
    mean: float
    mse: float
    median: float
    p95: float
    max: float

    @property
    def mae(self) -> float:
        """Mean absolute error: the mean, since all errors here are absolute."""
        return self.mean

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(self.mse)


def summarize(errors: Tensor) -> Summary:
    """Statistics over the items of a metric.

    Args:
        errors: (K,) one error per item, or (K, D) errors by axis, as those of
            `anisotropic_error_degrees`; all K x D of them then enter alike, as DCP and RPM-Net
            compute MSE, RMSE and MAE.

    >>> import torch
    >>> summary = summarize(torch.tensor([-1.0, 1, 4]))
    >>> summary.mae, summary.mse, summary.median
    (2.0, 6.0, 1.0)
    >>> broken = torch.tensor([1.0, 3, torch.nan])
    >>> summarize(broken).mean, summarize(broken).median
    (inf, 3.0)
    """
    rows = absolute_errors("errors", errors)
    values = rows.flatten()
    return Summary(
        count=len(rows),
        nonfinite=int(rows.isinf().any(1).sum()),
        mean=values.mean().item(),
        mse=values.square().mean().item(),
        median=quantile(values, 0.5),
        p95=quantile(values, 0.95),
        max=quantile(values, 1.0),
    )


def absolute_errors(name: str, errors: Tensor) -> Tensor:
    """Errors (K,) or (K, D) as (K, D) float64; an item with one that is not finite is infinite."""
    check_is_tensor(name, errors)
    if errors.ndim not in (1, 2) or len(errors) == 0:
        raise ValueError(
            f"{name} must have shape (K,) or (K, D) with K >= 1, got {tuple(errors.shape)}"
        )
    rows = errors.detach().cpu().double().abs().reshape(len(errors), -1)
    return rows.masked_fill(~rows.isfinite().all(1, keepdim=True), math.inf)


def quantile(values: Tensor, q: float) -> float:
    """The `q`-quantile of (K,) values, interpolated linearly; infinities are allowed.

    >>> import torch
    >>> quantile(torch.tensor([3.0, 1, torch.inf, 2]), 0.5)
    2.5
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q must lie in [0, 1], got {q}")
    if values.numel() == 0:
        return math.nan
    ordered = values.sort().values
    rank = q * (len(ordered) - 1)
    low, high = ordered[math.floor(rank)].item(), ordered[math.ceil(rank)].item()
    # torch.quantile interpolates inf - inf, and is NaN there
    return low if low == high else low + (rank % 1) * (high - low)
