"""A table of distances to the nearest point of a cloud, with a bound on its error.

Cells of a grid over the cloud's bounding box hold the exact distances of their centres. Inside a
cell the distance differs from that by at most half the cell's diagonal. For a place x outside the
box, with y the nearest place in it,

    d(x)^2 >= |x - y|^2 + d(y)^2.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.neighbors import Index


class DistanceField(NamedTuple):
    """Distances to one cloud.

    Attributes:
        squared: (G, G, G) squared distances of the cells' centres, flattened.
        low: (3,) the corner of the grid.
        cell: (3,) the sides of a cell.
        size: G.
    """

    squared: Tensor
    low: Tensor
    cell: Tensor
    size: int

    @property
    def slack(self) -> float:
        """A bound on the error of a looked-up distance: half a cell's diagonal."""
        return float(self.cell.norm()) / 2

    def lower_bound(self, places: Tensor) -> Tensor:
        """Lower bounds of the distances, after `slack` is subtracted; (..., 3) to (...).

        >>> cube = torch.tensor([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
        >>> field = distance_field(Index(cube), 8)
        >>> field.lower_bound(torch.tensor([[0.5, 0.5, 3.0]])) - field.slack < 2.0 + 0.71
        tensor([True])
        """
        step = (places - self.low) / self.cell
        inside = step.clamp(0, self.size)
        beyond = torch.linalg.vector_norm((step - inside) * self.cell, dim=-1)
        x, y, z = inside.floor().clamp_max(self.size - 1).unbind(-1)
        place = (x * self.size + y).mul_(self.size).add_(z).long()  # exact: below 2^24
        return self.squared[place].addcmul_(beyond, beyond).sqrt_()


def distance_field(index: Index, size: int) -> DistanceField:
    """Tabulate the distances to a cloud.

    Args:
        index: of the cloud, (M, 3).
        size: cells a side, a power of two up to 256.

    Returns:
        The `DistanceField`.
    """
    if not 2 <= size <= 256 or size & (size - 1):
        raise ValueError(f"size must be a power of two from 2 to 256, got {size}")
    low, high = index.points.amin(0), index.points.amax(0)
    side = (high - low).clamp_min(1e-3 * float((high - low).amax()))
    step = torch.arange(size, device=low.device)
    cells = torch.cartesian_prod(step, step, step)
    squared = index.nearest(low + (cells + 0.5) * (side / size)).squared_distance
    return DistanceField(squared, low, side / size, size)
