"""The parts of the search: features, consensus, fields, settling, the grid."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from pipeline.lumps import lumpy, off_by, view
from spoonful.classical.consensus import compatible, consensus, support_of
from spoonful.classical.fpfh import fpfh, mutual_matches
from spoonful.data.clouds import Cloud
from spoonful.data.normals import estimate_normals
from spoonful.data.sampling import voxel_average
from spoonful.data.simulate import simulate
from spoonful.geometry import Pose, nearest, random_rotation
from spoonful.neighbors import Index
from spoonful.pipeline.field import Field, View, meet, settle
from spoonful.pipeline.prepare import choose_voxel, faced, prepare, seen_from_origin, size_of
from spoonful.pipeline.search import distinct


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def solid():
    points = lumpy(1500, 0) * 12
    return points, estimate_normals(points)


def test_features_do_not_change_with_a_rigid_motion(solid):
    points, normals = solid
    turn = random_rotation(generator=generator(), dtype=torch.float64)
    here = fpfh(points, normals, [4.0, 6.0])
    there = fpfh(points @ turn.mT + 100, normals @ turn.mT, [4.0, 6.0])
    # A pair on the border of two bins may change sides by rounding.
    assert float((here - there).abs().mean()) < 1e-4
    assert float((here.sqrt() * there.sqrt()).sum(-1).min()) > 5.99


def test_every_histogram_sums_to_one(solid):
    features = fpfh(*solid, [4.0, 6.0])
    assert torch.allclose(features.view(-1, 11).sum(-1), torch.ones(1500 * 6), atol=1e-5)


def test_a_point_without_neighbours_has_no_features_and_no_match():
    points = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [500, 0, 0]])
    normals = torch.tensor([[0.0, 0, 1]]).expand(4, 3)
    features = fpfh(points, normals, [3.0])
    assert not bool(features[3].any())
    here, there = mutual_matches(features, features)
    assert 3 not in here.tolist() + there.tolist()


def test_bad_arguments_of_features_are_named():
    points = torch.rand(5, 3)
    with pytest.raises(ValueError, match="normals must have the shape of points"):
        fpfh(points, points[:3], [1.0])
    with pytest.raises(ValueError, match="radii must be positive"):
        fpfh(points, points, [])


def test_more_choices_find_more_matches():
    source, target = (torch.rand(60, 33, generator=generator(seed)) for seed in (0, 1))
    few, many = (mutual_matches(source, target, choices) for choices in (1, 3))
    assert len(few[0]) < len(many[0])
    pairs = [set(zip(*(side.tolist() for side in found), strict=True)) for found in (few, many)]
    assert pairs[0] <= pairs[1]


@pytest.mark.parametrize("choices", [1, 2, 40])
def test_matches_are_among_the_most_similar_from_both_ends(choices):
    source, target = (torch.rand(n, 33, generator=generator(n)) for n in (61, 37))
    likeness = source.sqrt() @ target.sqrt().mT
    rank = [(-likeness).argsort(dim).argsort(dim) for dim in (0, 1)]
    wanted = ((rank[0] < choices) & (rank[1] < choices)).nonzero()
    here, there = mutual_matches(source, target, choices)
    assert bool((likeness[here, there].diff() <= 0).all())
    assert {*zip(here.tolist(), there.tolist(), strict=True)} == {*map(tuple, wanted.tolist())}


def test_nineteen_of_twenty_matches_may_be_wrong():
    source = 30 * torch.rand(600, 3, generator=generator())
    turn = random_rotation(generator=generator(1))
    target = 30 * torch.rand(600, 3, generator=generator(2))
    target[:30] = source[:30] @ turn.mT + 3
    found = consensus(source, target, 0.5)
    best = Pose(found.pose.rotation[0], found.pose.translation[0])
    assert off_by(best, Pose(turn, torch.full((3,), 3.0)))[0] < 1.0
    assert float(found.support[0]) > 25
    assert bool((found.support.diff() <= 0).all())


def test_too_few_matches_propose_nothing():
    assert len(consensus(torch.rand(2, 3), torch.rand(2, 3), 1.0).support) == 0


def test_matches_whose_normals_disagree_are_incompatible():
    points = torch.tensor([[0.0, 0, 0], [10, 0, 0]])
    up = torch.tensor([[0.0, 0, 1], [0, 0, 1]])
    bent = torch.tensor([[0.0, 0, 1], [0, 1, 0]])
    assert bool(compatible(points, points, 1.0)[0, 1])
    assert bool(compatible(points, points, 1.0, source_normals=up, target_normals=up)[0, 1])
    assert not bool(compatible(points, points, 1.0, source_normals=up, target_normals=bent).any())


def test_support_counts_the_matches_that_agree():
    points = torch.rand(50, 3, generator=generator())
    moved = points.clone()
    moved[40:] += 100
    assert float(support_of(Pose.identity(1), points, moved, 1.0)) == pytest.approx(40.0)


def test_a_field_knows_about_the_nearest_point():
    points = 20 * torch.rand(800, 3, generator=generator())
    field = Field(points, torch.nn.functional.normalize(points, dim=-1))
    places = points[:200] + 0.4
    index, inside = field.look(places)
    assert bool(inside.all())
    found = (places - points[index]).norm(dim=-1)
    best = nearest(places, points).squared_distance.sqrt()
    # The nearest cell's point is at most about a cell's diagonal farther than the nearest point.
    assert float((found - best).max()) < 3.0
    assert float((found - best).mean()) < 0.5
    assert not bool(field.look(torch.tensor([[1e4, 0, 0], [-1e4, 0, 0]]))[1].any())


def test_a_field_has_the_nearest_cells_of_an_exact_distance_transform():
    ndimage = pytest.importorskip("scipy.ndimage")
    points = torch.rand(60, 3, generator=generator()) * torch.tensor([70.0, 20, 40])
    field = Field(points, points)
    cells = ((points - field.low) / field.cell).long()
    empty = torch.ones((field.last + 1).tolist(), dtype=torch.bool)
    empty[tuple(cells.mT)] = False
    distance, index = ndimage.distance_transform_edt(empty.numpy(), return_indices=True)
    places = torch.from_numpy(index).flatten(1).mT
    wanted = field.low + (places + 0.5) * field.cell
    own = torch.cartesian_prod(*(torch.arange(n) for n in empty.shape))
    nearest_point = field.look(field.low + (own + 0.5) * field.cell)[0]
    near = torch.from_numpy(distance).flatten() <= 7
    assert 0.3 < float(near.float().mean()) < 0.9
    assert float((points[nearest_point] - wanted)[near].abs().max()) <= 0.5001
    # The others are so far away that any point will do.
    far = (field.low + (own + 0.5) * field.cell)[~near] - points[nearest_point[~near]]
    assert float(far.norm(dim=-1).min()) > 6


def test_points_beyond_the_edge_of_a_surface_do_not_contradict_a_pose():
    grid = torch.arange(20.0)
    x, y = (part.flatten() for part in torch.meshgrid(grid, grid, indexing="ij"))
    floor, up = torch.stack([x, y, torch.zeros_like(x)], 1), torch.tensor([0.0, 0, 1])
    shifts = torch.tensor([[0.0, 0, 0], [18, 0, 0], [0, 0, 3], [0, 0, 9]])
    poses = Pose(torch.eye(3).expand(4, 3, 3), shifts)
    found = meet(Field(floor, up.expand_as(floor)), floor, up.expand_as(floor), poses)
    on, beyond, beside, away = zip(found.near.sum(1), found.off.sum(1), strict=True)
    assert on == (400, 0)
    assert 0 < beyond[0] < 80
    assert beyond[1] == 0
    assert beside[0] == 0
    assert beside[1] > 390
    assert away == (0, 0)
    wall = floor[:, [2, 0, 1]] + 10.0
    across = meet(Field(wall, up.roll(1).expand_as(wall)), floor + 10, up.expand_as(floor), poses)
    assert across.off[0].sum() > 50


def test_settling_brings_poses_that_are_nearly_right_home(solid):
    points, normals = (part.float() for part in solid)
    field = Field(points, normals)
    near = Pose(
        random_rotation(5, max_degrees=4.0, generator=generator()),
        0.5 * torch.randn(5, 3, generator=generator()),
    )
    rested = settle(field, points, normals, near, rounds=12)
    for rotation, translation in zip(*rested, strict=True):
        degrees, shift = off_by(Pose(rotation, translation), Pose.identity())
        assert degrees < 0.5
        assert shift < 0.2


def test_the_grid_suits_the_thinner_cloud():
    dense, thin = lumpy(20_000, 0), lumpy(300, 1)
    alone = choose_voxel(dense, dense, generator())
    together = choose_voxel(dense, thin, generator())
    assert together > 2 * alone
    assert choose_voxel(1000 * dense, 1000 * thin, generator()) == pytest.approx(1000 * together)


def test_of_equal_poses_one_is_kept():
    points = 20 * torch.rand(100, 3, generator=generator())
    turn = random_rotation(generator=generator())
    pose = Pose(
        torch.stack([torch.eye(3), torch.eye(3), turn]),
        torch.tensor([[0.0, 0, 0], [0.1, 0, 0], [0, 0, 0]]),
    )
    value = torch.tensor([1.0, 2.0, 0.5])
    assert distinct(pose, value, points, 5).tolist() == [1, 2]


def test_overlapping_scans_agree_on_the_signs_of_estimated_normals():
    whole = lumpy(20_000, 0)
    scans = [view(whole, direction) for direction in ((1, 0, 0), (0, 1, 0))]
    pair = prepare(*(Cloud(points) for points in scans))
    there = pair.frame.pose_in(Pose.identity(dtype=torch.float64)).apply(
        pair.source.points.double()
    )
    found = nearest(there, pair.target.points.double())
    shared = found.squared_distance.sqrt() < 0.3
    alike = (pair.source.normals * pair.target.normals[found.index]).sum(-1)[shared]
    # Where the surface is flat, or saddle-shaped, the sign is open.
    assert int(shared.sum()) > 100
    assert float((alike > 0).float().mean()) > 0.9


def test_signs_of_normals_turn_with_the_cloud_and_do_not_depend_on_their_first_signs():
    points = 12 * lumpy(3000, 0)
    normals = estimate_normals(points)
    turn = random_rotation(generator=generator(), dtype=torch.float64)
    signs = torch.where(torch.rand(3000, 1, generator=generator()) < 0.5, -1.0, 1.0)
    once = faced(Index(points), normals)
    again = faced(Index(points @ turn.mT), signs * normals @ turn.mT)
    assert float(((once @ turn.mT) * again).sum(-1).mean()) > 0.999


def test_a_pose_without_matches_stays_where_it_is():
    points = torch.rand(60, 3, generator=torch.Generator().manual_seed(0)) * 8
    # Normals along an axis leave zeros in the system of a pose that nothing meets.
    normals = torch.tensor([1.0, 0, 0]).expand_as(points)
    far = Pose(torch.eye(3).expand(2, 3, 3), torch.tensor([[500.0, 0, 0], [0.2, 0, 0]]))
    found = settle(Field(points, normals), points, normals, far)
    assert torch.equal(found.translation[0], far.translation[0])
    assert float(found.translation[1, 0].abs()) < 0.05


def wall_at(distance, points=61, half=10.0):
    grid = torch.linspace(-half, half, points)
    y, z = (part.flatten() for part in torch.meshgrid(grid, grid, indexing="ij"))
    return torch.stack([torch.full_like(y, distance), y, z], 1)


def view_of(points, normal=(1.0, 0, 0)):
    normals = torch.tensor(normal).expand_as(points)
    return View(Index(points), normals, points, torch.zeros(3))


def test_points_before_what_a_sensor_saw_are_looked_through():
    view, other = view_of(wall_at(20.0)), view_of(wall_at(20.0, half=4.0))
    shifts = torch.tensor([[0.0, 0, 0], [-8, 0, 0], [8, 0, 0], [-40, 0, 0]])
    poses = Pose(torch.eye(3).expand(4, 3, 3), shifts)
    on, before, behind, backwards = view.through(other, poses)
    assert on == behind == backwards == 0
    assert before == 1


def test_a_sensor_looks_through_a_gap_of_eight_degrees():
    wall = wall_at(20.0, 201)
    gap = (wall[:, 1].abs() < 1.4) & (wall[:, 2].abs() < 8)
    view = view_of(wall * torch.where(gap, 2.0, 1.0).unsqueeze(1))
    here = Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    assert float(view.through(view_of(wall[gap]), here)) > 0.3


def test_single_points_and_surfaces_along_rays_are_not_solid():
    view, here = view_of(wall_at(20.0)), Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    # Some points fly before the wall, far from each other.
    flying = wall_at(20.0, points=21)
    flying[::110] *= 0.6
    assert float(view.through(view_of(flying), here)) == 0
    # A surface along the rays is what a sensor measures between a near and a far thing.
    along = wall_at(12.0, half=2.0)
    assert float(view.through(view_of(along), here)) == 1
    assert float(view.through(view_of(along, normal=(0.0, 0, 1)), here)) == 0


@pytest.mark.parametrize("sensor", ["camera", "lidar"])
def test_a_scan_is_seen_from_its_sensor_and_from_nowhere_else(sensor):
    points = simulate("room", sensor, scans=1, seed=4, detail=0.6).clouds[0].points
    turned = points @ random_rotation(generator=generator(), dtype=torch.float64).mT
    assert seen_from_origin(turned, generator())
    assert not seen_from_origin(points + torch.tensor([3.0, 2, 1]), generator())
    assert not seen_from_origin(points + 1000.0, generator())
    assert not seen_from_origin(points[:100], generator())


@pytest.mark.parametrize(("place", "sensor"), [("hall", "lidar"), ("table", "camera")])
def test_a_scan_with_many_edges_is_seen_from_its_sensor_raw_or_thinned(place, sensor):
    points = simulate(place, sensor, scans=1, seed=4).clouds[0].points
    thin = points[torch.rand(len(points), generator=generator()) < 0.3]
    averaged = voxel_average(points, 0.02 * size_of(points)).points
    assert all(seen_from_origin(cloud, generator()) for cloud in (points, thin, averaged))


@pytest.mark.slow
def test_the_sensor_is_where_the_file_says_if_the_scan_looks_so():
    scans = simulate("room", "camera", scans=2, seed=4, detail=0.6).clouds
    place = torch.tensor([1000.0, 200, 30], dtype=torch.float64)
    away = [Cloud(scan.points + place) for scan in scans]
    assert prepare(*away).source.eye is None
    told = [replace(cloud, sensor=place) for cloud in away]
    here, there = prepare(*scans), prepare(*told)
    for side in ("source", "target"):
        torch.testing.assert_close(getattr(there, side).eye, getattr(here, side).eye)
    wrong = [replace(cloud, sensor=place + 2) for cloud in away]
    assert prepare(*wrong).source.eye is None
    at_origin = [replace(scan, sensor=place) for scan in scans]
    torch.testing.assert_close(prepare(*at_origin).source.eye, here.source.eye)


def test_repeated_points_do_not_hide_the_sensor():
    points = simulate("room", "camera", scans=1, seed=4, detail=0.6).clouds[0].points
    assert seen_from_origin(torch.cat([points, points]), generator())


@pytest.mark.parametrize(("place", "sensor"), [("hall", "lidar"), ("table", "camera")])
def test_several_scans_in_one_cloud_are_not_seen_from_the_origin(place, sensor):
    made = simulate(place, sensor, seed=4, detail=0.6)
    both = torch.cat([made.clouds[1].points, made.pose(0, 1).apply(made.clouds[0].points)])
    assert not seen_from_origin(both, generator())
    assert not seen_from_origin(torch.cat([both, both]), generator())
