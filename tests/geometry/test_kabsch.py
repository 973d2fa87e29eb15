"""Kabsch: the right rotation, the right gradient, and a defined answer where there is none."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geometry.zoo import zoo
from oracles.plain import svd_kabsch
from spoonful.geometry import kabsch, kernels, random_rotation

ZOO = zoo()
seeds = st.integers(0, 2**31 - 1)


def draw(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turn_of(seed: int) -> torch.Tensor:
    return random_rotation(generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_rotation(rotation: torch.Tensor, atol: float = 1e-10) -> None:
    eye = torch.eye(3, dtype=rotation.dtype).expand_as(rotation)
    torch.testing.assert_close(rotation @ rotation.mT, eye, rtol=0, atol=atol)
    assert (torch.linalg.det(rotation) > 0).all()


def test_recovers_the_pose_of_rigidly_moved_points(generator):
    source = torch.randn(5, 40, 3, generator=generator, dtype=torch.float64)
    rotation = random_rotation(5, generator=generator, dtype=torch.float64)
    translation = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    pose = kabsch(source, source @ rotation.mT + translation[:, None])
    torch.testing.assert_close(pose.rotation, rotation, rtol=0, atol=1e-12)
    torch.testing.assert_close(pose.translation, translation, rtol=0, atol=1e-12)


def test_agrees_with_roma_on_noisy_weighted_points(generator):
    roma = pytest.importorskip("roma")
    source = torch.randn(6, 30, 3, generator=generator, dtype=torch.float64)
    target = torch.randn(6, 30, 3, generator=generator, dtype=torch.float64)
    weights = torch.rand(6, 30, generator=generator, dtype=torch.float64)
    rotation, translation = roma.rigid_points_registration(source, target, weights=weights)
    pose = kabsch(source, target, weights)
    torch.testing.assert_close(pose.rotation, rotation, rtol=0, atol=1e-10)
    torch.testing.assert_close(pose.translation, translation, rtol=0, atol=1e-10)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3), (1, 2, 2)])
def test_any_leading_dimensions_give_what_single_clouds_give(batch, generator):
    source, target = torch.randn(2, *batch, 7, 3, generator=generator, dtype=torch.float64)
    pose = kabsch(source, target)
    assert pose.rotation.shape == (*batch, 3, 3)
    assert pose.translation.shape == (*batch, 3)
    flat = zip(source.reshape(-1, 7, 3), target.reshape(-1, 7, 3), strict=True)
    one_by_one = torch.stack([kabsch(s, t).rotation for s, t in flat])
    torch.testing.assert_close(pose.rotation.reshape(-1, 3, 3), one_by_one, rtol=0, atol=1e-12)


# Gradients -------------------------------------------------------------------------------------


def inputs(generator, batch=2, n=6):
    source = torch.randn(batch, n, 3, generator=generator, dtype=torch.float64)
    target = torch.randn(batch, n, 3, generator=generator, dtype=torch.float64)
    weights = torch.rand(batch, n, generator=generator, dtype=torch.float64) + 0.2
    return [x.requires_grad_() for x in (source, target, weights)]


@pytest.mark.slow
def test_gradients_of_both_modes_pass_gradcheck(generator):
    assert torch.autograd.gradcheck(
        lambda *x: tuple(kabsch(*x)),
        inputs(generator),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )


@pytest.mark.slow
def test_second_derivatives_pass_gradgradcheck(generator):
    assert torch.autograd.gradgradcheck(
        lambda *x: tuple(kabsch(*x)), inputs(generator, 1, 4), check_fwd_over_rev=True
    )


def test_gradient_equals_svd_autograd_where_that_is_finite(generator):
    ours, theirs = (inputs(generator.manual_seed(3), 8, 20) for _ in range(2))
    probe = torch.randn(8, 3, 3, generator=generator, dtype=torch.float64)
    for fit, leaves in ((kabsch, ours), (svd_kabsch, theirs)):
        rotation, translation = fit(*leaves)
        ((rotation * probe).sum() + translation.square().sum()).backward()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-9, atol=1e-11)


def test_gradient_is_exact_at_equal_singular_values_where_svd_autograd_is_nan_or_wrong():
    source, target = (x.clone().requires_grad_() for x in ZOO["equal singular values"])
    (ours,) = torch.autograd.grad(kabsch(source, target).rotation[0, 1], source)
    (theirs,) = torch.autograd.grad(svd_kabsch(source, target)[0][0, 1], source)
    # NaN with newer LAPACKs; twice as large with those of torch 2.4 to 2.8.
    assert not torch.allclose(ours, theirs, atol=1e-3)
    assert torch.autograd.gradcheck(lambda s, t: kabsch(s, t).rotation, (source, target))


def test_jvp_and_vjp_are_adjoint(generator):
    source, target, weights = (x.detach() for x in inputs(generator, 3, 9))
    tangents = [torch.randn_like(x) for x in (source, target, weights)]
    primal, tangent = torch.func.jvp(
        lambda *x: kabsch(*x).rotation, (source, target, weights), tuple(tangents)
    )
    cotangent = torch.randn_like(primal)
    _, pullback = torch.func.vjp(lambda *x: kabsch(*x).rotation, source, target, weights)
    pulled = pullback(cotangent)
    forward = (tangent * cotangent).sum()
    reverse = sum((a * b).sum() for a, b in zip(tangents, pulled, strict=True))
    torch.testing.assert_close(forward, reverse)


def test_vmap_of_the_jacobian_equals_a_loop(generator):
    source, target = torch.randn(2, 3, 5, 3, generator=generator, dtype=torch.float64)
    jacobian = torch.func.jacrev(lambda s, t: kabsch(s, t).rotation)
    batched = torch.func.vmap(jacobian)(source, target)
    looped = torch.stack([jacobian(s, t) for s, t in zip(source, target, strict=True)])
    torch.testing.assert_close(batched, looped)


# Properties ------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 20))
def test_result_is_always_a_proper_rotation(seed, n):
    assert_rotation(kabsch(draw(seed, 3, n, 3), draw(seed + 1, 3, n, 3)).rotation)


@given(seeds)
def test_turning_either_cloud_turns_the_answer(seed):
    source, target = draw(seed, 10, 3), draw(seed + 1, 10, 3)
    A, B = turn_of(seed + 2), turn_of(seed + 3)
    R = kabsch(source, target).rotation
    turned = kabsch(source @ A.mT, target @ B.mT).rotation
    torch.testing.assert_close(turned, B @ R @ A.mT, rtol=0, atol=1e-8)


@given(seeds, st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_rotation_ignores_the_scale_of_either_cloud(seed, a, b):
    source, target = draw(seed, 10, 3), draw(seed + 1, 10, 3)
    torch.testing.assert_close(
        kabsch(a * source, b * target).rotation,
        kabsch(source, target).rotation,
        rtol=0,
        atol=1e-8,
    )


@given(seeds)
def test_order_of_the_points_does_not_matter(seed):
    source, target, weights = draw(seed, 12, 3), draw(seed + 1, 12, 3), draw(seed + 2, 12).abs()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(seed))
    a, b = kabsch(source, target, weights), kabsch(source[order], target[order], weights[order])
    torch.testing.assert_close(a.matrix(), b.matrix(), rtol=0, atol=1e-10)


@given(seeds, st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any))
def test_an_integer_weight_is_a_repetition(seed, counts):
    source, target = draw(seed, 8, 3), draw(seed + 1, 8, 3)
    repeats = torch.tensor(counts)
    a = kabsch(source, target, repeats.double())
    b = kabsch(source.repeat_interleave(repeats, 0), target.repeat_interleave(repeats, 0))
    torch.testing.assert_close(a.apply(source), b.apply(source), rtol=0, atol=1e-7)


@given(seeds, st.lists(st.booleans(), min_size=9, max_size=9).filter(lambda m: sum(m) >= 3))
def test_a_mask_is_a_removal_even_of_nan(seed, keep):
    source, target, weights = draw(seed, 9, 3), draw(seed + 1, 9, 3), draw(seed + 2, 9).abs()
    mask = torch.tensor(keep)
    junk = torch.where(mask[:, None], source, torch.nan)
    a = kabsch(junk, target, weights, mask)
    b = kabsch(source[mask], target[mask], weights[mask])
    torch.testing.assert_close(a.matrix(), b.matrix(), rtol=0, atol=1e-7)


@given(seeds)
def test_float32_agrees_with_float64(seed):
    source = draw(seed, 50, 3)
    target = source @ turn_of(seed).mT + 0.1 * draw(seed + 1, 50, 3)
    single = kabsch(source.float(), target.float())
    assert single.rotation.dtype == torch.float32
    double = kabsch(source, target)
    torch.testing.assert_close(single.rotation.double(), double.rotation, rtol=0, atol=2e-5)


@given(seeds)
def test_no_rotation_fits_better(seed):
    source, target, weights = draw(seed, 10, 3), draw(seed + 1, 10, 3), draw(seed + 2, 10).abs()
    pose = kabsch(source, target, weights)

    def cost(R, t):
        return (weights * (source @ R.mT + t - target).square().sum(-1)).sum()

    nearby = turn_of(seed + 3) if seed % 2 else pose.rotation @ turn_of(seed + 3)
    assert cost(*pose) <= cost(nearby, pose.translation) + 1e-9


# Degenerate input ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_degenerate_clouds_have_a_finite_pose_and_finite_gradients(name, dtype):
    source, target = (x.to(dtype).clone().requires_grad_() for x in ZOO[name])
    weights = torch.ones_like(source[:, 0]).requires_grad_()
    pose = kabsch(source, target, weights)
    assert_rotation(pose.rotation, 1e-5 if dtype == torch.float32 else 1e-10)
    probe = torch.arange(9, dtype=dtype).reshape(3, 3)
    ((pose.rotation * probe).sum() + pose.translation.sum()).backward()
    for leaf in (source, target, weights):
        assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("name", ["planar", "three points", "planar mirrored", "half turn"])
def test_planar_clouds_are_fitted_exactly(name):
    source, target = ZOO[name]
    torch.testing.assert_close(kabsch(source, target).apply(source), target, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["two points", "collinear"])
def test_a_line_is_fitted_by_the_least_turn(name):
    source, target = ZOO[name]
    pose = kabsch(source, target)
    torch.testing.assert_close(pose.apply(source), target, rtol=0, atol=1e-8)
    a, b = source[-1] - source[0], target[-1] - target[0]
    cosine = (a @ b) / (a.norm() * b.norm())
    trace = pose.rotation.diagonal().sum()
    torch.testing.assert_close((trace - 1) / 2, cosine, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["one point", "coincident"])
def test_coinciding_points_are_translated_only(name):
    source, target = ZOO[name]
    pose = kabsch(source, target)
    torch.testing.assert_close(pose.rotation, torch.eye(3).double())
    torch.testing.assert_close(pose.apply(source), target)


@pytest.mark.parametrize("empty", ["mask", "weights"])
def test_a_cloud_of_nothing_is_the_identity_without_gradient(empty):
    source = torch.randn(2, 5, 3, requires_grad=True)
    target = torch.randn(2, 5, 3, requires_grad=True)
    weights = torch.ones(2, 5)
    mask = torch.ones(2, 5, dtype=torch.bool)
    (mask if empty == "mask" else weights)[1] = 0
    weights.requires_grad_()
    pose = kabsch(source, target, weights, mask)
    assert torch.equal(pose.rotation[1], torch.eye(3))
    assert torch.equal(pose.translation[1], torch.zeros(3))
    (pose.rotation.sum() + pose.translation.sum()).backward()
    for leaf in (source, target, weights):
        assert torch.equal(leaf.grad[1], torch.zeros_like(leaf.grad[1]))
        assert leaf.grad[0].abs().max() > 0


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_nonfinite_cloud_damages_only_itself(bad):
    source = torch.randn(3, 6, 3)
    target = torch.randn(3, 6, 3)
    expected = kabsch(source, target)
    source[1, 2, 0] = bad
    source.requires_grad_()
    target.requires_grad_()
    pose = kabsch(source, target)
    assert pose.rotation[1].isnan().all()
    assert torch.equal(pose.rotation[[0, 2]], expected.rotation[[0, 2]])
    assert torch.equal(pose.translation[[0, 2]], expected.translation[[0, 2]])
    pose.rotation[[0, 2]].sum().backward()
    assert source.grad.isfinite().all()
    assert target.grad.isfinite().all()
    assert torch.equal(source.grad[1], torch.zeros(6, 3))


@pytest.mark.parametrize("kernels_used", [True, False])
def test_coinciding_points_under_any_weights_are_translated_only(kernels_used, generator):
    for _ in range(20):
        source = torch.randn(1, 3, generator=generator).expand(7, 3)
        target = torch.randn(7, 3, generator=generator)
        weights = torch.rand(7, generator=generator)
        with nullcontext() if kernels_used else kernels.disabled():
            assert torch.equal(kabsch(source, target, weights).rotation, torch.eye(3))


@pytest.mark.parametrize("kernels_used", [True, False])
def test_float32_stays_accurate_far_from_the_origin(kernels_used, generator):
    source = torch.randn(50, 3, generator=generator).mul(64).round().div(64)  # exact after shifting
    turned = source.roll(1, -1)
    with nullcontext() if kernels_used else kernels.disabled():
        pose = kabsch(source + 1024, turned - 2048)
    expected = torch.eye(3).roll(1, 0)
    torch.testing.assert_close(pose.rotation, expected, rtol=0, atol=1e-6)
