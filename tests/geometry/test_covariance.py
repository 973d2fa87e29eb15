"""Pose covariances cover the truth as often as they say."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spoonful.geometry import Pose, kabsch, random_rotation
from spoonful.geometry.covariance import covariance, plane_covariance, to_ros
from spoonful.geometry.point_to_plane import point_to_plane
from spoonful.geometry.similarity import similarity
from spoonful.geometry.so3 import vee

FITS = 5000
QUANTILE = {6: 12.592, 7: 14.067}  # of chi-squared, 95 %


def covered(truth: Pose, scale: float, found: Pose, spread: Tensor) -> float:
    """The share of fits whose 95 % ellipsoid holds the truth."""
    R = truth.rotation
    parts = [vee(R.mT @ found.rotation) / 2, (found.translation - truth.translation) @ R]
    if len(found) == 3:
        parts.append(torch.log(found.scale / scale).unsqueeze(-1))
    change = torch.cat(parts, -1)
    squared = (change * torch.linalg.solve(spread, change)).sum(-1)
    return float((squared < QUANTILE[change.shape[-1]]).double().mean())


def scene(generator, n):
    source = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    source = source * torch.tensor([2.0, 1, 0.5]) + torch.tensor([3.0, -1, 2])
    rotation = random_rotation(generator=generator, dtype=torch.float64)
    return source, Pose(rotation, torch.tensor([1.0, 2, 3], dtype=torch.float64))


@pytest.mark.parametrize("scale", [None, 1.7])
@pytest.mark.parametrize("kind", ["known", "estimated", "each"])
def test_the_ellipsoid_covers_the_truth_95_times_of_100(kind, scale, generator):
    n = 60
    source, truth = scene(generator, n)
    spread = torch.rand(n, generator=generator, dtype=torch.float64) * 0.02 + 0.005
    sigma = spread if kind == "each" else torch.full((n,), 0.02, dtype=torch.float64)
    factor = scale or 1.0
    shake = torch.randn(FITS, n, 3, generator=generator, dtype=torch.float64)
    target = factor * source @ truth.rotation.mT + truth.translation + sigma[:, None] * shake
    moving = source.expand_as(target)
    weights = (1 / sigma.square()).expand(FITS, n) if kind == "each" else None
    found = (similarity if scale else kabsch)(moving, target, weights)
    noise = {"known": 0.02, "estimated": None, "each": sigma.expand(FITS, n)}[kind]
    share = covered(truth, factor, found, covariance(moving, target, found, weights, noise=noise))
    assert 0.94 <= share <= 0.96


def plane_fits(generator, n, errors):
    """Fits of points on n random planes, with `errors` (F, N) along the normals, N / n on each."""
    target, truth = scene(generator, n)
    normals = torch.nn.functional.normalize(
        torch.randn(n, 3, generator=generator, dtype=torch.float64), dim=-1
    )
    members = errors.shape[-1] // n
    target, normals = (x.repeat_interleave(members, 0) for x in (target, normals))
    source = truth.inverse().apply(target) + errors.unsqueeze(-1) * (normals @ truth.rotation)
    onto, along = target.expand_as(source), normals.expand_as(source)
    count = len(errors)
    found = Pose(truth.rotation.expand(count, 3, 3), truth.translation.expand(count, 3))
    for _ in range(2):
        found = point_to_plane(source, onto, along, start=found)
    return (source, onto, along, found), truth


@pytest.mark.slow
def test_the_ellipsoid_of_a_plane_fit_covers_the_truth(generator):
    errors = 0.01 * torch.randn(FITS, 40, generator=generator, dtype=torch.float64)
    fits, truth = plane_fits(generator, 40, errors)
    spread = plane_covariance(*fits, noise=0.01)
    assert 0.94 <= covered(truth, 1.0, fits[-1], spread) <= 0.96


@pytest.mark.slow
def test_with_groups_the_ellipsoid_covers_the_truth_though_neighbours_share_errors(generator):
    shared = 0.01 * torch.randn(400, 200, generator=generator, dtype=torch.float64)
    fits, truth = plane_fits(generator, 200, shared.repeat_interleave(5, -1))
    groups = torch.arange(200).repeat_interleave(5).expand(400, -1)
    assert covered(truth, 1.0, fits[-1], plane_covariance(*fits, groups=groups)) >= 0.9
    assert covered(truth, 1.0, fits[-1], plane_covariance(*fits)) < 0.5


def test_groups_of_one_match_each_are_nearly_independent_errors(generator):
    errors = 0.01 * torch.randn(1, 5000, generator=generator, dtype=torch.float64)
    fits, _ = plane_fits(generator, 5000, errors)
    found = plane_covariance(*fits, groups=torch.arange(5000).expand(1, -1))
    expected = plane_covariance(*fits)
    root = expected[0].diagonal().sqrt()
    torch.testing.assert_close(
        found[0] / root / root[:, None], expected[0] / root / root[:, None], rtol=0, atol=0.1
    )


@pytest.mark.parametrize(
    ("groups", "kind", "message"),
    [
        (torch.zeros(4), TypeError, "groups must be int64, got torch.float32"),
        (
            torch.zeros(3, dtype=torch.int64),
            ValueError,
            r"groups must have shape \(4,\), got \(3,\)",
        ),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, kind, message):
    points = torch.eye(4)[:, :3]
    with pytest.raises(kind, match=message):
        plane_covariance(points, points, points, Pose.identity(), groups=groups)


def test_what_a_plane_leaves_free_has_no_variance(generator):
    points = torch.rand(50, 3, generator=generator, dtype=torch.float64)
    points[:, 2] = 0
    up = torch.tensor([0.0, 0, 1], dtype=torch.float64).expand_as(points)
    spread = plane_covariance(points, points, up, Pose.identity(dtype=torch.float64), noise=0.1)
    assert spread.isfinite().all()
    assert float(spread[5, 5]) > 0
    torch.testing.assert_close(spread.diagonal()[2:5], torch.zeros(3, dtype=torch.float64))


def test_ros_order_is_that_of_a_turned_frame(generator):
    rotation = random_rotation(generator=generator, dtype=torch.float64)
    pose = Pose(rotation, torch.zeros(3, dtype=torch.float64))
    root = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    ours = root @ root.mT
    change = torch.zeros(6, 6, dtype=torch.float64)
    change[:3, 3:], change[3:, :3] = rotation, rotation
    torch.testing.assert_close(to_ros(ours, pose), change @ ours @ change.mT)
