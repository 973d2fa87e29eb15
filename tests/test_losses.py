"""Losses equal the published ones, and padding changes none of them."""

import math

import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.transform import Rotation

from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.losses import (
    circle_loss,
    dcp_loss,
    discounted,
    extent_loss,
    info_nce_loss,
    inlier_loss,
    isometry_loss,
    match_loss,
    over_poses,
    overlap_loss,
    point_loss,
    rpmnet_loss,
)


def random_pose(*batch: int, seed: int = 0) -> Pose:
    rotation = torch.from_numpy(Rotation.random(math.prod(batch), rng=seed).as_matrix())
    generator = torch.Generator().manual_seed(seed)
    translation = torch.randn(*batch, 3, generator=generator, dtype=torch.float64)
    return Pose(rotation.reshape(*batch, 3, 3), translation)


def random_matches(*shape: int) -> torch.Tensor:
    """Rows and columns that sum to less than 1."""
    return torch.rand(*shape, dtype=torch.float64) / max(shape[-2:])


def test_the_dcp_loss_is_the_published_one():
    pose, truth = random_pose(5), random_pose(5, seed=1)
    eye = torch.eye(3, dtype=torch.float64).expand(5, 3, 3)
    published = F.mse_loss(pose.rotation.mT @ truth.rotation, eye)
    published = published + F.mse_loss(pose.translation, truth.translation)
    torch.testing.assert_close(dcp_loss(pose, truth), published)


def test_the_dcp_loss_with_sums_is_the_printed_equation():
    pose, truth = random_pose(5), random_pose(5, seed=1)
    turn = torch.linalg.matrix_norm(pose.rotation.mT @ truth.rotation - torch.eye(3)).square()
    shift = (pose.translation - truth.translation).norm(dim=-1).square()
    torch.testing.assert_close(dcp_loss(pose, truth, squares="sum", reduction="none"), turn + shift)


@pytest.mark.parametrize(("norm", "published"), [("l1", F.l1_loss), ("l2", F.mse_loss)])
def test_the_point_loss_is_the_published_one(norm, published):
    pose, truth, source = random_pose(4), random_pose(4, seed=1), torch.rand(4, 9, 3).double()
    torch.testing.assert_close(
        point_loss(pose, truth, source, norm=norm),
        published(pose.apply(source), truth.apply(source)),
    )


def test_the_inlier_loss_is_the_published_one():
    matches = random_matches(3, 6, 8)
    published = (1 - matches.sum(1)).mean() + (1 - matches.sum(2)).mean()
    torch.testing.assert_close(inlier_loss(matches), published)


def test_discounts_halve_backwards_from_the_last():
    losses = torch.rand(5, 2)
    weights = torch.tensor([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1])
    torch.testing.assert_close(discounted(losses.unbind()), (weights[:, None] * losses).sum(0))


def test_the_rpmnet_loss_is_the_published_one():
    poses, truth = random_pose(2, 3), random_pose(2, seed=1)
    source, matches = torch.rand(2, 6, 3).double(), random_matches(2, 3, 6, 8)
    published = torch.tensor(0.0, dtype=torch.float64)
    for i in range(3):
        pose = Pose(poses.rotation[:, i], poses.translation[:, i])
        loss = F.l1_loss(pose.apply(source), truth.apply(source))
        loss = loss + 0.01 * (1 - matches[:, i].sum(1)).mean()
        loss = loss + 0.01 * (1 - matches[:, i].sum(2)).mean()
        published = published + 0.5 ** (2 - i) * loss
    torch.testing.assert_close(rpmnet_loss(poses, truth, source, matches), published)
    torch.testing.assert_close(
        rpmnet_loss(poses, truth, source, list(matches.unbind(1))), published
    )


def test_the_augmented_loss_is_the_mean_over_poses():
    poses, truth = random_pose(4, 6), random_pose(4, seed=1)
    each = [dcp_loss(Pose(poses.rotation[:, p], poses.translation[:, p]), truth) for p in range(6)]
    torch.testing.assert_close(
        over_poses(lambda pose: dcp_loss(pose, truth), poses), torch.stack(each).mean()
    )
    assert over_poses(lambda pose: dcp_loss(pose, truth), poses, which="last") == each[-1]


def test_equal_poses_have_the_loss_and_gradient_of_one():
    truth = random_pose(4, seed=1)
    one = random_pose(4)
    rotation = one.rotation.requires_grad_()

    def loss(pose: Pose) -> torch.Tensor:
        return dcp_loss(pose, truth)

    six = Pose(
        rotation.unsqueeze(1).expand(4, 6, 3, 3), one.translation.unsqueeze(1).expand(4, 6, 3)
    )
    (alone,) = torch.autograd.grad(loss(one), rotation)
    (augmented,) = torch.autograd.grad(over_poses(loss, six), rotation)
    torch.testing.assert_close(augmented, alone)


def test_refined_poses_are_averaged_within_their_own_iteration():
    poses, truth, source = random_pose(2, 12), random_pose(2, seed=1), torch.rand(2, 6, 3).double()
    matches = random_matches(2, 2, 6, 8)

    def iteration(i: int, which: str) -> torch.Tensor:
        some = slice(6 * i, 6 * i + 6)
        group = Pose(poses.rotation[:, some], poses.translation[:, some])
        points = over_poses(lambda pose: point_loss(pose, truth, source), group, which)
        return points + 0.01 * inlier_loss(matches[:, i])

    for which in ("all", "last"):
        torch.testing.assert_close(
            rpmnet_loss(poses, truth, source, matches, which=which),
            0.5 * iteration(0, which) + iteration(1, which),
        )


def test_the_inlier_term_can_be_left_out():
    poses, truth, source = random_pose(2, 4), random_pose(2, seed=1), torch.rand(2, 6, 3).double()
    without = rpmnet_loss(poses, truth, source, iterations=2)
    matches = random_matches(2, 2, 6, 8)
    assert rpmnet_loss(poses, truth, source, matches, inlier_weight=0) == without
    assert rpmnet_loss(poses, truth, source, matches) > without


def test_padding_changes_no_loss_and_no_gradient():
    truth, source, matches = random_pose(2, seed=1), torch.rand(2, 5, 3), random_matches(2, 3, 5, 4)
    wide = torch.cat([source, torch.full((2, 2, 3), torch.nan)], dim=1)
    wide_matches = F.pad(matches, (0, 1, 0, 2), value=torch.nan)
    mask, target_mask = torch.arange(7).expand(2, 7) < 5, torch.arange(5).expand(2, 5) < 4
    results = []
    for cloud, matrix, masks in (
        (source, matches, {}),
        (wide, wide_matches, {"source_mask": mask, "target_mask": target_mask}),
    ):
        poses = random_pose(2, 3)
        poses.rotation.requires_grad_()
        loss = rpmnet_loss(poses, truth, cloud.double(), matrix, **masks)
        results.append((loss, *torch.autograd.grad(loss, poses.rotation)))
    for alone, among_padding in zip(*results, strict=True):
        torch.testing.assert_close(among_padding, alone)


def test_a_cloud_of_padding_costs_nothing():
    pose, truth, source = random_pose(2), random_pose(2, seed=1), torch.rand(2, 5, 3).double()
    mask = torch.tensor([[True], [False]]).expand(2, 5)
    losses = point_loss(pose, truth, source, mask=mask, reduction="none")
    assert losses[0] > 0
    assert losses[1] == 0


def test_unreduced_losses_average_to_the_reduced_one():
    poses, truth, source = random_pose(4, 2), random_pose(4, seed=1), torch.rand(4, 6, 3).double()
    matches = random_matches(4, 2, 6, 8)
    each = rpmnet_loss(poses, truth, source, matches, reduction="none")
    assert each.shape == (4,)
    torch.testing.assert_close(each.mean(), rpmnet_loss(poses, truth, source, matches))


@pytest.mark.slow
def test_gradients_are_right():
    truth, source = random_pose(2, seed=1), torch.rand(2, 5, 3).double()
    poses, matches = random_pose(2, 4), random_matches(2, 2, 5, 4)
    inputs = (poses.rotation.requires_grad_(), poses.translation.requires_grad_(), matches)

    def loss(rotation, translation, matches):
        found = Pose(rotation, translation)
        total = rpmnet_loss(found, truth, source, matches.requires_grad_(), norm="l2")
        return total + over_poses(lambda pose: dcp_loss(pose, truth), found)

    assert torch.autograd.gradcheck(loss, inputs)


def test_a_perfect_pose_costs_nothing():
    truth, source = random_pose(3), torch.rand(3, 5, 3).double()
    assert dcp_loss(truth, truth).item() == pytest.approx(0, abs=1e-30)
    assert point_loss(truth, truth, source) == 0


def test_mistakes_are_named():
    pose, poses, source = Pose.identity(2), Pose.identity(2, 6), torch.rand(2, 5, 3)
    with pytest.raises(ValueError, match="norm must be 'l1' or 'l2', got 'l3'"):
        point_loss(pose, pose, source, norm="l3")
    with pytest.raises(ValueError, match="squares must be 'mean' or 'sum', got 'max'"):
        dcp_loss(pose, pose, squares="max")
    with pytest.raises(ValueError, match="which must be 'all' or 'last', got 'first'"):
        over_poses(lambda p: p.translation.sum(), poses, which="first")
    with pytest.raises(ValueError, match="reduction must be 'mean' or 'none', got 'sum'"):
        dcp_loss(pose, pose, reduction="sum")
    with pytest.raises(ValueError, match=r"poses must have rotations \(\.\.\., P, 3, 3\)"):
        over_poses(lambda p: p.translation.sum(), Pose.identity())
    with pytest.raises(ValueError, match=r"pose\.rotation and truth\.rotation must have the same"):
        dcp_loss(poses, pose)
    with pytest.raises(ValueError, match=r"poses must hold a multiple of 4 poses.*, got 6"):
        rpmnet_loss(poses, pose, source, iterations=4)
    with pytest.raises(ValueError, match="one matrix for each of 3 iterations, got 2"):
        rpmnet_loss(poses, pose, source, [torch.zeros(2, 5, 5)] * 2, iterations=3)
    with pytest.raises(ValueError, match=r"source_mask must be bool with shape \(2, 5\), got"):
        inlier_loss(torch.zeros(2, 5, 4), source_mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="losses must hold at least one loss, got none"):
        discounted([])
    with pytest.raises(TypeError, match=r"source must be floating point, got torch\.int64"):
        point_loss(pose, pose, source.long())
    with pytest.raises(TypeError, match=r"truth must be a Pose\(.*\), got tuple"):
        dcp_loss(pose, tuple(pose))
    with pytest.raises(TypeError, match=r"poses must be a Pose\(.*\), got LayerOutput"):
        over_poses(lambda p: p.translation.sum(), SpoonfulLayer()(source, source))
    with pytest.raises(ValueError, match=r"weights must have shape \(\.\.\., 5\), got \(2, 4\)"):
        extent_loss(source, source, weights=torch.ones(2, 4))
    with pytest.raises(ValueError, match="mask of matches must be bool with shape"):
        extent_loss(source, source, mask=torch.ones(2, 5))
    with pytest.raises(TypeError, match=r"the mask of matches must be a torch\.Tensor, got list"):
        extent_loss(source, source, mask=[True])


# ---- Losses on matches and features, against a loop over their equations -------------------------


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_match_norms_are_means_over_coordinates():
    matches, source = draw(2, 5, 3), draw(2, 5, 3, seed=1)
    still = Pose.identity(2, dtype=torch.float64)
    for norm, published in (("l1", F.l1_loss), ("l2", F.mse_loss)):
        loss = match_loss(matches, still, source, norm=norm)
        torch.testing.assert_close(loss, published(matches, source))


def test_the_overlap_loss_weighs_both_classes_alike():
    logits, truth = draw(3, 20), draw(3, 20, seed=1) > 1
    total = 0.0
    for row, right in zip(logits, truth, strict=True):
        share = float(right.double().mean())
        for x, y in zip(row.tolist(), right.tolist(), strict=True):
            chance = 1 / (1 + math.exp(-x))
            total -= (1 - share) * math.log(chance) if y else share * math.log(1 - chance)
    assert float(overlap_loss(logits, truth)) == pytest.approx(total / 60)


def test_info_nce_is_the_cross_entropy_of_the_matches():
    f, g = draw(6, 4), draw(7, 4, seed=1)
    match = torch.tensor([3, -1, 0, 6, -1, 2])
    kept = match >= 0
    expected = F.cross_entropy((f @ g.mT / 0.5)[kept], match[kept])
    torch.testing.assert_close(info_nce_loss(f, g, match, temperature=0.5), expected)
    assert float(info_nce_loss(f, g, torch.full((6,), -1))) == 0


def test_the_circle_loss_is_its_equation():
    f, g = F.normalize(draw(6, 4), dim=-1), F.normalize(draw(7, 4, seed=1), dim=-1)
    apart = draw(6, 7, seed=2).abs()
    apart[2] = 0.7  # no positives, no negatives

    def side(d, apart):
        found = []
        for row, far in zip(d.tolist(), apart.tolist(), strict=True):
            near = [x for x, a in zip(row, far, strict=True) if a < 0.5]
            others = [x for x, a in zip(row, far, strict=True) if a > 1]
            if near and others:
                p = sum(math.exp(9 * max(x - 0.1, 0) * (x - 0.1)) for x in near)
                n = sum(math.exp(9 * max(1.4 - x, 0) * (1.4 - x)) for x in others)
                found.append(math.log(1 + p * n))
        return sum(found) / len(found)

    d = torch.cdist(f, g)
    expected = (side(d, apart) + side(d.mT, apart.mT)) / 2
    f.requires_grad_()
    loss = circle_loss(f, g, apart, near=0.5, far=1.0, sharpness=9.0)
    assert float(loss.detach()) == pytest.approx(expected)
    (gradient,) = torch.autograd.grad(loss, f)
    assert gradient.isfinite().all()


def test_the_isometry_loss_is_its_equation_and_zero_for_a_moved_copy():
    source, matches = draw(2, 6, 3), draw(2, 6, 3, seed=1)
    expected = (torch.cdist(matches, matches) - torch.cdist(source, source)).square().mean()
    torch.testing.assert_close(isometry_loss(matches, source), expected)
    moved = random_pose(2).apply(source)
    assert float(isometry_loss(moved, source)) == pytest.approx(0, abs=1e-20)
    mask = torch.arange(6).expand(2, 6) < 4
    torch.testing.assert_close(
        isometry_loss(matches, source, mask=mask), isometry_loss(matches[:, :4], source[:, :4])
    )


def test_losses_on_features_name_the_argument():
    with pytest.raises(ValueError, match="truth must be bool"):
        overlap_loss(torch.zeros(4), torch.zeros(4))
    with pytest.raises(ValueError, match="temperature"):
        info_nce_loss(torch.eye(2), torch.eye(2), torch.tensor([0, 1]), temperature=0)
    with pytest.raises(ValueError, match="norm"):
        match_loss(draw(5, 3), Pose.identity(dtype=torch.float64), draw(5, 3), norm="l3")
