"""Nearest neighbours in clouds that are searched more than once: one index, many queries.

On a GPU Triton kernels compare all points. One finds the nearest point; the other finds the groups
of points that hold several neighbours. On the CPU, SciPy's k-d trees are used if SciPy is
installed: they are five times faster than comparing all points at 1,000 points and seventeen times
at 4,000. Otherwise small clouds are compared point by point and large ones block by block.

`spoonful.geometry.nearest` is the differentiable search for a single query.
"""

from __future__ import annotations

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
from spoonful.neighbors.blocks import distances, k_nearest_by_blocks

__all__ = ["Index", "Neighbors", "nearest"]

# Clouds with more points than this are compared block by block.
_EXHAUSTIVE = 4096
# Several neighbours in clouds with more points than this are searched block by block on a GPU, too.
_GROUPED = 1 << 15
# Distances held at once: 16 Mi of them are 64 MiB in float32.
_BUDGET = 1 << 24


class Index:
    """Clouds prepared for repeated search. Without gradients.

    Args:
        points: (M, 3) one cloud, or (B, M, 3) a batch of clouds; float32 or float64.
        mask: (M,) or (B, M) bool, False for points that are never found (padding).

    >>> index = Index(torch.tensor([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]]))
    >>> index.nearest(torch.tensor([[0.9, 0, 0], [9, 0, 0]]), reach=1.0).index[0]
    tensor(1)
    >>> index.k_nearest(torch.tensor([[0.9, 0, 0]]), 2).index
    tensor([[1, 0]])
    """

    def __init__(self, points: Tensor, mask: Tensor | None = None) -> None:
        if points.ndim not in (2, 3) or points.shape[-1] != 3:
            raise ValueError(
                f"points must have shape (M, 3) or (B, M, 3), got {tuple(points.shape)}"
            )
        if points.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"points must be float32 or float64, got {points.dtype}")
        if mask is not None and (mask.shape != points.shape[:-1] or mask.dtype != torch.bool):
            raise ValueError(
                f"mask must be bool of shape {tuple(points.shape[:-1])}, "
                f"got {mask.dtype} {tuple(mask.shape)}"
            )
        self._one = points.ndim == 2
        self.points = points.detach()
        self._clouds = self.points.reshape(-1, *points.shape[-2:])
        self._each = torch.arange(len(self._clouds), device=points.device)
        self._mask = None if mask is None else mask.reshape(-1, points.shape[-2])
        self._trees: dict[int, tuple[Any, Tensor | None]] = {}
        self._far: Tensor | None = None  # the clouds for the kernel: masked points are inf

    def nearest(
        self,
        query: Tensor,
        *,
        cloud: Tensor | None = None,
        mask: Tensor | None = None,
        reach: float = math.inf,
    ) -> Neighbors:
        """The nearest indexed point of each query point.

        Args:
            query: (..., N, 3) for one cloud, (R, N, 3) for a batch of clouds.
            cloud: (R,) the cloud in which each row of the query is searched; for a batch only.
                Default: row i in cloud i.
            mask: bool, the query's shape without its last dimension; False for padding.
            reach: points farther than this are not found.

        Returns:
            `Neighbors` with index and squared distance (..., N). Where nothing is found the index
            is arbitrary and the distance inf.
        """
        found = self._search(query, 1, cloud, mask, reach)
        return Neighbors(found.index.squeeze(-1), found.squared_distance.squeeze(-1))

    def k_nearest(
        self,
        query: Tensor,
        k: int,
        *,
        cloud: Tensor | None = None,
        mask: Tensor | None = None,
        reach: float = math.inf,
    ) -> Neighbors:
        """The `k` nearest indexed points of each query point, nearest first.

        Arguments as for `nearest`.

        Returns:
            `Neighbors` with index and squared distance (..., N, k).
        """
        return self._search(query, k, cloud, mask, reach)

    def count_within(self, radius: float) -> int:
        """About how many pairs `pairs_within` finds, from the neighbours of up to 1,000 points."""
        points = self._clouds[0]
        some = points[:: max(1, len(points) // 500)]
        if points.device.type == "cpu":
            tree = self._needed_tree()
            found = int(tree.query_ball_point(some.numpy(), radius, return_length=True).sum())
        else:
            found = int((distances(some.double(), points.double()) <= radius).sum())
        return round((found - len(some)) * len(points) / len(some)) // 2

    def pairs_within(self, radius: float) -> tuple[Tensor, Tensor]:
        """The pairs of points of one cloud that are at most `radius` apart.

        Returns:
            Positions (P,) and (P,), the smaller first; each pair once.

        Raises:
            MissingExtra: the points are on the CPU, and SciPy is not installed.

        >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]])
        >>> Index(line).pairs_within(1.5)
        (tensor([0]), tensor([1]))
        """
        if self.points.device.type == "cpu":
            pairs = torch.from_numpy(self._needed_tree().query_pairs(radius, output_type="ndarray"))
        else:
            pairs = self._compared_pairs(radius)
        return pairs[:, 0].contiguous(), pairs[:, 1].contiguous()

    def _needed_tree(self) -> Any:
        require("scipy.spatial", extra="register", why="Finding all close pairs of points")
        tree = self._tree(0)
        assert tree is not None
        return tree[0]

    def _compared_pairs(self, radius: float) -> Tensor:
        """(P, 2) as `pairs_within`, by comparing all points, in float64 as SciPy does."""
        points, found = self._clouds[0].double(), []
        rows = max(1, _BUDGET // max(1, len(points)))
        for start in range(0, len(points), rows):
            near = distances(points[start : start + rows], points[start:]) <= radius
            found.append(near.triu_(1).nonzero() + start)
        return torch.cat(found)

    @torch.no_grad()
    def _search(
        self, query: Tensor, k: int, cloud: Tensor | None, mask: Tensor | None, reach: float
    ) -> Neighbors:
        shape = query.shape[:-1]
        if self._one:
            query = query.reshape(1, -1, 3)
            mask = None if mask is None else mask.reshape(1, -1)
        if cloud is None:
            cloud = self._each
        search = self._by_tree
        if self._clouds.device.type != "cpu" or self._tree(0) is None:
            few = self._clouds.shape[1] <= _GROUPED
            search = self._by_comparison
            if (k == 1 or few) and self._has_kernel():
                search = self._by_kernel if k == 1 else self._by_groups
        index, squared = search(query.detach(), k, cloud, mask, reach)
        return Neighbors(index.reshape(*shape, k), squared.reshape(*shape, k))

    def _has_kernel(self) -> bool:
        return self._clouds.is_cuda and kernels.usable(self._clouds, self._clouds, None, None)

    def _by_kernel(
        self, query: Tensor, k: int, cloud: Tensor, mask: Tensor | None, reach: float
    ) -> tuple[Tensor, Tensor]:
        from spoonful.neighbors.exhaustive_triton import nearest_of

        points = self._for_kernels()
        index, squared = nearest_of(points, query.to(points.dtype), cloud)
        return index.unsqueeze(-1), _within(squared, mask, reach).unsqueeze(-1)

    def _by_groups(
        self, query: Tensor, k: int, cloud: Tensor, mask: Tensor | None, reach: float
    ) -> tuple[Tensor, Tensor]:
        """The k nearest points are in the k groups of points whose nearest points are nearest."""
        from spoonful.neighbors.exhaustive_triton import GROUP, group_distances

        points = self._for_kernels()
        size = points.shape[1]
        # Filled up to whole groups, k at least.
        missing = max(-size % GROUP, k * GROUP - size)
        points = torch.nn.functional.pad(points, (0, 0, 0, missing), value=torch.inf)
        member = torch.arange(GROUP, device=points.device)
        row = cloud[:, None, None]
        rows = max(1, _BUDGET // (len(query) * (points.shape[1] // GROUP + 3 * GROUP * k)))
        found = []
        for part in query.to(points.dtype).split(rows, dim=1):
            group = group_distances(points, part, cloud).topk(k, largest=False).indices
            index = (GROUP * group.unsqueeze(-1) + member).flatten(2)
            squared = (points[row, index] - part.unsqueeze(2)).square().sum(-1)
            best = squared.topk(k, largest=False)
            found.append((index.gather(-1, best.indices), best.values))
        index, squared = (torch.cat(each, 1) for each in zip(*found, strict=True))
        mask = None if mask is None else mask.unsqueeze(-1)
        return index.clamp_max(size - 1), _within(squared, mask, reach)

    def _for_kernels(self) -> Tensor:
        """The clouds with infinite coordinates for masked points, contiguous."""
        if self._far is None:
            points = self._clouds
            if self._mask is not None:
                points = points.masked_fill(~self._mask.unsqueeze(-1), torch.inf)
            self._far = points.contiguous()
        return self._far

    def _by_comparison(
        self, query: Tensor, k: int, cloud: Tensor, mask: Tensor | None, reach: float
    ) -> tuple[Tensor, Tensor]:
        points, allowed = self._clouds, self._mask
        if points.shape[1] > _EXHAUSTIVE:
            found = [
                k_nearest_by_blocks(
                    query[row],
                    points[c],
                    k,
                    allowed=None if allowed is None else allowed[c],
                    reach=reach,
                )
                for row, c in enumerate([0] if self._one else cloud.tolist())
            ]
            index, squared = torch.stack([f[0] for f in found]), torch.stack([f[1] for f in found])
        elif k == 1:
            near = nearest(query, points[cloud], mask=None if allowed is None else allowed[cloud])
            index, squared = near.index.unsqueeze(-1), near.squared_distance.unsqueeze(-1)
        else:
            index, squared = self._all_compared(query, k, cloud)
        return index, _within(squared, None if mask is None else mask.unsqueeze(-1), reach)

    def _all_compared(self, query: Tensor, k: int, cloud: Tensor) -> tuple[Tensor, Tensor]:
        points = self._clouds[cloud]
        size = points.shape[1]
        rows = max(1, _BUDGET // max(1, len(query) * size))
        near, index = [], []
        for part in query.split(rows, dim=1):
            distance = distances(part, points)
            if self._mask is not None:
                distance.masked_fill_(~self._mask[cloud].unsqueeze(1), torch.inf)
            found = distance.topk(min(k, size), largest=False)
            missing = (0, k - found.values.shape[-1])
            near.append(torch.nn.functional.pad(found.values, missing, value=torch.inf))
            index.append(torch.nn.functional.pad(found.indices, missing))
        return torch.cat(index, 1), torch.cat(near, 1).square()

    def _tree(self, cloud: int) -> tuple[Any, Tensor | None] | None:
        """The k-d tree of a cloud on the CPU, and its points' positions; None without SciPy."""
        if cloud not in self._trees:
            make = _tree_maker() if self._clouds.device.type == "cpu" else None
            if make is None:
                return None
            points, place = self._clouds[cloud], None
            if self._mask is not None:
                place = self._mask[cloud].nonzero().squeeze(-1)
                points = points[place]
            self._trees[cloud] = make(points.numpy()), place
        return self._trees[cloud]

    def _by_tree(
        self, query: Tensor, k: int, cloud: Tensor, mask: Tensor | None, reach: float
    ) -> tuple[Tensor, Tensor]:
        rows, count, _ = query.shape
        index = torch.zeros(rows, count, k, dtype=torch.long)
        squared = torch.full((rows, count, k), torch.inf, dtype=query.dtype)
        threads = torch.get_num_threads()
        bound = math.nextafter(reach, math.inf)  # SciPy finds what is strictly nearer
        clouds = cloud.tolist()
        trees = {c: self._tree(c) for c in dict.fromkeys(clouds)}

        def search(row: int) -> None:
            entry = trees[clouds[row]]
            assert entry is not None
            tree, place = entry
            if tree.n == 0:
                return
            some = slice(None) if mask is None else mask[row]
            distance, found = tree.query(
                query[row][some].numpy(),
                k=range(1, k + 1),
                distance_upper_bound=bound,
                workers=1 if rows >= threads else threads,
            )
            distance, found = torch.from_numpy(distance), torch.from_numpy(found)
            found = found.where(distance.isfinite(), 0)
            index[row, some] = found if place is None else place[found]
            squared[row, some] = distance.square().to(query.dtype)

        if rows >= threads > 1:  # SciPy releases the interpreter lock while it searches
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(search, range(rows)))
        else:
            for row in range(rows):
                search(row)
        return index, squared


def _within(squared: Tensor, mask: Tensor | None, reach: float) -> Tensor:
    """Squared distances, set to inf where a query is padding or its distance exceeds `reach`."""
    if math.isfinite(reach):
        squared.masked_fill_(squared > reach**2, torch.inf)
    return squared if mask is None else squared.masked_fill_(~mask, torch.inf)


def _tree_maker() -> Callable[[Any], Any] | None:
    """A function that makes a k-d tree of points; None without SciPy."""
    try:
        from scipy.spatial import cKDTree
    except ImportError:
        return None
    # By default SciPy splits at medians and shrinks the boxes of nodes. Among 5 million points of a
    # surface that takes three times as long, and queries far from it up to 80 times.
    return partial(cKDTree, balanced_tree=False, compact_nodes=False)
