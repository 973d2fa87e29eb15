"""Nearest points in clouds that are searched again and again, as ICP does: one index, many queries.

On a GPU every point is compared with every other, by a kernel that keeps no distances. On the CPU
that is five times slower than SciPy's k-d trees at 1,000 points and seventeen times at 4,000, so
trees are used where SciPy is installed; without it small clouds are searched exhaustively, and
large ones ask for it.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor

from spoonful.extras import require
from spoonful.geometry import kernels
from spoonful.geometry.neighbors import Neighbors, nearest

# Distances of two clouds that are computed one and all sooner than asking for SciPy: more of them
# take seconds.
_MOST = 1 << 28

Search = Callable[[Tensor, Tensor, Tensor | None, float], Neighbors]
"""`search(query, cloud, mask, reach)` finds for each point of `query` (R, N, 3) the nearest in the
cloud numbered `cloud` (R,). Points farther than `reach` need not be found, and padding, where
`mask` (R, N) is False, is not looked for: what is not found has some index and distance inf."""


def indexed(points: Tensor, mask: Tensor | None = None, *, queries: int) -> Search:
    """Prepare clouds for search.

    Args:
        points: (B, M, 3) float32 or float64.
        mask: (B, M) bool, False for points that are never found.
        queries: how many points a query will have, roughly.

    Returns:
        The `Search`.

    >>> search = indexed(torch.tensor([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]]), queries=1)
    >>> search(torch.tensor([[[0.9, 0, 0]]]), torch.tensor([0]), None, torch.inf).index
    tensor([[1]])
    """
    if points.is_cuda and kernels.usable(points, points, None, None):
        from spoonful.classical import search_triton

        far = points if mask is None else points.masked_fill(~mask.unsqueeze(-1), torch.inf)
        return partial(search_triton.nearest_of, far.contiguous())
    if points.device.type == "cpu":
        large = queries * points.shape[1] > _MOST
        if large or importlib.util.find_spec("scipy") is not None:
            size = f"{queries:,} points among {points.shape[1]:,} on the CPU"
            spatial = require("scipy.spatial", extra="classical", why=f"A search for {size}")
            return partial(_by_trees, _trees(spatial.cKDTree, points, mask))
    return partial(_exhaustive, points, mask)


def _exhaustive(
    points: Tensor,
    allowed: Tensor | None,
    query: Tensor,
    cloud: Tensor,
    mask: Tensor | None,
    reach: float,
) -> Neighbors:
    near = nearest(query, points[cloud], mask=None if allowed is None else allowed[cloud])
    squared = near.squared_distance
    if mask is not None:
        squared = squared.masked_fill(~mask, torch.inf)
    return Neighbors(near.index, squared)


# A tree, and the places of its points in their cloud where some are left out.
_Tree = tuple[Any, Tensor | None]


def _trees(make: Callable[[Any], Any], points: Tensor, mask: Tensor | None) -> list[_Tree]:
    trees: list[_Tree] = []
    for row, cloud in enumerate(points.detach()):
        place = None if mask is None else mask[row].nonzero().squeeze(-1)
        trees.append((make((cloud if place is None else cloud[place]).numpy()), place))
    return trees


def _by_trees(
    trees: list[_Tree], query: Tensor, cloud: Tensor, mask: Tensor | None, reach: float
) -> Neighbors:
    rows, count, _ = query.shape
    index = torch.zeros(rows, count, dtype=torch.long)
    squared = torch.full((rows, count), torch.inf, dtype=query.dtype)
    threads = torch.get_num_threads()
    bound = math.nextafter(reach, math.inf)  # SciPy looks for what is strictly nearer

    def search(row: int) -> None:
        tree, place = trees[cloud_of[row]]
        if tree.n == 0:
            return
        some = slice(None) if mask is None else mask[row]
        distance, found = tree.query(
            query[row][some].numpy(),
            distance_upper_bound=bound,
            workers=1 if rows >= threads else threads,
        )
        distance, found = torch.from_numpy(distance), torch.from_numpy(found)
        found = found.where(distance.isfinite(), 0)
        index[row, some] = found if place is None else place[found]
        squared[row, some] = distance.square().to(query.dtype)

    cloud_of = cloud.tolist()
    if rows >= threads > 1:  # SciPy lets go of Python's lock while it searches
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(search, range(rows)))
    else:
        for row in range(rows):
            search(row)
    return Neighbors(index, squared)
