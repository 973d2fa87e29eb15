"""Fewer points, points on triangles, and pairs in the unit ball."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spoonful.data.sampling import (
    random_points,
    sample_surface,
    voxel_average,
    voxel_average_to,
)
from spoonful.geometry import Pose


def cloud(seed: int, count: int = 200, **kind: object) -> torch.Tensor:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(seed), **kind)


def pose(seed: int) -> Pose:
    generator = torch.Generator().manual_seed(seed)
    q = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64)).Q
    return Pose(q * q.det(), torch.randn(3, generator=generator, dtype=torch.float64))


# Voxel averages.


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), size=st.floats(0.05, 5.0))
def test_voxel_averages_are_the_means_of_their_cells(seed: int, size: float) -> None:
    points = cloud(seed, dtype=torch.float64)
    cells = ((points - points.amin(0)) / size).floor().long()
    expected = [
        points[(cells == cell).all(-1)].mean(0) for cell in torch.unique(cells, dim=0).unbind()
    ]
    torch.testing.assert_close(voxel_average(points, size).points, torch.stack(expected))


def test_a_cell_as_large_as_the_cloud_leaves_the_centroid() -> None:
    points = cloud(0)
    average = voxel_average(points, 100.0).points
    torch.testing.assert_close(average, points.mean(0, keepdim=True))


def test_tiny_cells_leave_the_points() -> None:
    points = cloud(0)
    kept = voxel_average(points, 1e-12).points
    torch.testing.assert_close(kept.sort(0).values, points.sort(0).values, atol=0, rtol=0)


def test_voxel_average_moves_with_the_cloud() -> None:
    points = cloud(1, dtype=torch.float64).mul(1024).round() / 1024
    shift = torch.tensor([524288.0, -65536.0, 128.0], dtype=torch.float64)
    moved = voxel_average(points + shift, 0.5).points - shift
    torch.testing.assert_close(moved, voxel_average(points, 0.5).points, atol=1e-9, rtol=0)


def test_voxel_average_does_not_depend_on_the_order_of_points() -> None:
    points = cloud(2)
    shuffled = points[torch.randperm(len(points), generator=torch.Generator().manual_seed(0))]
    first, second = voxel_average(points, 0.7).points, voxel_average(shuffled, 0.7).points
    torch.testing.assert_close(first, second)


def test_voxel_normals_are_averaged_to_unit_length() -> None:
    points = torch.tensor([[0.0, 0, 0], [0.1, 0, 0], [5, 0, 0], [5.1, 0, 0]])
    normals = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    averaged = voxel_average(points, 1.0, normals).normals
    half = math.sqrt(0.5)
    torch.testing.assert_close(averaged, torch.tensor([[half, half, 0.0], [0, 0, 0]]))


@given(seed=st.integers(0, 10**6), count=st.integers(1, 200))
@pytest.mark.slow
def test_the_search_for_a_cell_size_leaves_exactly_count(seed: int, count: int) -> None:
    points = cloud(seed)
    found = voxel_average_to(points, count, normals=points)
    assert found.points.shape == (count, 3)
    assert found.normals is not None
    assert found.normals.shape == (count, 3)
    grid = {tuple(p) for p in voxel_average(points, found.size).points.tolist()}
    assert {tuple(p) for p in found.points.tolist()} <= grid


def test_the_paper_s_1024_points_need_no_random_choice() -> None:
    points = cloud(3, 20_000)
    first = voxel_average_to(points, 1024, generator=torch.Generator().manual_seed(0))
    second = voxel_average_to(points, 1024, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first.points, second.points)
    assert len(voxel_average(points, first.size).points) == 1024


def test_where_no_size_fits_a_seeded_subset_is_taken() -> None:
    # A regular grid: cells merge by whole layers, and 50 is never met.
    axis = torch.arange(8.0)
    points = torch.cartesian_prod(axis, axis, axis)
    found = [
        voxel_average_to(points, 50, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    ]
    assert len(voxel_average(points, found[0].size).points) == 64
    assert torch.equal(found[0].points, found[1].points)
    assert not torch.equal(found[0].points, found[2].points)


def test_too_few_distinct_points_are_an_error() -> None:
    with pytest.raises(ValueError, match="points holds 2 distinct points, but count is 3"):
        voxel_average_to(torch.tensor([[0.0, 0, 0]] * 5 + [[1.0, 0, 0]] * 5), 3)
    with pytest.raises(ValueError, match="points holds 1 distinct points, but count is 2"):
        voxel_average_to(torch.ones(5, 3), 2)
    assert voxel_average_to(torch.ones(5, 3), 1).points.tolist() == [[1, 1, 1]]


def test_voxel_mistakes_are_named() -> None:
    for wrong, words in [
        ((torch.rand(2, 5, 3), 1.0), r"points must have shape \(N, 3\)"),
        ((torch.zeros(0, 3), 1.0), "N >= 1"),
        ((torch.rand(5, 3), 0.0), "size must be positive"),
        ((torch.rand(5, 3), torch.nan), "size must be positive"),
        ((torch.rand(5, 3) * torch.inf, 1.0), "points must be finite"),
        ((torch.rand(5, 3), 1.0, torch.rand(4, 3)), "normals must have the shape of points"),
    ]:
        with pytest.raises(ValueError, match=words):
            voxel_average(*wrong)


# Random points.


def test_random_points_are_a_uniform_subset() -> None:
    generator = torch.Generator().manual_seed(0)
    index = random_points(torch.rand(4000, 5, 3), 2, generator)
    assert (index[:, 0] != index[:, 1]).all()
    counts = torch.bincount(index.flatten(), minlength=5)
    assert ((counts - 1600).abs() < 150).all()


def test_more_points_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"count must be between 1 and .* 10, got 11"):
        random_points(torch.rand(10, 3), 11)


# Points on triangles.


def test_surface_samples_are_uniform_by_area() -> None:
    # A square of two triangles, a second one twice as far across, and a triangle without area.
    vertices = torch.tensor(
        [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 9], [2, 0, 9], [0, 2, 9]]
    )
    faces = torch.tensor([[0, 1, 2], [0, 2, 3], [1, 1, 2], [4, 5, 6]])
    sample = sample_surface(vertices, faces, 30_000, torch.Generator().manual_seed(0))
    share = torch.bincount(sample.face, minlength=4) / 30_000
    torch.testing.assert_close(share, torch.tensor([1, 1, 0, 4]) / 6, atol=0.01, rtol=0)
    square = sample.points[sample.face < 2]
    cells = torch.bincount((square[:, 0] * 4).long() * 4 + (square[:, 1] * 4).long(), minlength=16)
    assert (cells / cells.sum() - 1 / 16).abs().max() < 0.01


def test_surface_samples_lie_on_their_triangles() -> None:
    generator = torch.Generator().manual_seed(0)
    vertices = torch.randn(30, 3, generator=generator, dtype=torch.float64)
    faces = torch.randint(0, 30, (20, 3), generator=generator)
    sample = sample_surface(vertices, faces, 500, generator)
    corners = vertices[faces[sample.face]]
    weights = torch.linalg.lstsq(
        torch.cat([corners.mT, torch.ones(500, 1, 3)], dim=1),
        torch.cat([sample.points, torch.ones(500, 1)], dim=1).unsqueeze(-1),
    ).solution
    assert weights.min() > -1e-9
    normal = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    torch.testing.assert_close(
        sample.normals, normal / torch.linalg.vector_norm(normal, dim=-1, keepdim=True)
    )


def test_surface_samples_repeat_with_their_generator() -> None:
    vertices, faces = torch.rand(9, 3), torch.arange(9).reshape(3, 3)
    first, again = (
        sample_surface(vertices, faces, 50, torch.Generator().manual_seed(3)) for _ in range(2)
    )
    assert torch.equal(first.points, again.points)


def test_surfaces_without_area_are_an_error() -> None:
    for faces in (torch.zeros(0, 3, dtype=torch.int64), torch.tensor([[0, 0, 1]])):
        with pytest.raises(ValueError, match="faces must have a total area above 0"):
            sample_surface(torch.rand(3, 3), faces, 10)
