"""Rivals: which other poses fit as well, and which of them goes first."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

from pipeline.lumps import lumpy
from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.rivals import (
    AS_GOOD,
    best_relief_first,
    most_exact_first,
    rivals_of,
    start_first,
)
from spoonful.pipeline.search import Judged, Search, different


@pytest.mark.parametrize(("score", "first"), [(0.8, 0.0), (0.5, 2.0)])
def test_of_nearby_poses_that_fit_as_well_the_most_exact_is_first(score, first):
    cloud = Cloud(lumpy(4000, seed=0))
    search = Search(prepare(cloud, cloud))
    shifts = torch.tensor([[2.0, 0, 0], [40.0, 0, 0], [0.0, 0, 0]])
    judged = search.measure(Pose(torch.eye(3).expand(3, 3, 3), shifts), ("a", "b", "c"))
    judged = replace(judged, score=torch.tensor([1.0, 0.9, score]))
    found = most_exact_first(search.pair, judged)
    assert float(found.pose.translation[0, 0]) == first
    assert sorted(found.name) == ["a", "b", "c"]


@cache
def of_equal_parts(count: int = 2) -> tuple[Search, torch.Tensor]:
    """A cloud on itself that fits after a part of a turn, too, and this turn."""
    part = lumpy(3000 // count, seed=0) + torch.tensor([0.5, 0, 0])
    turn = rotation_from_vector(torch.tensor([0.0, 0.0, 2 * torch.pi / count]).double())
    parts = [part]
    while len(parts) < count:
        parts.append(parts[-1] @ turn.mT)
    cloud = Cloud(torch.cat(parts))
    return Search(prepare(cloud, cloud)), turn.float()


@pytest.mark.parametrize(
    ("agreement", "common", "score", "equal"),
    [
        (0.74, 100.0, 0.3, True),
        (0.70, 100.0, 0.3, False),  # surfaces that agree less
        (0.74, 80.0, 0.3, False),  # less common surface
        (0.74, 100.0, 0.1, False),  # hardly any matches
    ],
)
def test_a_rival_that_fits_as_well_is_equal_even_if_fewer_matches_agree(
    agreement, common, score, equal
):
    search, around = of_equal_parts(3)
    judged = replace(
        search.measure(Pose(torch.stack([torch.eye(3), around]), torch.zeros(2, 3))),
        agreement=torch.tensor([0.75, agreement]),
        common=torch.tensor([100.0, common]),
        score=torch.tensor([1.0, score]),
    )
    found = rivals_of(search, judged)
    torch.testing.assert_close(found, torch.tensor([0.0, 1.0 if equal else score]))


@pytest.mark.parametrize(
    ("first", "rival", "score", "equal"),
    [
        (0.0, 0.01, 0.9, True),
        (0.0, 0.05, 0.9, False),
        (0.1, 0.2, 0.9, True),  # the first pose is contradicted as well: something moved
        (0.0, 0.05, 1.1, True),  # more matches agree with the rival: the evidence is divided
    ],
)
def test_a_rival_is_wrong_if_the_sensors_looked_through_it(first, rival, score, equal, monkeypatch):
    search, around = of_equal_parts(2)
    judged = search.measure(Pose(torch.stack([torch.eye(3), around]), torch.zeros(2, 3)))
    judged = replace(judged, score=torch.tensor([1.0, score]))
    monkeypatch.setattr(search, "looked_through", lambda _: torch.tensor([first, rival]))
    assert (float(rivals_of(search, judged)[1]) >= 1) == equal


def test_the_relief_of_a_pose_is_found_once_for_a_search():
    search, around = of_equal_parts(2)
    poses = Pose(torch.stack([torch.eye(3), around]), torch.zeros(2, 3))
    assert relief_of(search, poses.at(1)) is relief_of(search, poses.at(1))
    assert relief_of(search, poses.at(0)) is not relief_of(search, poses.at(1))


def test_half_a_turn_is_equal_without_matches_if_no_less_of_its_relief_agrees():
    search, around = of_equal_parts(2)
    poses = Pose(torch.stack([torch.eye(3), around]), torch.zeros(2, 3))
    judged = replace(search.measure(poses, ("a", "b")), score=torch.tensor([1.0, 0.0]))
    more = [relief_of(search, poses.at(k)).agreement for k in (0, 1)]
    for order in ([0, 1], [1, 0]):
        found = replace(judged.select(torch.tensor(order)), score=judged.score)
        equal = more[order[1]] > more[order[0]]
        assert rivals_of(search, found).tolist() == [0.0, 1.0 if equal else 0.0]


def test_poses_on_the_way_to_the_same_place_are_no_rivals():
    search, around = of_equal_parts()
    shifts = torch.tensor([[0.0, 0, 0], [3.2, 0, 0], [0.0, 0, 0]])
    judged = search.measure(Pose(torch.stack([torch.eye(3), torch.eye(3), around]), shifts))
    judged = replace(judged, score=torch.tensor([1.0, 0.9, 0.9]))
    assert different(search.pair, judged.pose, judged.pose.at(0)).tolist() == [False, True, True]
    assert (rivals_of(search, judged) >= AS_GOOD).tolist() == [False, False, True]


@cache
def room_turned(furnished: bool, half: bool = True) -> tuple[Search, Judged]:
    """A room on itself, right and turned by half or a quarter of a turn: the walls always fit."""
    generator = torch.Generator().manual_seed(0)
    walls = torch.rand(6, 750, 3, generator=generator, dtype=torch.float64) - 0.5
    for side, axis, end in zip(walls, (0, 0, 1, 1, 2, 2), (-0.5, 0.5) * 3, strict=True):
        side[:, axis] = end
    size = torch.tensor([3.0, 2.0, 1.5] if half else [2.5, 2.5, 1.5])
    chest = 0.25 * walls.flatten(0, 1) + torch.tensor([0.25, 0.3, -0.375])
    room = walls.flatten(0, 1) * size
    cloud = Cloud(torch.cat([room, chest * size] if furnished else [room]))
    search = Search(prepare(cloud, cloud, 0.1))
    around = torch.diag(torch.tensor([-1.0, -1.0, 1.0]))
    if not half:
        around = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    # About the middle of the room; the frame is about the centroid.
    middle = -search.pair.frame.target_center.float() / 0.1
    shifts = torch.stack([torch.zeros(3), middle - around @ middle])
    judged = search.measure(Pose(torch.stack([torch.eye(3), around]), shifts), ("right", "turned"))
    assert float(judged.agreement[1]) > 0.9
    return search, replace(judged, agreement=torch.tensor([0.99, 0.99]))


@pytest.mark.parametrize("furnished", [False, True])
def test_a_rival_that_only_fits_the_walls_is_not_equal(furnished):
    search, judged = room_turned(furnished)
    judged = replace(judged, score=torch.tensor([1.0, 0.3]))
    found = float(rivals_of(search, judged)[1])
    assert found == pytest.approx(0.3 if furnished else 1.0)


@pytest.mark.parametrize(
    ("furnished", "half", "score", "first"),
    [
        (True, False, 0.6, "right"),
        (True, False, 0.4, "turned"),  # less than half of the best score
        (False, False, 0.6, "turned"),
        (True, True, 0.0, "right"),  # half a turn needs no score
        (False, True, 0.6, "turned"),
    ],
)
def test_the_furniture_decides_between_poses_that_fit_the_walls(furnished, half, score, first):
    search, judged = room_turned(furnished, half)
    judged = replace(judged.select(torch.tensor([1, 0])), score=torch.tensor([1.0, score]))
    found = best_relief_first(search, judged)
    assert found.name[0] == first
    assert sorted(found.name) == ["right", "turned"]
    if first == "right":
        assert rivals_of(search, found)[1] >= AS_GOOD


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("furnished", [True, False])
def test_the_pose_near_the_initial_one_goes_first_without_matches_if_it_fits(given, furnished):
    search, judged = room_turned(furnished)
    judged = replace(judged, score=torch.tensor([1.0, 0.0]))
    start = search.pair.frame.pose_out(judged.pose.at(1)) if given else None
    found = start_first(search, judged, start)
    assert found.name[0] == ("turned" if given and not furnished else "right")
    assert (rivals_of(search, found) >= AS_GOOD).tolist() == [False, found.name[0] == "turned"]
