"""Sight: what a sensor saw through, ray by ray, and which poses that contradicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from spoonful.data.simulate import simulate
from spoonful.geometry import Pose
from spoonful.pipeline import register
from spoonful.pipeline.freedom import Freedom, freedom_of
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.rivals import clear_first
from spoonful.pipeline.search import Search
from spoonful.pipeline.sight import Rays, looked_through

EYE = torch.zeros(3)


def wall(away: float, wide: float = 0.5) -> Tensor:
    """(N, 3) points of a wall across the z axis, half a voxel apart, before a sensor at zero."""
    side = torch.arange(-wide * away, wide * away, 0.5)
    x, y = torch.meshgrid(side, side, indexing="ij")
    return torch.stack([x, y, torch.full_like(x, away)], -1).flatten(0, 1)


def shifted(points: Tensor, *along: float) -> Tensor:
    return (points + torch.tensor(along)).unsqueeze(0)


def test_a_point_is_in_free_space_on_the_surface_or_hidden():
    rays = Rays(wall(50.0), EYE)
    places = wall(50.0, 0.4)
    before, on = rays.compare(torch.stack([0.4 * places, places, 1.6 * places]))
    assert before.tolist() == [1, 0, 0]
    assert on.tolist() == [0, 1, 0]


def test_points_nearer_by_a_voxel_are_in_free_space():
    rays = Rays(wall(40.0), EYE)
    before, _ = rays.compare(shifted(wall(40.0, 0.4), 0, 0, -1.5))
    assert float(before) == 1
    before, on = rays.compare(shifted(wall(40.0, 0.4), 0, 0, -0.3))
    assert (float(before), float(on)) == (0, 1)


def test_nothing_is_known_where_a_sensor_has_no_rays():
    before, on = Rays(wall(50.0), EYE).compare(shifted(wall(20.0), 100.0, 0, 0))
    assert (float(before), float(on)) == (0, 0)


def test_hidden_points_say_nothing_about_a_pose():
    near, far = Rays(wall(50.0), EYE), Rays(1.6 * wall(50.0), EYE)
    here = Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    assert float(looked_through(near, near, here)) == 0
    # The sensor of the far wall looked through the near one, which hides the far one.
    assert float(looked_through(near, far, here)) == 1


@pytest.fixture(scope="module")
def corridor() -> tuple[Search, Pose]:
    """The search for two scans of a corridor, and the true pose."""
    made = simulate("corridor", "camera", seed=600017)
    search = Search(prepare(*made.clouds))
    truth = search.pair.frame.pose_in(made.pose(0, 1)).to("cpu", torch.float32)
    return search, truth


def along(search: Search, pose: Pose, voxels: float) -> Pose:
    """The pose after a slide along the corridor, whose normals have the fewest parts that way."""
    normals = search.pair.target.estimated
    way = torch.linalg.eigh(normals.mT @ normals).eigenvectors[:, 0]
    return Pose(pose.rotation.unsqueeze(0), (pose.translation + voxels * way).unsqueeze(0))


def test_sensors_look_through_scans_that_slid_but_not_at_the_true_pose(corridor):
    search, truth = corridor
    still, back, forth = (
        float(search.looked_through(along(search, truth, voxels))) for voxels in (0, -8, 8)
    )
    assert still < 0.01
    assert min(back, forth) > still + 0.03


def test_a_slide_is_not_free_if_sensors_look_through_the_scans_after_it(corridor, monkeypatch):
    search, truth = corridor
    relief = relief_of(search, truth)
    assert freedom_of(search, truth, relief) == Freedom()
    monkeypatch.setattr(search, "views", [])
    assert len(freedom_of(search, truth, relief).slides) == 1


@pytest.mark.parametrize(
    ("through", "common", "first"),
    [
        (0.01, 100.0, "other"),
        (0.05, 100.0, "best"),  # hardly less
        (0.01, 50.0, "best"),  # scans that hardly meet are not looked through
    ],
)
def test_of_poses_that_fit_as_well_the_one_looked_through_least_goes_first(
    corridor, monkeypatch, through, common, first
):
    search, truth = corridor
    slid = along(search, truth, 24.0)
    both = Pose(*(torch.cat(pair) for pair in zip(slid, along(search, truth, 0.0), strict=True)))
    judged = replace(
        search.measure(both, ("best", "other")),
        score=torch.tensor([1.0, 0.6]),
        common=torch.tensor([100.0, common]),
    )
    monkeypatch.setattr(search, "looked_through", lambda _: torch.tensor([0.08, through]))
    assert clear_first(search, judged).name[0] == first
    monkeypatch.setattr(search, "views", [])  # no sensor is known
    assert clear_first(search, judged) is judged


@pytest.mark.slow
def test_a_corridor_in_sensor_coordinates_is_right_and_confident():
    made = simulate("corridor", "camera", seed=600017)
    truth = made.pose(0, 1)
    found = register(*made.clouds)
    assert found.confident
    assert float((found.pose.translation - truth.translation).norm()) < 0.2
