"""Fewer points, or points from triangles, and a common size for the two clouds of a pair.

Every random choice takes a `torch.Generator`, on the device of the points; without one, torch's
own generator is used.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.geometry.exact import matmul3, rotate


class VoxelAverage(NamedTuple):
    """One point for each occupied cell of a grid.

    Attributes:
        points: (V, 3) the mean of the points in each cell, cells in lexicographic order.
        normals: (V, 3) the mean normals, made unit again (zero where they cancel), or None.
        size: the edge of a cell.
    """

    points: Tensor
    normals: Tensor | None
    size: float


class SurfaceSample(NamedTuple):
    """Points on a mesh.

    Attributes:
        points: (count, 3).
        normals: (count, 3) unit normals of the triangles they lie on.
        face: (count,) which triangle that is.
    """

    points: Tensor
    normals: Tensor
    face: Tensor


def voxel_average(points: Tensor, size: float, normals: Tensor | None = None) -> VoxelAverage:
    """Replace the points in each cubic cell of edge `size` by their mean.

    The grid starts at the least coordinates of the cloud, so that a cloud and its translated
    copy give the same result, and a cell as large as the cloud gives one point.

    Args:
        points: (N, 3).
        size: edge of a cell, in the units of the points.
        normals: (N, 3), averaged along.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [5, 0, 0]])
    >>> voxel_average(line, 2.0).points
    tensor([[0.5000, 0.0000, 0.0000],
            [5.0000, 0.0000, 0.0000]])
    """
    _check_cloud(points, "points")
    if normals is not None and normals.shape != points.shape:
        raise ValueError(
            f"normals must have the shape of points, {tuple(points.shape)}, "
            f"got {tuple(normals.shape)}"
        )
    if not 0 < size < torch.inf:
        raise ValueError(f"size must be positive and finite, got {size}")
    cell, cells = _cells(points, size)
    count = torch.bincount(cell, minlength=cells).unsqueeze(-1)

    def mean(values: Tensor) -> Tensor:
        # Summed about one of the points: the mean of UTM coordinates keeps its last digits.
        first = values[0].double()
        total = first.new_zeros(cells, 3).index_add_(0, cell, values.double() - first)
        return total / count + first

    averaged = None if normals is None else _unit(mean(normals)).to(normals.dtype)
    return VoxelAverage(mean(points).to(points.dtype), averaged, float(size))


def voxel_average_to(
    points: Tensor,
    count: int,
    normals: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> VoxelAverage:
    """Voxel average with the cell size, found by bisection, that leaves `count` points.

    The number of occupied cells falls as cells grow, but in jumps, and not quite monotonically:
    sometimes no size leaves exactly `count`. Then the size found that leaves the fewest cells
    not below `count` is used, and a random subset of that many is kept.

    Args:
        points: (N, 3), with at least `count` distinct points.
        count: how many to leave (the paper: 1024).
        normals: (N, 3), averaged along.
        generator: chooses the subset, in the rare case.

    >>> cloud = torch.rand(5000, 3, generator=torch.Generator().manual_seed(0))
    >>> voxel_average_to(cloud, 1024).points.shape
    torch.Size([1024, 3])
    """
    _check_cloud(points, "points")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    extent = float((points.amax(0).double() - points.amin(0).double()).max()) or 1.0

    # `small` always leaves at least `count` cells, `large` fewer.
    large, small, best = 2.0 * extent, 2.0 * extent, 1
    while best < count:
        large, small = small, small / 2
        if small < 1e-9 * extent:
            distinct = len(torch.unique(points, dim=0))
            raise ValueError(f"points holds {distinct} distinct points, but count is {count}")
        best = _cells(points, small)[1]
    chosen = small
    for _ in range(48):
        if best == count or small >= large * (1 - 1e-12):
            break
        middle = 0.5 * (small + large)
        cells = _cells(points, middle)[1]
        if cells < count:
            large = middle
        else:
            small = middle
            if cells < best:
                chosen, best = middle, cells

    result = voxel_average(points, chosen, normals)
    if best > count:
        keep = random_points(result.points, count, generator).sort().values
        kept_normals = None if result.normals is None else result.normals[keep]
        result = VoxelAverage(result.points[keep], kept_normals, chosen)
    return result


def farthest_points(
    points: Tensor,
    count: int,
    generator: torch.Generator | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Farthest-point sampling: each choice is the point farthest from all chosen before.

    Args:
        points: (..., N, 3).
        count: how many, at most the number of points in each cloud.
        generator: chooses the first point; without one it is the first of each cloud.
        mask: (..., N) bool, False for padding, which is never chosen.

    Returns:
        (..., count) positions, in the order they were chosen: any beginning of it is a
        farthest-point sample too. `take(points, index)` gathers them.

    >>> line = torch.tensor([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [9, 0, 0]])
    >>> farthest_points(line, 3)
    tensor([0, 3, 2])
    """
    flat, allowed = _flat(points, mask, count)
    rows = torch.arange(len(flat), device=flat.device)
    if generator is None:
        chosen = allowed.int().argmax(-1)
    else:
        chosen = _random_keys(allowed, generator).argmax(-1)
    # A centred copy: float32 squares of large coordinates would hide small distances.
    flat = flat - flat[rows, chosen].unsqueeze(1)
    nearest = torch.full(allowed.shape, torch.inf, dtype=flat.dtype, device=flat.device)
    nearest.masked_fill_(~allowed, -1.0)
    index = [chosen]
    for _ in range(count - 1):
        distance = (flat - flat[rows, chosen].unsqueeze(1)).square().sum(-1)
        nearest = torch.minimum(nearest, distance)
        # A chosen point must not come back where all others coincide with chosen ones.
        nearest[rows, chosen] = -1.0
        chosen = nearest.argmax(-1)
        index.append(chosen)
    return torch.stack(index, -1).reshape(*points.shape[:-2], count)


def random_points(
    points: Tensor,
    count: int,
    generator: torch.Generator | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """A uniformly random subset of each cloud, without replacement, in random order.

    Args:
        points: (..., N, 3).
        count: how many, at most the number of points in each cloud.
        generator: makes the choice.
        mask: (..., N) bool, False for padding, which is never chosen.

    Returns:
        (..., count) positions; `take(points, index)` gathers them.

    >>> index = random_points(torch.rand(2, 10, 3), 4)
    >>> index.shape, len(set(index[0].tolist()))
    (torch.Size([2, 4]), 4)
    """
    _, allowed = _flat(points, mask, count)
    index = _random_keys(allowed, generator).argsort(-1, descending=True)[:, :count]
    return index.reshape(*points.shape[:-2], count)


def take(values: Tensor, index: Tensor) -> Tensor:
    """Gather rows: (..., N, C) values at (..., K) positions give (..., K, C).

    >>> take(torch.eye(3), torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    return values.gather(-2, index.unsqueeze(-1).expand(*index.shape, values.shape[-1]))


def sample_surface(
    vertices: Tensor, faces: Tensor, count: int, generator: torch.Generator | None = None
) -> SurfaceSample:
    """Points spread uniformly by area over triangles.

    A triangle is chosen with probability proportional to its area, then a point in it as
    `a + sqrt(u) ((1 - v) (b - a) + v (c - a))` with u, v uniform. Triangles without area are
    never chosen.

    Args:
        vertices: (V, 3).
        faces: (F, 3) int64, counter-clockwise seen from the side the normals point to.
        count: how many points.
        generator: makes all choices.

    >>> vertices = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> sample = sample_surface(vertices, torch.tensor([[0, 1, 2]]), 5)
    >>> sample.normals[0]
    tensor([0., 0., 1.])
    """
    _check_cloud(vertices, "vertices")
    if faces.ndim != 2 or faces.shape[1] != 3:
        raise ValueError(f"faces must have shape (F, 3), got {tuple(faces.shape)}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    corners = vertices[faces].double()
    a = corners[:, 0]
    ab, ac = corners[:, 1] - a, corners[:, 2] - a
    cross = torch.linalg.cross(ab, ac)
    cumulative = torch.linalg.vector_norm(cross, dim=-1).cumsum(0)
    total = cumulative[-1] if len(faces) else cumulative.new_zeros(())
    if not 0 < total < torch.inf:
        raise ValueError(
            f"faces must have a total area above 0, and finite; got {float(total) / 2}"
        )
    device = vertices.device
    where, u, v = torch.rand(
        3, count, generator=generator, dtype=torch.float64, device=device
    ).unbind()
    # `right`: the first triangle whose cumulative area exceeds the number, never an empty one.
    face = torch.searchsorted(cumulative, where * total, right=True).clamp_max(len(faces) - 1)
    root, v = u.sqrt().unsqueeze(-1), v.unsqueeze(-1)
    points = a[face] + root * ((1 - v) * ab[face] + v * ac[face])
    return SurfaceSample(points.to(vertices.dtype), _unit(cross)[face].to(vertices.dtype), face)


class PairFrame(NamedTuple):
    """A pair of clouds in the unit ball, and the way back to the user's own units.

    `source = (original source - source_center) / scale`, and likewise the target.

    Attributes:
        source: (..., N, 3) within the unit ball.
        target: (..., M, 3) within the unit ball.
        source_center: (..., 3) float64, in the original units.
        target_center: (..., 3) float64, in the original units.
        scale: (...) float64, original units for one unit here.
    """

    source: Tensor
    target: Tensor
    source_center: Tensor
    target_center: Tensor
    scale: Tensor

    def to_original(self, pose: Pose) -> Pose:
        """The pose between the original clouds, from one between `source` and `target`.

        `R` stays, `t = scale t' + target_center - R source_center`. All in float64, where `R` is
        first made orthogonal to that precision: a float32 rotation moves a point a thousand
        kilometres from the origin by centimetres.

        Returns:
            A float64 pose.
        """
        rotation = _polished(pose.rotation.double())
        moved = rotate(rotation, self.source_center.unsqueeze(-2)).squeeze(-2)
        scaled = self.scale.unsqueeze(-1) * pose.translation.double()
        return Pose(rotation, scaled + self.target_center - moved)

    def from_original(self, pose: Pose) -> Pose:
        """The pose between `source` and `target`, from one between the original clouds.

        Returns:
            A pose in the dtype of `source`: `t' = (R source_center + t - target_center) / scale`.
        """
        rotation = _polished(pose.rotation.double())
        moved = rotate(rotation, self.source_center.unsqueeze(-2)).squeeze(-2)
        offset = moved + pose.translation.double() - self.target_center
        return Pose(rotation, offset / self.scale.unsqueeze(-1)).to(self.source.dtype)


def normalize_pair(
    source: Tensor,
    target: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    shared_center: bool = False,
) -> PairFrame:
    """Bring both clouds of a pair into the unit ball by one common scale.

    Each cloud is centred on its own centroid, so that clouds in unrelated frames (a scan near
    its sensor, a map in UTM) come together; the scale is the largest distance from a centroid.

    Args:
        source: (..., N, 3).
        target: (..., M, 3), with the same leading dimensions.
        source_mask: (..., N) bool, False for padding (which is centred, but decides nothing).
        target_mask: (..., M) bool.
        shared_center: centre both on the target's centroid instead; the poses then differ from
            the original ones by the scale alone when that centroid is the origin.

    >>> source, target = 1000 * torch.rand(50, 3), 1000 * torch.rand(60, 3) + 5000
    >>> pair = normalize_pair(source, target)
    >>> bool(pair.source.norm(dim=-1).max() <= 1), bool(pair.target.norm(dim=-1).max() <= 1)
    (True, True)
    >>> pose = pair.to_original(Pose.identity())
    >>> moved = (pose.apply(source.double()) - pair.target_center) / pair.scale
    >>> bool(torch.allclose(moved, pair.source.double(), atol=1e-5))
    True
    """
    target_center = _centroid(target, target_mask, "target")
    source_center = target_center if shared_center else _centroid(source, source_mask, "source")
    if source.shape[:-2] != target.shape[:-2]:
        raise ValueError(
            "source and target must have the same leading dimensions, "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    moved_source = source.double() - source_center.unsqueeze(-2)
    moved_target = target.double() - target_center.unsqueeze(-2)
    scale = torch.maximum(_radius(moved_source, source_mask), _radius(moved_target, target_mask))
    if not bool(((scale > 0) & scale.isfinite()).all()):
        raise ValueError("source and target must be finite and hold more than one distinct point")
    # A hair above the radius, so that rounding to float32 leaves no point outside the ball.
    scale = scale * (1 + 4 * torch.finfo(source.dtype).eps)
    divisor = scale[..., None, None]
    return PairFrame(
        (moved_source / divisor).to(source.dtype),
        (moved_target / divisor).to(target.dtype),
        source_center,
        target_center,
        scale,
    )


def _check_cloud(points: Tensor, name: str) -> None:
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(f"{name} must have shape (N, 3) with N >= 1, got {tuple(points.shape)}")
    if not points.is_floating_point():
        raise TypeError(f"{name} must be floating point, got {points.dtype}")
    if not bool(points.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def _unit(vectors: Tensor) -> Tensor:
    # Scaled by the largest component first, whose square neither overflows nor vanishes.
    largest = vectors.abs().amax(-1, keepdim=True)
    vectors = vectors / largest.where(largest > 0, 1.0)
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.where(length > 0, 1.0)


def _cells(points: Tensor, size: float) -> tuple[Tensor, int]:
    """The number of each point's cell among the occupied ones, (N,), and how many there are."""
    cell = ((points.double() - points.amin(0).double()) / size).floor()
    # Cells in a row, numbered in one integer where they fit, which sorts ten times faster.
    sides = cell.amax(0) + 1
    if not float(sides.max()) < 2**62:
        raise ValueError(f"size must not be so much smaller than the cloud, got {size}")
    numbers = cell.long()
    if float(sides.prod()) < 2**62:
        side = sides.long()
        key = (numbers[:, 0] * side[1] + numbers[:, 1]) * side[2] + numbers[:, 2]
        occupied, inverse = torch.unique(key, return_inverse=True)
    else:
        occupied, inverse = torch.unique(numbers, dim=0, return_inverse=True)
    return inverse, len(occupied)


def _flat(points: Tensor, mask: Tensor | None, count: int) -> tuple[Tensor, Tensor]:
    """Points (B, N, 3) and which may be chosen (B, N), once `count` is known to be possible."""
    if points.ndim < 2 or points.shape[-1] != 3:
        raise ValueError(f"points must have shape (..., N, 3), got {tuple(points.shape)}")
    n = points.shape[-2]
    if mask is None:
        mask = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    elif mask.shape != points.shape[:-1]:
        raise ValueError(
            f"mask must have shape {tuple(points.shape[:-1])}, got {tuple(mask.shape)}"
        )
    allowed = mask.reshape(-1, n)
    least = int(allowed.sum(-1).min()) if allowed.numel() else 0
    if not 1 <= count <= least:
        raise ValueError(f"count must be between 1 and the number of points, {least}, got {count}")
    return points.reshape(-1, n, 3), allowed


def _random_keys(allowed: Tensor, generator: torch.Generator | None) -> Tensor:
    # float64: among millions of float32 numbers many are equal, and ties are not uniform.
    keys = torch.rand(
        allowed.shape, generator=generator, dtype=torch.float64, device=allowed.device
    )
    return keys.masked_fill(~allowed, -1.0)


def _centroid(points: Tensor, mask: Tensor | None, name: str) -> Tensor:
    if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] == 0:
        raise ValueError(f"{name} must have shape (..., N, 3), got {tuple(points.shape)}")
    double = points.double()
    if mask is None:
        return double.mean(-2)
    kept = mask.unsqueeze(-1)
    return double.where(kept, 0.0).sum(-2) / kept.sum(-2).clamp_min(1)


def _radius(centred: Tensor, mask: Tensor | None) -> Tensor:
    distance = torch.linalg.vector_norm(centred, dim=-1)
    if mask is not None:
        distance = distance.where(mask, 0.0)
    return distance.amax(-1)


def _polished(rotation: Tensor) -> Tensor:
    """One Newton step towards the nearest orthogonal matrix: float32 error in, float64 out."""
    gram = matmul3(rotation.mT, rotation)
    correction = 1.5 * torch.eye(3, dtype=rotation.dtype, device=rotation.device) - 0.5 * gram
    return matmul3(rotation, correction)
