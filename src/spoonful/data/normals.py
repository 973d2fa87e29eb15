"""Normals for clouds that have none: the direction in which a neighbourhood is thinnest."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Distances held at once: 16 Mi of them are 64 MiB in float32, whatever the clouds' sizes.
_BUDGET = 1 << 24
# Above this many points neighbours are sought in nearby blocks of points, not among all.
_EXHAUSTIVE = 4096
_BLOCK = 128


def estimate_normals(
    points: Tensor,
    k: int = 16,
    *,
    mask: Tensor | None = None,
    viewpoint: Tensor | None = None,
) -> Tensor:
    """Unit normals by principal component analysis of the `k` nearest points of each point.

    The normal is the eigenvector of the least eigenvalue of the neighbourhood's covariance,
    which fixes it up to its sign. The sign is chosen so that normals point away from the
    centroid of the cloud, or towards `viewpoint` where it is given.

    Away from the centroid is outward for convex and star-shaped objects, and merely consistent
    under rotation for others: inside a ring or a room it is wrong for part of the surface. For a
    scan give the position of the sensor, which is right wherever the sensor saw the surface.
    At edges and corners the normal is that of the blurred edge, some k points wide. Where a
    neighbourhood is a line or a single place, the normal is an arbitrary perpendicular of it.

    Args:
        points: (..., N, 3) float32 or float64, N >= 3.
        k: neighbours of each point, itself included; more are smoother. Clouds with fewer points
            use all they have.
        mask: (..., N) bool, False for padding: never a neighbour, and its normal is zero.
        viewpoint: (3,) or (..., 3), a place all normals look to.

    Returns:
        (..., N, 3) unit normals in the dtype of `points`; no gradient.

    >>> plane = torch.rand(100, 3) * torch.tensor([1.0, 1, 0])
    >>> estimate_normals(plane, viewpoint=torch.tensor([0.0, 0, 5]))[0].round()
    tensor([0., 0., 1.])
    """
    if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] < 3:
        raise ValueError(f"points must have shape (..., N, 3), N >= 3, got {tuple(points.shape)}")
    if points.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"points must be float32 or float64, got {points.dtype}")
    if k < 3:
        raise ValueError(f"k must be at least 3, got {k}")
    if mask is None:
        mask = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    elif mask.shape != points.shape[:-1]:
        raise ValueError(
            f"mask must have shape {tuple(points.shape[:-1])}, got {tuple(mask.shape)}"
        )
    if viewpoint is not None and viewpoint.shape[-1:] != (3,):
        raise ValueError(f"viewpoint must have shape (..., 3), got {tuple(viewpoint.shape)}")
    if not bool((points.isfinite().all(-1) | ~mask).all()):
        raise ValueError("points must be finite, got NaN or infinity")

    n = points.shape[-2]
    with torch.no_grad():
        valid = mask.reshape(-1, n)
        kept = valid.unsqueeze(-1)
        flat = points.reshape(-1, n, 3).where(kept, 0.0)
        # About the centroid and of size one, so that the squares of distances neither drown in a
        # large offset nor vanish nor overflow.
        centroid = flat.sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp_min(1)
        centred = (flat - centroid).where(kept, 0.0)
        extent = centred.abs().amax((1, 2), keepdim=True)
        centred = centred / extent.where(extent > 0, 1.0)
        normals = _thinnest(centred, valid, min(k, n))
        outward = centred
        if viewpoint is not None:
            eye = viewpoint.to(points).expand(*points.shape[:-2], 3).reshape(-1, 1, 3)
            outward = eye - flat
        agrees = (normals * outward).sum(-1, keepdim=True) >= 0
        normals = normals.where(agrees, -normals).where(kept, 0.0)
    return normals.reshape(points.shape)


def _thinnest(points: Tensor, valid: Tensor, k: int) -> Tensor:
    """For each of (B, N, 3) points the direction of least spread, its sign by its own rule."""
    batch, n, _ = points.shape
    index, found = k_nearest(points, valid, k)
    index = index + n * torch.arange(batch, device=points.device)[:, None, None]
    rows = max(1, _BUDGET // (9 * k))
    directions = []
    for near, real in zip(
        index.reshape(-1, k).split(rows), found.reshape(-1, k, 1).split(rows), strict=True
    ):
        neighbors, weight = points.reshape(-1, 3)[near], real.to(points.dtype)
        mean = (neighbors * weight).sum(-2, keepdim=True) / weight.sum(-2, keepdim=True).clamp_min(
            1
        )
        spread = (neighbors - mean) * weight
        # Scaled to size one: the squares of tiny neighbourhoods would vanish.
        largest = spread.abs().amax((-2, -1), keepdim=True)
        spread = spread / largest.where(largest > 0, 1.0)
        # Sums of products, not a matmul: TF32 must not round covariances.
        covariance = (spread.unsqueeze(-1) * spread.unsqueeze(-2)).sum(-3)
        direction = _least_axis(covariance)
        # Its sign is arbitrary: where orientation cannot decide, the largest part does.
        main = direction.gather(-1, direction.abs().argmax(-1, keepdim=True))
        directions.append(direction.where(main >= 0, -direction))
    return torch.cat(directions).reshape(points.shape)


def _least_axis(matrix: Tensor) -> Tensor:
    """The eigenvector of the least eigenvalue of (M, 3, 3) symmetric matrices, by Jacobi rotations.

    Not `torch.linalg.eigh`: for a hundred thousand small matrices on a GPU it asks for tens of
    gigabytes, and fails. Rotations also give a unit vector whatever the matrix.
    """
    columns = list(matrix.unbind(-1))
    axes = list(torch.eye(3, dtype=matrix.dtype, device=matrix.device).expand_as(matrix).unbind(-1))
    # Convergence is quadratic: after five sweeps nothing is left off the diagonal.
    for p, q in ((0, 1), (0, 2), (1, 2)) * 5:
        off = columns[q][:, p]
        ratio = (columns[q][:, q] - columns[p][:, p]) / (2 * off)
        tangent = torch.copysign(1 / (ratio.abs() + (ratio.square() + 1).sqrt()), ratio)
        tangent = tangent.where(off != 0, 0.0)
        cosine = (tangent.square() + 1).rsqrt().unsqueeze(-1)
        sine = tangent.unsqueeze(-1) * cosine
        for vectors in (columns, axes):
            first, second = vectors[p], vectors[q]
            vectors[p], vectors[q] = cosine * first - sine * second, sine * first + cosine * second
        # The same rotation of the rows, which keeps the matrix symmetric.
        rows = list(torch.stack(columns, dim=-1).unbind(-2))
        first, second = rows[p], rows[q]
        rows[p], rows[q] = cosine * first - sine * second, sine * first + cosine * second
        columns = list(torch.stack(rows, dim=-2).unbind(-1))
    values = torch.stack([columns[i][:, i] for i in range(3)], dim=-1)
    least = values.argmin(-1)[:, None, None].expand(-1, 3, 1)
    return torch.stack(axes, dim=-1).gather(-1, least).squeeze(-1)


def k_nearest(points: Tensor, valid: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The `k` nearest points of each point, itself included, in bounded memory.

    Args:
        points: (B, N, 3).
        valid: (B, N) bool, False for points that must not be found.
        k: at most N.

    Returns:
        (B, N, k) positions, nearest first, and (B, N, k) bool: False where the position means
        nothing, because its cloud has fewer than k valid points. Rows of points that are not
        valid themselves mean nothing either.
    """
    batch, n, _ = points.shape
    if n > _EXHAUSTIVE:
        found = [_among_blocks(p, v, k) for p, v in zip(points, valid, strict=True)]
        return torch.stack([f[0] for f in found]), torch.stack([f[1] for f in found])
    rows = max(1, _BUDGET // max(1, batch * n))
    near, index = [], []
    for part in points.split(rows, dim=1):
        distance = _distances(part, points).masked_fill_(~valid.unsqueeze(1), torch.inf)
        nearest = distance.topk(k, largest=False)
        near.append(nearest.values)
        index.append(nearest.indices)
    return torch.cat(index, 1), torch.cat(near, 1) < torch.inf


def _among_blocks(points: Tensor, valid: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`k_nearest` of one large cloud: each block of points looks into the blocks around it.

    A block's answer is final when its farthest k-th neighbour is nearer than any box not looked
    into; the others look again, further.
    """
    position = valid.nonzero().squeeze(-1)
    n = len(position)
    index = position.new_zeros(len(points), k)
    near = points.new_full((len(points), k), torch.inf)
    if n == 0:
        return index, near < torch.inf
    # One more point stands for padding.
    extended = torch.cat([points[position], points.new_zeros(1, 3)])
    position = torch.cat([position, position.new_zeros(1)])
    members = _blocks(extended)
    padding = (members == n).unsqueeze(-1)
    places = extended[members]
    low = places.masked_fill(padding, torch.inf).amin(1)
    high = places.masked_fill(padding, -torch.inf).amax(1)

    pending = torch.arange(len(members), device=points.device)
    width, reach = members.shape[1], 12 + k // 32
    while len(pending):
        reach = min(reach, len(members))
        unfinished = []
        for blocks in pending.split(max(1, _BUDGET // (width * width * reach))):
            outside = (low[blocks].unsqueeze(1) - high).maximum(low - high[blocks].unsqueeze(1))
            gap = torch.linalg.vector_norm(outside.clamp_min(0), dim=-1)
            ranked = gap.topk(min(reach + 1, len(members)), largest=False)
            candidates = members[ranked.indices[:, :reach]].flatten(1)
            distance = _distances(places[blocks], extended[candidates])
            distance.masked_fill_((candidates == n).unsqueeze(1), torch.inf)
            width_found = min(k, distance.shape[-1])
            nearest = distance.topk(width_found, largest=False)
            real = ~padding[blocks].squeeze(-1)
            rows = position[members[blocks][real]]
            chosen = candidates.gather(1, nearest.indices.flatten(1)).view_as(nearest.indices)
            index[rows, :width_found] = position[chosen[real]]
            near[rows, :width_found] = nearest.values[real]
            if reach < len(members):
                final = (nearest.values[..., -1] <= ranked.values[:, reach:]) | ~real
                unfinished.append(blocks[~final.all(-1)])
        pending = torch.cat(unfinished) if unfinished else pending[:0]
        reach *= 4
    return index, near < torch.inf


def _blocks(extended: Tensor) -> Tensor:
    """Divide n points into 2^d compact blocks of equal size, halving the widest side d times.

    Args:
        extended: (n + 1, 3), of which the last stands for padding.

    Returns:
        (2^d, width) positions, n for padding.
    """
    n = len(extended) - 1
    depth = max(0, math.ceil(math.log2(n / _BLOCK)))
    width = -(-n // 2**depth)
    order = torch.arange(width * 2**depth, device=extended.device).clamp_max(n).unsqueeze(0)
    for _ in range(depth):
        places = extended[order]
        padding = (order == n).unsqueeze(-1)
        high = places.masked_fill(padding, -torch.inf).amax(1)
        low = places.masked_fill(padding, torch.inf).amin(1)
        axis = (high - low).argmax(-1)[:, None, None].expand(*order.shape, 1)
        along = places.gather(-1, axis).masked_fill(padding, torch.inf).squeeze(-1)
        order = order.gather(-1, along.argsort(-1)).reshape(2 * len(order), -1)
    return order


def _distances(query: Tensor, points: Tensor) -> Tensor:
    # From differences: |a|^2 - 2ab + |b|^2 rounds away the distances of close points.
    return torch.cdist(query, points, compute_mode="donot_use_mm_for_euclid_dist")
