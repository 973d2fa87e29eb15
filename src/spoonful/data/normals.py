"""Normals for clouds that have none: the direction in which a neighbourhood is thinnest."""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.frame import centroid
from spoonful.geometry import kernels
from spoonful.neighbors import Index

# Numbers held at once: 16 Mi of them are 64 MiB in float32, whatever the clouds' sizes.
_BUDGET = 1 << 24


def estimate_normals(
    points: Tensor,
    k: int = 16,
    *,
    mask: Tensor | None = None,
    viewpoint: Tensor | None = None,
) -> Tensor:
    """Unit normals by principal component analysis of the `k` nearest points of each point.

    The normal is the eigenvector of the least eigenvalue of the neighbourhood's covariance. Its
    sign is chosen by `oriented`. At edges and corners the normal is that of the blurred edge, some
    k points wide. If a neighbourhood is a line or a single place, the normal is an arbitrary
    perpendicular of it.

    Args:
        points: (..., N, 3) float32 or float64, N >= 3.
        k: neighbours of each point, itself included; more are smoother. Clouds with fewer points
            use all they have.
        mask: (..., N) bool, False for padding: never a neighbour, and its normal is zero.
        viewpoint: (3,) or (..., 3), see `oriented`.

    Returns:
        (..., N, 3) unit normals in the dtype of `points`; no gradient.

    >>> plane = torch.rand(100, 3) * torch.tensor([1.0, 1, 0])
    >>> estimate_normals(plane, viewpoint=torch.tensor([0.0, 0, 5]))[0].round()
    tensor([0., 0., 1.])
    """
    normals = unsigned_normals(points, k, mask=mask)
    return oriented(normals, points, mask=mask, viewpoint=viewpoint)


def oriented(
    normals: Tensor,
    points: Tensor,
    *,
    mask: Tensor | None = None,
    viewpoint: Tensor | None = None,
) -> Tensor:
    """Normals with their signs chosen: away from the centroid, or towards `viewpoint` if given.

    Away from the centroid is outward for convex and star-shaped objects. For others it is
    consistent under rotation, but wrong for part of the surface, as inside a ring or a room. For a
    scan give the position of the sensor: it is right wherever the sensor saw the surface.

    Args:
        normals: (..., N, 3).
        points: (..., N, 3).
        mask: (..., N) bool, False for padding, whose normals become zero.
        viewpoint: (3,) or (..., 3), the place that all normals face.

    >>> up = torch.tensor([[0.0, 0, 1]])
    >>> oriented(up, torch.zeros(1, 3), viewpoint=torch.tensor([0.0, 0, -1]))[0, 2]
    tensor(-1.)
    """
    if viewpoint is None:
        outward = points - centroid(points, mask).to(points.dtype).unsqueeze(-2)
    elif viewpoint.shape[-1:] == (3,):
        outward = viewpoint.to(points).unsqueeze(-2) - points
    else:
        raise ValueError(f"viewpoint must have shape (..., 3), got {tuple(viewpoint.shape)}")
    # Scaled, so that products neither vanish nor overflow.
    largest = outward.abs().amax(-1, keepdim=True)
    outward = outward / largest.where(largest > 0, 1.0)
    agrees = (normals * outward).sum(-1, keepdim=True) >= 0
    normals = normals.where(agrees, -normals)
    return normals if mask is None else normals.where(mask.unsqueeze(-1), 0.0)


def unsigned_normals(
    points: Tensor,
    k: int = 16,
    *,
    mask: Tensor | None = None,
    index: Index | None = None,
    at: Tensor | None = None,
) -> Tensor:
    """Unit normals as `estimate_normals` finds them, each with an arbitrary sign.

    Args:
        points: (..., N, 3) float32 or float64, N >= 3.
        k: neighbours of each point, itself included.
        mask: (..., N) bool, False for padding, whose normals mean nothing.
        index: of these points, (N, 3), if there is one already.
        at: (M, 3) places to have the normals of, with `index`; default: the points themselves.

    Returns:
        (..., N, 3) unit vectors, (M, 3) with `at`; the component with the largest magnitude is
        positive.
    """
    if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] < 3:
        raise ValueError(f"points must have shape (..., N, 3), N >= 3, got {tuple(points.shape)}")
    if points.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"points must be float32 or float64, got {points.dtype}")
    if k < 3:
        raise ValueError(f"k must be at least 3, got {k}")
    if mask is not None and mask.shape != points.shape[:-1]:
        raise ValueError(
            f"mask must have shape {tuple(points.shape[:-1])}, got {tuple(mask.shape)}"
        )
    n = points.shape[-2]
    k = min(k, n)
    flat = points.detach().reshape(-1, n, 3)
    valid = None if mask is None else mask.reshape(-1, n)
    if index is None:
        finite = points.isfinite().all(-1)
        if not bool((finite if mask is None else finite | ~mask).all()):
            raise ValueError("points must be finite, got NaN or infinity")
        # About the centroid and of size one, so that squared distances keep their digits under a
        # large offset, and neither vanish nor overflow.
        flat = flat - centroid(flat, valid).to(flat.dtype).unsqueeze(-2)
        flat = flat if valid is None else flat.where(valid.unsqueeze(-1), 0.0)
        extent = flat.abs().amax((1, 2), keepdim=True)
        flat = flat / extent.where(extent > 0, 1.0)
        found = Index(flat, valid).k_nearest(flat, k, mask=valid)
    else:
        found = index.k_nearest(flat if at is None else at, k)
    place = found.index + n * torch.arange(len(flat), device=points.device)[:, None, None]
    rows = max(1, _BUDGET // (9 * k))
    # Coordinates in rows: sums are then over long vectors.
    columns, directions = flat.reshape(-1, 3).mT.contiguous(), []
    parts = (each.reshape(-1, k).split(rows) for each in (place, found.squared_distance))
    for near, away in zip(*parts, strict=True):
        neighbors = columns.index_select(1, near.flatten()).view(3, *near.shape)
        if mask is None:
            spread = neighbors - neighbors.mean(-1, keepdim=True)
        else:  # some may have fewer neighbours than k
            weight = (away < torch.inf).to(points.dtype)
            mean = (neighbors * weight).sum(-1) / weight.sum(-1).clamp_min(1)
            spread = (neighbors - mean.unsqueeze(-1)) * weight
        # Scaled to size one: the squares of tiny neighbourhoods would vanish.
        largest = spread.abs().amax((0, 2)).unsqueeze(-1)
        spread = spread / largest.clamp_min(torch.finfo(spread.dtype).tiny)
        # Sums of products, not a matmul: TF32 must not round covariances.
        covariance = (spread.unsqueeze(1) * spread).sum(-1).movedim(-1, 0)
        direction = _least_axis(covariance)
        # A fixed sign, for when the orientation cannot decide.
        main = direction.gather(-1, direction.abs().argmax(-1, keepdim=True))
        directions.append(direction * main.sign())
    return torch.cat(directions).reshape(points.shape if at is None else at.shape)


def _least_axis(matrix: Tensor) -> Tensor:
    """The eigenvector of the least eigenvalue of (M, 3, 3) symmetric matrices, by Jacobi rotations.

    Not `torch.linalg.eigh`: for a hundred thousand small matrices on a GPU it asks for tens of
    gigabytes, and fails. Rotations also give a unit vector whatever the matrix.
    """
    if matrix.is_cuda and kernels.usable(matrix, matrix, None, None):
        from spoonful.data.least_axis_triton import least_axis

        return least_axis(matrix)
    entry = {(p, q): matrix[:, p, q] for p in range(3) for q in range(p, 3)}
    axes = list(torch.eye(3).to(matrix).unsqueeze(-1).expand(3, 3, len(matrix)))
    # Convergence is quadratic: after five sweeps nothing is left off the diagonal.
    for p, q in ((0, 1), (0, 2), (1, 2)) * 5:
        off = entry[p, q]
        ratio = (entry[q, q] - entry[p, p]) / (2 * off)
        tangent = torch.copysign(1 / (ratio.abs() + (ratio.square() + 1).sqrt()), ratio)
        tangent = tangent.where(off != 0, 0.0)
        cosine = (tangent.square() + 1).rsqrt()
        sine = tangent * cosine
        # The rotation of rows and columns p and q, which keeps the matrix symmetric.
        entry[p, p], entry[q, q] = entry[p, p] - tangent * off, entry[q, q] + tangent * off
        entry[p, q] = torch.zeros_like(off)
        r = 3 - p - q
        with_p, with_q = (min(p, r), max(p, r)), (min(q, r), max(q, r))
        a, b, u, v = entry[with_p], entry[with_q], axes[p], axes[q]
        entry[with_p], entry[with_q] = cosine * a - sine * b, sine * a + cosine * b
        axes[p], axes[q] = cosine * u - sine * v, sine * u + cosine * v
    least = torch.stack([entry[i, i] for i in range(3)]).argmin(0)
    return torch.stack(axes)[least, :, torch.arange(len(least), device=least.device)]
