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
    some = points if allowed is None else points[allowed]
    # One row more: padding is written there.
    index = torch.zeros(len(query) + 1, k, dtype=torch.long, device=query.device)
    near = query.new_full((len(query) + 1, k), torch.inf)
    if len(some) == 0 or len(query) == 0:
        return index[:-1], near[:-1]
    there = _blocks(some)
    asking = there if allowed is None and torch.equal(query, points) else _blocks(query)
    facing = there.sides.roll(3, -1)
    pending = torch.arange(len(asking.members), device=query.device)
    count, width = there.members.shape
    looked = 12 + k // 32
    while len(pending):
        looked = min(looked, count)
        unfinished = []
        size = asking.members.shape[1] * width * looked
        for blocks in pending.split(max(1, _BUDGET // size)):
            outside = asking.sides[blocks].unsqueeze(1) + facing
            gap = torch.linalg.vector_norm(outside.clamp_min(0), dim=-1)
            ranked = gap.topk(min(looked + 1, count), largest=False)
            chosen = ranked.indices[:, :looked]
            members = there.members[chosen].flatten(1)
            distance = distances(asking.places[blocks], there.places[chosen].flatten(1, 2))
            distance.masked_fill_((members == len(some)).unsqueeze(1), torch.inf)
            found = distance.topk(min(k, distance.shape[-1]), largest=False)
            which = members.gather(1, found.indices.flatten(1)).view_as(found.indices)
            rows, first = asking.members[blocks], slice(found.values.shape[-1])
            index[rows, first], near[rows, first] = which, found.values
            if looked < count:
                rest = ranked.values[:, looked:]
                final = (found.values[..., -1] <= rest) | (rest > reach)
                unfinished.append(blocks[~final.all(-1)])
        pending = torch.cat(unfinished) if unfinished else pending[:0]
        looked *= 4
    index = index[:-1].clamp_max(len(some) - 1)
    return index if allowed is None else allowed.nonzero().squeeze(1)[index], near[:-1].square()


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
    """A cloud of n points in B blocks of W.

    Attributes:
        members: (B, W) positions; n is padding.
        places: (B, W, 3).
        sides: (B, 6) of the bounding boxes: the least coordinates, and minus the largest.
    """

    members: Tensor
    places: Tensor
    sides: Tensor


def _blocks(points: Tensor) -> _Blocks:
    """Divide points into 2^d compact blocks of equal size, the widest sides into four at a time."""
    n = len(points)
    depth = max(0, math.ceil(math.log2(n / _BLOCK)))
    width = -(-n // 2**depth)
    # Padding is at the place of a point, so that boxes stay as they are.
    extended = torch.cat([points, points[-1:]])
    order = torch.arange(width * 2**depth, device=points.device).clamp_max(n).unsqueeze(0)
    for step in range(0, depth, 2):
        places = extended[order]
        low, high = places.aminmax(dim=1)
        axis = (high - low).argmax(-1)[:, None, None].expand(*order.shape, 1)
        along = places.gather(-1, axis).squeeze(-1)
        parts = len(order) << min(2, depth - step)
        order = order.gather(-1, along.argsort(-1)).reshape(parts, -1)
    places = extended[order]
    low, high = places.aminmax(dim=1)
    return _Blocks(order, places, torch.cat([low, -high], -1))
