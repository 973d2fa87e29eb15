"""Similarity fit (Umeyama 1991): rotation, translation and one scale between matched clouds.

    minimise  sum_i w_i |s R source_i + t - target_i|^2

The rotation is Kabsch's, whatever the scale is. With K = R^T H the scale is one of

    source-to-target    s = tr(K) / tr(S)            the minimiser of the sum above
    symmetric           s = sqrt(tr(G) / tr(S))      Horn 1987: swapping the clouds gives 1 / s

and the translation is `mean(target) - s R mean(source)`. K is symmetric at the optimum, so a small
turn leaves tr(K) as it is: the gradient of s needs the moments alone, one scalar more than Kabsch.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from spoonful.geometry import kernels
from spoonful.geometry.checks import check_choice, check_shape, matched
from spoonful.geometry.exact import matmul3, rotate, trace
from spoonful.geometry.head import similarity_head
from spoonful.geometry.moments import Moments
from spoonful.geometry.packed import check_packed
from spoonful.geometry.pose import Pose
from spoonful.geometry.spread import spread

ScaleRule = Literal["source-to-target", "symmetric"]


class Similarity(NamedTuple):
    """Similarities (R, t, s) that map source points to the target's frame, `s R source + t`.

    Attributes:
        rotation: (..., 3, 3) proper rotation matrices; (..., 2, 2) in the plane.
        translation: (..., 3); (..., 2) in the plane.
        scale: (...), at least 0.

    >>> twice = Similarity(torch.eye(3), torch.ones(3), torch.tensor(2.0))
    >>> twice.apply(torch.tensor([[1.0, 0, 0]]))
    tensor([[3., 1., 1.]])
    >>> twice.inverse().apply(torch.tensor([[3.0, 1, 1]]))
    tensor([[1., 0., 0.]])
    """

    rotation: Tensor
    translation: Tensor
    scale: Tensor

    def apply(self, points: Tensor) -> Tensor:
        """Move points (..., N, 3): `s R p + t`. Leading dimensions broadcast."""
        check_shape("points", points, "N", self.rotation.shape[-1])
        moved = self.scale[..., None, None] * rotate(self.rotation, points)
        return moved + self.translation.unsqueeze(-2)

    def inverse(self) -> Similarity:
        """The similarity that undoes this one."""
        back, shrink = self.rotation.mT, 1 / self.scale
        moved = rotate(back, self.translation.unsqueeze(-2)).squeeze(-2)
        return Similarity(back, -shrink.unsqueeze(-1) * moved, shrink)

    def compose(self, first: Similarity | Pose) -> Similarity:
        """`self` after `first`: applying the result equals `self.apply(first.apply(points))`."""
        moved = self.apply(first.translation.unsqueeze(-2)).squeeze(-2)
        scale = self.scale * first.scale if isinstance(first, Similarity) else self.scale
        return Similarity(matmul3(self.rotation, first.rotation), moved, scale)

    def matrix(self) -> Tensor:
        """The homogeneous matrices, (..., 4, 4), with `s R` in their upper left corner."""
        return Pose(self.scale[..., None, None] * self.rotation, self.translation).matrix()

    def rigid(self) -> Pose:
        """The rotation and translation, without the scale."""
        return Pose(self.rotation, self.translation)


def similarity(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    scale: ScaleRule | float | Tensor = "source-to-target",
    bounds: tuple[float, float] | None = None,
) -> Similarity:
    """The similarity that best maps source to target.

    Differentiable like `kabsch`, and finite in the same degenerate cases. In addition:

    - a source without extent (one point, coinciding points, no weight): scale 1 without gradient,
      or the nearest value that `bounds` allow;
    - a target without extent: scale 0, the minimiser.

    Args:
        source: (..., N, 3), or (..., N, 2) in the plane.
        target: (..., N, 3) or (..., N, 2), the match of each source point.
        weights: (..., N), >= 0, of any total; equal weights if None.
        mask: (..., N) bool; False removes a point (padding).
        scale: "source-to-target" (least squares), "symmetric" (Horn), or a known scale: a number
            or a tensor (...).
        bounds: lowest and highest scale; the fit is the best one between them.

    Returns:
        `Similarity`, in float32 (float64 if an input is).

    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.randn(8, 100, 3, generator=generator)
    >>> similarity(source, 2.5 * source + 1).scale
    tensor([2.5000, 2.5000, 2.5000, 2.5000, 2.5000, 2.5000, 2.5000, 2.5000])
    """
    _check_scale(scale, bounds)
    return _fit(*matched(source, target, weights, mask, flat=True), None, scale, bounds)


def similarity_packed(
    source: Tensor,
    target: Tensor,
    offsets: Tensor,
    weights: Tensor | None = None,
    *,
    scale: ScaleRule | float | Tensor = "source-to-target",
    bounds: tuple[float, float] | None = None,
) -> Similarity:
    """`similarity` of B clouds of any sizes that lie one after the other; see `kabsch_packed`.

    >>> source = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    >>> similarity_packed(source, 3 * source, torch.tensor([0, 3, 7])).scale.round(decimals=3)
    tensor([3., 3.])
    """
    _check_scale(scale, bounds)
    check_packed(source, target, offsets, weights, flat=True)
    return _fit(source, target, weights, None, offsets, scale, bounds)


def _fit(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    offsets: Tensor | None,
    scale: ScaleRule | float | Tensor,
    bounds: tuple[float, float] | None,
) -> Similarity:
    points = source, target, weights, mask, offsets
    fitted = isinstance(scale, str) and scale == "source-to-target" and bounds is None
    if fitted and source.shape[-1] == 3:
        return Similarity(*kernels.similarity_head(*points))
    return Similarity(*similarity_head(*points, scale, bounds))


def fit_hessian(m: Moments, rotation: Tensor, scale: Tensor, total: Tensor) -> Tensor:
    """The Hessian of the fit at its minimum, (..., 7, 7), of clouds with these moments.

    By a turn R exp(hat omega), a shift and a relative growth of the scale, all about the weighted
    mean of the source. There the three do not mix: the blocks are s spread(K), I and s^2 tr(S),
    times the total weight.
    """
    assert m.source is not None
    K = matmul3(rotation.mT, m.cross)
    turn = scale[..., None, None] * spread((K + K.mT) / 2)
    shift = torch.ones_like(m.source_mean).diag_embed()
    growth = (scale.square() * trace(m.source))[..., None, None]
    pad = torch.nn.functional.pad
    blocks = torch.cat([pad(turn, (0, 4)), pad(shift, (3, 1)), pad(growth, (6, 0))], -2)
    return total[..., None, None] * blocks


def _check_scale(scale: ScaleRule | float | Tensor, bounds: tuple[float, float] | None) -> None:
    if isinstance(scale, str):
        check_choice("scale", scale, get_args(ScaleRule))
    elif not isinstance(scale, Tensor) and not 0 < scale < float("inf"):
        raise ValueError(f"scale must be positive and finite, got {scale!r}")
    if bounds is not None and not (len(bounds) == 2 and 0 <= bounds[0] <= bounds[1]):
        raise ValueError(f"bounds must be (lowest, highest) with 0 <= lowest, got {bounds!r}")
