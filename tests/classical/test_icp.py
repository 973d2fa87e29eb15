"""ICP."""

from __future__ import annotations

import pytest
import torch

from classical import easy
from spoonful.batch import Batch
from spoonful.classical import icp as icp_module
from spoonful.classical.icp import ICP, spread_rotations
from spoonful.geometry import Pose
from spoonful.neighbors import Index

gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def on_gpu(test):
    for mark in gpu:
        test = mark(test)
    return test


def test_trimming_survives_outliers_that_mislead_plain_icp():
    source, target, truth = easy.pair(256)
    strays = torch.tensor([0.8, 0.6, 0.9]) + 0.2 * easy.shape(64, seed=9)
    source = torch.cat([source, strays])
    trimmed, plain = (ICP(trim=trim).register(source, target) for trim in (0.2, 0.0))
    assert easy.degrees_between(trimmed.pose, truth) < 0.1
    assert easy.degrees_between(plain.pose, truth) > 5
    assert not trimmed.weights[256:].any()
    assert abs(trimmed.inlier_ratio - 256 / 320) < 0.01


def test_a_largest_distance_survives_outliers_too():
    source, target, truth = easy.pair(256, degrees=5)
    source = torch.cat([source, 5 + easy.shape(64, seed=9)])
    found = ICP(max_distance=0.5).register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.1
    assert not found.weights[256:].any()


def test_planes_fit_another_sample_of_a_surface_better_than_points():
    source, truth = easy.shape(400, seed=1), easy.motion(10)
    target = truth.apply(easy.shape(4000, seed=2))
    errors = [
        easy.degrees_between(ICP(metric=metric).register(source, target).pose, truth)
        for metric in ("plane", "point")
    ]
    assert errors[0] < 0.25
    assert errors[0] < errors[1]


def test_given_normals_are_used():
    source, target, _ = easy.pair(200)
    normals = torch.nn.functional.normalize(target, dim=-1)
    method = ICP(metric="plane", iterations=1)
    estimated = method.register(source, target)
    given = method.register(source, target, target_normals=normals)
    assert not torch.equal(estimated.pose.rotation, given.pose.rotation)


@pytest.mark.slow
def test_many_starts_find_a_turn_that_one_does_not():
    source, target, truth = easy.pair(200, degrees=150)
    one, many = ICP(), ICP(starts=80, sample=100)
    assert easy.degrees_between(one.register(source, target).pose, truth) > 5
    assert easy.degrees_between(many.register(source, target).pose, truth) < 0.1


def test_starts_stay_within_their_angle():
    turns = spread_rotations(50, 30.0)
    angles = easy.degrees_between(Pose(turns, turns[:, 0]), Pose.identity(50, dtype=turns.dtype))
    assert len(turns) == 50
    assert 20 < angles.max() <= 30 + 1e-6


def test_a_given_start_is_used():
    source, target, truth = easy.pair(200, degrees=150)
    near = Pose(truth.rotation, truth.translation + 0.05)
    found = ICP().register(source, target, init=near)
    assert easy.degrees_between(found.pose, truth) < 0.1


def test_clouds_out_of_reach_have_no_overlap_and_stay_where_they_are():
    source, target, _ = easy.pair()
    found = ICP(max_distance=0.5).register(source, target + 10)
    assert found.status == ("no-overlap",)
    assert torch.allclose(found.pose.matrix(), torch.eye(4), atol=1e-5)
    assert not found.weights.any()
    assert found.inlier_ratio == 0


def test_inliers_may_lie_farther_away_than_matches():
    source, target, _ = easy.pair(degrees=0.5)
    noisy = target + 0.01 * easy.shape(128, seed=3)
    strict = ICP(max_distance=1e-3).register(source, noisy)
    assert strict.weights.mean() < 0.2
    assert strict.inlier_ratio == 1


def test_iterations_that_run_out_are_reported():
    source, target, _ = easy.pair(degrees=30)
    assert ICP(iterations=1).register(source, target).status == ("no-convergence",)
    assert ICP(iterations=200).register(source, target).status == ("ok",)


def test_pairs_that_finish_early_do_not_wait_for_the_others():
    easy_ones, hard = easy.batch(2, degrees=1), easy.batch(1, degrees=40)
    batch = Batch(
        torch.cat([easy_ones.source, hard.source]), torch.cat([easy_ones.target, hard.target])
    )
    sizes = []
    whole = Index.nearest

    def counted(self, query, **options):
        sizes.append(len(query))
        return whole(self, query, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Index, "nearest", counted)
        ICP(iterations=30)(batch)
    assert sizes[0] == 3
    assert min(sizes) == 1


def test_chunks_change_nothing(monkeypatch):
    batch = easy.batch(4)
    whole = ICP.default()(batch)
    monkeypatch.setattr(icp_module, "_BUDGET", 1)
    parts = ICP.default()(batch)
    assert torch.equal(whole.pose.rotation, parts.pose.rotation)
    assert torch.equal(whole.matches, parts.matches)
    assert whole.status == parts.status


def test_the_residual_is_that_of_the_matches():
    source, target, _ = easy.pair()
    target = target + 0.02 * easy.shape(128, seed=4)
    found = ICP.default().register(source, target)
    gaps = (found.pose.apply(source) - found.matches).square().sum(-1)
    assert torch.allclose(found.extras["residual"], gaps.mean().sqrt(), atol=1e-5)


@pytest.mark.slow
def test_published_settings_give_open3ds_poses():
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    icp = open3d.pipelines.registration
    batch = easy.batch(4, points=200, degrees=20)
    ours = ICP.published()(batch)
    for row in range(4):
        clouds = [
            open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[row].double().numpy()))
            for points in (batch.source, batch.target)
        ]
        theirs = icp.registration_icp(
            *clouds,
            0.5,
            torch.eye(4, dtype=torch.float64).numpy(),
            icp.TransformationEstimationPointToPoint(),
            icp.ICPConvergenceCriteria(1e-6, 1e-6, 30),
        )
        pose = Pose.from_matrix(torch.tensor(theirs.transformation.copy()))
        found = Pose(ours.pose.rotation[row], ours.pose.translation[row])
        assert easy.degrees_between(found, pose) < 0.05


@pytest.mark.slow
def test_large_clouds_are_exact():
    source, truth = easy.shape(10_000, seed=1), easy.motion(3)
    found = ICP(metric="point", trim=0.1, sample=1000).register(source, truth.apply(source))
    assert easy.degrees_between(found.pose, truth) < 0.01


@on_gpu
@pytest.mark.parametrize(
    "method", [ICP.published(), ICP(metric="plane"), ICP(starts=8, sample=64, trim=0.1)], ids=str
)
def test_on_a_gpu_poses_are_those_of_the_cpu(method):
    batch = easy.batch(4)
    here, there = method(batch), method(batch.to("cuda"))
    assert easy.degrees_between(there.pose.to("cpu"), here.pose).max() < 0.05
    assert there.status == here.status
