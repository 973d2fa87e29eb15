"""What the paper proves, and what it leaves open, in numbers.

Two more are elsewhere: the assembler's input on random clouds in tests/geometry/test_refine.py, and
the growth of errors, measured against rho, in tests/geometry/test_stability.py.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracles.literal import UPPER, constraint_matrices, vec
from spoonful.geometry import (
    SpoonfulLayer,
    kabsch,
    linearized_step,
    random_rotation,
    rotation_from_vector,
    stability,
)

seeds = st.integers(0, 10_000)


def rotations(count: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return random_rotation(count, generator=generator, dtype=torch.float64)


def clouds(seed: int, count: int = 6, points: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    """Sources, and matches that are turned, scaled and noisy."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(count, points, 3, generator=generator, dtype=torch.float64)
    source = source * torch.tensor([1.0, 0.6, 0.3], dtype=torch.float64)
    noise = torch.randn(count, points, 3, generator=generator, dtype=torch.float64)
    scale = 0.3 + torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
    return source, scale * (source @ rotations(count, seed + 1).mT + 0.2 * noise)


def constraint_gradients(R: torch.Tensor) -> torch.Tensor:
    """The gradients of the six orthogonality constraints at rotations R, (B, 9, 6)."""
    return vec(R[:, None] @ constraint_matrices(R)).mT


def test_licq_the_six_constraint_gradients_are_independent_at_every_rotation():
    C = constraint_gradients(rotations(200))
    values = torch.linalg.svdvals(C)
    assert values.shape == (200, 6)
    # The same at every rotation: 2 for the three norms, sqrt 2 for the three products.
    expected = torch.tensor([2.0] * 3 + [2**0.5] * 3, dtype=torch.float64)
    torch.testing.assert_close(values, expected.expand(200, 6))


def test_constraint_gradients_are_the_derivatives_of_the_constraints():
    R = rotations(1)[0]

    def constraints(matrix: torch.Tensor) -> torch.Tensor:
        residual = matrix.mT @ matrix
        return torch.stack([residual[i, j] for i, j in UPPER])

    jacobian = torch.autograd.functional.jacobian(constraints, R)
    torch.testing.assert_close(vec(jacobian).mT, constraint_gradients(R[None])[0])


def test_the_determinants_gradient_is_half_the_sum_of_the_norms_so_it_is_redundant():
    R = rotations(50).requires_grad_()
    (gradient,) = torch.autograd.grad(torch.linalg.det(R).sum(), R)
    C = constraint_gradients(R.detach())
    diagonal = [k for k, (i, j) in enumerate(UPPER) if i == j]
    torch.testing.assert_close(vec(gradient), C[:, :, diagonal].sum(-1) / 2)
    both = torch.cat([C, vec(gradient)[:, :, None]], dim=-1)
    assert (torch.linalg.matrix_rank(both) == 6).all()


@pytest.mark.slow
@given(seeds, st.sampled_from(["source", "target"]), st.floats(0.0, 3.1))
def test_before_the_assembler_columns_have_length_of_at_least_one_and_are_not_parallel(
    seed, form, turn
):
    source, matches = clouds(seed)
    away = rotation_from_vector(torch.tensor([turn, 0.3 * turn, 0.0], dtype=torch.float64))
    start = kabsch(source, matches).rotation @ away
    new = linearized_step(source, matches, start, form=form)
    lengths = new.norm(dim=-2)
    assert (lengths >= 1 - 1e-12).all()
    # If the second column were a times the first, then a^2 = -1: they are never even close.
    cosine = (new[..., 0] * new[..., 1]).sum(-1) / (lengths[..., 0] * lengths[..., 1])
    assert (cosine.abs() < 1).all()
    u = start.mT @ new - torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(u, -u.mT)  # the constraints: what is left free is skew


@pytest.mark.parametrize("form", ["source", "target"])
def test_from_kabsch_the_layer_is_the_identity_in_value_and_gradient(form):
    source, matches = clouds(3)
    truth = rotations(6, seed=9)
    found = {}
    for name, layer in (("kabsch", SpoonfulLayer().eval()), ("layer", SpoonfulLayer(5, form))):
        leaf = matches.clone().requires_grad_()
        poses = layer(source, leaf).poses.rotation
        loss = (poses - truth.unsqueeze(1)).square().sum((-1, -2)).mean()
        (gradient,) = torch.autograd.grad(loss, leaf)
        found[name] = (poses.detach(), gradient)
    poses, gradient = found["layer"]
    assert (poses - found["kabsch"][0]).abs().max() < 1e-12
    difference = (gradient - found["kabsch"][1]).norm() / found["kabsch"][1].norm()
    assert difference < 1e-12


@pytest.mark.parametrize("a", [0.05, 0.3, 0.5, 1.0, 2.0, 7.0])
def test_rho_of_matches_scaled_by_a(a):
    source, _ = clouds(1)
    matches = a * source @ rotations(6, seed=2).mT
    for form, expected in (("source", abs(1 - a)), ("target", abs(1 - 1 / a))):
        rho = stability(source, matches, form=form).rho
        torch.testing.assert_close(rho, torch.full_like(rho, expected), rtol=0, atol=1e-8)


@given(seeds, st.floats(0.1, 10.0))
def test_scaling_the_matches_changes_their_error_and_not_the_pose(seed, a):
    """The paper's last equation: d_a = d_0 + (a^2 - 1)/N sum q^T (q - 2/(a + 1) R p)."""
    source, matches = clouds(seed, count=1)
    p, q = source[0] - source[0].mean(0), matches[0] - matches[0].mean(0)
    R = kabsch(p, q).rotation
    torch.testing.assert_close(kabsch(p, a * q).rotation, R)
    moved = p @ R.mT
    before = (q - moved).square().sum(-1).mean()
    after = (a * q - moved).square().sum(-1).mean()
    change = (a**2 - 1) * (q * (q - 2 / (a + 1) * moved)).sum(-1).mean()
    torch.testing.assert_close(after, before + change)
    # So there is always a scale that makes the error as large as one likes, at the same pose.
    assert (100 * a * q - moved).square().sum(-1).mean() > after
