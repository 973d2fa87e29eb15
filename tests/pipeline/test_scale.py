"""The scale of the source is found together with its pose, and doubted if nothing fixes it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline.lumps import off_by
from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose, Similarity, rotation_from_vector
from spoonful.pipeline import read_pose, register
from spoonful.pipeline.alignment import Alignment, Matches
from spoonful.pipeline.prepare import size_of
from spoonful.pipeline.scale import (
    UNIT_RATIOS,
    ScaleVote,
    refine_scale,
    register_scaled,
    scale_votes,
)


@pytest.fixture(scope="session")
def scaled(scans):
    """The result for a source that is 1 / 0.37 times as large as it should be."""
    source, target, _ = scans
    return register(source / 0.37, target, scale="auto")


@pytest.mark.slow
def test_an_unknown_scale_is_found_with_its_pose(scans, scaled):
    degrees, shift = off_by(scaled.pose, scans[2])
    assert degrees < 1.0
    assert shift < 0.03
    assert scaled.scale == pytest.approx(0.37, rel=0.01)
    assert abs(scaled.scale / 0.37 - 1) < 5 * scaled.scale_deviation
    assert scaled.confident


@pytest.mark.slow
def test_the_matrix_the_record_and_the_points_all_have_the_scale(scans, scaled):
    source = scans[0] / 0.37
    moved = scaled.apply(source)
    linear = scaled.transform[:3, :3]
    torch.testing.assert_close(moved, source @ linear.mT + scaled.transform[:3, 3])
    assert float(torch.linalg.det(linear)) ** (1 / 3) == pytest.approx(scaled.scale)
    assert type(scaled.apply(source.numpy())) is np.ndarray
    record = scaled.summary()
    assert record["scale"] == scaled.scale
    assert record["scale_deviation"] == scaled.scale_deviation
    np.testing.assert_allclose(record["T_target_source"], scaled.transform)
    np.testing.assert_allclose(record["poses"]["final"], scaled.transform)


@pytest.mark.slow
def test_millimetres_onto_metres_are_named_and_exact(scans):
    source, target, truth = scans
    start = Similarity(truth.rotation, truth.translation, torch.tensor(0.00101))
    found = register(source * 1000, target, scale="auto", init=start)
    assert found.scale == 1e-3
    assert any("millimetres onto metres" in note for note in found.notes)


@pytest.mark.slow
def test_votes_name_the_scale_first(scans):
    source, target, _ = scans
    votes = scale_votes(Cloud(source * 4), Cloud(target))
    assert votes[0].scale == pytest.approx(0.25, rel=0.1)
    assert all(a.support >= b.support for a, b in itertools.pairwise(votes))


def test_without_matches_there_are_no_votes():
    points = torch.eye(3, dtype=torch.float64)
    assert scale_votes(Cloud(points), Cloud(points)) == []


def test_a_few_points_are_registered_at_the_ratio_of_their_sizes_and_doubted():
    points = torch.eye(3, dtype=torch.float64)
    found = register(points, 1000 * points, scale="auto")
    assert found.scale == pytest.approx(1000)
    assert not found.confident


def surface(name: str) -> torch.Tensor:
    """Points of a surface, about 20 voxels across."""
    u, v = torch.rand(2, 3000, generator=torch.Generator().manual_seed(0)).double() * 20
    z = torch.zeros_like(u)
    if name == "plane":
        return torch.stack([u, v, z], -1)
    if name == "corner":
        third = (torch.arange(3000) % 3)[:, None, None]
        sides = torch.stack([torch.stack(s, -1) for s in ([u, v, z], [u, z, v], [z, u, v])], 1)
        return sides.take_along_dim(third.expand(-1, -1, 3), 1).squeeze(1)
    return torch.stack([u, v, 3 * torch.sin(u / 2) * torch.cos(v / 3)], -1)


def at_identity(source: torch.Tensor, target: torch.Tensor) -> Alignment:
    none = torch.zeros(0, 3, dtype=torch.float64)
    pose = Pose.identity(dtype=torch.float64)
    return Alignment(
        pose, "", "", (), {}, 1.0, 0.0, 1.0, 1.0, 1.0, (), 0.0, "",
        Matches(none, none, none[:, 0]), Cloud(source), Cloud(target), voxel=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "free"), [("plane", True), ("corner", True), ("hills", False)])
def test_a_plane_and_a_corner_do_not_fix_the_scale(name, free):
    points = surface(name)
    refined = refine_scale(at_identity(points / 1.02, points))
    assert refined.free == free
    if not free:
        assert refined.growth == pytest.approx(1.02, abs=2e-3)


def test_matches_fix_the_scale_if_the_surface_does_not():
    points = surface("plane")
    found = at_identity(points / 1.02, points)
    found = replace(found, matches=Matches(points[:50] / 1.02, points[:50], torch.ones(50)))
    assert refine_scale(found).growth == pytest.approx(1.02, abs=5e-3)


def test_a_scale_that_matches_do_not_vote_for_is_doubted(monkeypatch):
    points = surface("hills")
    votes = [ScaleVote(3.0, 50.0)]
    monkeypatch.setattr("spoonful.pipeline.scale.scale_votes", lambda *_, seed: votes)

    def rigid(source):
        fits = size_of(source.points) < 2 * size_of(points)
        return replace(at_identity(source.points, points), confidence=0.99 if fits else 0.3)

    found = register_scaled(Cloud(points), Cloud(points), rigid)
    assert found.scale == 1
    assert not found.confident
    assert "a scale of about 3" in found.warnings[0]
    votes[0] = ScaleVote(1.01, 50.0)
    assert register_scaled(Cloud(points), Cloud(points), rigid).confident


def test_a_scale_that_was_found_gets_no_warning_about_sizes(monkeypatch):
    points = surface("hills")
    votes = [ScaleVote(1.0, 50.0)]
    monkeypatch.setattr("spoonful.pipeline.scale.scale_votes", lambda *_, seed: votes)

    def rigid(source):
        warnings = ("scales differ: the target is 3 times as large as the other", "low overlap")
        return replace(at_identity(source.points, points), warnings=warnings)

    assert register_scaled(Cloud(points), Cloud(points), rigid).warnings == ("low overlap",)


def test_the_deviation_covers_scans_that_are_bent():
    points = surface("hills")
    bent = points.clone()
    bent[:, 2] += 0.02 * points[:, 0] ** 2
    refined = refine_scale(at_identity(points, bent))
    assert abs(refined.growth - 1) < 3 * refined.deviation


def test_unit_ratios_come_with_their_inverses():
    assert {round(1 / ratio, 9) for ratio in UNIT_RATIOS} == {round(r, 9) for r in UNIT_RATIOS}


def test_a_scale_that_is_not_auto_is_named():
    with pytest.raises(ValueError, match="scale must be None or 'auto', got 'guess'"):
        register(torch.eye(3), torch.eye(3), scale="guess")


def test_a_pose_file_with_a_scale_names_it(tmp_path):
    turn = rotation_from_vector(torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64))
    path = tmp_path / "pose.txt"
    np.savetxt(path, Similarity(turn, torch.ones(3).double(), torch.tensor(0.5)).matrix().numpy())
    with pytest.raises(ValueError, match=r"scales by 0\.5"):
        read_pose(path)
