"""The networks' Triton kernels on the CPU, in Triton's interpreter: torch's own numbers.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1). Everything is small: a tile takes a tenth of a second.
"""

from __future__ import annotations

import pytest
import torch

from spoonful.models import neighborhoods
from spoonful.models.kernels import edge_ops, neighbor_ops, sinkhorn_ops
from spoonful.models.sinkhorn import sinkhorn


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def relative(ours, theirs):
    return float((ours.detach() - theirs.detach()).abs().max() / theirs.detach().abs().max())


def assert_alike(ours, theirs, leaves, *, tolerance=2e-6):
    gradients = [torch.randn_like(x) for x in ours]
    for a, b in zip(ours, theirs, strict=True):
        assert relative(a, b) <= tolerance
    found = torch.autograd.grad(ours, leaves, gradients)
    exact = [g.to(x) for g, x in zip(gradients, theirs, strict=True)]
    wanted = torch.autograd.grad(theirs, leaves, exact)
    for a, b in zip(found, wanted, strict=True):
        assert relative(a, b) <= tolerance


@pytest.mark.parametrize(("points", "masked"), [(16, False), (21, True)])
def test_sums_and_extremes_of_a_written_layer(points, masked):
    items, k, channels = 2, 5, 70  # a tile and a bit of points and of channels
    y, gamma = torch.randn(items, points, k, channels), torch.randn(channels)
    mask = torch.rand(items, points) < 0.5 if masked else None
    ours = edge_ops.edge_summary(y, gamma, mask)
    sign = torch.where(gamma < 0, -1.0, 1.0)
    best, arg = (y * sign).max(2)
    counted = y if mask is None else y * mask[:, :, None, None]
    stats = torch.stack([counted.sum((1, 2)), counted.square().sum((1, 2))], 1)
    assert torch.equal(ours[0], best * sign)
    assert torch.equal(ours[1].long(), arg)
    assert relative(ours[2], stats) <= 2e-6


@pytest.mark.parametrize("slack", [True, False])
def test_soft_assignment_without_its_matrix(slack):
    affinity = 3 * torch.randn(1, 30, 40)
    affinity[0, 3] = -torch.inf  # a padded point, and one that fits nowhere
    affinity[0, :, 7] = -torch.inf
    affinity.requires_grad_()
    points = torch.randn(1, 40, 3)
    ours = sinkhorn_ops.soft_assign(affinity, points, 2, slack)[:3]
    # In float64: torch's own float32 gradient is off by 2e-6 on some processors.
    shares = sinkhorn(affinity.double(), iterations=2, slack=slack)
    assert_alike(ours, [shares.sum(-1), shares.sum(-2), shares @ points.double()], [affinity])


@pytest.mark.parametrize("left", [40, 3, None])
def test_neighbours_are_the_same(left):
    points = torch.rand(1, 40, 3)
    mask = None if left is None else torch.arange(40).unsqueeze(0) % 40 < left
    ours = neighbor_ops.knn(points, mask, 5), neighbor_ops.ball(points, mask, 0.3, 5)
    theirs = neighborhoods.knn(points, 5, mask=mask), neighborhoods.ball(points, 0.3, 5, mask=mask)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a.sort(-1).values, b.sort(-1).values)
