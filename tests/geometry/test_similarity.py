"""Similarity: the right scale by either rule, its gradient, and a defined answer without one."""

from __future__ import annotations

import pytest
import torch

from geometry.zoo import zoo
from spoonful.geometry import kabsch, kernels, random_rotation
from spoonful.geometry.similarity import Similarity, similarity, similarity_packed

RULES = ["source-to-target", "symmetric"]


def clouds(generator, *batch, n=12, scale=1.7, noise=0.1):
    source = torch.randn(*batch, n, 3, generator=generator, dtype=torch.float64)
    rotation = random_rotation(*batch, generator=generator, dtype=torch.float64)
    target = scale * source @ rotation.mT + 0.5
    target = target + noise * torch.randn(target.shape, generator=generator, dtype=torch.float64)
    weights = torch.rand(*batch, n, generator=generator, dtype=torch.float64) + 0.2
    return source, target, weights


@pytest.mark.parametrize("rule", RULES)
def test_recovers_a_scaled_copy(rule, generator):
    source, target, _ = clouds(generator, 4, noise=0)
    found = similarity(source, target, scale=rule)
    torch.testing.assert_close(found.scale, torch.full((4,), 1.7, dtype=torch.float64))
    torch.testing.assert_close(found.apply(source), target)


def test_agrees_with_roma_on_noisy_weighted_points(generator):
    roma = pytest.importorskip("roma")
    source, target, weights = clouds(generator, 5)
    R, t, s = roma.rigid_points_registration(source, target, weights, compute_scaling=True)
    found = similarity(source, target, weights)
    for ours, theirs in zip(found, (R, t, s), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def test_the_rotation_is_kabschs(generator):
    source, target, weights = clouds(generator, 3)
    found = similarity(source, target, weights).rotation
    torch.testing.assert_close(found, kabsch(source, target, weights).rotation)


def test_swapping_the_clouds_inverts_the_symmetric_scale_only(generator):
    source, target, _ = clouds(generator, noise=0.5)
    there, back = (
        similarity(*pair, scale="symmetric") for pair in ((source, target), (target, source))
    )
    assert float(there.scale * back.scale) == pytest.approx(1)
    product = similarity(source, target).scale * similarity(target, source).scale
    assert float(product) < 0.99


@pytest.mark.parametrize("rule", [*RULES, 2.0])
def test_gradients_pass_gradcheck(rule, generator):
    inputs = [x.requires_grad_() for x in clouds(generator, 2, n=5)]

    def fit(*x):
        return tuple(similarity(*x, scale=rule))

    assert torch.autograd.gradcheck(fit, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(fit, inputs, fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["batch", "mask", "packed", "scale alone"])
def test_the_kernel_computes_what_torch_computes(kind, dtype, generator):
    source, target, weights = (x.to(dtype) for x in clouds(generator, 3, n=700))

    def run() -> tuple[torch.Tensor, ...]:
        leaves = [x.clone().requires_grad_() for x in (source, target, weights)]
        if kind == "packed":
            flat = [x.flatten(0, 1) for x in leaves]
            found = similarity_packed(*flat[:2], torch.tensor([0, 100, 900, 2100]), flat[2])
        else:
            mask = None if kind != "mask" else torch.arange(700) % 3 > 0
            found = similarity(*leaves, mask)
        shown = found[2:] if kind == "scale alone" else found
        total = sum((value * value).sum() for value in shown)
        return (*found, *torch.autograd.grad(total, leaves))

    ours = run()
    with kernels.disabled():
        theirs = run()
    for mine, other in zip(ours, theirs, strict=True):
        size = float(other.detach().abs().max())
        close = {"rtol": 0, "atol": size * (2e-5 if dtype == torch.float32 else 1e-12)}
        torch.testing.assert_close(mine, other, **close)


def test_bounds_clamp_the_scale_and_its_gradient(generator):
    source, target, _ = clouds(generator)
    target.requires_grad_()
    found = similarity(source, target, bounds=(0.5, 1.5))
    assert float(found.scale.detach()) == 1.5
    assert not torch.autograd.grad(found.scale, target)[0].any()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", zoo())
def test_degenerate_clouds_have_finite_results_and_gradients(name, rule):
    source, target = (x.clone().requires_grad_() for x in zoo()[name])
    found = similarity(source, target, scale=rule)
    assert all(bool(x.isfinite().all()) for x in found)
    gradients = torch.autograd.grad(sum(x.sum() for x in found), (source, target))
    assert all(bool(g.isfinite().all()) for g in gradients)


def test_a_source_without_extent_has_scale_one():
    point = torch.zeros(5, 3)
    assert float(similarity(point, torch.randn(5, 3)).scale) == 1


def test_a_target_without_extent_has_scale_zero():
    found = similarity(torch.randn(5, 3), torch.ones(5, 3))
    assert float(found.scale) == pytest.approx(0, abs=1e-6)


def test_packed_clouds_give_what_single_clouds_give(generator):
    source, target, weights = clouds(generator, n=9)
    found = similarity_packed(source, target, torch.tensor([0, 4, 9]), weights)
    for k, part in enumerate((slice(0, 4), slice(4, 9))):
        one = similarity(source[part], target[part], weights[part])
        torch.testing.assert_close(found.scale[k], one.scale)
        torch.testing.assert_close(found.rotation[k], one.rotation)


def test_vmap_and_compile_give_what_a_batch_gives(generator):
    source, target, weights = clouds(generator, 3)
    found = similarity(source, target, weights)
    mapped = torch.func.vmap(lambda *x: tuple(similarity(*x)))(source, target, weights)
    for ours, theirs in zip(mapped, found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_composition_and_inverse(generator):
    source, target, _ = clouds(generator, noise=0)
    a, b = similarity(source, target), similarity(target, source)
    torch.testing.assert_close(b.compose(a).apply(source), source)
    torch.testing.assert_close(a.inverse().apply(target), source)
    torch.testing.assert_close(a.compose(kabsch(source, source)).apply(source), target)
    homogeneous = torch.cat([source, torch.ones(12, 1, dtype=torch.float64)], -1)
    torch.testing.assert_close((homogeneous @ a.matrix().mT)[:, :3], target)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"scale": "umeyama"}, "scale"), ({"scale": -1.0}, "scale"), ({"bounds": (2, 1)}, "bounds")],
)
def test_bad_settings_name_the_argument(settings, word):
    with pytest.raises(ValueError, match=word):
        similarity(torch.randn(4, 3), torch.randn(4, 3), **settings)


def test_a_similarity_is_a_triple():
    rotation, translation, scale = Similarity(torch.eye(3), torch.zeros(3), torch.ones(()))
    assert (rotation.shape, translation.shape, scale.shape) == ((3, 3), (3,), ())
