"""Normals by principal components, and the search for neighbours beneath them."""

from __future__ import annotations

import pytest
import torch

from spoonful.data import normals as module
from spoonful.data.normals import estimate_normals, oriented, unsigned_normals
from spoonful.geometry.exact import rotate
from spoonful.neighbors import Index


def sphere(count: int, generator: torch.Generator, **kind: object) -> torch.Tensor:
    points = torch.randn(count, 3, generator=generator, **kind)
    return points / points.norm(dim=-1, keepdim=True)


def rotation(generator: torch.Generator) -> torch.Tensor:
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator)).Q
    return turn * turn.det()


def test_normals_of_a_sphere_point_outward(generator: torch.Generator) -> None:
    points = sphere(4000, generator)
    normals = estimate_normals(points)
    assert ((normals * points).sum(-1) > 0.99).all()
    torch.testing.assert_close(normals.norm(dim=-1), torch.ones(4000))


def test_normals_of_a_room_look_at_the_sensor_in_it(generator: torch.Generator) -> None:
    points = 3 * sphere(2000, generator) + torch.tensor([10.0, 0, 0])
    sensor = torch.tensor([10.5, 0.2, 0.0])
    normals = estimate_normals(points, viewpoint=sensor)
    assert ((normals * (sensor - points)).sum(-1) > 0).all()


def test_normals_turn_with_the_cloud(generator: torch.Generator) -> None:
    points = torch.rand(300, 3, generator=generator, dtype=torch.float64)
    turn = rotation(generator).double()
    turn = turn @ (1.5 * torch.eye(3) - 0.5 * turn.mT @ turn)
    turned = estimate_normals(rotate(turn, points) + 5)
    torch.testing.assert_close(turned, rotate(turn, estimate_normals(points)), atol=1e-6, rtol=0)


def test_clouds_of_a_batch_do_not_see_each_other(generator: torch.Generator) -> None:
    clouds = torch.rand(2, 3, 100, 3, generator=generator)
    together = estimate_normals(clouds)
    for i in range(2):
        for j in range(3):
            assert torch.equal(together[i, j], estimate_normals(clouds[i, j]))


@pytest.mark.parametrize("count", [200, 6000], ids=["exhaustive", "blocks"])
def test_padding_changes_nothing(count: int, generator: torch.Generator) -> None:
    points = sphere(count, generator)
    padded = torch.cat([points, torch.full((50, 3), torch.nan)])
    mask = torch.arange(count + 50) < count
    normals = estimate_normals(padded, mask=mask)
    torch.testing.assert_close(normals[:count], estimate_normals(points), atol=1e-5, rtol=0)
    assert (normals[count:] == 0).all()


def test_a_large_offset_changes_nothing(generator: torch.Generator) -> None:
    points = sphere(500, generator, dtype=torch.float64)
    far = points + torch.tensor([5e5, 5.4e6, 300.0], dtype=torch.float64)
    torch.testing.assert_close(estimate_normals(far), estimate_normals(points), atol=1e-6, rtol=0)


@pytest.mark.parametrize("scale", [1e-30, 1e15])
def test_units_change_nothing(scale: float, generator: torch.Generator) -> None:
    points = sphere(500, generator)
    normals = estimate_normals(points * scale)
    assert ((normals * points).sum(-1) > 0.9).all()


@pytest.mark.parametrize(
    "points",
    [
        torch.zeros(10, 3),
        torch.arange(10.0).unsqueeze(-1) * torch.tensor([1.0, 2, 3]),
        torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]),
    ],
    ids=["one place", "a line", "three points"],
)
def test_degenerate_clouds_get_unit_normals(points: torch.Tensor) -> None:
    normals = estimate_normals(points)
    torch.testing.assert_close(normals.norm(dim=-1), torch.ones(len(points)))
    # Perpendicular to whatever extent there is.
    assert ((normals * (points - points.mean(0))).sum(-1).abs() < 1e-4).all()


def test_fewer_valid_points_than_neighbours(generator: torch.Generator) -> None:
    for count in (50, 5000):
        mask = torch.zeros(count, dtype=torch.bool)
        mask[7:12] = True
        points = torch.rand(count, 3, generator=generator)
        assert (estimate_normals(points, mask=mask)[mask].norm(dim=-1) - 1).abs().max() < 1e-5


def test_unsigned_normals_are_the_same_up_to_their_sign(generator: torch.Generator) -> None:
    points = sphere(500, generator)
    wanted = estimate_normals(points)
    normals = unsigned_normals(points, index=Index(points))
    assert (normals.gather(-1, normals.abs().argmax(-1, keepdim=True)) > 0).all()
    torch.testing.assert_close(oriented(normals, points), wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("flatness", [1.0, 1e-3, 0.0])
def test_the_least_axis_is_that_of_eigh(flatness: float, generator: torch.Generator) -> None:
    spread = torch.randn(500, 16, 3, generator=generator, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(500, 3, 3, generator=generator, dtype=torch.float64)).Q
    spread = spread * torch.tensor([1.0, 1.0, flatness]) @ turn.mT
    covariance = spread.mT @ spread
    expected = torch.linalg.eigh(covariance).eigenvectors[..., 0]
    cosine = (module._least_axis(covariance) * expected).sum(-1).abs()
    torch.testing.assert_close(cosine, torch.ones(500, dtype=torch.float64))


def test_mistakes_are_named() -> None:
    points = torch.rand(10, 3)
    for wrong, error, words in [
        ({"points": torch.rand(10, 2)}, ValueError, r"points must have shape .* got \(10, 2\)"),
        ({"points": points.half()}, TypeError, "points must be float32 or float64"),
        ({"points": points * torch.nan}, ValueError, "points must be finite"),
        ({"k": 2}, ValueError, "k must be at least 3, got 2"),
        ({"mask": torch.ones(9, dtype=torch.bool)}, ValueError, r"mask must have shape \(10,\)"),
        ({"viewpoint": torch.zeros(2)}, ValueError, r"viewpoint must have shape \(\.\.\., 3\)"),
    ]:
        with pytest.raises(error, match=words):
            estimate_normals(**({"points": points} | wrong))
