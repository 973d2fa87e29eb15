"""How far is it from anywhere to the nearest point of a cloud? A table, with a bound on its error.

Cells of a grid over the cloud's bounding box hold the exact distances of their centres. Distances
change no faster than one walks, so that at a place in a cell the table is wrong by at most the way
to the cell's centre, half its diagonal. And for a place x outside of the box, with y the nearest
place in it, the angle at y towards any point of the cloud is at least a right one:

    d(x)^2 >= |x - y|^2 + d(y)^2.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

# (cell, point) pairs that are looked at at once.
_BUDGET = 1 << 22


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
        """By how much a looked-up distance may be wrong: half a cell's diagonal."""
        return float(self.cell.norm()) / 2

    def lower_bound(self, places: Tensor) -> Tensor:
        """What the distances are at least, once `slack` is taken off; (..., 3) to (...).

        >>> cube = torch.tensor([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
        >>> field = distance_field(cube, 8)
        >>> field.lower_bound(torch.tensor([[0.5, 0.5, 3.0]])) - field.slack < 2.0 + 0.71
        tensor([True])
        """
        step = (places - self.low) / self.cell
        inside = step.clamp(0, self.size)
        beyond = torch.linalg.vector_norm((step - inside) * self.cell, dim=-1)
        x, y, z = inside.floor().clamp_max(self.size - 1).unbind(-1)
        place = (x * self.size + y).mul_(self.size).add_(z).long()  # exact: below 2^24
        return self.squared[place].addcmul_(beyond, beyond).sqrt_()


def distance_field(points: Tensor, size: int) -> DistanceField:
    """The distances to a cloud, by descent from one cell to `size`^3.

    Of the points near a cell those can be nearest to somewhere in it that are no farther from its
    centre than the nearest is, plus the cell's diagonal. Only they are handed on to its eighths.

    Args:
        points: (M, 3).
        size: cells a side, a power of two up to 256.

    Returns:
        The `DistanceField`.
    """
    if not 2 <= size <= 256 or size & (size - 1):
        raise ValueError(f"size must be a power of two from 2 to 256, got {size}")
    low, high = points.amin(0), points.amax(0)
    side = (high - low).clamp_min(1e-3 * float((high - low).amax()))
    device = points.device
    squared = points.new_empty(size**3)
    corners = torch.tensor([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], device=device)

    # Cells as (x, y, z), and pairs of a cell's position among them with a point.
    pending = [
        (
            1,
            torch.zeros(1, 3, dtype=torch.long, device=device),
            torch.zeros(len(points), dtype=torch.long, device=device),
            torch.arange(len(points), device=device),
        )
    ]
    while pending:
        level, cells, owner, point = pending.pop()
        level *= 2
        cells = (cells.unsqueeze(1) * 2 + corners).flatten(0, 1)
        owner = (owner.unsqueeze(1) * 8 + torch.arange(8, device=device)).flatten()
        point = point.repeat_interleave(8)
        width = side / level
        centres = low + (cells + 0.5) * width
        distance = (centres[owner] - points[point]).norm(dim=-1)
        least = distance.new_full((len(cells),), torch.inf)
        least.scatter_reduce_(0, owner, distance, "amin")
        if level == size:
            x, y, z = cells.unbind(-1)
            squared[(x * size + y) * size + z] = least.square()
            continue
        near = (distance <= least[owner] + width.norm()).nonzero().squeeze(-1)
        owner, point = owner[near], point[near]
        # Depth first, in parts: memory stays bounded.
        parts = max(1, 8 * len(near) // _BUDGET)
        bounds = torch.linspace(0, len(cells), parts + 1).long().tolist()
        for first, last in pairwise(bounds):
            some = ((owner >= first) & (owner < last)).nonzero().squeeze(-1)
            pending.append((level, cells[first:last], owner[some] - first, point[some]))
    return DistanceField(squared, low, side / size, size)
