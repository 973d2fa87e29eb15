"""Collected errors: nothing is lost, nothing counts twice, nothing broken is averaged away."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file
from scipy.spatial.transform import Rotation

from metrics import reduce_in_two_processes
from scripts import fork_two
from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.metrics import PoseErrors, rotation_error_degrees, summarize
from spoonful.metrics.summary import quantile
from spoonful.registration import Registration


def random_poses(count: int, seed: int) -> Pose:
    rotation = torch.from_numpy(Rotation.random(count, rng=seed).as_matrix()).float()
    generator = torch.Generator().manual_seed(seed)
    return Pose(rotation, torch.randn(count, 3, generator=generator))


def items(pose: Pose, rows: list[int]) -> Pose:
    return Pose(pose.rotation[rows], pose.translation[rows])


POSE, TRUTH = random_poses(10, 0), random_poses(10, 1)


def collect(*shares: list[int]) -> PoseErrors:
    errors = PoseErrors()
    for rows in shares:
        errors.update(items(POSE, rows), items(TRUTH, rows), index=torch.tensor(rows))
    return errors


def rpm_batch(golden) -> Batch:
    source, target, clean = (golden[f"points_{k}"][..., :3] for k in ("src", "ref", "raw"))
    truth = Pose.from_matrix(golden["transform_gt"])
    return Batch(source, target, pose=truth, clean=clean, index=torch.arange(4))


def test_rpmnet_golden_summaries(golden_folder):
    golden = load_file(golden_folder / "rpm_metrics.safetensors")
    errors = PoseErrors()
    errors.update(Pose.from_matrix(golden["pred"]), rpm_batch(golden))
    report = errors.compute()
    ours = {
        "r_rmse": report["rotation_rpmnet_degrees"].rmse,
        "r_mae": report["rotation_rpmnet_degrees"].mae,
        "t_rmse": report["translation_axes"].rmse,
        "t_mae": report["translation_axes"].mae,
        "err_r_deg_mean": report["rotation_degrees"].mean,
        "err_r_deg_rmse": report["rotation_degrees"].rmse,
        "err_t_mean": report["translation"].mean,
        "err_t_rmse": report["translation"].rmse,
        "chamfer_dist": report["modified_chamfer"].mean,
    }
    for name, value in ours.items():
        assert value == pytest.approx(golden[f"summary.{name}"].item(), rel=1e-4, abs=1e-6), name


def test_batches_of_any_size_give_the_same_report():
    whole = collect(list(range(10))).compute()
    assert collect([7], [0, 1, 2], [9, 8], [3, 4, 5, 6]).compute() == whole


def test_values_come_in_the_order_of_the_items_numbers():
    errors = collect([7, 2], [9, 0])
    assert errors.index.tolist() == [0, 2, 7, 9]
    expected = rotation_error_degrees(POSE.rotation, TRUTH.rotation)[[0, 2, 7, 9]]
    assert torch.equal(errors.values("rotation_degrees"), expected)


def test_an_item_counts_once_however_often_it_comes():
    report = collect([0, 1, 2], [2, 3], [0]).compute()
    assert (report.count, report.repeated) == (4, 2)
    assert report.summaries == collect([0, 1, 2, 3]).compute().summaries


def test_items_without_a_number_all_count():
    errors = PoseErrors()
    for _ in range(2):
        errors.update(POSE, TRUTH)
    assert errors.compute().count == 20
    assert (errors.index == -1).all()


def test_one_number_for_two_different_items_is_an_error():
    errors = collect([0, 1])
    errors.update(items(POSE, [1]), items(TRUTH, [2]), index=torch.tensor([1]))
    with pytest.raises(ValueError, match="item 1 came twice with different true poses"):
        errors.compute()


def test_a_nonfinite_pose_is_counted_and_never_averaged_away():
    broken = Pose(POSE.rotation.clone(), POSE.translation.clone())
    broken.rotation[3] = torch.nan
    broken.translation[5, 0] = torch.inf
    errors = PoseErrors()
    errors.update(broken, TRUTH)
    report = errors.compute()
    assert (report.count, report.nonfinite) == (10, 2)
    for name, summary in report.summaries.items():
        assert summary.nonfinite == 2, name
        assert summary.mean == summary.rmse == summary.max == math.inf, name
        assert math.isfinite(summary.median), name
        assert errors.values(name)[[3, 5]].isinf().all(), name
    assert "2 with a non-finite pose" in str(report)


def test_a_share_without_items_is_fine():
    empty = PoseErrors()
    empty.update(items(POSE, []), items(TRUTH, []))
    assert len(empty) == 0
    with pytest.raises(ValueError, match="there are no items yet"):
        empty.compute()


def test_a_batch_brings_its_numbers_clouds_and_masks(generator):
    source = torch.rand(2, 20, 3, generator=generator)
    truth, pose = items(TRUTH, [0, 1]), items(POSE, [0, 1])
    batch = Batch(source, truth.apply(source), pose=truth, index=torch.tensor([5, 4]))
    errors = PoseErrors()
    errors.update(Registration(pose, matches=truth.apply(source)), batch)
    assert errors.index.tolist() == [4, 5]
    assert errors.values("correspondence").max() < 1e-6
    assert {"mean_point_distance", "chamfer", "relative_correspondence"} < set(errors.names)
    assert "modified_chamfer" not in errors.names

    rubbish = torch.full((2, 3, 3), torch.nan)
    mask = torch.arange(23).expand(2, 23) < 20
    wide = replace(batch, source=torch.cat([source, rubbish], 1), source_mask=mask)
    padded = PoseErrors()
    matches = torch.cat([truth.apply(source), rubbish], 1)
    padded.update(pose, wide, matches=matches)
    for name in errors.names:
        torch.testing.assert_close(padded.values(name), errors.values(name))


def test_chamfer_can_be_left_out(generator):
    source = torch.rand(10, 5, 3, generator=generator)
    errors = PoseErrors(chamfer=False)
    errors.update(POSE, Batch(source, source, pose=TRUTH, clean=source))
    assert not any("chamfer" in name for name in errors.names)


def test_any_leading_dimensions_and_gradients_are_dropped():
    rotation = POSE.rotation.reshape(2, 5, 3, 3).requires_grad_()
    truth = Pose(TRUTH.rotation.reshape(2, 5, 3, 3), TRUTH.translation.reshape(2, 5, 3))
    errors = PoseErrors()
    errors.update(Pose(rotation, POSE.translation.reshape(2, 5, 3)), truth)
    errors.update(Pose.identity(), Pose.identity())
    assert len(errors) == 11
    assert not errors.values("rotation_degrees").requires_grad


def test_tensors_changed_after_update_change_nothing():
    pose = Pose(torch.eye(3).double().repeat(2, 1, 1), torch.zeros(2, 3).double())
    errors = PoseErrors()
    errors.update(pose, Pose.identity(2, dtype=torch.float64))
    pose.translation.add_(1)
    assert (errors.values("translation") == 0).all()


def test_reduce_without_processes_is_the_same_collection():
    errors = collect([0, 1])
    assert errors.reduce() is errors


@pytest.mark.slow
def test_two_processes_reduce_to_the_whole(tmp_path):
    fork_two(partial(reduce_in_two_processes.main, str(tmp_path / "rendezvous")))


def test_mistakes_are_named():
    errors = PoseErrors()
    with pytest.raises(ValueError, match="there are no items yet: call update first"):
        errors.compute()
    with pytest.raises(ValueError, match="truth must be known, got a Batch without a pose"):
        errors.update(POSE, Batch(torch.zeros(10, 4, 3), torch.zeros(10, 4, 3)))
    with pytest.raises(ValueError, match="truth must be finite, got NaN or inf"):
        errors.update(POSE, Pose(TRUTH.rotation, TRUTH.translation / 0))
    with pytest.raises(ValueError, match=r"estimate and truth must hold the same number of poses"):
        errors.update(items(POSE, [0]), TRUTH)
    with pytest.raises(ValueError, match=r"index must hold whole numbers with shape \(10,\)"):
        errors.update(POSE, TRUTH, index=torch.arange(9))
    with pytest.raises(ValueError, match="matches need the source cloud"):
        errors.update(POSE, TRUTH, matches=torch.zeros(10, 4, 3))
    assert len(errors) == 0
    errors.update(POSE, TRUTH)
    with pytest.raises(ValueError, match=r"only some have .*mean_point_distance"):
        errors.update(POSE, Batch(torch.zeros(10, 4, 3), torch.zeros(10, 4, 3), pose=TRUTH))
    with pytest.raises(ValueError, match=r"no metric named 'angle'; there are: rotation_degrees"):
        errors.values("angle")


def test_summaries_are_what_they_say():
    errors = torch.randn(101, 3, dtype=torch.float64)
    summary = summarize(errors)
    assert summary.mae == summary.mean == pytest.approx(errors.abs().mean().item())
    assert summary.rmse == pytest.approx(errors.square().mean().sqrt().item())
    assert summary.median == pytest.approx(errors.abs().quantile(0.5).item())
    assert summary.p95 == pytest.approx(errors.abs().quantile(0.95).item())
    assert summary.max == errors.abs().max()
    with pytest.raises(ValueError, match=r"errors must have shape \(K,\) or \(K, D\) with K >= 1"):
        summarize(torch.zeros(0))


def test_quantiles_know_infinity():
    values = torch.tensor([1.0, 2.0, math.inf, math.inf])
    assert quantile(values, 0.5) == math.inf
    assert quantile(values, 1 / 3) == 2.0
    assert quantile(values, 1.0) == math.inf
    with pytest.raises(ValueError, match=r"q must lie in \[0, 1\], got 95"):
        quantile(values, 95)
