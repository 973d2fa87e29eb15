"""The networks' Triton kernels on the CPU, in Triton's interpreter: torch's own numbers.

Run by test_kernels.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1). Everything is small: a tile takes a tenth of a second.
"""

from __future__ import annotations

import pytest
import torch

from spoonful.models import neighborhoods
from spoonful.models.edges import edge_linear
from spoonful.models.kernels import edge_ops, neighbor_ops, sinkhorn_ops
from spoonful.models.sinkhorn import sinkhorn


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def relative(ours, theirs):
    return float((ours.detach() - theirs.detach()).abs().max() / theirs.detach().abs().max())


def assert_alike(ours, theirs, leaves, *, tolerance=2e-6):
    gradients = [torch.randn_like(x) for x in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert relative(a, b) <= tolerance
    found, wanted = (torch.autograd.grad(x, leaves, gradients) for x in (ours, theirs))
    for a, b in zip(found, wanted, strict=True):
        assert relative(a, b) <= tolerance


@pytest.mark.parametrize(("k", "features", "masked"), [(5, 4, False), (33, 0, True)])
def test_layers_on_edges_with_their_sums_and_extremes(k, features, masked):
    items, points, narrow, wide = 1, 3, 12, 20

    def leaf(*shape):
        return torch.randn(*shape).requires_grad_()

    cloud, index = torch.randn(items, points, 3), torch.randint(0, points, (items, points, k))
    extra = torch.randn(items, points, k, features) if features else None
    entry = [leaf(narrow, 3), leaf(narrow, 3), leaf(narrow) if features else None, extra]
    entry.append(leaf(narrow, features) if features else None)
    layer = [leaf(items, narrow), leaf(items, narrow), leaf(wide, narrow)]
    layer.append(leaf(wide) if features else None)
    signs = torch.randn(narrow), torch.randn(wide)
    mask = torch.tensor([[True, False, True]]) if masked else None

    def stats(y):
        y = y if mask is None else y * mask[:, :, None, None]
        return torch.stack([y.sum((1, 2)), y.square().sum((1, 2))], 1)

    def extreme(y, sign):
        return torch.where(sign < 0, y.amin(2), y.amax(2))

    y, y_extreme, _, y_stats = edge_ops.edge_first(
        cloud, index, *entry, signs[0], mask, True, torch.float32
    )
    z, z_extreme, _, z_stats = edge_ops.edge_layer(y, *layer, signs[1], mask, True, True)
    ours = [y, y_extreme, y_stats, z, z_extreme, z_stats]

    y = edge_linear(cloud, index, *entry)
    scale, shift, weight, bias = layer
    z = torch.relu(y * scale[:, None, None] + shift[:, None, None]) @ weight.mT
    z = z if bias is None else z + bias
    theirs = [y, extreme(y, signs[0]), stats(y), z, extreme(z, signs[1]), stats(z)]
    leaves = [x for x in (*entry, *layer) if x is not None and x.requires_grad]
    assert_alike(ours, theirs, leaves)


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
    shares = sinkhorn(affinity, iterations=2, slack=slack)
    assert_alike(ours, [shares.sum(-1), shares.sum(-2), shares @ points], [affinity])


@pytest.mark.parametrize("left", [40, 3, None])
def test_neighbours_are_the_same(left):
    points = torch.rand(1, 40, 3)
    mask = None if left is None else torch.arange(40).unsqueeze(0) % 40 < left
    ours = neighbor_ops.knn(points, mask, 5), neighbor_ops.ball(points, mask, 0.3, 5)
    theirs = neighborhoods.knn(points, 5, mask=mask), neighborhoods.ball(points, 0.3, 5, mask=mask)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a.sort(-1).values, b.sort(-1).values)
