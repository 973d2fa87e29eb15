"""Rotation and translation errors: accurate everywhere, and each convention is what it says."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from scipy.spatial.transform import Rotation

from spoonful.geometry import Pose
from spoonful.geometry.euler import rotation_from_euler
from spoonful.metrics import (
    anisotropic_error_degrees,
    relative_rotation_error,
    relative_translation_error,
    rotation_error_degrees,
    summarize,
    translation_error,
)


def random_rotations(count: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(Rotation.random(count, rng=seed).as_matrix())


def turned(rotation: torch.Tensor, degrees: float, axis=(1.0, -2.0, 0.5)) -> torch.Tensor:
    """`rotation` after a turn by a known angle."""
    unit = torch.tensor(axis, dtype=torch.float64)
    turn = Rotation.from_rotvec((unit / unit.norm() * math.radians(degrees)).numpy())
    return torch.from_numpy(turn.as_matrix()) @ rotation


@given(degrees=st.floats(0, 180))
def test_the_isotropic_error_is_the_angle_of_the_difference(degrees):
    truth = random_rotations(1)[0]
    error = rotation_error_degrees(turned(truth, degrees), truth).item()
    assert error == pytest.approx(degrees, abs=1e-9)


@pytest.mark.parametrize("degrees", [0, 1e-9, 1e-6, 1e-3, 180 - 1e-3, 180 - 1e-6, 180])
def test_the_isotropic_error_is_accurate_near_0_and_180(degrees):
    truth = random_rotations(1)[0]
    error = rotation_error_degrees(turned(truth, degrees), truth).item()
    assert error == pytest.approx(degrees, abs=1e-12 if degrees < 1 else 1e-8)


@pytest.mark.parametrize("degrees", [0, 1e-3, 90, 180 - 1e-3, 180])
def test_float32_rotations_keep_their_own_precision(degrees):
    """A clamped arccos in float32 is off by 0.02 degrees at both ends."""
    truth = random_rotations(1)[0]
    error = rotation_error_degrees(turned(truth, degrees).float(), truth.float()).item()
    assert error == pytest.approx(degrees, abs=3e-5)


def test_equal_rotations_have_an_error_of_exactly_zero():
    rotation = random_rotations(20).float()
    assert (rotation_error_degrees(rotation, rotation) == 0).all()


def test_the_isotropic_error_is_symmetric_and_ignores_the_frame():
    a, b, frame = random_rotations(10, 0), random_rotations(10, 1), random_rotations(10, 2)
    error = rotation_error_degrees(a, b)
    torch.testing.assert_close(rotation_error_degrees(b, a), error)
    torch.testing.assert_close(rotation_error_degrees(frame @ a, frame @ b), error)


def test_dcp_is_the_difference_of_zyx_angles():
    a, b = random_rotations(10, 0), random_rotations(10, 1)
    expected = [
        torch.from_numpy(Rotation.from_matrix(r.numpy()).as_euler("zyx", degrees=True))
        for r in (a, b)
    ]
    torch.testing.assert_close(
        anisotropic_error_degrees(a, b, "dcp"), expected[0] - expected[1], rtol=0, atol=1e-9
    )


def test_rpmnet_is_the_difference_of_xyz_angles():
    a, b = random_rotations(10, 0), random_rotations(10, 1)
    expected = [
        torch.from_numpy(Rotation.from_matrix(r.numpy()).as_euler("xyz", degrees=True))
        for r in (a, b)
    ]
    torch.testing.assert_close(
        anisotropic_error_degrees(a, b, "rpmnet"), expected[0] - expected[1], rtol=0, atol=1e-9
    )


def test_paper_is_the_intrinsic_zyx_angles_of_the_difference():
    truth = random_rotations(10)
    angles = torch.tensor([5.0, -3.0, 2.0], dtype=torch.float64).expand(10, 3)
    pose = truth @ rotation_from_euler(angles, "ZYX", degrees=True).mT
    torch.testing.assert_close(
        anisotropic_error_degrees(pose, truth, "paper"), angles, rtol=0, atol=1e-9
    )


def test_translation_errors_are_norms():
    t, truth = torch.randn(4, 5, 3), torch.randn(4, 5, 3)
    torch.testing.assert_close(translation_error(t, truth), (t - truth).norm(dim=-1).double())
    torch.testing.assert_close(translation_error(t, truth, p=1), (t - truth).abs().sum(-1).double())


def test_doing_nothing_has_a_relative_error_of_one():
    truth = Pose(random_rotations(10), torch.randn(10, 3).double())
    nothing = Pose.identity(10, dtype=torch.float64)
    one = torch.ones(10, dtype=torch.float64)
    torch.testing.assert_close(relative_rotation_error(nothing.rotation, truth.rotation), one)
    torch.testing.assert_close(
        relative_translation_error(nothing.translation, truth.translation), one
    )


def test_a_relative_error_without_truth_to_relate_to_is_not_finite():
    eye, zero = torch.eye(3), torch.zeros(3)
    assert relative_rotation_error(random_rotations(1)[0].float(), eye).isinf()
    assert relative_rotation_error(eye, eye).isnan()
    assert relative_translation_error(torch.ones(3), zero).isinf()
    assert relative_translation_error(zero, zero).isnan()


def test_any_leading_dimensions():
    rotation = random_rotations(6).reshape(2, 3, 3, 3)
    for error in (rotation_error_degrees, relative_rotation_error):
        assert error(rotation, rotation[:1]).shape == (2, 3)
        assert error(rotation[0, 0], rotation[0, 0]).shape == ()
        assert error(rotation[:0], rotation[:0]).shape == (0, 3)
    assert anisotropic_error_degrees(rotation, rotation[:, :1]).shape == (2, 3, 3)


def test_a_nan_damages_only_its_own_item():
    rotation = random_rotations(3)
    rotation[1] = torch.nan
    error = rotation_error_degrees(rotation, random_rotations(3))
    assert error.isnan().tolist() == [False, True, False]


def test_dcp_golden_values(golden_folder):
    golden = load_file(golden_folder / "dcp_metrics.safetensors")
    errors = anisotropic_error_degrees(golden["rotation"], golden["rotation_gt"], "dcp")
    summary = summarize(errors)
    assert summary.mse == pytest.approx(golden["rot_mse"].item(), abs=1e-4)
    assert summary.mae == pytest.approx(golden["rot_mae"].item(), abs=1e-4)


def test_rpmnet_golden_values(golden_folder):
    golden = load_file(golden_folder / "rpm_metrics.safetensors")
    pose, truth = Pose.from_matrix(golden["pred"]), Pose.from_matrix(golden["transform_gt"])
    axes = anisotropic_error_degrees(pose.rotation, truth.rotation, "rpmnet")
    shift = (pose.translation - truth.translation).double()
    ours = {
        "r_mse": axes.square().mean(-1),
        "r_mae": axes.abs().mean(-1),
        "t_mse": shift.square().mean(-1),
        "t_mae": translation_error(pose.translation, truth.translation, p=1) / 3,
        "err_r_deg": rotation_error_degrees(pose.rotation, truth.rotation),
        "err_t": translation_error(pose.translation, truth.translation),
    }
    for name, values in ours.items():
        torch.testing.assert_close(values, golden[name], rtol=0, atol=1e-4)


def test_mistakes_are_named():
    eye = torch.eye(3)
    with pytest.raises(ValueError, match="convention must be 'dcp', 'paper' or 'rpmnet', got 'eu"):
        anisotropic_error_degrees(eye, eye, "euler")
    with pytest.raises(ValueError, match="p must be 1 or 2, got 3"):
        translation_error(torch.zeros(3), torch.zeros(3), p=3)
    with pytest.raises(ValueError, match=r"rotation must have shape \(\.\.\., 3, 3\), got \(3,\)"):
        rotation_error_degrees(torch.zeros(3), eye)
    with pytest.raises(TypeError, match=r"truth must be floating point, got torch.int64"):
        rotation_error_degrees(eye, eye.long())
    with pytest.raises(TypeError, match=r"rotation must be a torch\.Tensor, got ndarray"):
        rotation_error_degrees(eye.numpy(), eye)


def test_poses_and_truths_never_broadcast_by_accident():
    """Four items with four poses each, against four truths, is ambiguous."""
    poses, truth = torch.eye(3).expand(4, 4, 3, 3), torch.eye(3).expand(4, 3, 3)
    with pytest.raises(ValueError, match="rotation and truth must have the same leading dimension"):
        rotation_error_degrees(poses, truth)
