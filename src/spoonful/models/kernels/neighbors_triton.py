"""Neighbours without a matrix of distances in memory, in Triton: nothing is sorted."""

# mypy: ignore-errors
# (Triton reads these functions, not Python: their arguments have no Python types.)

import triton
import triton.language as tl


@triton.jit
def _squared(cloud, own, other, points):
    """Squared distances of some points to others, from differences."""
    squared = tl.zeros((own.shape[0], other.shape[0]), cloud.dtype.element_ty)
    for axis in tl.static_range(3):
        a = tl.load(cloud + own * 3 + axis, mask=own < points, other=0)
        b = tl.load(cloud + other * 3 + axis, mask=other < points, other=0)
        difference = a[:, None] - b[None, :]
        squared += difference * difference
    return squared


@triton.jit
def _candidates(mask, other, points):
    real = other < points
    if mask is not None:
        real &= tl.load(mask + other, mask=real, other=0) != 0
    return real


@triton.jit
def ball(
    cloud,  # (items, points, 3)
    mask,  # (items, points) or None
    index,  # (items, points, k)
    limit,  # the squared radius
    points,
    k,
    KP: tl.constexpr,
    OWN: tl.constexpr,
    OTHER: tl.constexpr,
):
    """For OWN points the first k others within the radius, then the point itself."""
    item = tl.program_id(0).to(tl.int64)
    cloud += item * points * 3
    index += item * points * k
    if mask is not None:
        mask += item * points
    own = tl.program_id(1) * OWN + tl.arange(0, OWN)
    found = tl.zeros((OWN,), tl.int32)
    for first in range(0, points, OTHER):
        other = first + tl.arange(0, OTHER)
        near = _squared(cloud, own, other, points) <= limit
        near &= _candidates(mask, other, points)[None, :] & (own[:, None] != other[None, :])
        near &= (own < points)[:, None]
        rank = found[:, None] + tl.cumsum(near.to(tl.int32), 1) - 1
        at = own[:, None] * k + rank
        value = tl.broadcast_to(other[None, :], (OWN, OTHER)).to(tl.int64)
        tl.store(index + at, value, mask=near & (rank < k))
        found += tl.sum(near.to(tl.int32), 1)
    place = tl.arange(0, KP)
    free = (place[None, :] >= found[:, None]) & (place < k)[None, :] & (own < points)[:, None]
    itself = tl.broadcast_to(own[:, None], (OWN, KP)).to(tl.int64)
    tl.store(index + own[:, None] * k + place[None, :], itself, mask=free)


@triton.jit
def knn(
    cloud,
    mask,
    index,
    points,
    k,
    OWN: tl.constexpr,
    ALL: tl.constexpr,  # at least `points`
):
    """The k nearest of OWN points, one after the other; the point itself if there are too few."""
    item = tl.program_id(0).to(tl.int64)
    cloud += item * points * 3
    index += item * points * k
    if mask is not None:
        mask += item * points
    own = tl.program_id(1) * OWN + tl.arange(0, OWN)
    other = tl.arange(0, ALL)
    squared = _squared(cloud, own, other, points)
    far = float("inf")
    squared = tl.where(_candidates(mask, other, points)[None, :], squared, far)
    for place in range(k):
        nearest = tl.min(squared, 1)
        is_it = squared == nearest[:, None]
        chosen = tl.min(tl.where(is_it, other[None, :], ALL), 1)
        squared = tl.where(other[None, :] == chosen[:, None], far, squared)
        # No point left, or only NaN.
        chosen = tl.where((nearest == far) | (chosen == ALL), own, chosen)
        tl.store(index + own * k + place, chosen.to(tl.int64), mask=own < points)
