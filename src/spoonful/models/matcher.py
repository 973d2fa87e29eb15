"""RPM-Net's matching: annealed affinities of features, normalised by Sinkhorn."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from spoonful.models.kernels import usable
from spoonful.models.kernels.sinkhorn_ops import soft_assign
from spoonful.models.parameters import Annealing
from spoonful.models.precision import at_least_float32, full_precision, mix
from spoonful.models.sinkhorn import sinkhorn

# Added to the sum of a row of the match matrix before dividing by it, as published: the match of
# a point without matches is then the origin, with next to no weight, and not NaN.
_EPS = 1e-5


class Matching(NamedTuple):
    """The correspondences between source and target points.

    Attributes:
        shares: (B, N, M), how much of source point i goes to target point j; None where it was
            not asked for.
        source_inliers: (B, N), the sums of its rows: the matches' weights.
        target_inliers: (B, M), the sums of its columns.
        matches: (B, N, 3), the mean of the target points that each source point goes to.
    """

    shares: Tensor | None
    source_inliers: Tensor
    target_inliers: Tensor
    matches: Tensor


class Matcher(nn.Module):
    """Soft one-to-one matches of features, in float32, without parameters.

    Args:
        iterations: of Sinkhorn.
        slack: whether points may go unmatched.
    """

    def __init__(self, iterations: int = 5, slack: bool = True) -> None:
        super().__init__()
        self.iterations = iterations
        self.slack = slack

    def forward(
        self,
        of_source: Tensor,
        of_target: Tensor,
        target: Tensor,
        annealing: Annealing,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        keep_shares: bool = False,
    ) -> Matching:
        """Match features (B, N, C) to (B, M, C) of the target's points (B, M, 3)."""
        with full_precision(target):
            log_affinity = affinity(of_source, of_target, annealing)
            if source_mask is not None and target_mask is not None:
                real = source_mask.unsqueeze(-1) & target_mask.unsqueeze(-2)
                log_affinity = log_affinity.masked_fill(~real, -torch.inf)
            if self._fusible(log_affinity, target) and not keep_shares:
                centre = target.mean(-2, keepdim=True)
                total, columns, mixed, _, _ = soft_assign(
                    log_affinity.contiguous(),
                    (target - centre).contiguous(),
                    self.iterations,
                    self.slack,
                )
                matches = (mixed + total.unsqueeze(-1) * centre) / (total.unsqueeze(-1) + _EPS)
                return Matching(None, total, columns, matches)
            shares = sinkhorn(log_affinity, iterations=self.iterations, slack=self.slack)
            total = shares.sum(-1)
            matches = mix(shares, target, total) / (total.unsqueeze(-1) + _EPS)
            columns = shares.sum(-2)
            return Matching(shares if keep_shares else None, total, columns, matches)

    def _fusible(self, log_affinity: Tensor, target: Tensor) -> bool:
        """True if the matrix need not be stored: on a GPU, for points without a gradient."""
        return (
            self.iterations > 0
            and log_affinity.dtype == torch.float32
            and not (target.requires_grad and torch.is_grad_enabled())
            and usable(log_affinity, target)
        )


def affinity(of_source: Tensor, of_target: Tensor, annealing: Annealing) -> Tensor:
    """`-beta (|f_i - g_j|^2 - alpha)`, (B, N, M)."""
    of_source, of_target = at_least_float32(of_source), at_least_float32(of_target)
    squared = (
        of_source.square().sum(-1, keepdim=True)
        + of_target.square().sum(-1).unsqueeze(-2)
        - 2 * (of_source @ of_target.mT)
    )
    beta, alpha = annealing.beta[:, None, None], annealing.alpha[:, None, None]
    return -beta * (squared - alpha)
