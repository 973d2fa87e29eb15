"""Robust point matching: soft matches that harden as they are annealed, with room for outliers.

Gold, Rangarajan, Lu, Pappu and Mjolsness (1998). It minimises, over poses and matches m >= 0 whose
rows and columns sum to at most 1,

    sum_jk  m_jk (|R p_j + t - q_k|^2 - alpha)

so that a match is worth making where it is shorter than sqrt(alpha). At inverse temperature beta
the matches are the Sinkhorn normalisation with slack of exp(beta (alpha - distance^2)), RPM-Net's
with points in place of features; the pose is Kabsch's on them; and beta grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.classical.contract import NO_OVERLAP, OK, ClassicalMethod, frame_of, in_parts, into
from spoonful.geometry import Pose, kabsch
from spoonful.models.precision import mix
from spoonful.models.sinkhorn import sinkhorn
from spoonful.registration import Registration

# Entries of match matrices that are worked on at once: 64 MiB, a few times over.
_BUDGET = 1 << 24


@dataclass(frozen=True, kw_only=True)
class RPM(ClassicalMethod):
    """Robust point matching.

    Lengths are in radii of the larger cloud, whatever the clouds' own unit is. Time and memory grow
    with the product of the clouds' sizes: for more than a few thousand points, sample them first.
    Without `init` it starts with the centroids on each other, without a turn. `matches` are the
    soft matches' mean places, and `weights` how much of each source point is matched; where
    nothing is within reach the status is "no-overlap".

    Attributes:
        beta: the first inverse temperature, in 1 / radius^2: points farther apart than
            1 / sqrt(beta) are told apart.
        last_beta: where annealing ends.
        growth: what beta is multiplied by in each step.
        outlier_distance: sqrt(alpha): how far apart two points may lie and still be matched.
        rounds: alternations of matches and pose at each temperature.
        sinkhorn: row and column normalisations for each set of matches.

    >>> cloud = torch.rand(100, 3, generator=torch.Generator().manual_seed(0))
    >>> found = RPM.default().register(cloud, cloud + 0.1)
    >>> found.pose.translation.round(decimals=3), found.status
    (tensor([0.1000, 0.1000, 0.1000]), ('ok',))
    """

    name: ClassVar[str] = "rpm"

    beta: float = 5.0
    last_beta: float = 1000.0
    growth: float = 1.6
    outlier_distance: float = 0.1
    rounds: int = 1
    sinkhorn: int = 5

    def __post_init__(self) -> None:
        for name in ("beta", "outlier_distance"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0 and finite, got {getattr(self, name)}")
        if not self.beta <= self.last_beta < math.inf:
            raise ValueError(
                f"last_beta must be at least beta, {self.beta:g}, and finite, got {self.last_beta}"
            )
        if not self.growth > 1:
            raise ValueError(f"growth must be above 1, got {self.growth}")
        for name in ("rounds", "sinkhorn"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @classmethod
    def published(cls) -> Self:
        """The settings of Gold et al.: a start so soft that points match most of the other cloud.

        The comparison in RPM-Net does not name its schedule, so the numbers are ours.
        """
        return cls(settings="published", beta=2.0)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """The inverse temperatures in their order.

        >>> RPM(beta=1.0, last_beta=7.0, growth=2.0).temperatures
        (1.0, 2.0, 4.0, 7.0)
        """
        steps = math.ceil(math.log(self.last_beta / self.beta) / math.log(self.growth) - 1e-9)
        return (*(self.beta * self.growth**step for step in range(steps)), self.last_beta)

    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        at_once = max(1, _BUDGET // (batch.source.shape[1] * batch.target.shape[1]))
        return in_parts(self._anneal, batch, init, at_once)

    def _anneal(self, batch: Batch, init: Pose | None) -> Registration:
        frame = frame_of(batch)
        source, target = into(frame, batch)
        if init is None:
            pose = Pose.identity(len(batch), dtype=source.dtype, device=source.device)
        else:
            pose = frame.pose_in(init).to(source.dtype)
        forbidden = _forbidden(batch)
        alpha = self.outlier_distance**2
        least = torch.finfo(source.dtype).tiny
        for beta in self.temperatures:
            for _ in range(self.rounds):
                affinity = (alpha - _squared_distances(pose.apply(source), target)) * beta
                if forbidden is not None:
                    affinity = affinity.masked_fill(forbidden, -torch.inf)
                shares = sinkhorn(affinity, iterations=self.sinkhorn)
                weights = shares.sum(-1)
                matches = mix(shares, target, weights) / weights.clamp_min(least).unsqueeze(-1)
                found = weights.sum(-1) > least  # else the clouds are out of each other's sight
                better = kabsch(source, matches, weights)
                pose = Pose(
                    better.rotation.where(found[:, None, None], pose.rotation),
                    better.translation.where(found[:, None], pose.translation),
                )
        return Registration(
            frame.pose_out(pose).to(source.dtype),
            matches=frame.target_out(matches),
            weights=weights,
            status=tuple(OK if any_match else NO_OVERLAP for any_match in found.tolist()),
        )


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(B, N, M), from differences: |a|^2 - 2ab + |b|^2 loses the digits that a large beta reads."""
    total = None
    for axis in range(3):
        gap = a[..., axis].unsqueeze(-1) - b[..., axis].unsqueeze(-2)
        total = gap.square_() if total is None else total.addcmul_(gap, gap)
    assert total is not None
    return total


def _forbidden(batch: Batch) -> Tensor | None:
    """(B, N, M) True where a match has padding at one end; None where nothing is padded."""
    if batch.source_mask is None and batch.target_mask is None:
        return None
    ends = [
        torch.ones_like(points[..., 0], dtype=torch.bool) if mask is None else mask
        for points, mask in (
            (batch.source, batch.source_mask),
            (batch.target, batch.target_mask),
        )
    ]
    return ~(ends[0].unsqueeze(-1) & ends[1].unsqueeze(-2))
