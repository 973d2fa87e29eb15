"""The nearest point is found exactly, whatever the sizes, in bounded memory."""

import pytest
import torch

from spoonful.geometry import neighbors
from spoonful.geometry.neighbors import nearest


def brute(query, points):
    squared = (query.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return squared.min(-1)


@pytest.mark.parametrize("budget", [1, 7, 64, 1 << 22])
def test_parts_of_any_size_give_the_same_answer(monkeypatch, generator, budget):
    monkeypatch.setattr(neighbors, "_BUDGET", budget)
    query = torch.rand(3, 11, 3, generator=generator)
    points = torch.rand(3, 13, 3, generator=generator)
    found, expected = nearest(query, points), brute(query, points)
    assert torch.equal(found.index, expected.indices)
    torch.testing.assert_close(found.squared_distance, expected.values)


def test_leading_dimensions_broadcast(generator):
    query = torch.rand(2, 5, 7, 3, generator=generator)
    points = torch.rand(2, 1, 9, 3, generator=generator)
    mask = torch.rand(2, 1, 9, generator=generator) > 0.3
    found = nearest(query, points, mask=mask)
    assert found.index.shape == (2, 5, 7)
    for i in range(2):
        for j in range(5):
            one = nearest(query[i, j], points[i, 0][mask[i, 0]])
            torch.testing.assert_close(found.squared_distance[i, j], one.squared_distance)


def test_masked_points_are_never_chosen_whatever_they_hold(generator):
    query = torch.rand(6, 3, generator=generator)
    points = torch.rand(8, 3, generator=generator)
    mask = torch.ones(8, dtype=torch.bool)
    mask[[0, 3, 7]] = False
    padded = points.clone()
    padded[0], padded[3], padded[7] = torch.nan, torch.inf, query[2]
    found = nearest(query, padded, mask=mask)
    torch.testing.assert_close(
        found.squared_distance, nearest(query, points[mask]).squared_distance
    )
    assert mask[found.index].all()


def test_with_every_point_masked_distances_are_inf_and_gradients_zero():
    query = torch.rand(2, 4, 3, requires_grad=True)
    points = torch.full((2, 5, 3), torch.nan)
    points[1] = torch.rand(5, 3)
    mask = torch.tensor([[False], [True]]).expand(2, 5)
    squared = nearest(query, points, mask=mask).squared_distance
    assert squared[0].isinf().all()
    assert squared[1].isfinite().all()
    squared[1].sum().backward()
    assert (query.grad[0] == 0).all()


def test_ties_go_to_the_smallest_index():
    points = torch.tensor([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert nearest(torch.zeros(1, 3), points).index.item() == 0
    assert nearest(torch.zeros(1, 3), points.flip(0)[1:]).index.item() == 0


def test_close_points_far_from_the_origin_are_told_apart():
    """|a|^2 - 2ab + |b|^2 would see all distances as zero or worse."""
    points = 1000 + torch.tensor([[0.0, 0, 0], [0.01, 0, 0], [0.02, 0, 0]])
    found = nearest(points + torch.tensor([0.002, 0, 0]), points)
    assert found.index.tolist() == [0, 1, 2]


def test_distances_are_differentiable_in_both_clouds(generator):
    query = torch.rand(2, 5, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    points = torch.rand(2, 6, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q, p: nearest(q, p).squared_distance, (query, points))


def test_a_nan_damages_only_its_own_cloud(generator):
    query = torch.rand(2, 5, 3, generator=generator)
    points = torch.rand(2, 6, 3, generator=generator)
    points[0, 2, 1] = torch.nan
    squared = nearest(query, points).squared_distance
    assert squared[0].isnan().all()
    assert squared[1].isfinite().all()


def test_an_empty_query_or_batch_is_fine():
    assert nearest(torch.zeros(0, 3), torch.zeros(4, 3)).index.shape == (0,)
    assert nearest(torch.zeros(0, 2, 3), torch.zeros(0, 4, 3)).index.shape == (0, 2)


def test_half_precision_is_searched_in_float32():
    found = nearest(torch.rand(4, 3).half(), torch.rand(5, 3).bfloat16())
    assert found.squared_distance.dtype == torch.float32


def test_mistakes_are_named():
    cloud = torch.zeros(4, 3)
    with pytest.raises(ValueError, match=r"query must have shape \(\.\.\., N, 3\), got \(4, 2\)"):
        nearest(torch.zeros(4, 2), cloud)
    with pytest.raises(TypeError, match=r"points must be floating point, got torch.int64"):
        nearest(cloud, cloud.long())
    with pytest.raises(ValueError, match="points must hold at least one point"):
        nearest(cloud, torch.zeros(0, 3))
    with pytest.raises(TypeError, match=r"mask must be a torch\.Tensor, got list"):
        nearest(torch.rand(4, 3), torch.rand(4, 3), mask=[True])
    with pytest.raises(ValueError, match=r"mask must be bool .*\(4,\), got torch.bool \(3,\)"):
        nearest(cloud, cloud, mask=torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"query and points must have leading dimensions"):
        nearest(torch.zeros(2, 4, 3), torch.zeros(3, 4, 3))
