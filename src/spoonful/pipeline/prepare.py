"""Prepare two clouds of any unit, size and density for the search.

The clouds are shifted to their centroids and divided by the edge of one grid that suits both. All
lengths of the search are in voxels, so it does not depend on units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.data.normals import unsigned_normals
from spoonful.data.sampling import VoxelAverage, voxel_average
from spoonful.frame import Frame
from spoonful.geometry import rotation_from_vector
from spoonful.neighbors import Index

_Side = TypeVar("_Side")
_Done = TypeVar("_Done")
# Points of a cloud on the search's grid: enough to tell places apart by their surroundings, few
# enough to compare all pairs.
POINTS = 3000
# No cloud may have more than this, whatever the other one needs.
_MOST_POINTS = 6000
# Nor more than this, if the user chooses the grid: memory and time go with its square.
_MOST_ASKED = 15_000
# A thin cloud's grid has this many voxels for each of its points, so that most hold one or two.
_FILLED = 0.6
# Points that the grid's size is chosen by.
_SAMPLE = 20_000
# Cells of a grid that are marked to count the occupied ones; of more cells, numbers are sorted.
_MOST_MARKED = 1 << 20
# Points of a cloud that are used; more would give the same averages.
_MOST_RAW = 300_000
# Points this many times as far from the middle as the median point are strays.
_STRAY = 20.0
# A cloud is seen from the origin if a smaller share of points than this has another range than one
# in nearly the same direction: nearer to it than this share of the mean distance between rays.
_FOLDED, _SAME_RAY = 0.003, 0.5
# That is judged by this many points; not for clouds with fewer than the second number, or whose
# origin is further away than this many times their size.
_ASKED, _LEAST_SEEN, _FAR = 4000, 500, 5.0
# Neighbours that a normal is estimated from.
_NEIGHBOURS = 20
# The surroundings that give a normal its sign reach this far, in voxels: far enough to be more than
# noise, near enough to be the same in two scans that share a part of their surface.
_SURROUNDINGS = 5.0


@dataclass(frozen=True)
class Scan:
    """One cloud on two grids, about its centroid, in voxels.

    Attributes:
        grid: (N, 3) float32, one point for each voxel, indexed.
        normals: (N, 3) unit vectors; see `faced` for the signs of estimated ones.
        estimated: (N, 3) unit vectors of either sign, whether or not the cloud has normals.
        fine: (F, 3) float32, one point for each voxel of half the edge, indexed.
        given: whether the normals came with the cloud, their signs included.
        eye: (3,) float32, where the sensor was, if the cloud is one scan from there.
        fine_normals: (F, 3) unit vectors of either sign, at the points of `fine`, for `polish`.
    """

    grid: Index
    normals: Tensor
    estimated: Tensor
    fine: Index
    given: bool
    eye: Tensor | None = None
    fine_normals: Tensor | None = None

    @property
    def points(self) -> Tensor:
        """(N, 3) the points of the grid."""
        return self.grid.points


@dataclass(frozen=True)
class Pair:
    """Two scans on a common grid.

    Attributes:
        source: the scan to move.
        target: the scan to move it onto.
        frame: between the clouds' unit and voxels.
    """

    source: Scan
    target: Scan
    frame: Frame

    @property
    def voxel(self) -> float:
        """The edge of the grid, in the clouds' unit."""
        return float(self.frame.scale)


def prepare(
    source: Cloud,
    target: Cloud,
    voxel: float | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Pair:
    """The two clouds on a common grid, with normals.

    Args:
        source: at least three points, not all in one place.
        target: likewise.
        voxel: edge of the grid; None chooses it so that each cloud has about `POINTS` voxels.
        seed: of the points the choice is made by.
        device: where the scans are put, and all that is computed from them. Random choices are made
            on the CPU, so that a seed means the same on all devices.

    Raises:
        ValueError: `voxel` is so small that the search could not compare each voxel with each.
    """
    generator = torch.Generator().manual_seed(seed)
    source, target = (thinned(cloud, generator, device) for cloud in (source, target))
    if voxel is None:
        voxel = choose_voxel(source.points, target.points, generator)
    else:
        _check_voxel(voxel, (source.points, target.points), generator)
    given = source.normals is not None and target.normals is not None
    # The two grids are rotated against each other: points on one lattice would look alike.
    askew = rotation_from_vector(torch.tensor([0.5, 0.7, 0.9], dtype=torch.float64))
    straight = torch.eye(3, dtype=torch.float64)
    scale = torch.tensor(voxel, dtype=torch.float64)
    frame = Frame(source.points.mean(0).cpu(), target.points.mean(0).cpu(), scale)
    # A search uses both sensors or none, so the second is not looked for if the first is unknown.
    first = sensor_of(source, generator)
    second = None if first is None else sensor_of(target, generator)

    def scan(side: tuple[Cloud, Callable[[Tensor], Tensor], Tensor, Tensor | None]) -> Scan:
        cloud, inward, turn, place = side
        own = cloud.normals if given else None
        scan = scan_on_grid(inward(cloud.points), own, turn, fine_normals=cloud is target)
        return scan if place is None else replace(scan, eye=inward(place).float())

    sides = (source, frame.source_in, askew, first), (target, frame.target_in, straight, second)
    return Pair(*both(scan, *sides, device), frame)


def both(
    work: Callable[[_Side], _Done], source: _Side, target: _Side, device: torch.device | str
) -> tuple[_Done, _Done]:
    """The results of `work` for the source and the target, in two threads if torch has them.

    On a GPU one thread is faster: the two would wait for each other with each operation.
    """
    if torch.get_num_threads() == 1 or torch.device(device).type != "cpu":
        return work(source), work(target)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, (source, target))
    return first, second


def sensor_of(cloud: Cloud, generator: torch.Generator) -> Tensor | None:
    """The position of the sensor, (3,): that of the file, or else the origin.

    None if the cloud does not look like one scan from there.
    """
    origin = cloud.points.new_zeros(3)
    for place in (cloud.sensor, origin):
        if place is not None and seen_from_origin(cloud.points - place.to(origin), generator):
            return place.to(origin)
    return None


def seen_from_origin(points: Tensor, generator: torch.Generator) -> bool:
    """True if a cloud looks like one scan by a sensor at the origin of its coordinates.

    Each ray then returns one point, and even at an edge the two ranges belong to neighbouring rays.
    Clouds that several scans were merged into, and those in other coordinates, have points of
    different ranges in nearly the same direction.
    """
    size = size_of(points)
    points = points[chosen(len(points), min(_SAMPLE, len(points)), generator)].double()
    away = points.norm(dim=-1)
    # From far away any surface looks like a scan.
    if len(points) < _LEAST_SEEN or not 0 < float(away.median()) < _FAR * size:
        return False
    # Copies of a point are no evidence: they would be neighbours of the same range. They have the
    # same weighted sum; other points do not.
    key, order = (points * points.new_tensor([1.0, math.pi, math.e])).sum(-1).sort(stable=True)
    first = key.diff(prepend=key[:1] - 1) > 0
    kept = order[first & (away[order] > 0)].sort().values
    points, away = points[kept], away[kept]
    directions = (points / away.unsqueeze(1)).float()
    some = slice(None, None, max(1, len(points) // _ASKED))
    beside = Index(directions).k_nearest(directions[some], 2)
    apart = beside.squared_distance[:, 1].sqrt()
    folded = (away[beside.index[:, 1]] - away[some]).abs() > 0.1 * away[some]
    folded &= apart < _SAME_RAY * apart.mean()
    return float(folded.double().mean()) < _FOLDED


def size_of(points: Tensor) -> float:
    """The size of a cloud: the median distance from its median point, robust to stray points.

    >>> size_of(torch.tensor([[0.0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [999, 0, 0]]))
    1.0
    """
    if len(points) > _SAMPLE:
        points = points[:: len(points) // _SAMPLE]
    return float((points - _median(points)).norm(dim=-1).median())


def _median(points: Tensor) -> Tensor:
    """The median of each coordinate, (3,). (Faster than `median(0)`, on a GPU by far.)"""
    return torch.stack([column.median() for column in points.unbind(1)])


def thinned(cloud: Cloud, generator: torch.Generator, device: torch.device | str = "cpu") -> Cloud:
    """At most `_MOST_RAW` random points, with normals and without stray points."""
    if len(cloud) > _MOST_RAW:
        cloud = cloud.select(chosen(len(cloud), _MOST_RAW, generator))
    normals = None if cloud.normals is None else cloud.normals.to(device)
    cloud = Cloud(cloud.points.to(device), normals, sensor=cloud.sensor)
    away = (cloud.points - _median(cloud.points)).norm(dim=-1)
    near = away <= _STRAY * away.median()
    # Where half the points coincide, the others are not strays.
    return cloud if bool(near.all()) or float(away.median()) == 0 else cloud.select(near)


def choose_voxel(source: Tensor, target: Tensor, generator: torch.Generator) -> float:
    """The edge of a grid on which both clouds have about `POINTS` points.

    The edge is the geometric mean of the edges that suit each cloud, with two limits. The larger
    cloud must not have too many points on the grid. No voxel should be smaller than the distance
    between points, so that a dense and a thin scan look the same.
    """
    some = _sample(source, generator), _sample(target, generator)

    def suiting(points: Tensor) -> float:
        return _edge(points, min(POINTS, int(_FILLED * len(points))))

    apt = both(suiting, *some, source.device)
    voxel = (apt[0] * apt[1]) ** 0.5
    for points in some:
        most = min(_MOST_POINTS, int(_FILLED * len(points)))
        if _occupied(points, voxel) > most:
            voxel = max(voxel, _edge(points, most))
    return voxel


class Edges(NamedTuple):
    """Edges of grids for one cloud.

    Attributes:
        apt: leaves about `POINTS` points.
        least: leaves as many points as the search takes, or as the cloud's spacing allows.
    """

    apt: float
    least: float


def suitable_edges(points: Tensor, generator: torch.Generator) -> Edges:
    """The edges of grids that suit one cloud, for `common_edge`."""
    some = _sample(points, generator)
    filled = int(_FILLED * len(some))
    return Edges(_edge(some, min(POINTS, filled)), _edge(some, min(_MOST_POINTS, filled)))


def common_edge(source: Edges, target: Edges) -> float:
    """The edge that `choose_voxel` returns, from statistics of each cloud.

    >>> common_edge(Edges(1.0, 0.5), Edges(4.0, 3.0))
    3.0
    """
    return max((source.apt * target.apt) ** 0.5, source.least, target.least)


def _check_voxel(voxel: float, clouds: tuple[Tensor, Tensor], generator: torch.Generator) -> None:
    """Raise if a cloud has more voxels on a grid than the search can compare."""
    counts = [_occupied(points, voxel) for points in clouds]
    if max(counts) > _MOST_ASKED:
        which = "source" if counts[0] > counts[1] else "target"
        need = max(_edge(points - points.mean(0), _MOST_ASKED) for points in clouds)
        apt = choose_voxel(*clouds, generator)
        raise ValueError(
            f"voxel {voxel:.3g} is too small: the {which} has {max(counts):,} of them, and the "
            f"search takes at most {_MOST_ASKED:,}. Use {_rounded_up(need)} or more, or none "
            f"(then {apt:.2g}): the final refinement uses all points in any case"
        )


def _rounded_up(value: float) -> str:
    """A number rounded up to two significant digits.

    >>> _rounded_up(0.0123), _rounded_up(45.0)
    ('0.013', '45')
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / step - 1e-9) * step:.2g}"


def _sample(points: Tensor, generator: torch.Generator) -> Tensor:
    if len(points) > _SAMPLE:
        points = points[chosen(len(points), _SAMPLE, generator)]
    return points - points.mean(0)


def chosen(count: int, most: int, generator: torch.Generator) -> Tensor:
    """`most` random positions below `count`; of very many the odd one twice, which is faster."""
    if count > 4 * most:
        return torch.randint(count, (most,), generator=generator)
    return torch.randperm(count, generator=generator)[:most]


def _edge(points: Tensor, count: int) -> float:
    """The edge of a grid on which the points, centred, occupy about `count` cells."""
    reach = float(points.abs().amax()) * 2
    points = points - points.amin(0)
    sides = points.amax(0).tolist()
    low, high = reach * 1e-5, reach
    for _ in range(14):
        middle = (low * high) ** 0.5
        if _cells(points, sides, middle) > count:
            low = middle
        else:
            high = middle
    return high


def _occupied(points: Tensor, edge: float) -> int:
    points = points - points.amin(0)
    return _cells(points, points.amax(0).tolist(), edge)


def _cells(points: Tensor, sides: list[float], edge: float) -> int:
    """The number of occupied cells, for points with coordinates from 0 to `sides`."""
    x, y, z = (points / edge).long().unbind(1)
    # One more than needed: a GPU may round the division up.
    width, height, depth = (int(side / edge) + 2 for side in sides)
    flat = z.add(y.add(x, alpha=height), alpha=depth)
    if width * height * depth > _MOST_MARKED:
        return len(flat.unique())
    marked = torch.zeros(width * height * depth, dtype=torch.bool, device=points.device)
    return int(marked.index_fill_(0, flat, True).count_nonzero())


def scan_on_grid(
    points: Tensor, normals: Tensor | None, turn: Tensor, *, fine_normals: bool = False
) -> Scan:
    """Points in voxels, averaged on grids whose axes are the columns of `turn`.

    `fine_normals` says whether to estimate those, too, which `polish` needs of the target.
    """
    turn = turn.to(points.device)

    def averaged(points: Tensor, edge: float, normals: Tensor | None) -> VoxelAverage:
        found = voxel_average(points @ turn, edge, None if normals is None else normals @ turn)
        back = None if found.normals is None else found.normals @ turn.mT
        return VoxelAverage(found.points @ turn.mT, back, edge)

    half = averaged(points, 0.5, normals)
    whole = averaged(half.points, 1.0, half.normals)
    fine, grid = Index(half.points.float()), Index(whole.points.float())
    # All in one search: on a GPU each takes a hundred operations.
    places = torch.cat([grid.points, fine.points]) if fine_normals else grid.points
    estimated, others = normals_at(places, fine).tensor_split([len(grid.points)])
    if whole.normals is None:
        facing = faced(grid, estimated)
    else:
        # Opposite normals of a thin sheet cancel within a voxel: any of them will do.
        lost = whole.normals.abs().amax(-1, keepdim=True) == 0
        facing = whole.normals.float().where(~lost, estimated)
    known = others if fine_normals else None
    return Scan(grid, facing, estimated, fine, normals is not None, fine_normals=known)


def normals_at(places: Tensor, fine: Index) -> Tensor:
    """Unit normals at (M, 3) places, of either sign, from the points of a scan's finer grid."""
    if len(fine.points) < 3:
        return places.new_tensor([0.0, 0.0, 1.0]).expand_as(places)
    return unsigned_normals(fine.points, _NEIGHBOURS, index=fine, at=places)


def faced(grid: Index, normals: Tensor) -> Tensor:
    """Normals with signs that agree between overlapping scans.

    A normal points to the side of its tangent plane on which the surroundings lie. On a flat
    surface the sign is noise, and so are the features there with any sign.

    Args:
        grid: (N, 3) points, in voxels.
        normals: (N, 3) of either sign.
    """
    first, second = grid.pairs_within(_SURROUNDINGS)
    # Coordinates in rows: sums over them are then sums of long vectors.
    places, facing = grid.points.mT.contiguous(), normals.mT.contiguous()
    line = places.index_select(1, second) - places.index_select(1, first)
    # A plane without noise has nothing above it: a little of the centroid's side decides there.
    towards = ((grid.points.mean(0) - grid.points) * normals).sum(-1)
    above = 1e-3 * towards
    for end, sign in ((first, 1), (second, -1)):
        above.index_add_(0, end, (line * facing.index_select(1, end)).sum(0), alpha=sign)
    return normals.where((above >= 0).unsqueeze(1), -normals)
