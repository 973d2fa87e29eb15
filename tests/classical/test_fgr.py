"""Fast global registration: wrong matches, and Open3D's as an oracle."""

from __future__ import annotations

import pytest
import torch

from classical import easy
from spoonful.batch import Batch
from spoonful.classical import presets
from spoonful.classical.fgr import FGR, in_alike_triangles
from spoonful.geometry import Pose, random_rotation


def half_turned(points: int = 400) -> tuple[torch.Tensor, torch.Tensor, Pose]:
    source, target, truth = easy.pair(points)
    half = Pose(torch.diag(torch.tensor([-1.0, -1, 1])), torch.ones(3))
    return half.apply(source), target, truth.compose(half.inverse())


def test_the_start_does_not_matter():
    source, target, truth = half_turned()
    found = FGR.default().register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.1


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("wrong", [0.0, 0.5])
def test_a_narrowing_cost_sorts_out_wrong_matches(wrong, absolute):
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(3, 200, 3, generator=generator) - 0.5
    truth = Pose(random_rotation(3, max_degrees=40, generator=generator), torch.zeros(3, 3))
    q = truth.apply(p)
    few = int(200 * wrong)
    q[:, :few] = torch.rand(3, few, 3, generator=generator) - 0.5
    method = FGR(narrow=True, max_distance=1e-4, iterations=200, absolute_scale=absolute)
    found = method._robust_pose(p, q, torch.ones(3, 200), torch.ones(3))
    assert easy.degrees_between(found, truth).max() < 0.01


def test_triangles_of_right_matches_pass():
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(100, 3, generator=generator)
    q = p + 3
    q[50:] = torch.rand(50, 3, generator=generator)
    times = in_alike_triangles(p, q, 0.95, 500)
    assert times[:50].sum() > 5 * times[50:].sum()
    assert times.sum() <= 3 * 500


def test_clouds_without_matches_stay():
    generator = torch.Generator().manual_seed(0)
    source, target = (torch.rand(12, 3, generator=generator) for _ in range(2))
    found = FGR(feature_radius=1e-6).register(source, target)
    assert found.status == ("no-overlap",)
    assert torch.equal(found.pose.matrix(), torch.eye(4))


def test_given_normals_are_used_unless_told_otherwise():
    source, target, truth = half_turned()
    generator = torch.Generator().manual_seed(0)
    noise = [torch.nn.functional.normalize(torch.randn(400, 3, generator=generator), dim=-1)]
    noise.append(noise[0][torch.randperm(400, generator=generator)])
    batch = Batch(source[None], target[None], noise[0][None], noise[1][None])
    misled, right = (FGR(normals=which)(batch).pose.at(0) for which in ("given", "estimated"))
    assert easy.degrees_between(right, truth) < 0.1
    assert easy.degrees_between(misled, truth) > 1


@pytest.mark.slow
def test_open3d_finds_no_better_poses():
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    library = open3d.pipelines.registration
    open3d.utility.random.seed(0)
    method = FGR(feature_radius=0.3, max_distance=0.01, narrow=True)
    ours, theirs = [], []
    for seed in range(6):
        generator = torch.Generator().manual_seed(seed)
        shape = easy.shape(800, seed)
        truth = Pose(random_rotation(generator=generator), torch.ones(3))
        # Two noisy crops that overlap in most points.
        source, target = shape[shape[:, 0] < 0.5], truth.apply(shape[shape[:, 0] > -0.5])
        source = source + 0.003 * torch.randn(source.shape, generator=generator)
        found = method.register(source, target)
        ours.append(easy.degrees_between(found.pose, truth))
        clouds, features = [], []
        for points in (source, target):
            cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points.numpy()))
            cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(30))
            cloud.orient_normals_towards_camera_location(cloud.get_center())
            around = open3d.geometry.KDTreeSearchParamHybrid(radius=0.3, max_nn=128)
            clouds.append(cloud)
            features.append(library.compute_fpfh_feature(cloud, around))
        option = library.FastGlobalRegistrationOption(
            decrease_mu=True, maximum_correspondence_distance=0.01, iteration_number=64
        )
        matrix = library.registration_fgr_based_on_feature_matching(*clouds, *features, option)
        pose = Pose.from_matrix(torch.tensor(matrix.transformation))
        theirs.append(easy.degrees_between(pose, truth))
    assert torch.stack(theirs).median() < 2
    assert torch.stack(ours).median() < torch.stack(theirs).median() + 0.5


def test_the_shipped_settings_build_the_method():
    for protocol in presets.tuned_on("fgr"):
        assert presets.tuned("fgr", protocol).build().settings == "tuned"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"feature_radius": -1.0}, "feature_radius must be above 0, got -1.0"),
        ({"normals": "maybe"}, "normals must be 'given' or 'estimated', got 'maybe'"),
        ({"iterations": 0}, "iterations must be an int >= 1, got 0"),
        ({"tuple_scale": 1.0}, r"tuple_scale must lie in \(0, 1\), got 1.0"),
        ({"division_factor": 1.0}, "division_factor must be above 1, got 1.0"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        FGR(**settings)
