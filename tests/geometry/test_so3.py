"""Rotations and poses: the conventions that everything else assumes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spoonful.geometry import Pose, hat, random_rotation, rotation_from_vector, vee
from spoonful.geometry.exact import matmul3, matvec3, rotate
from spoonful.geometry.spread import spread, spread_inverse


def test_hat_is_the_cross_product_and_vee_its_adjoint():
    a, b = torch.randn(2, 5, 3).double()
    torch.testing.assert_close(matvec3(hat(a), b), torch.linalg.cross(a, b))
    A = torch.randn(5, 3, 3).double()
    torch.testing.assert_close((A * hat(a)).sum((-1, -2)), (vee(A) * a).sum(-1))


def test_vee_of_hat_times_a_symmetric_matrix_is_its_spread():
    u, X = torch.randn(5, 3).double(), torch.randn(5, 3, 3).double()
    X = X + X.mT
    torch.testing.assert_close(vee(matmul3(hat(u), X)), matvec3(spread(X), u))


@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3))
def test_rotation_from_vector_equals_scipy(vector):
    Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    expected = torch.from_numpy(Rotation.from_rotvec(vector).as_matrix())
    ours = rotation_from_vector(torch.tensor(vector, dtype=torch.float64))
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)


def test_rotation_from_vector_is_smooth_at_zero():
    zero = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.equal(rotation_from_vector(zero), torch.eye(3).double().expand(2, 3, 3))
    assert torch.autograd.gradcheck(rotation_from_vector, (zero,))


def test_random_rotations_keep_their_bound_and_seed():
    a, b = (
        random_rotation(500, max_degrees=40, generator=torch.Generator().manual_seed(1))
        for _ in range(2)
    )
    assert torch.equal(a, b)
    angles = torch.rad2deg(vee(a).norm(dim=-1).div(2).asin())
    assert angles.max() <= 40 + 1e-3
    assert float(angles.mean()) == pytest.approx(20, abs=2)


@given(st.integers(0, 1000))
def test_poses_compose_invert_and_apply_like_matrices(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw():
        rotation = random_rotation(2, generator=generator, dtype=torch.float64)
        return Pose(rotation, torch.randn(2, 3, generator=generator, dtype=torch.float64))

    a, b = draw(), draw()
    points = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(a.compose(b).matrix(), a.matrix() @ b.matrix())
    torch.testing.assert_close(a.compose(b).apply(points), a.apply(b.apply(points)))
    torch.testing.assert_close(a.inverse().apply(a.apply(points)), points)
    torch.testing.assert_close(Pose.from_matrix(a.matrix()).matrix(), a.matrix())
    torch.testing.assert_close(Pose.from_matrix(a.matrix()[..., :3, :]).matrix(), a.matrix())


def test_poses_are_picked_as_their_matrices_are():
    poses = Pose(random_rotation(4, 5), torch.randn(4, 5, 3))
    matrices = poses.matrix()
    keep = torch.tensor([True, False, True, True])
    for index in ((0,), (1, 2), (slice(1, 3),), (..., -1), (keep,), (torch.tensor([3, 0]), 1)):
        assert torch.equal(poses.at(*index).matrix(), matrices[(*index, slice(None), slice(None))])
    assert torch.equal(
        poses.at(keep.unsqueeze(-1).expand(4, 5)).matrix(), matrices[keep].flatten(0, 1)
    )


def test_identity_moves_nothing():
    points = torch.randn(2, 4, 3)
    assert torch.equal(Pose.identity(2).apply(points), points)
    assert Pose.identity(dtype=torch.float64).rotation.dtype == torch.float64


def test_exact_products_equal_matmul():
    a, b = torch.randn(2, 4, 3, 3).double()
    points = torch.randn(4, 7, 3).double()
    torch.testing.assert_close(matmul3(a, b), a @ b)
    torch.testing.assert_close(rotate(a, points), points @ a.mT)


@pytest.mark.parametrize(
    "eigenvalues", [(3, 2, 1), (3, 3, 3), (2, 1, 0), (1, 0, 0), (0, 0, 0), (1, 1e-6, 0)]
)
def test_spread_inverse_is_the_pseudo_inverse_at_every_rank(eigenvalues):
    rotation = random_rotation(dtype=torch.float64)
    moment = rotation @ torch.diag(torch.tensor(eigenvalues, dtype=torch.float64)) @ rotation.mT
    expected = torch.linalg.pinv(spread(moment), hermitian=True, rtol=1e-12)
    torch.testing.assert_close(spread_inverse(moment), expected, rtol=1e-6, atol=1e-9)


def test_spread_inverse_differentiates_like_an_inverse():
    half = torch.randn(2, 3, 3, dtype=torch.float64)
    moment = (half @ half.mT).requires_grad_()

    def symmetric(x):
        return spread_inverse((x + x.mT) / 2)

    assert torch.autograd.gradcheck(symmetric, (moment,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(symmetric, (moment,))
