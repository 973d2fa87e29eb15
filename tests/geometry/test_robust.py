"""Robust fits: wrong matches do not count, and the gradient is that of the minimum."""

from __future__ import annotations

import math
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from geometry.agreement import assert_robust_agrees
from spoonful.geometry import Pose, kernels, random_rotation
from spoonful.geometry.robust import (
    CUTOFFS,
    _factor,
    _slope,
    robust_kabsch,
    robust_similarity,
)

SMOOTH = ["huber", "tukey", "geman-mcclure"]
FITS = {"kabsch": robust_kabsch, "similarity": robust_similarity}


def matches(generator, *batch, n, wrong, noise, scale=1.0, dtype=torch.float64):
    """Points in a ball, moved, with noise, and a share of wrong matches in the same ball."""

    def ball(*shape: int) -> Tensor:
        points = torch.randn(*shape, 3, generator=generator, dtype=dtype)
        radius = torch.rand(*shape, 1, generator=generator, dtype=dtype) ** (1 / 3)
        return points / points.norm(dim=-1, keepdim=True) * radius

    source = ball(*batch, n)
    rotation = random_rotation(*batch, generator=generator, dtype=dtype)
    target = scale * (source @ rotation.mT)
    target = target + noise * torch.randn(target.shape, generator=generator, dtype=dtype)
    target[..., : round(wrong * n), :] = scale * ball(*batch, round(wrong * n))
    return source, target, rotation


def degrees(a: Tensor, b: Tensor) -> Tensor:
    chord = (a - b).square().sum((-1, -2)).sqrt() / (2 * math.sqrt(2))
    return torch.rad2deg(2 * torch.asin(chord.clamp(max=1)))


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("size", [1e-42, 1e-30, 1e38])
@pytest.mark.parametrize("loss", [*SMOOTH, "gnc-tls"])
def test_the_pose_does_not_depend_on_the_size_of_the_weights(loss, size, used, generator):
    source, target, _ = matches(generator, 3, n=40, wrong=0.2, noise=0.01, dtype=torch.float32)
    weights = torch.full((3, 40), size)
    weights[:, 30:] = 0
    leaves = [x.requires_grad_() for x in (source, target)]
    with nullcontext() if used else kernels.disabled():
        pose = robust_kabsch(*leaves, weights, loss=loss).pose
        gradients = torch.autograd.grad(pose.rotation.cumsum(-1).sum(), leaves)
        plain = robust_kabsch(*leaves, (weights > 0).float(), loss=loss)
        expected = torch.autograd.grad(plain.pose.rotation.cumsum(-1).sum(), leaves)
    for a, b in zip([*pose, *gradients], [*plain.pose, *expected], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("fit", FITS)
def test_a_minority_of_wrong_matches_hardly_moves_the_pose(loss, fit, generator):
    source, target, rotation = matches(generator, 4, n=400, wrong=0.2, noise=0.01)
    found = FITS[fit](source, target, loss=loss, noise=0.01).pose
    assert float(degrees(found.rotation, rotation).max()) < 1.5


def test_graduated_non_convexity_finds_the_pose_among_seven_wrong_matches_of_ten(generator):
    source, target, rotation = matches(generator, 100, n=512, wrong=0.7, noise=0.01)
    found = robust_kabsch(source, target, loss="gnc-tls", noise=0.01)
    assert int((degrees(found.pose.rotation, rotation) < 1).sum()) >= 99


def test_a_start_near_the_pose_is_kept_among_nineteen_wrong_matches_of_twenty(generator):
    source, target, rotation = matches(generator, 4, n=1000, wrong=0.95, noise=0.01)
    nearly = rotation @ random_rotation(4, max_degrees=5, generator=generator, dtype=torch.float64)
    start = Pose(nearly, torch.zeros(4, 3, dtype=torch.float64))
    found = robust_kabsch(source, target, loss="gnc-tls", noise=0.01, start=start)
    assert float(degrees(found.pose.rotation, rotation).max()) < 1


def test_weights_of_truncated_least_squares_are_zero_or_one(generator):
    source, target, _ = matches(generator, n=200, wrong=0.5, noise=0.01)
    fit = robust_similarity(source, target, loss="gnc-tls", noise=0.01)
    assert set(fit.weights.unique().tolist()) == {0.0, 1.0}
    assert float(fit.weights[100:].mean()) > 0.98


def test_noise_is_estimated_from_the_median_residual(generator):
    source, target, _ = matches(generator, n=2000, wrong=0.1, noise=0.02)
    fit = robust_kabsch(source, target, loss="tukey")
    assert float(fit.noise) == pytest.approx(0.02, rel=0.2)


@pytest.mark.parametrize("loss", [*SMOOTH, "gnc-tls"])
@pytest.mark.parametrize("fit", FITS)
def test_the_gradient_is_that_of_the_minimum(loss, fit, generator):
    source, target, _ = matches(generator, n=8, wrong=0.15, noise=0.02)
    weights = torch.rand(8, generator=generator, dtype=torch.float64) + 0.3
    inputs = [x.requires_grad_() for x in (source, target, weights)]

    def pose(*x: Tensor) -> tuple[Tensor, ...]:
        return tuple(FITS[fit](*x, loss=loss, noise=0.1, rounds=25).pose)

    forward = (loss, fit) == ("geman-mcclure", "similarity")  # the others share its code
    assert torch.autograd.gradcheck(
        pose, inputs, atol=1e-6, fast_mode=True, check_forward_ad=forward
    )


def test_the_gradient_equals_that_of_a_long_unrolled_run(generator):
    source, target, _ = matches(generator, n=30, wrong=0.2, noise=0.02)
    target.requires_grad_()

    def unrolled() -> Tensor:
        from spoonful.geometry import kabsch

        pose = kabsch(source, target)
        for _ in range(60):
            squared = (target - pose.apply(source)).square().sum(-1)
            ratio = squared / (CUTOFFS["geman-mcclure"] * 0.1) ** 2
            pose = kabsch(source, target, _factor(ratio, "geman-mcclure"))
        return pose.rotation

    ours = robust_kabsch(source, target, loss="geman-mcclure", noise=0.1, rounds=60).pose.rotation
    direction = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    mine, theirs = (
        torch.autograd.grad((rotation * direction).sum(), target)[0]
        for rotation in (ours, unrolled())
    )
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-6 * float(theirs.abs().max()))


def test_gradients_can_be_differentiated_again(generator):
    source, target, _ = matches(generator, n=6, wrong=0.2, noise=0.05)

    def rotation(x: Tensor) -> Tensor:
        return robust_similarity(
            x, target, loss="geman-mcclure", noise=0.2, rounds=15
        ).pose.rotation

    assert torch.autograd.gradgradcheck(
        rotation, [source.requires_grad_()], atol=1e-5, fast_mode=True
    )


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_slope_is_the_derivative_of_the_factor(loss):
    ratio = torch.linspace(0.01, 3, 50, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(_factor(ratio, loss).sum(), ratio)
    torch.testing.assert_close(slope, _slope(ratio.detach(), loss))


@pytest.mark.parametrize("loss", SMOOTH)
def test_cutoffs_keep_95_percent_of_the_efficiency_of_least_squares(loss, generator):
    # The asymptotic efficiency of a location estimate with psi(e) = w(|e|^2/c^2) e in three
    # dimensions: (E div psi / 3)^2 / (E |psi|^2 / 3), on Gaussian errors.
    error = torch.randn(200_000, 3, generator=generator, dtype=torch.float64)
    squared = error.square().sum(-1)
    ratio = squared / CUTOFFS[loss] ** 2
    factor, slope = _factor(ratio, loss), _slope(ratio, loss)
    divergence = (3 * factor + 2 * slope * ratio).mean() / 3
    efficiency = divergence.square() / ((factor.square() * squared).mean() / 3)
    assert float(efficiency) == pytest.approx(0.95, abs=0.005)


def test_degenerate_clouds_have_finite_results_and_gradients():
    from geometry.zoo import zoo

    for name, (source, target) in zoo().items():
        source, target = source.clone().requires_grad_(), target.clone().requires_grad_()
        for fit in FITS.values():
            found = fit(source, target, loss="geman-mcclure", rounds=3).pose
            assert all(bool(x.isfinite().all()) for x in found), name
            gradients = torch.autograd.grad(sum(x.sum() for x in found), (source, target))
            assert all(bool(g.isfinite().all()) for g in gradients), name


@pytest.mark.parametrize(
    ("fit", "dtype"), [("kabsch", torch.float32), ("similarity", torch.float64)]
)
@pytest.mark.parametrize("kind", ["weights", "mask", "start", "estimated noise", "one gradient"])
@pytest.mark.parametrize("loss", [*SMOOTH, "gnc-tls"])
def test_the_kernel_computes_what_torch_computes(fit, loss, kind, dtype, generator):
    n = 300
    source, target, _ = matches(generator, 3, n=n, wrong=0.2, noise=0.05, dtype=dtype)
    weights = torch.rand(3, n, generator=generator, dtype=dtype)
    weights[0, :5] = 0
    target[1] = torch.nan
    options = {"loss": loss, "noise": torch.tensor([0.05, 0.05, 0.1], dtype=dtype), "rounds": 6}
    if kind == "estimated noise":
        options["noise"] = None
    if kind == "mask":
        options["mask"] = torch.arange(n) % 7 > 0
    if kind == "start":
        near = FITS[fit](source, target, loss="tukey", rounds=2).pose
        near = near._replace(translation=near.translation + 0.02)
        options["start"] = type(near)(*(x.nan_to_num() for x in near))

    tolerance = 5e-5 if dtype == torch.float32 else 1e-11
    shown = slice(-1, None) if kind == "one gradient" else slice(None)
    leaves = source, target, weights
    assert_robust_agrees(FITS[fit], leaves, options, tolerance, shown=shown)


def test_a_gradient_that_the_kernel_leaves_to_torch_is_the_same(generator):
    # Two points leave a turn free: the system is singular.
    source, target, _ = matches(generator, 2, n=2, wrong=0, noise=0.05)

    def gradient() -> Tensor:
        leaf = target.clone().requires_grad_()
        pose = robust_similarity(source, leaf, noise=0.1, rounds=4).pose
        return torch.autograd.grad(sum(x.square().cumsum(-1).sum() for x in pose), leaf)[0]

    ours = gradient()
    with kernels.disabled():
        torch.testing.assert_close(ours, gradient())
    assert ours.isfinite().all()


def test_masked_points_do_not_count(generator):
    source, target, _ = matches(generator, 2, n=40, wrong=0.1, noise=0.02)
    mask = torch.arange(40) < 30
    spoilt = torch.where(mask[:, None], target, torch.nan)
    found = robust_kabsch(source, spoilt, mask=mask.expand(2, 40), noise=0.02).pose
    expected = robust_kabsch(source[:, :30], target[:, :30], noise=0.02).pose
    torch.testing.assert_close(found.rotation, expected.rotation)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"loss": "cauchy"}, "loss"), ({"noise": 0.0}, "noise"), ({"rounds": 0}, "rounds")],
)
def test_bad_settings_name_the_argument(settings, word):
    with pytest.raises(ValueError, match=word):
        robust_kabsch(torch.randn(4, 3), torch.randn(4, 3), **settings)
