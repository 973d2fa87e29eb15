"""The index finds what comparing all points finds, on every path."""

from __future__ import annotations

import sys

import pytest
import torch

import spoonful.neighbors as module
from spoonful.extras import MissingExtra
from spoonful.neighbors import Index, nearest

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def queries_and_points():
    generator = torch.Generator().manual_seed(0)
    query = torch.rand(3, 70, 3, generator=generator)
    points = torch.rand(2, 300, 3, generator=generator)
    mask = torch.rand(2, 300, generator=generator) > 0.3
    return query, points, mask, torch.tensor([1, 0, 1])


@pytest.fixture(params=["trees", "comparison", "blocks"])
def path(request, monkeypatch):
    """Each way to search on the CPU."""
    if request.param != "trees":
        monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    if request.param == "blocks":
        monkeypatch.setattr(module, "_EXHAUSTIVE", 1)
    return request.param


def test_every_path_finds_the_nearest(path):
    query, points, mask, cloud = queries_and_points()
    wanted = nearest(query, points[cloud], mask=mask[cloud])
    found = Index(points, mask).nearest(query, cloud=cloud)
    assert torch.equal(found.index, wanted.index)
    assert torch.allclose(found.squared_distance, wanted.squared_distance)


def test_every_path_finds_the_k_nearest(path):
    query, points, mask, cloud = queries_and_points()
    distance = torch.cdist(query.double(), points[cloud].double())
    distance = distance.masked_fill(~mask[cloud].unsqueeze(1), torch.inf).float()
    wanted = distance.topk(5, largest=False)
    found = Index(points, mask).k_nearest(query, 5, cloud=cloud)
    assert torch.equal(found.index, wanted.indices)
    assert torch.allclose(found.squared_distance.sqrt(), wanted.values, atol=1e-6)


def test_one_cloud_takes_queries_of_any_shape(path):
    query, points, _, _ = queries_and_points()
    found = Index(points[0]).nearest(query)
    assert torch.equal(found.index, nearest(query, points[0]).index)


def test_padding_and_points_out_of_reach_are_not_found(path):
    query, points, _, cloud = queries_and_points()
    real = torch.arange(70).expand(3, -1) < 50
    wanted = nearest(query, points[cloud]).squared_distance
    found = Index(points).nearest(query, cloud=cloud, mask=real, reach=0.05).squared_distance
    near = real & (wanted <= 0.05**2)
    assert 0 < near.sum() < near.numel()
    assert torch.equal(found.isfinite(), near)
    assert torch.allclose(found[near], wanted[near])


def test_fewer_points_than_neighbours(path):
    points = torch.rand(40, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(40) < 5
    found = Index(points, mask).k_nearest(points, 8)
    assert (found.squared_distance.isfinite().sum(-1) == 5).all()
    assert (found.index < 5)[found.squared_distance.isfinite()].all()
    assert Index(points, mask & False).nearest(points).squared_distance.isinf().all()


def test_pairs_within_a_radius():
    pytest.importorskip("scipy")
    _, (points, _), _, _ = queries_and_points()
    first, second = Index(points).pairs_within(0.1)
    wanted = (torch.cdist(points.double(), points.double()) <= 0.1).triu(1).nonzero()
    assert {*zip(first.tolist(), second.tolist(), strict=True)} == {*map(tuple, wanted.tolist())}
    assert Index(points).count_within(0.1) == len(wanted)


def test_pairs_without_scipy_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    with pytest.raises(MissingExtra, match=r"spoonful\[register\]"):
        Index(torch.rand(4, 3)).pairs_within(0.1)


@pytest.mark.parametrize("k", [1, 20])
def test_blocks_of_all_sizes_find_what_comparing_all_finds(k, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(6000, 3, generator=generator)
    # Far outliers, and many points in one place.
    points[2000:2020] *= 1000
    points[3000:3400] = points[3000]
    valid = torch.rand(6000, generator=generator) > 0.1
    query = torch.cat([points[:500], points[2000:2020], torch.zeros(1, 3) + 9])
    found = Index(points, valid).k_nearest(query, k)
    monkeypatch.setattr(module, "_EXHAUSTIVE", 10**9)
    wanted = Index(points, valid).k_nearest(query, k)
    # Ties may be broken differently, so it is the distances that agree.
    torch.testing.assert_close(found.squared_distance, wanted.squared_distance)
    assert valid[found.index].all()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"points must have shape .* got \(4, 2\)"):
        Index(torch.rand(4, 2))
    with pytest.raises(TypeError, match=r"points must be float32 or float64, got torch.int64"):
        Index(torch.zeros(4, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(4,\)"):
        Index(torch.rand(4, 3), torch.ones(5, dtype=torch.bool))


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_on_a_gpu_the_kernel_finds_the_nearest(dtype):
    query, points, mask, cloud = (x.cuda() for x in queries_and_points())
    query, points = query.to(dtype), points.to(dtype)
    wanted = nearest(query, points[cloud], mask=mask[cloud])
    found = Index(points, mask).nearest(query, cloud=cloud)
    assert torch.allclose(found.squared_distance, wanted.squared_distance)
    assert (found.index == wanted.index).float().mean() > 0.99


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("k", [2, 20])
def test_on_a_gpu_groups_of_points_hold_the_nearest(k):
    query, points, mask, cloud = queries_and_points()
    wanted = Index(points, mask).k_nearest(query, k, cloud=cloud, reach=0.4)
    index = Index(points.cuda(), mask.cuda())
    found = index.k_nearest(query.cuda(), k, cloud=cloud.cuda(), reach=0.4)
    there = wanted.squared_distance.isfinite()
    assert torch.allclose(found.squared_distance.cpu(), wanted.squared_distance)
    assert torch.equal(found.index.cpu()[there], wanted.index[there])


@pytest.mark.gpu
@on_gpu
def test_on_a_gpu_a_query_may_have_millions_of_points():
    points = torch.rand(64, 3, generator=torch.Generator().manual_seed(0)).cuda()
    query = points.repeat(1 << 16, 1)  # more blocks than a grid's second dimension holds
    found = Index(points).nearest(query, reach=1.0)
    assert torch.equal(found.index, torch.arange(64).cuda().repeat(1 << 16))
