"""Both clouds of every pair as one batch, so that a network runs once and not twice."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.models.precision import at_least_float32


class Clouds(NamedTuple):
    """B sources, then their B targets, padded to one size.

    Attributes:
        points: (2B, N, 3), float32 or float64.
        mask: (2B, N) bool, False for padding; None when nothing is padded.
        normals: (2B, N, 3) or None.
        sizes: how many points sources and targets had before they were padded to N.
    """

    points: Tensor
    mask: Tensor | None
    normals: Tensor | None
    sizes: tuple[int, int]

    def split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Values of all points, (2B, N, ...), as the sources' and the targets', less padding."""
        of_source, of_target = values.chunk(2)
        return of_source[:, : self.sizes[0]], of_target[:, : self.sizes[1]]

    def masks(self) -> tuple[Tensor | None, Tensor | None]:
        """The masks of sources and targets."""
        return (None, None) if self.mask is None else self.split(self.mask)


def stack(batch: Batch, *, normals: bool = False) -> Clouds:
    """Put sources and targets into one batch; the smaller clouds are padded.

    Args:
        batch: the pairs.
        normals: whether the model reads normals; without it they are left out.

    >>> both = stack(Batch(torch.zeros(2, 5, 3), torch.ones(2, 4, 3)))
    >>> both.points.shape, both.mask.sum(-1)
    (torch.Size([4, 5, 3]), tensor([5, 5, 4, 4]))
    """
    if not isinstance(batch, Batch):
        raise TypeError(f"batch must be a Batch(source, target), got {type(batch).__name__}")
    batch.check()
    source, target = batch.source, batch.target
    size = torch.sym_max(source.shape[1], target.shape[1])

    def both(of_source: Tensor, of_target: Tensor) -> Tensor:
        return torch.cat([_padded(of_source, size), _padded(of_target, size)])

    mask = stacked_normals = None
    if (
        isinstance(size, torch.SymInt)  # exported for any number of points
        or source.shape[1] != target.shape[1]
        or batch.source_mask is not None
        or batch.target_mask is not None
    ):
        mask = both(_mask(source, batch.source_mask), _mask(target, batch.target_mask))
    points = both(at_least_float32(source), at_least_float32(target))
    if normals:
        if batch.source_normals is None or batch.target_normals is None:
            missing = "source" if batch.source_normals is None else "target"
            raise ValueError(
                f"this model reads normals, but batch.{missing}_normals is None; "
                "estimate them first, or use a model without point-pair features"
            )
        stacked_normals = both(
            at_least_float32(batch.source_normals), at_least_float32(batch.target_normals)
        )
    if mask is not None:
        # Padding may hold anything, NaN too, and NaN times a zero weight is NaN.
        points = points.masked_fill(~mask.unsqueeze(-1), 0)
        if stacked_normals is not None:
            stacked_normals = stacked_normals.masked_fill(~mask.unsqueeze(-1), 0)
    return Clouds(points, mask, stacked_normals, (source.shape[1], target.shape[1]))


def _padded(values: Tensor, size: int) -> Tensor:
    """Values (B, N) or (B, N, 3) with zeros, or False, up to N = size."""
    return F.pad(values, (*(0, 0) * (values.ndim - 2), 0, size - values.shape[1]))


def _mask(points: Tensor, mask: Tensor | None) -> Tensor:
    return torch.ones_like(points[..., 0], dtype=torch.bool) if mask is None else mask
