"""The stand-ins of the published arithmetic: the published values, at the published rounding."""

import pytest
import torch

from oracles import literal
from oracles.published import svd_pose
from scripts import load_benchmark
from spoonful.geometry import nearest_rotation, random_rotation

load_benchmark("experiment")
from training_grid import published_layer  # noqa: E402
from training_grid.published_layer import PublishedLayer  # noqa: E402


def clouds(shrink, *, batch=128, dtype=torch.float32):
    """Sources, and matches that are the turned source times `shrink`, with a little noise."""
    generator = torch.Generator().manual_seed(0)
    size = torch.tensor([1.0, 0.7, 0.5])
    source = (torch.rand(batch, 256, 3, generator=generator) - 0.5) * size
    rotation = random_rotation(batch, generator=generator)
    noise = 0.01 * torch.randn(source.shape, generator=generator)
    return source.to(dtype), (shrink * (source @ rotation.mT + noise)).to(dtype)


def divergence(rotations):
    """The median over clouds of the sum of distances of refined rotations to the first."""
    apart = torch.linalg.matrix_norm(rotations[:, 1:] - rotations[:, :1])
    return float(apart.sum(-1).median())


@pytest.mark.parametrize("form", ["source", "target"])
def test_in_float64_the_layer_is_the_literal_function(form, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    source, matches = clouds(0.6, dtype=torch.float64)
    first, _ = svd_pose(source, matches, torch.ones_like(source[..., 0]))
    rotations, translations = literal.refine(source, matches, first, form=form)
    found = PublishedLayer(form=form)(source, matches)
    assert torch.allclose(found.pose.rotation, first, atol=1e-12)
    assert torch.allclose(found.refined.rotation, rotations, atol=1e-10)
    assert torch.allclose(found.refined.translation, translations, atol=1e-10)


@pytest.mark.parametrize("shrink", [0.3, 0.1, 0.05])
@pytest.mark.parametrize("form", ["source", "target"])
def test_rounding_grows_as_in_the_published_function(form, shrink):
    source, matches = clouds(shrink)
    first, _ = svd_pose(source, matches, torch.ones_like(source[..., 0]))
    rotations, _ = literal.refine(source, matches, first, form=form)
    published = divergence(torch.cat([first.unsqueeze(1), rotations], dim=1))
    found = divergence(PublishedLayer(form=form)(source, matches).poses.rotation)
    assert published / 2.5 < found < published * 2.5


def test_elimination_solves_and_differentiates_as_the_library_does():
    generator = torch.Generator().manual_seed(0)
    system = torch.randn(20, 15, 15, generator=generator, dtype=torch.float64)
    right = torch.randn(20, 15, generator=generator, dtype=torch.float64)
    inputs = [system.requires_grad_(), right.requires_grad_()]
    gradients = []
    for solve in (torch.linalg.solve, published_layer._Solve.apply):
        found = solve(*inputs)
        gradients.append([found, *torch.autograd.grad(found.square().sum(), inputs)])
    for expected, found in zip(*gradients, strict=True):
        assert torch.allclose(
            found, expected, rtol=1e-8, atol=1e-8 * float(expected.detach().abs().max())
        )


def test_the_svd_is_one_for_planes_too_and_as_exact_as_float32():
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(500, 3, 3, generator=generator)
    matrix[:100, 2] = 0
    U, S, V = published_layer.jacobi_svd(matrix)
    eye = torch.eye(3)
    for rotation in (U, V):
        assert (rotation.mT @ rotation - eye).abs().max() < 3e-6
    assert ((U * S.unsqueeze(-2)) @ V.mT - matrix).abs().max() < 1e-5
    assert (S - torch.linalg.svdvals(matrix)).abs().max() < 1e-5


def test_the_kabsch_rotation_and_its_gradient_are_those_of_ours():
    generator = torch.Generator().manual_seed(0)
    cross = torch.randn(50, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(50, 3, 3, generator=generator, dtype=torch.float64)
    assert bool((torch.linalg.det(cross) < 0).any())
    found = published_layer.kabsch_rotation(cross)
    expected = nearest_rotation(cross)
    assert torch.allclose(found, expected, atol=1e-12)
    (gradient,) = torch.autograd.grad((found * upstream).sum(), cross)
    (wanted,) = torch.autograd.grad((expected * upstream).sum(), cross)
    assert torch.allclose(gradient, wanted, rtol=1e-8, atol=1e-8)
