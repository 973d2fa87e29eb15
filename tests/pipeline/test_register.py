"""`register` finds partial scans wherever they lie, and doubts where it should."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
import torch

from pipeline.lumps import lumpy, off_by, view
from pipeline.test_rivals import room_turned
from spoonful.cli.demo import built_in_pair
from spoonful.data.clouds import Cloud
from spoonful.data.normals import estimate_normals
from spoonful.geometry import Pose, random_rotation, rotation_from_vector
from spoonful.pipeline import METHODS, read_pose, register
from spoonful.pipeline.confidence import FitStatistics, warnings_of
from spoonful.pipeline.freedom import Freedom
from spoonful.pipeline.prepare import prepare


@pytest.fixture(scope="session")
def found(scans):
    source, target, _ = scans
    return register(source, target)


@pytest.mark.slow
def test_partial_scans_anywhere_are_found(scans, found):
    degrees, shift = off_by(found.pose, scans[2])
    assert degrees < 1.0
    assert shift < 0.02
    assert found.confident
    assert 0.3 < found.overlap < 1.0
    assert found.method == "consensus"


@pytest.mark.slow
def test_the_result_does_not_depend_on_units(scans, found):
    source, target, _ = scans
    large = register(source * 1000, target * 1000)
    degrees, shift = off_by(Pose(large.pose.rotation, large.pose.translation / 1000), found.pose)
    assert degrees < 0.05
    assert shift < 1e-3
    assert large.voxel == pytest.approx(1000 * found.voxel, rel=1e-3)
    assert large.radius == pytest.approx(1000 * found.radius, rel=1e-3)
    assert large.confidence == pytest.approx(found.confidence, abs=0.05)
    assert large.warnings == found.warnings


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result(scans, found):
    again = register(scans[0], scans[1])
    assert torch.equal(again.transform, found.transform)
    assert again.confidence == found.confidence
    assert [c.score for c in again.candidates] == [c.score for c in found.candidates]


def test_the_covariance_is_whole_in_the_record_and_two_numbers_for_reading(found):
    record = found.summary()
    covariance = torch.tensor(record["covariance"], dtype=torch.float64)
    torch.testing.assert_close(covariance, covariance.mT)
    assert float(torch.linalg.eigvalsh(covariance)[0]) > 0
    assert 0 < record["deviation_degrees"] < 0.5
    assert 0 < record["deviation"] < found.voxel


def test_the_stops_lead_from_the_start_to_the_answer(found):
    assert list(found.poses) == ["start", "global", "refined", "final"]
    assert torch.equal(found.poses["start"].matrix(), torch.eye(4, dtype=torch.float64))
    assert torch.equal(found.poses["final"].matrix(), found.transform)


def test_the_matches_lie_on_each_other_under_the_pose(found):
    gap = (found.apply(found.matches.source) - found.matches.target).norm(dim=-1)
    assert len(gap) >= 10
    assert float(gap.max()) <= 1.5 * found.voxel
    assert float(found.matches.weights.min()) > 0


def test_the_choice_is_explained(found):
    assert "matches" in found.reason
    assert found.candidates[0].name == found.method
    scores = [candidate.score for candidate in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.slow
def test_normals_that_come_with_the_clouds_are_used():
    clouds = [lumpy(5000, seed) for seed in (4, 5)]
    # The whole solid is star-shaped, so these all point outwards.
    normals = [estimate_normals(cloud) for cloud in clouds]
    seen = [clouds[0][:, 2] > -0.2, clouds[1] @ clouds[1].new_tensor([0.0, 0.7, 0.7]) > -0.2]
    turn = Pose(
        random_rotation(generator=torch.Generator().manual_seed(6), dtype=torch.float64),
        torch.zeros(3, dtype=torch.float64),
    )
    found = register(
        turn.apply(clouds[0][seen[0]]),
        clouds[1][seen[1]],
        source_normals=turn.apply(normals[0][seen[0]]),
        target_normals=normals[1][seen[1]],
    )
    assert off_by(found.pose, turn.inverse())[0] < 1.0
    assert found.confident


@pytest.mark.parametrize("given", [Pose, np.ndarray])
def test_an_init_that_is_right_is_taken(scans, given):
    source, target, truth = scans
    nudge = Pose(
        random_rotation(
            max_degrees=4.0, generator=torch.Generator().manual_seed(0), dtype=torch.float64
        ),
        torch.full((3,), 0.02, dtype=torch.float64),
    )
    start = nudge.compose(truth)
    init = start if given is Pose else start.matrix().numpy()
    found = register(source, target, method="icp", init=init)
    assert found.method == "icp"
    assert off_by(found.pose, truth)[0] < 1.0
    assert torch.allclose(found.poses["start"].matrix(), start.matrix())


@pytest.mark.parametrize(("degrees", "far"), [(5.0, False), (90.0, True)])
def test_a_result_far_from_the_initial_pose_has_a_warning(scans, degrees, far):
    source, target, truth = scans
    turn = rotation_from_vector(torch.tensor([0, 0, math.radians(degrees)]).double())
    found = register(source, target, init=Pose(turn, torch.zeros(3).double()).compose(truth))
    assert off_by(found.pose, truth)[0] < 1.0
    assert any("initial pose" in warning for warning in found.warnings) == far


def test_icp_stays_near_the_initial_pose_even_if_half_a_turn_of_it_fits_better():
    search, judged = room_turned(furnished=True)
    frame = search.pair.frame
    points = search.pair.target.fine.points.double() * frame.scale + frame.target_center
    turned = frame.pose_out(judged.pose.at(1))
    found = register(points, points, method="icp", init=turned, voxel=0.1)
    assert found.method == "icp"
    assert off_by(found.pose, turned)[0] < 5.0


def test_icp_from_the_wrong_start_is_doubted(scans):
    assert not register(scans[0], scans[1], method="icp").confident


@pytest.mark.slow
def test_different_objects_are_doubted():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(2, 5000, generator=generator, dtype=torch.float64)
    hills = torch.stack([x, y, 0.1 * torch.sin(9 * x + 3 * y)], 1)
    assert not register(hills, lumpy(5000, 0)).confident


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rpmnet", "dcp-v2"])
def test_shipped_networks_register_the_demo(method):
    pair = built_in_pair(torch.Generator().manual_seed(0))
    found = register(pair.source, pair.target, method=method)
    assert found.method == method
    assert found.confident
    assert off_by(found.pose, pair.truth.to(torch.float64))[0] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_the_deviation_is_about_the_error_though_neighbours_share_errors(shared):
    source, target = lumpy(6000, 1), lumpy(6000, 2)
    out = torch.nn.functional.normalize(source, dim=-1)
    if shared:
        errors = torch.sin(4 * source).prod(-1, keepdim=True)
    else:
        errors = torch.randn(6000, 1, generator=torch.Generator().manual_seed(0)).double()
    found = register(source + 0.01 * errors / errors.std() * out, target)
    degrees, shift = off_by(found.pose, Pose.identity(dtype=torch.float64))
    assert found.deviation.degrees / 3 < degrees < 3 * found.deviation.degrees
    assert found.deviation.length / 3 < shift < 3 * found.deviation.length


@pytest.mark.slow
def test_a_sphere_is_called_round_and_doubted():
    one, two = (torch.nn.functional.normalize(lumpy(4000, seed), dim=-1) for seed in (1, 2))
    found = register(one, two)
    assert not found.confident
    assert any("turn about" in warning for warning in found.warnings)
    assert any("symmetric" in warning for warning in found.warnings)
    assert found.deviation.degrees == 0  # no turn has a precision
    assert found.deviation.length > 0


@pytest.mark.slow
def test_a_flat_plate_is_called_planar_and_doubted():
    generator = torch.Generator().manual_seed(0)
    one, two = torch.rand(2, 4000, 3, generator=generator, dtype=torch.float64)
    flat = torch.tensor([1.0, 0.6, 0.001], dtype=torch.float64)
    found = register(one * flat, two * flat)
    assert not found.confident
    assert any("planar" in warning for warning in found.warnings)
    # Only the distance to the plate's plane and the tilts are determined.
    assert found.deviation.length < 1e-4
    assert found.deviation.degrees < 0.01


def test_scales_that_differ_are_named(scans):
    found = register(scans[0] * 1000, scans[1])
    assert any("scales differ" in warning for warning in found.warnings)
    assert "millimetres and metres" in found.units_hint
    assert not found.confident


def test_a_part_of_a_whole_is_not_told_to_change_its_unit(scans):
    pair = prepare(Cloud(scans[0]), Cloud(scans[1]))
    units, part = (
        "; perhaps millimetres and metres",
        "; unless one is a part",
    )
    for size, share, words in ((1000.0, 0.4, units), (1000.0, 0.9, part), (5.5, 0.4, part)):
        fit = FitStatistics(support=90, agreement=0.8, exactness=0.8, share=share)
        (warning,) = warnings_of(pair, fit, Freedom(), (size, 1.0))
        assert words in warning


def test_where_nothing_meets_nothing_is_called_symmetric(scans):
    pair = prepare(Cloud(scans[0]), Cloud(scans[1]))
    fit = FitStatistics(support=0, agreement=0.0, exactness=0.0, share=0.0, rivals=(1.0, 1.0))
    (warning,) = warnings_of(pair, fit, Freedom(), (1.0, 1.0))
    assert warning.startswith("low overlap: 0%")


def test_three_points_give_a_pose_and_a_warning():
    few = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0]])
    found = register(few, few + 1)
    assert not found.confident
    assert bool(found.transform.isfinite().all())
    assert any("few points" in warning for warning in found.warnings)
    assert found.notes == ()


def test_points_that_are_not_finite_are_counted():
    few = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0]])
    holes = np.concatenate([few, [[np.nan, 0, 0]]])
    said = "left out for NaN or infinite coordinates: 1 point of the source"
    assert register(holes, few + 1).notes == (said,)
    assert register(holes, holes).notes == (f"{said} and 1 point of the target",)


@pytest.mark.slow
def test_stray_points_change_nothing(scans):
    source, target, truth = scans
    stray = torch.cat([source, torch.full((3, 3), 1e5, dtype=torch.float64)])
    assert off_by(register(stray, target).pose, truth)[0] < 1.0


@pytest.mark.slow
def test_large_coordinates_keep_their_digits(scans, found):
    source, target, _ = scans
    utm = torch.tensor([500_000.0, 4_000_000.0, 100.0], dtype=torch.float64)
    far = register(source + utm, target + utm)
    assert torch.allclose(
        far.apply(source + utm), found.apply(source) + utm, atol=2e-3 * float(source.std()), rtol=0
    )


@pytest.mark.slow
def test_many_points_take_bounded_time():
    source, target = view(lumpy(200_000, 1), (1, 0, 0)), view(lumpy(200_000, 2), (0.6, 0.8, 0))
    start = time.thread_time()
    found = register(source, target)
    assert time.thread_time() - start < 6.0
    assert off_by(found.pose, Pose.identity(dtype=torch.float64))[0] < 1.0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros((0, 3)), "source must hold finite points, got no points"),
        (np.full((50, 3), np.nan), "source must hold finite points, got 50 points, none"),
        (np.zeros((2, 3)), "source must have at least three finite points, got 2"),
        (np.ones((50, 3)), "source has all its 50 points in one place"),
        (np.zeros((50, 2)), r"source must have shape \(N, 3\), got \(50, 2\)"),
        (np.zeros((4, 50, 3)), r"source must have shape \(N, 3\)"),
    ],
)
def test_clouds_that_cannot_be_registered_are_refused(source, words):
    with pytest.raises(ValueError, match=words):
        register(source, np.random.default_rng(0).random((50, 3)))


def test_other_mistakes_are_named(scans):
    cloud = scans[1][:100]
    with pytest.raises(ValueError, match="method must be one of auto"):
        register(cloud, cloud, method="icq")
    with pytest.raises(ValueError, match="voxel must be positive"):
        register(cloud, cloud, voxel=0.0)
    many = lumpy(40_000, 1)
    with pytest.raises(ValueError, match=r"voxel 1e-05 is too small: the target has .* Use 0\.0"):
        register(cloud, many, voxel=1e-5)
    with pytest.raises(ValueError, match=r"target has .* Use 0\.0"):  # map coordinates
        register(cloud, many.double() + 5.4e6, voxel=1e-5)
    with pytest.raises(ValueError, match="init"):
        register(cloud, cloud, init=Pose(2 * torch.eye(3), torch.zeros(3)))
    with pytest.raises(ValueError, match="init must be a matrix of numbers, 4 rows of 4"):
        register(cloud, cloud, init="pose.json")
    with pytest.raises(ValueError, match="scales by 2"):
        register(cloud, cloud, init=2 * np.diag([1, 1, 1, 0.5]))
    with pytest.raises(TypeError, match="source must be an array"):
        register(object(), cloud)
    with pytest.raises(ValueError, match="source_normals must have the shape of source"):
        register(cloud, cloud, source_normals=cloud[:5])
    assert METHODS[0] == "auto"


def test_the_result_is_saved_as_a_pose_and_read_back(found, tmp_path):
    found.save(tmp_path / "pose.json")
    assert torch.allclose(read_pose(tmp_path / "pose.json").matrix(), found.transform, atol=1e-12)
    saved = json.loads((tmp_path / "pose.json").read_text())
    assert saved["confidence"] == found.confidence
    assert saved["warnings"] == list(found.warnings)


def test_a_result_is_told_in_a_few_lines(found):
    lines = repr(found).splitlines()
    assert lines[0].startswith(f"Alignment(confident, confidence={found.confidence:.3f}")
    assert len(lines) == 5
    shown = [[float(cell) for cell in line.rstrip(")").split()] for line in lines[1:]]
    torch.testing.assert_close(torch.tensor(shown).double(), found.transform, atol=1e-5, rtol=0)


def test_points_come_back_as_they_went_in(scans, found):
    source = scans[0]
    assert found.apply(source.float()).dtype == torch.float32
    moved = found.apply(source.numpy())
    assert isinstance(moved, np.ndarray)
    assert np.allclose(moved, found.apply(source).numpy())


@pytest.mark.slow
def test_of_poses_that_fit_alike_the_given_one_is_kept():
    generator = torch.Generator().manual_seed(0)
    one, two = 2 * torch.rand(2, 4000, 3, generator=generator, dtype=torch.float64) - 1
    for cloud in (one, two):
        side = torch.arange(4000) % 3
        cloud[torch.arange(4000), side] = cloud[torch.arange(4000), side].sign()
    box = torch.tensor([1.0, 0.7, 0.4], dtype=torch.float64)
    nudged = one * box + 0.01
    found = register(nudged, two * box)
    assert off_by(found.pose, Pose.identity(dtype=torch.float64))[0] < 1.0
    assert any("symmetric" in warning for warning in found.warnings)
    assert not found.confident
