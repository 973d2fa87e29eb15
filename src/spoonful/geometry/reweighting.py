"""The settings of a robust fit that follow from all residuals of a cloud: noise and sharpness."""

from __future__ import annotations

import torch
from torch import Tensor

# The median length of a Gaussian vector in three dimensions, in standard deviations.
_MEDIAN_LENGTH = 1.5382
# At this sharpness the graduated loss differs from the truncated one by a hundredth.
_SHARPEST = 100.0
_STARTED = 0.01


def median_noise(squared: Tensor) -> Tensor:
    """The noise (...) of one coordinate whose median length is that of the residuals.

    Args:
        squared: (..., N) squared lengths; NaN for matches without weight.
    """
    median = squared.nanmedian(-1).values.sqrt().nan_to_num(1.0)
    return positive(median / _MEDIAN_LENGTH)


def positive(deviation: Tensor) -> Tensor:
    """A noise whose square is a number: points that fit exactly have none."""
    return deviation.clamp_min(torch.finfo(deviation.dtype).tiny ** 0.25)


def sharpness(largest: Tensor, rounds: int, *, started: bool) -> Tensor:
    """The sharpness of the graduated truncated loss in each round, (rounds, ...).

    Args:
        largest: (...), the largest |e|^2 / c^2 at the first pose. It is on the convex branch of the
            first, smoothest loss.
        rounds: how many rounds there are.
        started: whether a start is given. Matches within ten cut-offs of it count at first.
    """
    first = 1 / (2 * largest - 1).clamp_min(1e-6)
    first = first.clamp_min(_STARTED) if started else first
    done = torch.arange(rounds, dtype=first.dtype, device=first.device) / max(1, rounds - 1)
    return first * (_SHARPEST / first).clamp_min(1) ** done.view(-1, *[1] * first.ndim)
