"""Fast point feature histograms (Rusu, Blodow and Beetz 2009): what surrounds a point.

Two points p, q with normals n, m make a frame u = n, v = d x u / |d x u|, w = u x v, where d is the
direction from p to q, and in it three angles that no rigid motion changes:

    alpha = v . m,      phi = u . d,      theta = atan2(w . m, u . m).

Their histograms over a point's neighbours, plus those of the neighbours, weighted by nearness, are
33 numbers by which points of two scans are matched. Several radii side by side tell more than any
one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from spoonful.extras import require
from spoonful.neighbors import Index

BINS = 11
# Pairs of neighbours held at once: where there are more, the radius is shortened.
_MOST_PAIRS = 1 << 20
# Pairs whose angles are computed at once on the CPU: few enough for its caches.
_PART = 1 << 16
# Values that are searched for their largest at once.
_GROUP = 16


def fpfh(
    points: Tensor, normals: Tensor, radii: Sequence[float], *, index: Index | None = None
) -> Tensor:
    """The histograms of every point of a cloud, for each radius.

    Args:
        points: (N, 3), about evenly spaced; a voxel grid makes them so.
        normals: (N, 3) unit vectors; their signs matter.
        radii: how far the surroundings reach, one or more; from four times the spacing of the
            points upwards. They are shortened where a cloud is so dense that a million pairs of
            neighbours would not do.
        index: of these points, if there is one already.

    Returns:
        (N, 33 R) float32: for each radius three histograms of 11 bins, each of which sums to one,
        or to zero for a point without neighbours.

    >>> generator = torch.Generator().manual_seed(0)
    >>> points = torch.rand(200, 3, generator=generator)
    >>> normals = torch.nn.functional.normalize(points - 0.5, dim=-1)
    >>> features = fpfh(points, normals, [0.3, 0.5])
    >>> features.shape, round(features[0, :11].sum().item(), 4)
    (torch.Size([200, 66]), 1.0)
    """
    _check(points, normals, radii)
    # About their middle, where float32 is fine enough.
    places = (points - points.mean(0)).float()
    ends = _pairs(Index(places) if index is None else index, max(radii))
    # Coordinates in rows: sums over them are then sums of long vectors.
    rows = places.mT.contiguous(), normals.float().mT.contiguous()
    size = _PART if places.device.type == "cpu" else _MOST_PAIRS
    parts = [_pair_bins(*rows, *part) for part in ends.split(size, 1)]
    bins, distance = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    # Each pair is counted once, in the shell between two radii; a radius sums the shells inside it.
    edges = sorted(radii)
    shell = sum((distance > edge).int() for edge in edges[:-1])
    shape = len(edges), len(points)
    ends_in_shells = ends + len(points) * shell
    counts = _counts(ends_in_shells, bins, shape)
    weights = _weights(ends_in_shells[0], ends[1], distance, shape)
    found = _histograms(counts, weights)
    return torch.cat([found[:, edges.index(radius)] for radius in radii], 1)


def mutual_matches(source: Tensor, target: Tensor, choices: int = 1) -> tuple[Tensor, Tensor]:
    """Points that are each other's most similar ones, by their histograms, most similar first.

    Histograms are compared by the sum of the square roots of products of bins (Bhattacharyya). This
    gives rare bins, which tell most, more weight than a Euclidean distance.

    Args:
        source: (N, D) from `fpfh`.
        target: (M, D).
        choices: a match is a pair of points of which each is among so many most similar to the
            other. More choices find more right matches, and more wrong ones.

    Returns:
        Positions (K,) in the source and (K,) in the target.

    >>> features = torch.eye(33)
    >>> mutual_matches(features[:3], features[[2, 0]])
    (tensor([0, 2]), tensor([1, 0]))
    """
    # Filled up to whole groups with points that are like nothing.
    source, target = (pad(each.sqrt(), (0, 0, 0, -len(each) % _GROUP)) for each in (source, target))
    likeness = source @ target.mT
    there, back = (_largest(likeness, choices, dim) for dim in (1, 0))
    here = torch.arange(len(there), device=source.device).unsqueeze(1).expand_as(there)
    mutual = (back[there] == here.unsqueeze(-1)).any(-1)
    here, there = here[mutual], there[mutual]
    alike = likeness[here, there]
    # A point without neighbours is like nothing.
    order = alike.argsort(descending=True, stable=True)[: int((alike > 0).sum())]
    return here[order], there[order]


def _largest(values: Tensor, count: int, dim: int) -> Tensor:
    """(N, count) positions of the largest values in each row (`dim` 1) or column (`dim` 0).

    They are in the groups of values whose maxima are largest; only these groups are searched.
    """
    # Every n-th value is in one group: the largest ones are then found for many groups at once.
    groups = values.unflatten(dim, (_GROUP, -1)).movedim(dim, -1)
    most = groups.amax(-1)
    if dim == 0:
        groups, most = groups.transpose(0, 1), most.mT.contiguous()
    best = most.topk(min(count, most.shape[1])).indices
    rows = torch.arange(len(best), device=best.device).unsqueeze(1)
    near = groups[rows, best].flatten(1)
    near = near.topk(min(count, near.shape[1])).indices
    return best.gather(1, near // _GROUP) + near % _GROUP * groups.shape[1]


def _pairs(index: Index, radius: float) -> Tensor:
    """(2, P) int32: the pairs of points no farther from each other than `radius`, each once."""
    # An estimate is cheap, and tells whether the pairs fit into memory.
    while (count := index.count_within(radius)) > _MOST_PAIRS:
        radius *= max(0.5, 0.95 * (_MOST_PAIRS / count) ** 0.5)
    return torch.stack(index.pairs_within(radius)).int()


def _pair_bins(
    places: Tensor, normals: Tensor, first: Tensor, second: Tensor
) -> tuple[Tensor, Tensor]:
    """For each pair of points the bins of its three angles, (3, P), and its distance, (P,).

    Places and normals are (3, N), the positions of a pair's points in two tensors (P,).
    """
    line = places.index_select(1, second) - places.index_select(1, first)
    distance = line.square().sum(0).sqrt()
    line /= distance.clamp_min(torch.finfo(line.dtype).tiny)
    n, m = normals.index_select(1, first), normals.index_select(1, second)
    along_n, along_m, cosine = (n * line).sum(0), (m * line).sum(0), (n * m).sum(0)
    (a, b, c), (d, e, f) = n, m  # faster than `torch.linalg.cross`
    triple = line[0] * (b * f - c * e) + line[1] * (c * d - a * f) + line[2] * (a * e - b * d)
    # The frame stands where the normal is nearer to the line: the same for (p, q) and (q, p).
    # Exchanging the two negates the line, which leaves the triple product as it is.
    swap = along_n.abs() < along_m.abs()
    phi = torch.where(swap, -along_m, along_n)
    other = torch.where(swap, -along_n, along_m)
    sine = (1 - phi.square()).clamp_min(1e-12).sqrt()
    alpha = triple / sine
    theta = torch.atan2((other - phi * cosine) / sine, cosine)
    shares = torch.stack([(alpha + 1) / 2, (phi + 1) / 2, (theta + math.pi) / (2 * math.pi)])
    return (shares * BINS).int().clamp_(0, BINS - 1), distance


def _counts(ends: Tensor, bins: Tensor, shape: tuple[int, int]) -> Tensor:
    """(R, N, 3, 11) float32: for each radius the pairs at each end, by the bins of their angles."""
    bins = bins + BINS * torch.arange(3, dtype=bins.dtype, device=bins.device).unsqueeze(1)
    cells = torch.cat([bins + 3 * BINS * end for end in ends]).flatten()
    counts = torch.bincount(cells, minlength=3 * BINS * math.prod(shape))
    return counts.view(*shape, 3, BINS).cumsum(0).float()


def _weights(first: Tensor, second: Tensor, distance: Tensor, shape: tuple[int, int]) -> list[Any]:
    """For each shell a sparse (N, N) matrix of nearness, with each pair once; dense on a GPU."""
    nearness = 1 / distance.clamp_min(1e-9)
    shells, count = shape
    if nearness.device.type != "cpu":
        dense = nearness.new_zeros(shells * count, count)
        return list(dense.index_put_((first.long(), second.long()), nearness).split(count))
    sparse = require("scipy.sparse", extra="classical", why="Point feature histograms")
    places = first.numpy(), second.numpy()
    half = sparse.coo_matrix((nearness.numpy(), places), (shells * count, count))
    # No pair occurs twice: SciPy need not sort them to add them up.
    half.has_canonical_format = True
    half = half.tocsr()
    return [half[k * count : (k + 1) * count] for k in range(shells)]


def _histograms(counts: Tensor, shells: list[Any]) -> Tensor:
    """Histograms (N, R, 33) from the counts (R, N, 3, 11) and the nearness of neighbours."""
    simple = counts / counts.sum(-1, keepdim=True).clamp_min(1)
    simple = simple.transpose(0, 1).contiguous()
    around = torch.zeros_like(simple)
    for k, half in enumerate(shells):
        # The neighbours in a shell count for all radii outside it.
        own: Any = simple[:, k:].flatten(1)
        own = own.numpy() if own.device.type == "cpu" else own
        more = torch.as_tensor(half @ own + half.T @ own)
        around[:, k:].add_(more.unflatten(1, (-1, 3, BINS)))
    # A point's own histogram counts as much as all its neighbours' together.
    full = simple + around / around.sum(-1, True).amax(-2, True).clamp_min(1e-9)
    full = full / full.sum(-1, keepdim=True).clamp_min(1e-9)
    return full.flatten(2)


def _check(points: Tensor, normals: Tensor, radii: Sequence[float]) -> None:
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(f"points must have shape (N, 3) with N >= 1, got {tuple(points.shape)}")
    if normals.shape != points.shape:
        raise ValueError(
            f"normals must have the shape of points, {tuple(points.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    if not radii or not all(0 < radius < math.inf for radius in radii):
        raise ValueError(f"radii must be positive and finite, got {list(radii)}")
