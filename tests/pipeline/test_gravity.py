"""`up` keeps the source upright, says so, and warns if it seems wrong."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.lumps import off_by
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline import register
from spoonful.pipeline.gravity import Upright, floor_of, upright_of
from spoonful.pipeline.prepare import scan_on_grid
from spoonful.pipeline.search import Proposal


def turned(*vector: float) -> torch.Tensor:
    return rotation_from_vector(torch.tensor(vector, dtype=torch.float64))


def room(seed: int) -> torch.Tensor:
    """A floor with two boxes on it, in voxels; z is up."""
    generator = torch.Generator().manual_seed(seed)
    u, v = 40 * torch.rand(2, 6000, generator=generator, dtype=torch.float64)
    box = ((u > 5) & (u < 15) & (v > 8) & (v < 30)) * 6.0 + ((u > 25) & (v > 30)) * 3.0
    return torch.stack([u, v, box], -1)


@pytest.mark.parametrize("up", ["z", "-y", "x"])
def test_poses_that_tilt_are_dropped(up: str) -> None:
    upright = upright_of(up, None)  # type: ignore[arg-type]  # an axis needs no clouds
    axis = upright.source.double()
    across = axis.roll(1)
    angles = torch.tensor([0.0, 3.0, 30.0, 180.0], dtype=torch.float64).deg2rad()
    tilts = rotation_from_vector(angles[:, None] * across)
    turns = rotation_from_vector(angles[:, None] * axis)
    pose = Pose(torch.cat([tilts, turns]).float(), torch.zeros(8, 3))
    expected = [0, 3, 30, 180, 0, 0, 0, 0]
    assert upright.tilt(pose).tolist() == pytest.approx(expected, abs=0.05)
    (kept,) = upright.kept([Proposal("x", pose)])
    assert len(kept.pose.rotation) == 6


def test_the_largest_floor_is_found_whatever_way_it_lies() -> None:
    turn = turned(0.4, 2.0, -0.3)
    floor = floor_of(scan_on_grid(room(0) @ turn.mT, None, torch.eye(3).double()))
    assert floor is not None
    up = turn @ torch.tensor([0.0, 0, 1], dtype=torch.float64)
    assert math.degrees(math.acos(min(1.0, float(floor.double() @ up)))) < 3


def test_a_ball_has_no_floor() -> None:
    generator = torch.Generator().manual_seed(0)
    ball = torch.nn.functional.normalize(torch.randn(5000, 3, generator=generator).double(), dim=-1)
    assert floor_of(scan_on_grid(15 * ball, None, torch.eye(3).double())) is None


@pytest.mark.slow
def test_upright_scans_are_found_and_it_is_said(scans) -> None:
    source, target, truth = scans
    about = turned(0, 0, 1.0)
    upright = (source @ truth.rotation.mT) @ about.mT  # only a turn about z is left
    found = register(upright, target, up="z", method="consensus")
    assert off_by(found.pose, Pose(about.mT, truth.translation))[0] < 1
    assert any(note.startswith("up z: only poses") for note in found.notes)
    assert found.confident


@pytest.mark.slow
def test_a_tilted_pose_that_fits_far_better_is_named(scans) -> None:
    source, target, truth = scans
    tilted = (source @ truth.rotation.mT) @ turned(1.5, 0, 0).mT
    found = register(tilted, target, up="z", method="consensus")
    (warning,) = (warning for warning in found.warnings if warning.startswith("up z:"))
    axis = torch.eye(3, dtype=torch.float64)[2]
    tilt = float(Upright(axis, axis).tilt(found.pose))
    assert tilt < 15 if "a pose that tilts" in warning else "all poses were considered" in warning


def test_an_unknown_axis_is_named() -> None:
    with pytest.raises(ValueError, match=r"up must be one of .*auto, got 'north'"):
        register(torch.eye(3), torch.eye(3), up="north")
