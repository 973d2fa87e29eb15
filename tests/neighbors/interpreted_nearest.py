"""The nearest-neighbour kernel on the CPU, in Triton's interpreter: it compares all points.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib

import pytest
import torch

from neighbors.test_index import queries_and_points
from spoonful.neighbors import Index, nearest
from spoonful.neighbors.exhaustive_triton import nearest_of


def test_the_kernel_finds_the_nearest(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    query, points, mask, cloud = queries_and_points()
    points[0, 200] = points[0, 3]  # a tie
    wanted = nearest(query, points[cloud], mask=mask[cloud])
    far = points.masked_fill(~mask.unsqueeze(-1), torch.inf)
    index, squared = nearest_of(far, query, cloud)
    assert torch.equal(index, wanted.index)
    assert torch.equal(squared, wanted.squared_distance)


@pytest.mark.parametrize("k", [2, 20, 310])
def test_the_kernel_for_groups_finds_several(k, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    query, points, mask, cloud = queries_and_points()
    index = Index(points, mask)
    found = index._by_groups(query, k, cloud, None, 0.3)
    wanted = index._by_comparison(query, k, cloud, None, 0.3)
    there = wanted[1].isfinite()
    torch.testing.assert_close(found[1], wanted[1])
    assert torch.equal(found[0][there], wanted[0][there])
