"""Confidence intervals of statistics of many errors: the percentile bootstrap over items.

Each resample draws as many items as there are, with replacement. An interval holds the middle
`level` of the statistic's values in the resamples. A resample is stored as the number of times each
item was drawn. So the means of all metrics are one matrix product, and quantiles follow from the
cumulated counts of the sorted errors: nothing is sorted twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.metrics import quantile
from spoonful.metrics.summary import absolute_errors

STATISTICS = ("mean", "rmse", "mse", "median", "p95")
"""Statistics with an interval. The largest error has none: a resample never exceeds it."""

RESAMPLES = 1000
LEVEL = 0.95
# Counts in memory at once: 4 million, whatever the number of items.
_AT_ONCE = 1 << 22

Replicates = dict[str, dict[str, Tensor]]
"""For each metric and statistic, its values (resamples,) in the resamples."""


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


def replicate(
    errors: Mapping[str, Tensor], *, resamples: int = RESAMPLES, seed: int = 0
) -> Replicates:
    """The statistics of many errors, in each of many resamples of the items.

    The same seed draws the same items. So results for two methods on the same items are paired:
    the difference of their replicates is the replicate of their difference.

    Args:
        errors: metrics by name, (K,) or by axis (K, D), all over the same K items. Signed errors
            enter by their absolute value; an item with an error that is not finite counts as
            infinite, as in `spoonful.metrics.summarize`.
        resamples: the number of resamples.
        seed: of the draws.

    Returns:
        For each metric and each of `STATISTICS`, (resamples,) float64; NaN for a single item.

    >>> got = replicate({"error": torch.tensor([1.0, 1, 1, 5])}, resamples=4)
    >>> got["error"]["mean"]
    tensor([...], dtype=torch.float64)
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    rows = {name: absolute_errors(name, values) for name, values in errors.items()}
    sizes = {len(values) for values in rows.values()}
    if len(sizes) != 1:
        raise ValueError(f"errors must all be of the same items, got {sorted(sizes)} of them")
    items = sizes.pop()
    if items == 1:
        unknown = torch.full((resamples,), math.nan, dtype=torch.float64)
        return {name: dict.fromkeys(STATISTICS, unknown) for name in rows}

    moments = torch.stack(
        [part for values in rows.values() for part in (values.mean(1), values.square().mean(1))],
        dim=1,
    )
    infinite = moments.isinf()
    finite = moments.masked_fill(infinite, 0)
    parts: dict[str, dict[str, list[Tensor]]] = {
        name: {statistic: [] for statistic in STATISTICS} for name in rows
    }
    for drawn in _draws(items, resamples, seed):
        weights = drawn.double()
        means = weights @ finite / items
        if infinite.any():  # 0 times inf would be NaN, so infinities are counted by themselves
            means = means.masked_fill(weights @ infinite.double() > 0, math.inf)
        for column, (name, values) in enumerate(rows.items()):
            part = parts[name]
            part["mean"].append(means[:, 2 * column])
            part["mse"].append(means[:, 2 * column + 1])
            part["rmse"].append(means[:, 2 * column + 1].sqrt())
            median, p95 = _quantiles(values, drawn, (0.5, 0.95))
            part["median"].append(median)
            part["p95"].append(p95)
    return {
        name: {statistic: torch.cat(some) for statistic, some in part.items()}
        for name, part in parts.items()
    }


def interval(replicates: Tensor, level: float = LEVEL) -> Interval:
    """The middle `level` of (resamples,) values. Infinite values are allowed; NaN gives NaN.

    >>> interval(torch.arange(101.0), 0.5)
    Interval(low=25.0, high=75.0)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if replicates.isnan().any():
        return Interval(math.nan, math.nan)
    tail = (1 - level) / 2
    return Interval(quantile(replicates, tail), quantile(replicates, 1 - tail))


def bootstrap(
    errors: Tensor, *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> dict[str, Interval]:
    """Confidence intervals of the statistics of one metric.

    Args:
        errors: (K,) or, by axis, (K, D).
        resamples: the number of resamples.
        level: the share of such intervals that hold the truth.
        seed: of the draws.

    Returns:
        An `Interval` for each of `STATISTICS`.

    >>> errors = torch.linspace(0, 2, 101)
    >>> low, high = bootstrap(errors)["mean"]
    >>> low < 1 < high
    True
    """
    found = replicate({"errors": errors}, resamples=resamples, seed=seed)["errors"]
    return {statistic: interval(values, level) for statistic, values in found.items()}


def _draws(items: int, resamples: int, seed: int) -> Iterator[Tensor]:
    """Counts of each item in each resample, (some resamples, K) int32, `resamples` in all."""
    generator = torch.Generator().manual_seed(seed)
    size = max(1, _AT_ONCE // items)
    for first in range(0, resamples, size):
        count = min(size, resamples - first)
        index = torch.randint(items, (count, items), generator=generator)
        ones = torch.ones(1, 1, dtype=torch.int32).expand(count, items)
        yield torch.zeros(count, items, dtype=torch.int32).scatter_add_(1, index, ones)


def _quantiles(rows: Tensor, drawn: Tensor, levels: tuple[float, ...]) -> list[Tensor]:
    """Quantiles, interpolated linearly, of rows (K, D) in resamples (B, K): (B,) each."""
    ordered, order = rows.flatten().sort()
    reached = drawn[:, order // rows.shape[1]].cumsum(1, dtype=torch.int32)
    found = []
    for level in levels:
        rank = level * (len(ordered) - 1)
        at = torch.tensor([math.floor(rank), math.ceil(rank)], dtype=torch.int32)
        # The value with k values before it is the first at which more than k are reached.
        place = torch.searchsorted(reached, at.expand(len(drawn), 2).contiguous(), right=True)
        low, high = ordered[place].unbind(1)
        found.append(torch.where(low == high, low, low + (rank % 1) * (high - low)))
    return found
