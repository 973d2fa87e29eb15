"""Fast point feature histograms (Rusu, Blodow and Beetz 2009): what a point's surroundings look like.

Two points p, q with normals n, m make a frame u = n, v = u x d, w = u x v, where d is the direction
from p to q, and in it three angles that no rigid motion changes:

    alpha = v . m,      phi = u . d,      theta = atan2(w . m, u . m).

Their histograms over a point's neighbours, plus those of the neighbours, weighted by nearness, are
33 numbers by which points of two scans are matched.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from spoonful.extras import require

BINS = 11


def fpfh(points: Tensor, normals: Tensor, radius: float) -> Tensor:
    """The histograms of every point of a cloud.

    Args:
        points: (N, 3), about evenly spaced; a voxel grid makes them so.
        normals: (N, 3) unit vectors; their signs matter, see `mirrored`.
        radius: how far the surroundings reach; five voxels and more.

    Returns:
        (N, 33) float32, three histograms of 11 bins, each of which sums to one (to zero for a
        point without neighbours).

    >>> generator = torch.Generator().manual_seed(0)
    >>> points = torch.rand(200, 3, generator=generator)
    >>> normals = torch.nn.functional.normalize(points - 0.5, dim=-1)
    >>> features = fpfh(points, normals, 0.3)
    >>> features.shape, round(features[0, :11].sum().item(), 4)
    (torch.Size([200, 33]), 1.0)
    """
    _check(points, normals, radius)
    np = require("numpy", extra="scan", why="Point feature histograms")
    spatial = require("scipy.spatial", extra="scan", why="Point feature histograms")
    sparse = require("scipy.sparse", extra="scan", why="Point feature histograms")
    places, directions = (x.detach().cpu().double().numpy() for x in (points, normals))
    count = len(places)
    pairs = spatial.cKDTree(places).query_pairs(radius, output_type="ndarray")
    first, second = pairs[:, 0], pairs[:, 1]
    bins, distance = _pair_bins(np, places, directions, first, second)

    simple = np.zeros((count, 3 * BINS), dtype=np.float32)
    for end in (first, second):
        for part in range(3):
            flat = np.bincount(end * BINS + bins[part], minlength=count * BINS)
            simple[:, part * BINS : (part + 1) * BINS] += flat.reshape(count, BINS)
    neighbours = simple[:, :BINS].sum(1, keepdims=True).clip(1)
    simple /= neighbours

    weight = (radius / distance.clip(1e-3 * radius)).astype(np.float32)
    half = sparse.csr_matrix((weight, (first, second)), shape=(count, count))
    # A point's own histogram counts as much as all its neighbours' together.
    around = (half @ simple + half.T @ simple) / np.asarray(half.sum(1) + half.sum(0).T).clip(1e-9)
    full = simple + around
    total = full.reshape(count, 3, BINS).sum(-1, keepdims=True)
    full = full.reshape(count, 3, BINS) / total.clip(1e-9)
    return torch.from_numpy(full.reshape(count, 3 * BINS).astype(np.float32))


def mirrored(features: Tensor) -> Tensor:
    """The histograms the same cloud has when all its normals are turned around.

    Turning the normals negates phi and theta and keeps alpha: two histograms are read backwards.
    Clouds whose normals were estimated may disagree about the inside; this matches them both ways
    for the price of one.

    >>> features = torch.arange(33.0)[None]
    >>> bool((mirrored(mirrored(features)) == features).all())
    True
    """
    alpha, phi, theta = features.split(BINS, dim=-1)
    return torch.cat([alpha, phi.flip(-1), theta.flip(-1)], dim=-1)


def _pair_bins(np: Any, places: Any, directions: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """For each pair of points the bins of its three angles, (3, P), and its distance, (P,)."""
    offset = places[second] - places[first]
    distance = np.sqrt(np.einsum("pc,pc->p", offset, offset))
    line = offset / distance.clip(1e-300)[:, None]
    n, m = directions[first], directions[second]
    along_n, along_m = np.einsum("pc,pc->p", n, line), np.einsum("pc,pc->p", m, line)
    # The frame stands where the normal is nearer to the line: the same for (p, q) and (q, p).
    swap = np.abs(along_n) < np.abs(along_m)
    u, other = np.where(swap[:, None], m, n), np.where(swap[:, None], n, m)
    line = np.where(swap[:, None], -line, line)
    phi = np.where(swap, -along_m, along_n)
    v = np.cross(line, u)
    v /= np.sqrt(np.einsum("pc,pc->p", v, v)).clip(1e-12)[:, None]
    w = np.cross(u, v)
    alpha = np.einsum("pc,pc->p", v, other)
    theta = np.arctan2(np.einsum("pc,pc->p", w, other), np.einsum("pc,pc->p", u, other))
    shares = ((alpha + 1) / 2, (phi + 1) / 2, (theta + math.pi) / (2 * math.pi))
    bins = [(share * BINS).astype(np.int64).clip(0, BINS - 1) for share in shares]
    return bins, distance


def _check(points: Tensor, normals: Tensor, radius: float) -> None:
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(f"points must have shape (N, 3) with N >= 1, got {tuple(points.shape)}")
    if normals.shape != points.shape:
        raise ValueError(
            f"normals must have the shape of points, {tuple(points.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    if not 0 < radius < math.inf:
        raise ValueError(f"radius must be positive and finite, got {radius}")
