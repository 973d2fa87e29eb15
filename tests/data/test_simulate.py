"""Simulated scans: exact geometry, occlusion, overlap, ambiguity, files and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from spoonful.cli.data import app
from spoonful.data import scenes
from spoonful.data import simulate as module
from spoonful.data.clouds import read_cloud
from spoonful.data.raycast import first_hits
from spoonful.data.scenes import SCENES
from spoonful.data.simulate import SENSORS, Simulated, simulate
from spoonful.data.synthetic.solids import ball, box, cylinder, prism
from spoonful.geometry import random_rotation

ORIGIN = torch.zeros(3, dtype=torch.float64)


@pytest.fixture(scope="module")
def room() -> Simulated:
    return simulate("room", "camera", scans=3, seed=1, detail=0.4)


def some_rays(count: int = 500) -> Tensor:
    rays = torch.randn(count, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.normalize(rays, dim=-1)


def rows_of(part: object) -> Tensor:
    return scenes._rows([part])


def test_rays_meet_a_box_where_slabs_say() -> None:
    low, high = torch.tensor([1.0, -0.5, -1]).double(), torch.tensor([3.0, 1.5, 0.5]).double()
    middle = (low + high) / 2
    rays = some_rays(1000)
    near, far = torch.minimum(low / rays, high / rays), torch.maximum(low / rays, high / rays)
    enter, leave = near.amax(-1), far.amin(-1)
    expected = enter.where((enter <= leave) & (enter > 0), torch.inf)
    found = first_hits(rows_of(box(2, 2, 1.5).at(*middle.tolist())), ORIGIN, rays)
    torch.testing.assert_close(found, expected)
    assert found.isfinite().any()
    assert found.isinf().any()


def test_rays_meet_a_turned_cylinder_on_its_surface() -> None:
    part = cylinder(0.7, 2.0).turn("x", 40).at(2, 0.5, 0.3)
    rays = some_rays(2000)
    found = first_hits(rows_of(part), ORIGIN, rays)
    hit = found.isfinite()
    turn = torch.tensor(part.rotation, dtype=torch.float64)
    shift = torch.tensor(part.translation, dtype=torch.float64)
    local = (rays[hit] * found[hit, None] - shift) @ turn
    radius, height = local[:, :2].norm(dim=1), local[:, 2].abs()
    side = ((radius - 0.7).abs() < 1e-9) & (height < 1 + 1e-9)
    cap = ((height - 1).abs() < 1e-9) & (radius < 0.7 + 1e-9)
    assert hit.sum() > 100
    assert bool((side | cap).all())
    # Nothing between the sensor and the hit is inside.
    inner = local * 0.999 + 0.001 * ((-shift) @ turn)
    assert not bool(((inner[:, :2].norm(dim=1) < 0.7) & (inner[:, 2].abs() < 1)).any())


def test_a_ball_is_met_near_its_sphere_and_a_prism_on_its_sides() -> None:
    found = first_hits(rows_of(ball(1.0, steps=48).at(3, 0, 0)), ORIGIN, some_rays(2000))
    hit = some_rays(2000)[found.isfinite()] * found[found.isfinite(), None]
    away = (hit - torch.tensor([3.0, 0, 0])).norm(dim=1)
    assert len(hit) > 50
    assert float(away.min()) > 0.99
    assert float(away.max()) < 1.0001
    wedge = prism([(-1, -1), (1, -1), (0, 1)], 2.0, taper=0.5).at(0, 4, 0)
    assert float(first_hits(rows_of(wedge), ORIGIN, torch.tensor([[0.0, 1, 0]]).double())) == (
        pytest.approx(4 - 0.75)
    )


def test_the_nearer_surface_hides_the_farther() -> None:
    near, far = rows_of(box(1, 1, 1).at(3, 0, 0)), rows_of(box(1, 9, 9).at(8, 0, 0))
    rays = torch.tensor([[1.0, 0, 0], [1.0, 0.6, 0]], dtype=torch.float64)
    rays /= rays.norm(dim=1, keepdim=True)
    both = first_hits(torch.cat([far, near]), ORIGIN, rays)
    assert both[0] == pytest.approx(2.5)
    assert both[1] == first_hits(far, ORIGIN, rays)[1]
    assert first_hits(torch.cat([far, near]), ORIGIN, rays, most=1.0).isinf().all()


def test_the_patches_of_a_scaled_solid_keep_its_shape() -> None:
    rows = scenes._solid("teapot", 0)
    eye = torch.tensor([2.0, 0.3, 0.8], dtype=torch.float64)
    rays = some_rays(300)
    turned = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=torch.float64)
    small = first_hits(rows, eye, rays)
    large = scenes._scaled(rows, 3.0, 90.0, (1, 2, 3))
    moved = 3 * (turned @ eye) + torch.tensor([1.0, 2, 3])
    assert small.isfinite().any()
    torch.testing.assert_close(first_hits(large, moved, rays @ turned.mT), 3 * small)


def test_without_noise_every_point_is_on_the_surface(monkeypatch: pytest.MonkeyPatch) -> None:
    still = SENSORS["camera"]._replace(noise=(0.0, 0.0), dropouts=0.0, mixed=0.0, shape=(20, 30))
    monkeypatch.setitem(SENSORS, "camera", still)
    made = simulate("table", "camera", seed=3)
    rng = np.random.default_rng([3, list(SCENES).index("table"), 0])
    scene = SCENES["table"](rng, 2, still.step)
    for k, cloud in enumerate(made.clouds):
        pose = made.poses.at(k)
        # Seen again, a point is where it was: nothing before it, and it is not inside a solid.
        rays = torch.nn.functional.normalize(pose.apply(cloud.points) - pose.translation, dim=-1)
        found = first_hits(scene.rows, pose.translation, rays)
        torch.testing.assert_close(found, cloud.points.norm(dim=-1))


def test_noise_grows_with_the_range_and_some_rays_drop_out() -> None:
    sensor, rng = SENSORS["camera"], np.random.default_rng(0)
    for distance in (1.0, 6.0):
        ranges = module._measured(np.full((200, 200), distance), sensor, rng)
        spread = np.nanstd(ranges)
        assert spread == pytest.approx(sensor.noise[0] + sensor.noise[1] * distance**2, rel=0.05)
        assert np.isnan(ranges).mean() == pytest.approx(sensor.dropouts, abs=0.01)


def test_mixed_pixels_lie_between_the_two_surfaces_of_an_edge() -> None:
    true = np.repeat([[1.0] * 5 + [3.0] * 5], 2000, 0)
    found = module._measured(true, SENSORS["lidar"], np.random.default_rng(0))
    between = (found > 1.2) & (found < 2.8)
    # The image is closed: columns 0 and 5 are those beside another surface.
    assert set(np.nonzero(between)[1]) == {0, 5}
    assert between[:, 5].mean() == pytest.approx(0.3 * 0.8 * 0.97, abs=0.04)


@pytest.mark.parametrize("name", SENSORS)
def test_a_sensor_sees_along_its_rays_and_not_behind_them(name: str) -> None:
    sensor = SENSORS[name]
    rays = sensor.rays()
    assert rays.shape == (*sensor.shape, 3)
    assert bool(sensor.sees(2 * 0.9999 * rays[1:-1, 1:-1]).all())
    assert not bool(sensor.sees(rays * sensor.reach[1] * 1.01).any())
    assert not bool(sensor.sees(torch.tensor([0.0, -1, 0] if name == "camera" else [0.0, 0, 1])))


@pytest.mark.slow
def test_one_seed_gives_one_result_and_another_seed_another(room: Simulated) -> None:
    again = simulate("room", "camera", scans=3, seed=1, detail=0.4)
    other = simulate("room", "camera", scans=3, seed=2, detail=0.4)
    for a, b in zip(room.clouds, again.clouds, strict=True):
        assert torch.equal(a.points, b.points)
    assert torch.equal(room.overlap, again.overlap)
    assert room.clouds[0].points.shape != other.clouds[0].points.shape


def test_the_overlap_is_the_share_of_points_with_a_partner(room: Simulated) -> None:
    assert torch.equal(room.overlap, room.overlap.mT)
    assert bool((room.overlap.diag() == 1).all())
    shares = []
    for a, b in ((0, 1), (1, 0)):
        moved = room.pose(a, b).apply(room.clouds[a].points)
        apart = torch.cdist(moved, room.clouds[b].points).amin(1)
        shares.append(float((apart < 0.1).double().mean()))
    assert float(room.overlap[0, 1]) == pytest.approx(min(shares), abs=0.12)


@pytest.mark.slow
def test_bare_corridors_and_corners_are_ambiguous_and_a_full_room_is_not() -> None:
    furnish = scenes._Builder.furnish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes._Builder, "furnish", lambda *_: None)
        for kind, sensor in (("corridor", "lidar"), ("building", "camera")):
            assert bool(simulate(kind, sensor, seed=1, detail=0.3).ambiguous[0, 1])
        patch.setattr(scenes._Builder, "furnish", lambda *given: furnish(*given[:3], 20, 1.4))
        made = [simulate("building", "lidar", seed=seed, detail=0.3) for seed in range(3)]
    assert not any(bool(each.ambiguous.any()) for each in made)


def test_corner_motions_put_the_inside_of_a_corner_into_the_inside_of_another() -> None:
    size = torch.tensor([5.0, 4.0, 2.8]).double()
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0]).double()] * 3)
    both = torch.stack([corners * size, 0.1 + 0.8 * corners + corners * (size - 1)])
    for motion in scenes._corners(size.tolist()):
        apart = torch.cdist(motion.apply(both), both).lt(1e-6)
        assert bool((apart[0] & apart[1]).any())
        assert not torch.allclose(motion.matrix(), torch.eye(4).double())


def test_scans_apart_share_nothing() -> None:
    made = simulate("table", "camera", apart=True, detail=0.3)
    assert made.apart
    assert not made.overlap.any()
    assert not made.ambiguous.any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCENES)
def test_every_kind_can_be_scanned_by_every_sensor(kind: str) -> None:
    for sensor in SENSORS:
        made = simulate(kind, sensor, seed=5, detail=0.15)
        rotation = made.poses.rotation
        assert min(len(cloud.points) for cloud in made.clouds) > 20
        torch.testing.assert_close(
            rotation @ rotation.mT, torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        )
        assert bool((torch.linalg.det(rotation) > 0).all())


def test_a_camera_before_a_wall_is_turned() -> None:
    made = simulate("hall", "camera", scans=3, seed=21, detail=0.15)
    assert min(len(cloud.points) for cloud in made.clouds) > 40


@pytest.mark.slow
def test_the_command_writes_scans_that_fit_their_poses(tmp_path: Path) -> None:
    told = ["simulate", str(tmp_path), "--scans", "3", "--detail", "0.3", "--seed", "4"]
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "scene.json").read_text())
    made = simulate("room", "camera", scans=3, detail=0.3, seed=4)
    for k, scan in enumerate(facts["scans"]):
        cloud = read_cloud(tmp_path / scan["file"])
        torch.testing.assert_close(cloud.points, made.clouds[k].points.float())
        torch.testing.assert_close(torch.tensor(scan["pose"]).double(), made.poses.at(k).matrix())
    for pair in facts["pairs"]:
        assert 0 < pair["overlap"] <= 1
        assert pair["ambiguous"] in (False, True)
    (tmp_path / "scan-mine.ply").touch()
    told[told.index("3")] = "2"
    assert CliRunner().invoke(app, told).exit_code == 0
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["scan-000.ply", "scan-001.ply", "scan-mine.ply", "scene.json"]
    several = tmp_path / "several"
    told = ["simulate", str(several), "--scenes", "2", "--detail", "0.2", "--apart"]
    assert CliRunner().invoke(app, told).exit_code == 0
    assert sorted(path.name for path in several.iterdir()) == ["0000", "0001"]
    assert json.loads((several / "0001" / "scene.json").read_text())["apart"] is True


def test_a_scan_that_was_not_simulated_is_not_overwritten(tmp_path: Path, room: Simulated) -> None:
    real = tmp_path / "scan-001.ply"
    real.write_text("a real scan")
    with pytest.raises(ValueError, match=r"scan-001\.ply exists and may be a real scan"):
        module.write_simulated(tmp_path, room)
    assert [path.name for path in tmp_path.iterdir()] == ["scan-001.ply"]
    assert real.read_text() == "a real scan"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--kind", "cave"], "kind"),
        (["--sensor", "nose"], "sensor"),
        (["--scans", "0"], "scans"),
        (["--scenes", "0"], "scenes"),
        (["--detail", "0"], "detail"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_a_mistake_names_the_option(arguments: list[str], name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["simulate", str(tmp_path / "x"), *arguments])
    assert isinstance(result.exception, ValueError)
    assert name in str(result.exception)
    assert not (tmp_path / "x").exists()


def test_the_geometry_does_not_depend_on_the_frame() -> None:
    rotation = random_rotation(generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows = rows_of(cylinder(0.7, 2.0, top=0.2).turn("y", 25).at(2, 1, 0))
    turned = torch.cat([(rows[:, :12].view(-1, 4, 3) @ rotation.mT).flatten(1), rows[:, 12:]], 1)
    rays = some_rays(800)
    torch.testing.assert_close(
        first_hits(turned, ORIGIN, rays @ rotation.mT), first_hits(rows, ORIGIN, rays)
    )


def test_no_sensor_stands_in_an_object() -> None:
    few = SENSORS["lidar"]._replace(shape=(8, 30))
    seed = [0, list(SCENES).index("facade"), list(SENSORS).index("lidar")]
    rng = np.random.default_rng(seed)
    scene = SCENES["facade"](rng, 40, few.step)
    for number in range(40):
        assert len(module._take(scene, few, number, rng).points) > 50
