"""Euler angles mean what SciPy's mean, and are defined where SciPy only warns."""

from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spoonful.geometry.euler import euler_from_rotation, rotation_from_euler

Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
ORDERS = ["".join(axes) for axes in permutations("xyz")]
ORDERS += [order.upper() for order in ORDERS]


def random_angles(count: int, seed: int = 0) -> torch.Tensor:
    """Angles all over the two circles and the half circle that Euler angles live on."""
    generator = torch.Generator().manual_seed(seed)
    unit = 2 * torch.rand(count, 3, generator=generator, dtype=torch.float64) - 1
    return unit * torch.tensor([180.0, 89.9, 180.0], dtype=torch.float64)


@pytest.mark.parametrize("order", ORDERS)
def test_rotations_are_scipys(order):
    angles = random_angles(50)
    expected = Rotation.from_euler(order, angles.numpy(), degrees=True).as_matrix()
    ours = rotation_from_euler(angles, order, degrees=True)
    torch.testing.assert_close(ours, torch.from_numpy(expected), rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_are_scipys(order):
    rotation = Rotation.random(200, rng=0)
    expected = torch.from_numpy(rotation.as_euler(order, degrees=True))
    ours = euler_from_rotation(torch.from_numpy(rotation.as_matrix()), order, degrees=True)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_survive_the_round_trip(order):
    angles = random_angles(100, seed=1)
    back = euler_from_rotation(
        rotation_from_euler(angles, order, degrees=True), order, degrees=True
    )
    torch.testing.assert_close(back, angles, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("order", ORDERS)
def test_gimbal_lock_zeroes_the_third_angle_as_scipy_does(order, sign):
    locked = torch.tensor([[25.0, sign * 90, 70.0], [-130.0, sign * 90, 10.0]]).double()
    matrix = rotation_from_euler(locked, order, degrees=True)
    angles = euler_from_rotation(matrix, order, degrees=True)
    expected = Rotation.from_matrix(matrix.numpy()).as_euler(order, degrees=True)
    assert (angles[:, 2] == 0).all()
    torch.testing.assert_close(angles, torch.from_numpy(expected), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 2e-7), (torch.float32, 3e-6)])
@pytest.mark.parametrize("order", ["zyx", "ZYX", "xyz", "XYZ"])
@given(exponent=st.floats(-9, 0), first=st.floats(-180, 180), third=st.floats(-180, 180))
def test_angles_rebuild_the_rotation_however_near_the_lock(
    order, dtype, tolerance, exponent, first, third
):
    angles = torch.tensor([first, 90 - 10**exponent, third], dtype=torch.float64)
    matrix = rotation_from_euler(angles, order, degrees=True).to(dtype)
    # rounding errors of the size that a product of rotations leaves
    matrix = matrix + torch.finfo(dtype).eps * torch.tensor([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
    rebuilt = rotation_from_euler(euler_from_rotation(matrix, order), order)
    torch.testing.assert_close(rebuilt, matrix, rtol=0, atol=tolerance)


def test_any_leading_dimensions_and_the_dtype_are_kept():
    angles = torch.zeros(2, 0, 5, 3)
    rotation = rotation_from_euler(angles, "zyx")
    assert rotation.shape == (2, 0, 5, 3, 3)
    assert rotation.dtype == torch.float32
    assert euler_from_rotation(rotation, "zyx").shape == (2, 0, 5, 3)
    assert euler_from_rotation(torch.eye(3), "XYZ").dtype == torch.float32


def test_a_nan_rotation_damages_only_itself():
    rotation = torch.eye(3).repeat(2, 1, 1)
    rotation[0] = torch.nan
    angles = euler_from_rotation(rotation, "zyx")
    assert angles[0].isnan().all()
    assert (angles[1] == 0).all()


@pytest.mark.parametrize("order", ["zyz", "zy", "Zyx", "abc", ""])
def test_a_bad_order_is_named(order):
    with pytest.raises(ValueError, match=f"order must name x, y and z once each.*{order!r}"):
        rotation_from_euler(torch.zeros(3), order)


def test_bad_shapes_and_dtypes_are_named():
    with pytest.raises(ValueError, match=r"angles must have shape \(\.\.\., 3\), got \(2,\)"):
        rotation_from_euler(torch.zeros(2), "zyx")
    with pytest.raises(ValueError, match=r"rotation must have shape .* got \(3, 4\)"):
        euler_from_rotation(torch.zeros(3, 4), "zyx")
    with pytest.raises(TypeError, match=r"rotation must be floating point, got .*int64"):
        euler_from_rotation(torch.eye(3, dtype=torch.long), "zyx")
