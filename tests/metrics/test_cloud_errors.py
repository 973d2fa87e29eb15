"""Errors measured on points: equations, padding, memory, and the published values."""

import subprocess
import sys
import textwrap

import pytest
import torch
from safetensors.torch import load_file
from scipy.spatial.transform import Rotation

from spoonful.geometry import Pose
from spoonful.metrics import (
    chamfer_distance,
    correspondence_error,
    mean_point_distance,
    modified_chamfer_distance,
    relative_correspondence_error,
)


def random_pose(*batch: int, seed: int = 0) -> Pose:
    count = int(torch.tensor(batch).prod()) if batch else 1
    rotation = torch.from_numpy(Rotation.random(count, rng=seed).as_matrix()).float()
    generator = torch.Generator().manual_seed(seed)
    return Pose(rotation.reshape(*batch, 3, 3), torch.randn(*batch, 3, generator=generator))


def padded(cloud: torch.Tensor, extra: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`cloud` with `extra` points of rubbish, and the mask that says so."""
    rubbish = torch.full((*cloud.shape[:-2], extra, 3), torch.nan)
    rubbish[..., 0, :] = 1e30
    mask = torch.ones(*cloud.shape[:-2], cloud.shape[-2] + extra, dtype=torch.bool)
    mask[..., cloud.shape[-2] :] = False
    return torch.cat([cloud, rubbish], dim=-2), mask


def test_chamfer_is_its_equation():
    a, b = torch.rand(2, 3, 40, 3), torch.rand(2, 3, 50, 3)
    squared = (a.unsqueeze(-2) - b.unsqueeze(-3)).square().sum(-1).double()
    expected = squared.amin(-1).mean(-1) + squared.amin(-2).mean(-1)
    torch.testing.assert_close(chamfer_distance(a, b), expected)
    torch.testing.assert_close(chamfer_distance(b, a), expected)


def test_padding_changes_nothing():
    source, target, clean = torch.rand(2, 30, 3), torch.rand(2, 20, 3), torch.rand(2, 40, 3)
    pose, truth, matches = random_pose(2), random_pose(2, seed=1), torch.rand(2, 30, 3)
    wide, mask = padded(source, 4)
    wide_target, target_mask = padded(target, 3)
    wide_matches, _ = padded(matches, 4)
    masks = {"source_mask": mask, "target_mask": target_mask}
    pairs = [
        (chamfer_distance(source, target), chamfer_distance(wide, wide_target, **masks)),
        (
            modified_chamfer_distance(pose, truth, source, target, clean),
            modified_chamfer_distance(pose, truth, wide, wide_target, clean, **masks),
        ),
        (
            mean_point_distance(pose, truth, source),
            mean_point_distance(pose, truth, wide, mask=mask),
        ),
        (
            correspondence_error(matches, truth, source),
            correspondence_error(wide_matches, truth, wide, mask=mask),
        ),
        (
            relative_correspondence_error(matches, truth, source),
            relative_correspondence_error(wide_matches, truth, wide, mask=mask),
        ),
    ]
    for alone, among_padding in pairs:
        torch.testing.assert_close(among_padding, alone)


def test_a_cloud_of_padding_has_no_error_to_speak_of():
    source, mask = torch.rand(2, 5, 3), torch.ones(2, 5, dtype=torch.bool)
    mask[0] = False
    pose = Pose.identity(2)
    for error in (
        chamfer_distance(source, source, source_mask=mask),
        mean_point_distance(pose, pose, source, mask=mask),
        correspondence_error(source, pose, source, mask=mask),
    ):
        assert not error[0].isfinite()
        assert error[1] == 0


@pytest.mark.slow
def test_chamfer_needs_little_memory():
    """8k x 8k distances are 256 MB; the search takes a few dozen MB of them at a time."""
    script = """
        import resource, torch
        from spoonful.metrics import chamfer_distance

        torch.set_num_threads(1)
        cloud = torch.rand(8_000, 3)
        chamfer_distance(cloud[:500], cloud[:500])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        chamfer_distance(cloud, cloud.flip(0))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024  # kilobytes, except on macOS
    assert int(done.stdout) * unit < 150e6


def test_chamfer_is_differentiable():
    a = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    b = torch.rand(6, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(chamfer_distance, (a, b))


def test_the_modified_chamfer_distance_forgives_cropping_and_nothing_else():
    clean = torch.rand(60, 3)
    truth = random_pose()
    truth = Pose(truth.rotation.reshape(3, 3), truth.translation.reshape(3))
    source, target = truth.inverse().apply(clean[:40]), clean[20:]
    distance = modified_chamfer_distance(truth, truth, source, target, clean)
    assert distance.item() == pytest.approx(0, abs=1e-10)
    off = Pose(truth.rotation, truth.translation + 0.05)
    assert modified_chamfer_distance(off, truth, source, target, clean) > 1e-3


def test_rpmnet_golden_chamfer(golden_folder):
    golden = load_file(golden_folder / "rpm_metrics.safetensors")
    source, target, clean = (golden[f"points_{k}"][..., :3] for k in ("src", "ref", "raw"))
    pose, truth = Pose.from_matrix(golden["pred"]), Pose.from_matrix(golden["transform_gt"])
    distance = modified_chamfer_distance(pose, truth, source, target, clean)
    torch.testing.assert_close(distance, golden["chamfer_dist"], rtol=1e-4, atol=0)


def test_mean_point_distance_is_its_equation():
    pose, truth, source = random_pose(2, 3), random_pose(2, 3, seed=1), torch.rand(2, 3, 9, 3)
    expected = (pose.apply(source) - truth.apply(source)).norm(dim=-1).mean(-1).double()
    torch.testing.assert_close(
        mean_point_distance(pose, truth, source), expected, rtol=1e-5, atol=0
    )
    assert (mean_point_distance(pose, pose, source) == 0).all()


def test_perfect_matches_have_no_error_and_collapsed_ones_a_relative_error_of_one():
    truth, source = random_pose(4), torch.rand(4, 50, 3)
    place = truth.apply(source)
    assert correspondence_error(place, truth, source).max() < 1e-6
    collapsed = place.mean(-2, keepdim=True).expand_as(place)
    relative = relative_correspondence_error(collapsed, truth, source)
    torch.testing.assert_close(relative, torch.ones(4).double(), rtol=1e-6, atol=0)


def test_the_relative_correspondence_error_ignores_scale_and_translation():
    truth, source, matches = random_pose(4), torch.rand(4, 50, 3), torch.rand(4, 50, 3)
    relative = relative_correspondence_error(matches, truth, source)
    larger = Pose(truth.rotation, 5 * truth.translation)
    moved = Pose(truth.rotation, truth.translation + 3)
    torch.testing.assert_close(
        relative_correspondence_error(5 * matches, larger, 5 * source), relative, rtol=1e-5, atol=0
    )
    torch.testing.assert_close(
        relative_correspondence_error(matches + 3, moved, source), relative, rtol=1e-5, atol=0
    )


def test_a_nan_damages_only_its_own_item():
    pose, truth = random_pose(3), random_pose(3, seed=1)
    pose.translation[1] = torch.nan
    source, target = torch.rand(3, 8, 3), torch.rand(3, 9, 3)
    for error in (
        mean_point_distance(pose, truth, source),
        modified_chamfer_distance(pose, truth, source, target, target),
        chamfer_distance(pose.apply(source), target),
    ):
        assert error.isfinite().tolist() == [True, False, True]


def test_mistakes_are_named():
    cloud, pose = torch.zeros(2, 4, 3), Pose.identity(2)
    with pytest.raises(ValueError, match=r"target must have shape \(\.\.\., M, 3\), got \(4, 2\)"):
        chamfer_distance(cloud, torch.zeros(4, 2))
    with pytest.raises(ValueError, match=r"the mask of source must be bool with shape \(2, 4\)"):
        chamfer_distance(cloud, cloud, source_mask=torch.ones(2, 4))
    with pytest.raises(ValueError, match="source and target must have the same leading dimensions"):
        chamfer_distance(cloud, cloud[0])
    with pytest.raises(
        ValueError, match=r"matches must have shape \(\.\.\., 4, 3\), got \(2, 5, 3"
    ):
        correspondence_error(torch.zeros(2, 5, 3), pose, cloud)
    with pytest.raises(ValueError, match="truth must hold as many rotations as translations"):
        mean_point_distance(pose, Pose(torch.eye(3), torch.zeros(2, 3)), cloud)
