"""RPM-Net's parameter network: how sharp matching is now, and how far apart outliers are."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.models.norms import masked_max, pointwise
from spoonful.models.precision import at_least_float32, full_precision


class Annealing(NamedTuple):
    """The two numbers of the affinity `-beta (distance - alpha)`, each (B,) and > 0.

    Attributes:
        beta: the inverse temperature.
        alpha: the squared feature distance above which a pair is an outlier.
    """

    beta: Tensor
    alpha: Tensor


class ParameterNet(nn.Module):
    """A PointNet that sees both clouds at once, told apart by a fourth coordinate."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (4, 64, 64, 64, 128, 1024)
        prepool: list[nn.Module] = []
        for before, after in pairwise(sizes):
            groups = 16 if after == 1024 else 8
            prepool += [nn.Conv1d(before, after, 1), nn.GroupNorm(groups, after), nn.ReLU()]
        self.prepool = nn.Sequential(*prepool)
        self.postpool = nn.Sequential(
            nn.Linear(1024, 512),
            nn.GroupNorm(16, 512),
            nn.ReLU(),
            nn.Linear(512, 256),
            nn.GroupNorm(16, 256),
            nn.ReLU(),
            nn.Linear(256, 2),
        )

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Annealing:
        """Predict from (B, N, 3) and (B, M, 3); masks for both or for neither."""
        both = torch.cat([F.pad(source, (0, 1), value=0.0), F.pad(target, (0, 1), value=1.0)], 1)
        mask = None
        if source_mask is not None and target_mask is not None:
            mask = torch.cat([source_mask, target_mask], dim=1)
        # Coordinates are multiplied in float32, and so is what is left after pooling.
        with full_precision(both):
            x = pointwise(list(self.prepool)[:3], both, mask=mask)
        x = pointwise(list(self.prepool)[3:], x, mask=mask)
        with full_precision(both):
            x = pointwise(self.postpool, at_least_float32(masked_max(x, mask)))
            beta, alpha = F.softplus(x).unbind(-1)
        return Annealing(beta, alpha)
