"""Paired differences of two results on the same items, with their intervals.

Both methods are resampled with the same items, so the difficulty of an item cancels. A paired
interval can exclude zero although the two single intervals overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.evaluation.bootstrap import LEVEL, RESAMPLES, Interval, interval, replicate
from spoonful.evaluation.result import Result
from spoonful.metrics import summarize


class Difference(NamedTuple):
    """A statistic of two methods.

    Attributes:
        first: its value for the first.
        second: its value for the second.
        difference: `second - first`; below zero, the second is better.
        interval: of the difference.
    """

    first: float
    second: float
    difference: float
    interval: Interval

    @property
    def decided(self) -> bool:
        """True if the interval excludes zero; False if the difference is not a number."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes:
        first: the first method's name.
        second: the second's.
        protocol: the protocol's name.
        data: the data's name.
        items: the number of items compared.
        left_out: the number of items left out because a pose was not finite.
        differences: by metric, by statistic ("mean", "rmse", "mse", "median", "p95").
        better: by metric, the share of items whose error is smaller with the second method, ties
            counted half, with its interval.
    """

    first: str
    second: str
    protocol: str
    data: str
    items: int
    left_out: int
    differences: dict[str, dict[str, Difference]]
    better: dict[str, tuple[float, Interval]]


def compare(
    first: Result,
    second: Result,
    *,
    finite_only: bool = False,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Paired differences of two results, `second - first`.

    Args:
        first: the one to compare with.
        second: the other, on the same items.
        finite_only: leave out items for which either has an error that is not finite. Otherwise
            such an item makes means infinite, and their difference too, or NaN if both are.
        resamples: the number of resamples.
        level: of the intervals.
        seed: of the draws.

    Raises:
        ValueError: the results are of different protocols, data or items.
    """
    check_comparable(first, second)
    names = [name for name in first.errors if name in second.errors]
    pairs = {name: (first.errors[name], second.errors[name]) for name in names}
    keep = torch.ones(len(first), dtype=torch.bool)
    if finite_only:
        for some in pairs.values():
            for values in some:
                keep &= values.reshape(len(values), -1).isfinite().all(1)
        if not keep.any():
            raise ValueError(
                "finite_only leaves no item: every one has an error that is not finite"
            )
    a = {name: some[0][keep] for name, some in pairs.items()}
    b = {name: some[1][keep] for name, some in pairs.items()}

    draws_a = replicate(a, resamples=resamples, seed=seed)
    draws_b = replicate(b, resamples=resamples, seed=seed)
    wins = {name: _wins(a[name], b[name]) for name in names}
    draws_wins = replicate(wins, resamples=resamples, seed=seed)
    differences: dict[str, dict[str, Difference]] = {}
    for name in names:
        one, other = summarize(a[name]), summarize(b[name])
        differences[name] = {
            statistic: Difference(
                getattr(one, statistic),
                getattr(other, statistic),
                # NaN if both are infinite: such means cannot be compared.
                getattr(other, statistic) - getattr(one, statistic),
                interval(draws_b[name][statistic] - draws_a[name][statistic], level),
            )
            for statistic in draws_a[name]
        }
    return Comparison(
        first=first.method,
        second=second.method,
        protocol=first.protocol,
        data=first.data.name,
        items=int(keep.sum()),
        left_out=int((~keep).sum()),
        differences=differences,
        better={
            name: (wins[name].mean().item(), interval(draws_wins[name]["mean"], level))
            for name in names
        },
    )


def check_comparable(first: Result, second: Result) -> None:
    """Raise a `ValueError` unless both results are of the same items."""
    for what, a, b in (
        (
            "protocols",
            f"{first.protocol} ({first.protocol_hash})",
            f"{second.protocol} ({second.protocol_hash})",
        ),
        (
            "data",
            f"{first.data.name} ({first.data.fingerprint})",
            f"{second.data.name} ({second.data.fingerprint})",
        ),
    ):
        if a != b:
            raise ValueError(
                f"results of different {what} cannot be compared: {first.method} was measured on "
                f"{a}, {second.method} on {b}"
            )
    if not torch.equal(first.index, second.index):
        missing = sorted(set(first.index.tolist()) ^ set(second.index.tolist()))
        raise ValueError(
            f"results of different items cannot be compared: {len(missing)} items are in only one "
            f"of {first.method} ({len(first)} items) and {second.method} ({len(second)} items), "
            f"as item {missing[0]}"
            if missing
            else f"results of {first.method} and {second.method} list their items in another order"
        )


def _wins(a: Tensor, b: Tensor) -> Tensor:
    """1 where b's error is smaller, 0 where it is larger, 0.5 where they are equal: (K,)."""
    size_a, size_b = (torch.linalg.vector_norm(v.reshape(len(v), -1), dim=1) for v in (a, b))
    size_a, size_b = (v.nan_to_num(nan=math.inf, posinf=math.inf) for v in (size_a, size_b))
    return (size_b < size_a).double() + 0.5 * (size_b == size_a).double()
