"""Go-ICP: is the best pose the best, and are its bounds bounds?"""

from __future__ import annotations

import pytest
import torch

from classical import easy
from spoonful.classical.distance_field import distance_field
from spoonful.classical.goicp import GoICP, _Boxes, _Scene
from spoonful.classical.icp import ICP, spread_rotations
from spoonful.geometry import Pose, nearest, random_rotation, rotation_from_vector
from spoonful.neighbors import Index


def small_problem(seed, points=12, noise=0.03):
    """A few scattered points and a noisy turned copy: many local minima, none of them zero."""
    generator = torch.Generator().manual_seed(seed)
    target = (torch.rand(points, 3, generator=generator) - 0.5) * torch.tensor([2.0, 1.4, 1.0])
    noisy = target + noise * torch.randn(points, 3, generator=generator)
    return noisy @ random_rotation(generator=generator), target


def exhaustive(source, target):
    """The least mean squared distance over a fine grid of all poses, each improved by ICP."""
    turns = spread_rotations(1500).float()
    grid = torch.linspace(-0.2, 0.2, 3)
    shifts = torch.cartesian_prod(grid, grid, grid)
    centre = target.mean(0) - turns @ source.mean(0)
    starts = Pose(
        turns.repeat_interleave(len(shifts), 0),
        (centre.unsqueeze(1) + shifts).flatten(0, 1),
    )
    moved = starts.apply(source)
    error = nearest(moved, target).squared_distance.mean(-1)
    best = error.topk(400, largest=False).indices
    _, residual = ICP(iterations=100).descents(target)(source, Pose(*(p[best] for p in starts)))
    return float(residual.min()) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_pose_of_an_exhaustive_search_is_better_than_the_threshold_allows(seed):
    source, target = small_problem(seed)
    method = GoICP(points=None, cells=32, translation=0.2, threshold=1e-3, time_limit=60)
    found = method.register(source, target)
    assert found.status == ("ok",)
    least = exhaustive(source, target)
    size = float(max((x - x.mean(0)).norm(dim=-1).max() for x in (source, target)))
    assert float(found.extras["mse"]) <= least + 1e-3 * size**2
    assert float(found.extras["lower_bound"]) <= least + 1e-7
    gaps = nearest(found.pose.apply(source), target).squared_distance.mean()
    assert torch.allclose(gaps, found.extras["mse"], atol=1e-6)
    assert torch.isclose(
        found.extras["gap"], found.extras["mse"] - found.extras["lower_bound"], atol=1e-7
    )


def test_a_large_turn_is_found_where_one_start_fails():
    source, target, truth = easy.pair(100, degrees=170)
    found = GoICP(cells=16, threshold=1e-4).register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.5


def test_trimming_finds_the_pose_among_outliers():
    source, target, truth = easy.pair(100, degrees=120)
    source = torch.cat([source, torch.tensor([0.7, 0.7, 0.7]) + 0.2 * easy.shape(20, seed=9)])
    found = GoICP(trim=0.2, cells=16, threshold=1e-4, time_limit=20).register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.5


def test_the_time_limit_holds_and_there_is_a_pose():
    source, target = small_problem(0, points=60, noise=0.15)
    found = GoICP(threshold=1e-6, cells=16, time_limit=0.5).register(source, target)
    assert found.status == ("time-limit",)
    assert found.pose.rotation.isfinite().all()
    assert 0 <= found.extras["lower_bound"] < found.extras["mse"]


def test_bounds_hold_for_every_pose_of_a_box():
    source, target = small_problem(4, points=30)
    generator = torch.Generator().manual_seed(0)
    boxes = _Boxes.whole(0.3, source)
    scene = _Scene(source, distance_field(Index(target), 16), Index(target), 25)
    for level in range(12):
        boxes = boxes.divide(scene.radius)
        bound, _ = scene.bounds(boxes)
        chosen = torch.randperm(len(bound), generator=generator)[:40]
        boxes, bound = boxes.take(chosen), bound[chosen]
        for _ in range(20):
            at = 2 * torch.rand(len(bound), 6, generator=generator) - 1
            turn = boxes.turn + at[:, :3] * boxes.half_turn.unsqueeze(-1)
            shift = boxes.shift + at[:, 3:] * boxes.half_shift.unsqueeze(-1)
            moved = Pose(rotation_from_vector(turn), shift).apply(source)
            squared = nearest(moved, target).squared_distance
            error = squared.topk(25, largest=False).values.mean(-1)
            assert (bound <= error + 1e-6).all(), level


def test_boxes_are_divided_without_gaps():
    boxes = _Boxes.whole(0.5, torch.zeros(1, 3))
    for _ in range(3):
        boxes = boxes.divide(0.6)
    pose = torch.rand(200, 6, generator=torch.Generator().manual_seed(0)) * 2 - 1
    turn, shift = 1.8 * pose[:, :3], 0.5 * pose[:, 3:]  # 1.8 sqrt(3) < pi
    inside = ((turn.unsqueeze(1) - boxes.turn).abs() <= boxes.half_turn.unsqueeze(-1)).all(-1)
    inside &= ((shift.unsqueeze(1) - boxes.shift).abs() <= boxes.half_shift.unsqueeze(-1)).all(-1)
    assert inside.any(-1).all()


@pytest.mark.parametrize("flat", [1.0, 0.0])
def test_the_table_is_wrong_by_its_slack_at_most(flat):
    points = easy.shape(300) * torch.tensor([1.0, 1.0, flat])
    field = distance_field(Index(points), 16)
    places = 3 * torch.rand(3000, 3, generator=torch.Generator().manual_seed(0)) - 1.5
    distance = nearest(places, points).squared_distance.sqrt()
    assert (field.lower_bound(places) - field.slack <= distance + 1e-6).all()
    inside = ((places > points.amin(0)) & (places < points.amax(0))).all(-1)
    assert ((field.lower_bound(places) - distance)[inside].abs() <= field.slack + 1e-6).all()
