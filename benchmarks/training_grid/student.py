"""Intervals and tests of means of few trainings, by Student's t.

The unit is a training run. Drawing three runs again with replacement, as a bootstrap does, cannot
show how much runs differ: such 95 % intervals hold the truth in 86 % of cases. Student's t accounts
for the small number.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from spoonful.evaluation.bootstrap import LEVEL, Interval


class Difference(NamedTuple):
    """A difference of two means.

    Attributes:
        mean: the difference.
        interval: its confidence interval; NaN if a group has a single run.
        p: how likely a difference at least as large is, without an effect (two-sided).
    """

    mean: float
    interval: Interval
    p: float

    @property
    def decided(self) -> bool:
        """True if the interval excludes zero."""
        return self.interval.low > 0 or self.interval.high < 0


class Group(NamedTuple):
    """The mean, standard deviation and number of some runs."""

    mean: float
    deviation: float
    size: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Group:
        """The mean, standard deviation and number of these values."""
        spread = statistics.stdev(values) if len(values) > 1 else math.nan
        return cls(statistics.fmean(values), spread, len(values))


def paired(differences: Sequence[float], level: float = LEVEL) -> Difference:
    """The paired t test: is the mean of these differences zero?

    >>> found = paired([1.0, 2.0, 3.0])
    >>> found.mean, round(found.interval.low, 2), round(found.p, 3)
    (2.0, -0.48, 0.074)
    """
    group = Group.of(differences)
    return _found(group.mean, group.deviation / math.sqrt(group.size), group.size - 1, level)


def welch(first: Group, second: Group, level: float = LEVEL) -> Difference:
    """Welch's t test of `second - first`, for runs that are not paired.

    The paper's strongest evidence, 26 runs without its layer and 26 with it:

    >>> found = welch(Group(4.26, 1.67, 26), Group(3.31, 1.30, 26))
    >>> round(found.mean, 2), round(found.p, 3)
    (-0.95, 0.027)
    """
    parts = [group.deviation**2 / group.size for group in (first, second)]
    freedom = math.nan
    if min(first.size, second.size) > 1:
        each = zip(parts, (first.size, second.size), strict=True)
        freedom = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in each)
    return _found(second.mean - first.mean, math.sqrt(sum(parts)), freedom, level)


def holm(p_values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """For each of several comparisons, True if it holds by Holm's method for many tests.

    >>> holm([0.04, 0.001, 0.03])
    [False, True, False]
    """
    known = [math.inf if math.isnan(p) else p for p in p_values]
    order = sorted(range(len(known)), key=known.__getitem__)
    stands = [False] * len(known)
    for rank, i in enumerate(order):
        if known[i] > (1 - level) / (len(known) - rank):
            break
        stands[i] = True
    return stands


def _found(mean: float, error: float, freedom: float, level: float) -> Difference:
    if not freedom > 0:
        return Difference(mean, Interval(math.nan, math.nan), math.nan)
    half = t_quantile((1 + level) / 2, freedom) * error
    p = 2 * (1 - t_below(abs(mean) / error, freedom)) if error else float(mean == 0)
    return Difference(mean, Interval(mean - half, mean + half), p)


def t_below(value: float, freedom: float) -> float:
    """The share of Student's distribution below `value`."""
    from scipy.special import stdtr  # here, since runs on a GPU machine do not need it

    return float(stdtr(freedom, value))


def t_quantile(share: float, freedom: float) -> float:
    """The value with this share of Student's distribution below it.

    >>> [round(t_quantile(0.975, freedom), 3) for freedom in (2, 4, 7)]
    [4.303, 2.776, 2.365]
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))
