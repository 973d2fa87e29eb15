"""Functions by published names behave like the published ones."""

from __future__ import annotations

import pytest
import torch

from oracles import alignment, literal
from spoonful import spoonful
from spoonful.compat import (
    corresponding_points_alignment,
    rigid_points_registration,
    weighted_rigid_align,
)
from spoonful.geometry import kabsch, random_rotation


@pytest.mark.parametrize("form", ["source", "target"])
@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.5])
def test_the_epsilon_shortens_the_weights_as_published(form, eps, generator):
    def draw(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    source, target, weights = draw(3, 20, 3), draw(3, 20, 3) * 2, draw(3, 20)
    start = random_rotation(3, generator=generator, dtype=torch.float64)
    # The published weights: w / (sum w + eps), used as they are, not normalised again.
    w = (weights / (weights.sum(-1, keepdim=True) + eps)).unsqueeze(-1)
    ms, mt = (w * source).sum(-2, keepdim=True), (w * target).sum(-2, keepdim=True)
    s, t = source - ms, target - mt
    S, G, H = s.mT @ (w * s), t.mT @ (w * t), t.mT @ (w * s)
    R, expected = start, []
    for _ in range(4):
        R = literal.assemble(literal.kkt_step(R, S, G, H, form))
        expected.append(R)
    expected = torch.stack(expected, dim=1)
    rotations, translations = spoonful(
        start, source, target, iters=4, weights=weights, use_target=form == "target", eps=eps
    )
    torch.testing.assert_close(rotations, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(
        translations, (mt[:, None].mT - expected @ ms[:, None].mT).squeeze(-1), rtol=0, atol=1e-10
    )


def test_default_arguments_are_the_published_ones():
    points = torch.randn(2, 30, 3)
    rotations, translations = spoonful(torch.eye(3).expand(2, 3, 3), points, points)
    assert rotations.shape == (2, 5, 3, 3)
    assert translations.shape == (2, 5, 3)


def test_a_singular_system_is_finite_where_the_published_one_is_nan():
    line = torch.linspace(0, 1, 10)[:, None] * torch.tensor([1.0, 2.0, 3.0])
    rotations, _ = spoonful(torch.eye(3)[None], line[None], line[None])
    assert rotations.isfinite().all()


def test_errors_name_the_arguments_as_the_published_function_does():
    points, start = torch.randn(2, 30, 3), torch.eye(3).expand(2, 3, 3)
    with pytest.raises(ValueError, match=r"Ps must have shape .* pass Ps\.mT"):
        spoonful(start, points.mT, points.mT)
    with pytest.raises(ValueError, match="iters must be an int >= 1, got 0"):
        spoonful(start, points, points, iters=0)
    with pytest.raises(ValueError, match=r"R must have the batch dimensions of source"):
        spoonful(start[0], points, points)


def matched_clouds(generator, dim=3):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    X = draw(6, 9, dim)
    Y = X.roll(1, -1) + 0.5 * draw(6, 9, dim)
    Y[3:, :, 0] *= -1  # half of them are nearly mirrored
    return X, Y, draw(6, 9).abs() + 0.1


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dim", [2, 3])
def test_rigid_points_registration_is_romas(scaled, dim, generator):
    roma = pytest.importorskip("roma")
    X, Y, weights = matched_clouds(generator, dim)
    ours = rigid_points_registration(X, Y, weights, compute_scaling=scaled)
    theirs = roma.rigid_points_registration(X, Y, weights, compute_scaling=scaled)
    assert len(ours) == len(theirs) == 2 + scaled
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("reflection", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_corresponding_points_alignment_is_pytorch3ds(dim, reflection, scaled, weighted, generator):
    X, Y, weights = matched_clouds(generator, dim)
    given = weights if weighted else None
    ours = corresponding_points_alignment(
        X, Y, given, estimate_scale=scaled, allow_reflection=reflection
    )
    w = weights if weighted else torch.ones_like(weights)
    expected = alignment.corresponding_points(X, Y, w, scale=scaled, reflection=reflection)
    for mine, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-9)


def test_weighted_rigid_align_moves_coords_onto_the_target(generator):
    X, Y, weights = matched_clouds(generator)
    X.requires_grad_()
    aligned = weighted_rigid_align(X, Y, weights)
    torch.testing.assert_close(aligned, kabsch(X, Y, weights).apply(X).detach())
    assert not aligned.requires_grad
    assert weighted_rigid_align(X, Y, weights, detach=False).requires_grad


def test_twins_have_finite_gradients_at_equal_singular_values():
    axes = torch.cat([torch.eye(3), -torch.eye(3)])[None].requires_grad_()
    for values in (
        rigid_points_registration(axes, axes.detach(), compute_scaling=True),
        corresponding_points_alignment(axes, axes.detach(), estimate_scale=True),
        (weighted_rigid_align(axes, axes.detach(), detach=False),),
    ):
        (gradient,) = torch.autograd.grad(sum(value.sum() for value in values), axes)
        assert gradient.isfinite().all()
