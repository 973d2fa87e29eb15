"""The refinement: the paper's 15x15 system to the last digit, and its gradient as a chain."""

from __future__ import annotations

import pytest
import torch

from geometry.zoo import zoo
from oracles import literal
from spoonful.geometry import (
    gram_schmidt,
    kabsch,
    linearized_step,
    moments,
    random_rotation,
    refine,
    rotation_from_vector,
)

FORMS = ["source", "target"]
ZOO = zoo()


@pytest.fixture
def clouds(generator):
    """Matches that no rigid motion explains, so that the start matters: (4, 15, 3)."""
    source = torch.randn(4, 15, 3, generator=generator, dtype=torch.float64)
    noise = torch.randn(4, 15, 3, generator=generator, dtype=torch.float64)
    target = 1.3 * source @ random_rotation(4, generator=generator, dtype=torch.float64).mT
    weights = torch.rand(4, 15, generator=generator, dtype=torch.float64) + 0.1
    start = random_rotation(4, generator=generator, dtype=torch.float64)
    return source, target + 0.3 * noise, weights, start


@pytest.mark.parametrize("form", FORMS)
def test_one_step_solves_the_kkt_system(clouds, form):
    source, target, weights, start = clouds
    m = moments(source, target, weights)
    literally = literal.kkt_step(start, m.source, m.target, m.cross, form)
    ours = linearized_step(source, target, start, weights=weights, form=form)
    torch.testing.assert_close(ours, literally, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_poses_and_gradients_equal_the_literal_iteration(clouds, form):
    probes = torch.randn(4, 5, 3, 3).double(), torch.randn(4, 5, 3).double()
    results = []
    for function in (refine, literal.refine):
        source, target, weights, start = (x.clone().requires_grad_() for x in clouds)
        R, t = function(source, target, start, weights=weights, iterations=5, form=form)
        ((R * probes[0]).sum() + (t * probes[1]).sum()).backward()
        results.append((R, t, source.grad, target.grad, weights.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_both_modes_and_second_order_pass_their_checks(clouds, form):
    source, target, weights, _ = (x[:1, :4].clone().requires_grad_() for x in clouds)
    vector = torch.tensor([[0.3, -0.8, 0.5]], dtype=torch.float64, requires_grad=True)

    def poses(s, t, w, v):
        start = rotation_from_vector(v)
        return tuple(refine(s, t, start, weights=w, iterations=2, form=form, check=False))

    inputs = (source, target, weights, vector)
    assert torch.autograd.gradcheck(poses, inputs, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(poses, inputs)


@pytest.mark.parametrize("form", FORMS)
def test_started_at_kabsch_it_is_the_identity_in_value_and_gradient(clouds, form):
    probe = torch.randn(4, 3, 3).double()
    gradients = []
    for refined in (False, True):
        source, target, weights = (x.clone().requires_grad_() for x in clouds[:3])
        R = first = kabsch(source, target, weights).rotation
        if refined:
            R = refine(source, target, R, weights=weights, iterations=5, form=form).rotation[:, -1]
            torch.testing.assert_close(R, first, rtol=0, atol=1e-12)
        (R * probe).sum().backward()
        gradients.append((source.grad, target.grad, weights.grad))
    for kabschs, layers in zip(*gradients, strict=True):
        torch.testing.assert_close(layers, kabschs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_any_leading_dimensions_and_masks(clouds, form):
    source, target, weights, start = clouds
    mask = torch.rand(4, 15) < 0.7
    together = refine(
        source.reshape(2, 2, 15, 3),
        target.reshape(2, 2, 15, 3),
        start.reshape(2, 2, 3, 3),
        weights=weights.reshape(2, 2, 15),
        mask=mask.reshape(2, 2, 15),
        form=form,
    )
    assert together.rotation.shape == (2, 2, 5, 3, 3)
    for i in range(4):
        keep = mask[i]
        alone = refine(
            source[i, keep], target[i, keep], start[i], weights=weights[i, keep], form=form
        )
        assert alone.rotation.shape == (5, 3, 3)
        index = divmod(i, 2)
        torch.testing.assert_close(together.rotation[index], alone.rotation, rtol=0, atol=1e-10)
        torch.testing.assert_close(
            together.translation[index], alone.translation, rtol=0, atol=1e-10
        )


@pytest.mark.parametrize("form", FORMS)
def test_vmap_equals_a_loop(clouds, form):
    def last(s, t, w, r):
        return refine(s, t, r, weights=w, form=form).rotation[-1]

    batched = torch.func.vmap(last)(*clouds)
    looped = torch.stack([last(*items) for items in zip(*clouds, strict=True)])
    torch.testing.assert_close(batched, looped, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ZOO)
def test_degenerate_clouds_stay_finite(name, form):
    source, target = (x.clone().requires_grad_() for x in ZOO[name])
    R = kabsch(source, target).rotation
    refined = refine(source, target, R, form=form)
    (refined.rotation.sum() + refined.translation.sum()).backward()
    assert refined.rotation.isfinite().all()
    assert source.grad.isfinite().all()
    assert target.grad.isfinite().all()


def test_a_nonfinite_cloud_damages_only_itself(clouds):
    source, target, weights, start = clouds
    expected = refine(source, target, start, weights=weights)
    broken = source.clone()
    broken[2, 0, 0] = torch.nan
    broken.requires_grad_()
    refined = refine(broken, target, start, weights=weights)
    assert refined.rotation[2].isnan().all()
    others = [0, 1, 3]
    assert torch.equal(refined.rotation[others], expected.rotation[others])
    refined.rotation[others].sum().backward()
    assert broken.grad.isfinite().all()


def test_the_assembler_never_meets_its_singularities(clouds):
    source, target, weights, start = clouds
    step = linearized_step(source, target, start, weights=weights)
    lengths = step.norm(dim=-2)
    assert (lengths >= 1 - 1e-12).all()
    x, y = step[..., 0], step[..., 1]
    assert (torch.linalg.cross(x, y).norm(dim=-1) >= 1 - 1e-12).all()


def test_gram_schmidt_is_the_identity_at_rotations_with_a_smooth_gradient():
    rotation = random_rotation(5, dtype=torch.float64).requires_grad_()
    torch.testing.assert_close(gram_schmidt(rotation), rotation, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(gram_schmidt, (rotation,))
