"""The nearest points in large clouds, block by block, in bounded memory and torch alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

# Distances held at once: 16 Mi of them are 64 MiB in float32.
_BUDGET = 1 << 24
_BLOCK = 128


def k_nearest_by_blocks(
    query: Tensor,
    points: Tensor,
    k: int,
    *,
    allowed: Tensor | None = None,
    reach: float = math.inf,
) -> tuple[Tensor, Tensor]:
    """The `k` nearest points of each query point.

    Both clouds are divided into compact blocks. A block of queries is compared with the blocks of
    points around it. Its answer is final when its farthest k-th neighbour is nearer than any block
    that was left out; otherwise it is compared with more blocks.

    Args:
        query: (N, 3).
        points: (M, 3).
        k: at least 1.
        allowed: (M,) bool, False for points that are not found.
        reach: points farther than this need not be found.

    Returns:
        (N, k) positions, nearest first, and (N, k) squared distances, inf where there are fewer
        than k points.
    """
    position = torch.arange(len(points), device=points.device)
    if allowed is not None:
        position = position[allowed]
    index = position.new_zeros(len(query), k)
    near = query.new_full((len(query), k), torch.inf)
    if len(position) == 0 or len(query) == 0:
        return index, near
    there = _blocks(points[position])
    asking = there if allowed is None and torch.equal(query, points) else _blocks(query)
    pending = torch.arange(len(asking.members), device=query.device)
    count, width = there.members.shape
    looked = 12 + k // 32
    while len(pending):
        looked = min(looked, count)
        unfinished = []
        size = asking.members.shape[1] * width * looked
        for blocks in pending.split(max(1, _BUDGET // size)):
            low, high = asking.low[blocks].unsqueeze(1), asking.high[blocks].unsqueeze(1)
            outside = (low - there.high).maximum(there.low - high)
            gap = torch.linalg.vector_norm(outside.clamp_min(0), dim=-1)
            ranked = gap.topk(min(looked + 1, count), largest=False)
            chosen = ranked.indices[:, :looked]
            distance = distances(asking.places[blocks], there.places[chosen].flatten(1, 2))
            distance.masked_fill_(there.padding[chosen].flatten(1).unsqueeze(1), torch.inf)
            found = distance.topk(min(k, distance.shape[-1]), largest=False)
            members = there.members[chosen].flatten(1)
            which = members.gather(1, found.indices.flatten(1)).view_as(found.indices)
            real = ~asking.padding[blocks]
            rows = asking.members[blocks][real]
            index[rows, : found.values.shape[-1]] = position[which[real]]
            near[rows, : found.values.shape[-1]] = found.values[real]
            if looked < count:
                rest = ranked.values[:, looked:]
                final = (found.values[..., -1] <= rest) | (rest > reach) | ~real
                unfinished.append(blocks[~final.all(-1)])
        pending = torch.cat(unfinished) if unfinished else pending[:0]
        looked *= 4
    return index, near.square()


def distances(query: Tensor, points: Tensor) -> Tensor:
    """All distances (..., N, M), from differences.

    |a|^2 - 2ab + |b|^2 would round away the distances of close points.
    """
    if query.device.type == "cpu":
        return torch.cdist(query, points, compute_mode="donot_use_mm_for_euclid_dist")
    # On a GPU `cdist` takes a block of threads for each distance.
    square = (query[..., None, 0] - points[..., None, :, 0]).square_()
    for axis in (1, 2):
        along = query[..., None, axis] - points[..., None, :, axis]
        square.addcmul_(along, along)
    return square.sqrt_()


class _Blocks(NamedTuple):
    """A cloud in B blocks of W points: positions (B, W), places, padding, and bounding boxes."""

    members: Tensor
    places: Tensor
    padding: Tensor
    low: Tensor
    high: Tensor


def _blocks(points: Tensor) -> _Blocks:
    """Divide points into 2^d compact blocks of equal size, halving the widest side d times."""
    n = len(points)
    depth = max(0, math.ceil(math.log2(n / _BLOCK)))
    width = -(-n // 2**depth)
    # Position n is padding. It is at the place of a point, so that boxes stay finite.
    extended = torch.cat([points, points[-1:]])
    order = torch.arange(width * 2**depth, device=points.device).clamp_max(n).unsqueeze(0)
    for _ in range(depth):
        places = extended[order]
        axis = (places.amax(1) - places.amin(1)).argmax(-1)[:, None, None]
        along = places.gather(-1, axis.expand(*order.shape, 1)).squeeze(-1)
        along = along.masked_fill_(order == n, torch.inf)
        order = order.gather(-1, along.argsort(-1)).reshape(2 * len(order), -1)
    places = extended[order]
    return _Blocks(order.clamp_max(n - 1), places, order == n, places.amin(1), places.amax(1))
