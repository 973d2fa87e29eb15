"""Slides, half turns and symmetries of the best pose, which the search need not find."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.floors import column, floor
from pipeline.lumps import lumpy
from pipeline.test_rivals import room_turned
from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.gravity import Upright
from spoonful.pipeline.lookalikes import NAME, SYMMETRY, slid_or_turned, with_lookalikes
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.rivals import AS_GOOD, best_relief_first, rivals_of
from spoonful.pipeline.search import Search, different


def test_the_right_pose_is_made_from_the_one_that_is_turned_by_half():
    search, judged = room_turned(furnished=True)
    right = judged.pose.at(0)
    turned = search.measure(judged.pose.at(slice(1, 2)), ("turned",))
    found = with_lookalikes(search, turned)
    made = torch.tensor([name == NAME for name in found.name])
    assert bool((made & ~different(search.pair, found.pose, right)).any())
    assert found.score.tolist() == sorted(found.score.tolist(), reverse=True)
    best = best_relief_first(search, found)
    assert not bool(different(search.pair, best.pose, right)[0])


def test_half_turns_keep_the_source_upright_if_poses_must():
    search, judged = room_turned(furnished=True)
    turned = search.measure(judged.pose.at(slice(1, 2)), ("turned",))
    for axis, kept in (([0.0, 0, 1], True), ([1.0, 0, 0], False)):
        up = torch.tensor(axis)
        found = with_lookalikes(search, turned, Upright(up, turned.pose.rotation[0] @ up))
        same = ~different(search.pair, found.pose, judged.pose.at(0))
        assert bool(same.any()) == kept


def test_the_right_pose_is_made_from_one_that_has_slid_by_a_column():
    cloud = floor(*(column(x, y) for x in (0.5, 1.5, 2.5, 3.5) for y in (1.0, 3.0)))
    search = Search(prepare(cloud, cloud, 0.08))
    slid = Pose(torch.eye(3)[None], torch.tensor([[1 / 0.08, 0, 0]]))
    found = with_lookalikes(search, search.measure(slid, ("slid",)))
    same = ~different(search.pair, found.pose, Pose.identity())
    assert [found.name[k] for k in same.nonzero().flatten().tolist()] == [NAME]


@pytest.mark.parametrize("off", [0.0, 2.5])
def test_look_alikes_are_in_clearly_different_places(off):
    cloud = floor(*(column(x, y) for x in (0.5, 1.5, 2.5, 3.5) for y in (1.0, 3.0)))
    search = Search(prepare(cloud, cloud, 0.08))
    near = Pose(torch.eye(3)[None], torch.tensor([[off, 0, 0]]))
    found = with_lookalikes(search, search.measure(near, ("near",)))
    made = torch.tensor([name == NAME for name in found.name])
    assert different(search.pair, found.pose, near.at(0)).tolist() == made.tolist()


def test_a_scan_without_planes_has_no_look_alikes():
    cloud = Cloud(lumpy(2000, seed=0))
    search = Search(prepare(cloud, cloud))
    judged = search.measure(Pose.identity(1), ("a",))
    assert with_lookalikes(search, judged) is judged


@pytest.mark.parametrize(
    ("degrees", "alike"), [(180.0, True), (175.0, True), (150.0, False), (30.0, False), (5.0, True)]
)
def test_half_a_turn_is_one_about_any_axis_and_a_slide_hardly_turns(degrees, alike):
    axis = torch.nn.functional.normalize(torch.tensor([0.3, -0.5, 0.8]), dim=0)
    turn = torch.deg2rad(torch.tensor(degrees)) * axis
    pose = Pose(rotation_from_vector(turn[None]), torch.zeros(1, 3))
    assert slid_or_turned(pose, Pose.identity()).tolist() == [alike]


def propeller(blades: int) -> Cloud:
    """A hub with equal, twisted blades."""
    generator = torch.Generator().manual_seed(0)

    def random() -> torch.Tensor:
        return torch.rand(1500, generator=generator)

    angle = 2 * math.pi * random()
    parts = [torch.stack([0.15 * angle.cos(), 0.15 * angle.sin(), 0.3 * random() - 0.15], 1)]
    for k in range(blades):
        along, across = 0.1 + 0.9 * random(), 0.24 * random() - 0.12
        pitch = 0.9 - 0.5 * along
        blade = torch.stack([along, across * pitch.cos(), across * pitch.sin()], 1)
        turn = torch.tensor([0, 0, 2 * math.pi * k / blades])
        parts.append(blade @ rotation_from_vector(turn).mT)
    return Cloud(torch.cat(parts).double())


@pytest.mark.slow
@pytest.mark.parametrize("blades", [3, 5])
def test_a_propeller_has_rivals_that_are_turned_by_some_blades(blades):
    cloud = propeller(blades)
    search = Search(prepare(cloud, cloud))
    found = with_lookalikes(search, search.measure(Pose.identity(1), ("a",)))
    made = torch.tensor([name == SYMMETRY for name in found.name])
    about_z = found.pose.rotation[:, 2, 2] > 0.99
    angle = torch.atan2(found.pose.rotation[:, 1, 0], found.pose.rotation[:, 0, 0])
    turns = angle * blades / (2 * math.pi)
    assert bool((made & about_z).any())
    assert bool(((turns - turns.round()).abs()[made & about_z] < 0.05).all())
    assert bool((rivals_of(search, found)[made & about_z] >= AS_GOOD).all())
