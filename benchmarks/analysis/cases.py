"""Matched clouds, and how the refinement behaves on them: growth, its prediction, indicators.

A case is a source cloud with its matches. The refinement's behaviour depends on the case alone,
whatever network made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spoonful.geometry import kabsch, random_rotation, refine, rotation_from_vector, stability, vee
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import moments
from spoonful.geometry.plan import Form

FORMS: tuple[Form, Form] = ("source", "target")
# The paper's indicators of divergence, as attributes of `Stability`, and their signs.
INDICATORS = {"rho": 1, "distance": 1, "angle_degrees": 1, "target_det": -1}
# A case has left Kabsch if it is this far from it, in the Frobenius norm, after so many iterations:
# a rounding error of float32 needs a growth of 1.15 for that.
LEFT, PATIENCE = 0.05, 100


@dataclass(frozen=True)
class Cases:
    """K matched clouds.

    Attributes:
        source: (K, N, 3) float32.
        matches: (K, N, 3), the match of each source point.
        weights: (K, N), or None if all are equal.
    """

    source: Tensor
    matches: Tensor
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.source)

    def to(self, dtype: torch.dtype) -> Cases:
        """The same cases in another precision."""
        weights = None if self.weights is None else self.weights.to(dtype)
        return Cases(self.source.to(dtype), self.matches.to(dtype), weights)

    def __getitem__(self, number: int) -> Cases:
        """Case `number` alone, as K = 1."""
        part = slice(number, number + 1)
        weights = None if self.weights is None else self.weights[part]
        return Cases(self.source[part], self.matches[part], weights)

    def kabsch(self) -> Tensor:
        """(K, 3, 3) the Kabsch rotations."""
        return kabsch(self.source, self.matches, self.weights).rotation

    def refined(self, start: Tensor, iterations: int, form: Form) -> Tensor:
        """(K, iterations, 3, 3) the rotations after each refinement of `start`."""
        return refine(
            self.source,
            self.matches,
            start,
            weights=self.weights,
            iterations=iterations,
            form=form,
            check=False,
        ).rotation

    @classmethod
    def joined(cls, parts: Iterable[Cases]) -> Cases:
        """All cases with clouds of the size of the first.

        >>> cloud = torch.rand(2, 10, 3)
        >>> len(Cases.joined([Cases(cloud, cloud), Cases(cloud, cloud)]))
        4
        """
        some = list(parts)
        if not some:
            raise ValueError("there are no cases")
        some = [part for part in some if part.source.shape[1] == some[0].source.shape[1]]
        weights = [part.weights for part in some if part.weights is not None]
        return cls(
            torch.cat([part.source for part in some]),
            torch.cat([part.matches for part in some]),
            torch.cat(weights) if len(weights) == len(some) else None,
        )


def resized(cases: Cases, low: float = 0.02, high: float = 20.0, seed: int = 0) -> Cases:
    """The cases with matches `low` to `high` times as large as their sources.

    Sizes are random, and uniform in their logarithm. The Kabsch rotation stays; rho changes.
    """
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(len(cases), 1, 1, generator=generator)
    factor = low * (high / low) ** share
    matches = with_extent(cases.matches, cases.source, factor, cases.weights)
    return Cases(cases.source, matches, cases.weights)


def with_extent(
    matches: Tensor, source: Tensor, factor: Tensor | float, weights: Tensor | None = None
) -> Tensor:
    """Matches (B, N, 3) scaled about their centroids to `factor` times the extent of the source.

    The scale carries no gradient.

    >>> cloud = torch.randn(1, 50, 3)
    >>> small = with_extent(7 * cloud, cloud, 0.5)
    >>> torch.allclose(small - small.mean(1), (cloud - cloud.mean(1)) / 2, atol=1e-5)
    True
    """
    with torch.no_grad():
        ratio = moments(source, matches.float(), weights).extent_ratio()
        ratio = ratio[:, None, None].to(matches.dtype)
    centre = matches.mean(-2, keepdim=True)
    return centre + factor * ratio * (matches - centre)


def scaled(scales: Sequence[float], *, points: int = 128, noise: float = 0.05) -> Cases:
    """Cases of known size: matches that are the turned source, scaled and a little noisy.

    >>> len(scaled([0.1, 1.0]))
    2
    """
    generator = torch.Generator().manual_seed(0)
    count = len(scales)
    source = torch.randn(count, points, 3, generator=generator)
    source = source * torch.tensor([1.0, 0.7, 0.4])
    turn = random_rotation(count, generator=generator)
    extra = noise * torch.randn(count, points, 3, generator=generator)
    return Cases(source, torch.tensor(scales)[:, None, None] * (source @ turn.mT + extra))


@torch.no_grad()
def measure(
    cases: Cases, form: Form, dtype: torch.dtype = torch.float32, *, iterations: int = 5
) -> dict[str, Tensor]:
    """The behaviour of each case, (K,) float64 by name.

    "rho", "distance", "angle_degrees" and "target_det" are predictions, computed in float64.
    Measured in `dtype` are "divergence" (the paper's D, from the Kabsch start), "growth" (the
    factor by which a small error grows in an iteration), and "left" (1 if the refinement has left
    Kabsch after 100 iterations, else 0).
    """
    exact, here = cases.to(torch.float64), cases.to(dtype)
    known = stability(exact.source, exact.matches, weights=exact.weights, form=form)
    fact = stability(
        here.source, here.matches, weights=here.weights, form=form, iterations=iterations
    )
    found = {name: getattr(known, name).double() for name in INDICATORS}
    found["divergence"] = fact.divergence.double()
    found["growth"] = growth(here, form).double()
    # The last ten: one that has left may pass by again.
    far = here.refined(here.kabsch(), PATIENCE, form)[:, -10:].double()
    apart = torch.linalg.matrix_norm(far - exact.kabsch().unsqueeze(1))
    found["left"] = (apart.amax(1) > LEFT).double()
    return found


@torch.no_grad()
def growth(cases: Cases, form: Form, *, rounds: int = 40) -> Tensor:
    """(K,) the factor by which a small error of the rotation grows in one iteration, measured.

    By power iteration: an error is refined once, measured, and made small again; it turns towards
    the direction that grows fastest.

    >>> growth(scaled([0.25], noise=0.0).to(torch.float64), "target").round(decimals=3)
    tensor([3.], dtype=torch.float64)
    """
    dtype = cases.source.dtype
    # Small, so that growth is linear; large against rounding, so that it is growth.
    largest, smallest = (1e-3, 1e-6) if dtype == torch.float32 else (1e-6, 1e-12)
    best = cases.kabsch()
    error = torch.tensor([1.0, 0.7, -0.4], dtype=dtype).expand(len(cases), 3)
    factor = torch.ones(len(cases), dtype=dtype)
    for _ in range(rounds):
        error = error / error.norm(dim=-1, keepdim=True).clamp_min(1e-30)
        size = (0.02 / factor).clamp(smallest, largest).unsqueeze(-1)
        start = matmul3(best, rotation_from_vector(size * error))
        after = cases.refined(start, 1, form)[:, 0]
        error = vee(matmul3(best.mT, after)) / (2 * size)
        factor = error.norm(dim=-1)
    return factor


def ranks(values: Tensor) -> Tensor:
    """The rank of each of (K,) values, ties in the order they come."""
    order = values.argsort(stable=True)
    found = torch.empty_like(order)
    found[order] = torch.arange(len(values))
    return found.double()


def spearman(one: Tensor, other: Tensor) -> float:
    """Spearman's rank correlation of two (K,) quantities; NaN for K < 3.

    >>> spearman(torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 10, 100]))
    1.0
    """
    if len(one) < 3:
        return float("nan")
    return float(torch.corrcoef(torch.stack([ranks(one), ranks(other)]))[0, 1])


def best_threshold(values: Tensor, event: Tensor) -> tuple[float, float]:
    """The bound on (K,) `values` that best predicts `event`, and the share that it predicts.

    >>> best_threshold(torch.tensor([1.0, 2, 3, 4]), torch.tensor([0.0, 0, 1, 1]))
    (2.5, 1.0)
    """
    ordered, order = values.sort()
    true = event[order].bool()
    # Of the k smallest, those without the event are right; of the rest, those with it.
    right = torch.cat([torch.zeros(1), (~true).double().cumsum(0)])
    right = right + torch.cat([true.double().flip(0).cumsum(0).flip(0), torch.zeros(1)])
    k = int(right.argmax())
    low = ordered[k - 1] if k > 0 else ordered[0] - 1
    high = ordered[k] if k < len(ordered) else ordered[-1] + 1
    return float(low + high) / 2, float(right[k]) / len(values)


def ranked_right(values: Tensor, event: Tensor) -> float:
    """The chance that a case with the event has a larger value than one without it (the AUC).

    NaN if all cases have it, or none.

    >>> ranked_right(torch.tensor([1.0, 2, 3]), torch.tensor([0.0, 0, 1]))
    1.0
    """
    chosen = event.bool()
    with_event, without = int(chosen.sum()), int((~chosen).sum())
    if not with_event or not without:
        return float("nan")
    above = ranks(values)[chosen].sum() - with_event * (with_event - 1) / 2
    return float(above / (with_event * without))
