"""Mixed precision touches the networks and leaves the geometry alone."""

from __future__ import annotations

import pytest
import torch

from models.helpers import SMALL, gradients, make_batch, small_dcp, small_rpmnet, with_layer
from spoonful.metrics import rotation_error_degrees
from spoonful.models.edges import edge_linear
from spoonful.models.norms import LayerNorm
from spoonful.models.precision import mix


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mkldnn_matmul")  # processors without bfloat16
@pytest.mark.parametrize("name", ["dcp-v2", "dcp-pointnet", "rpmnet"])
def test_autocast_trains_with_poses_in_float32(name):
    model = with_layer(SMALL[name]).train()
    batch = make_batch(2, 8, 8)  # products in bfloat16 are slow on most processors
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(batch)
        loss = model.loss(output, batch)
    loss.backward()
    assert loss.dtype == torch.float32
    for tensor in (*output.pose, *output.poses, output.matches, *output.extras.values()):
        assert tensor.dtype == torch.float32
    identity = output.pose.rotation @ output.pose.rotation.mT
    torch.testing.assert_close(identity, torch.eye(3).expand_as(identity), rtol=0, atol=1e-5)
    for parameter in model.parameters():
        if parameter.grad is not None:
            assert parameter.grad.dtype == torch.float32
            assert parameter.grad.isfinite().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mkldnn_matmul")  # processors without bfloat16
@pytest.mark.parametrize(("build", "points"), [(small_dcp, 12), (small_rpmnet, 20)])
def test_autocast_changes_poses_and_gradients_little(build, points):
    batch = make_batch(2, points, points)
    # Two iterations instead of five: products in bfloat16 are slow on most processors.
    model = build(**({"test_iterations": 2} if build is small_rpmnet else {})).eval()
    exact_gradients = gradients(model, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough_gradients = gradients(model, batch)
        with torch.no_grad():
            rough = model(batch).pose
    exact = model(batch).pose
    assert rotation_error_degrees(rough.rotation, exact.rotation).max() < 5.0
    a = torch.cat([g.flatten() for g in exact_gradients.values()])
    b = torch.cat([g.flatten() for g in rough_gradients.values()])
    assert torch.nn.functional.cosine_similarity(a, b, dim=0) > 0.9


def test_edges_are_made_from_exact_coordinates(generator):
    """Shifting a cloud far away must not blur its relative positions, even in bfloat16."""
    points = torch.rand(1, 20, 3, generator=generator)
    index = torch.randint(20, (1, 20, 4), generator=generator)
    weight = torch.randn(8, 3, generator=generator)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        near = edge_linear(points, index, weight, -weight)
        far = edge_linear(points + 64, index, weight, -weight)
    assert near.dtype == torch.bfloat16
    torch.testing.assert_close(far, near, rtol=0.02, atol=1e-3)


def test_matches_are_exact_where_they_huddle(generator):
    """Nearly equal shares put all matches near the centroid; their differences must survive."""
    shares = torch.softmax(1e-3 * torch.randn(50, 200, generator=generator), dim=-1)
    points = torch.rand(200, 3, generator=generator) + 10
    exact = mix(shares.double(), points.double())
    spread = (exact - exact.mean(0)).norm(dim=-1).mean()
    assert (mix(shares, points) - exact).norm(dim=-1).max() < 2e-6
    assert spread > 2e-5


def test_a_constant_embedding_has_a_finite_layer_norm():
    x = torch.full((2, 8), 3.0, requires_grad=True)
    norm = LayerNorm(8)
    norm(x).square().sum().backward()
    assert x.grad.isfinite().all()
    assert (norm(x) == 0).all()
