"""One step of training, on ordinary and on degenerate clouds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from models.helpers import SMALL, gradients, make_batch, small_dcp, small_rpmnet, with_layer
from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.losses import dcp_loss, inlier_loss, over_poses, rpmnet_loss
from spoonful.models import cycle_loss


@pytest.mark.slow
@pytest.mark.parametrize("layer", [None, "kabsch", "perturbed"])
@pytest.mark.parametrize("name", ["dcp-v2", "dcp-v1", "dcp-pointnet", "rpmnet"])
def test_a_step_lowers_the_loss(name, layer):
    refine = None if layer is None else SpoonfulLayer(iterations=3, start=layer)
    model = SMALL[name](refine=refine).train()
    batch = make_batch(4, 48, 48)

    def loss() -> torch.Tensor:
        torch.manual_seed(5)  # the same perturbed starts before and after
        return model.loss(model(batch), batch)

    before = loss()
    before.backward()
    with torch.no_grad():
        slope = sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None)
        step = 0.02 * before / slope  # a step that would lower a straight loss by 2 %
        for p in model.parameters():
            if p.grad is not None:
                p -= step * p.grad
    assert loss() < before


def degenerate(kind: str):
    batch = make_batch(2, 30, 30)
    shape = {
        "coincident": torch.zeros(3),
        "collinear": torch.tensor([1.0, 0.0, 0.0]),
        "planar": torch.tensor([1.0, 1.0, 0.0]),
    }[kind]
    source = batch.source * shape + 0.1
    return replace(batch, source=source, target=batch.pose.apply(source))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coincident", "collinear", "planar"])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_gradients_are_finite_on_degenerate_clouds(name, kind, training):
    model = with_layer(SMALL[name]).train(training)
    for parameter, gradient in gradients(model, degenerate(kind)).items():
        assert gradient.isfinite().all(), parameter


@pytest.mark.slow
def test_gradients_reach_the_points():
    batch = make_batch(2, 30, 30)
    for build in SMALL.values():
        points = batch.source.clone().requires_grad_()
        model = build().eval()
        model.loss(model(replace(batch, source=points)), batch).backward()
        assert points.grad.isfinite().all()
        assert points.grad.abs().max() > 0


@pytest.mark.parametrize("which", ["all", "last"])
def test_dcp_loss_is_over_the_poses_asked_for(which):
    model = with_layer(small_dcp, loss_on=which).train()
    batch = make_batch()
    output = model(batch)
    assert output.poses.rotation.shape == (2, 4, 3, 3)
    expected = over_poses(lambda pose: dcp_loss(pose, batch.pose), output.poses, which)
    torch.testing.assert_close(model.loss(output, batch), expected)


@pytest.mark.parametrize("which", ["all", "last"])
@pytest.mark.parametrize("inlier_weight", [0.01, 0.0])
def test_rpmnet_loss_is_over_the_poses_asked_for(which, inlier_weight):
    model = with_layer(small_rpmnet, loss_on=which, inlier_weight=inlier_weight).train()
    batch = make_batch()
    output = model(batch, keep_matches=True)
    assert output.poses.rotation.shape == (2, 8, 3, 3)
    expected = rpmnet_loss(
        output.poses,
        batch.pose,
        batch.source,
        output.extras["match_matrix"],
        which=which,
        inlier_weight=inlier_weight,
    )
    torch.testing.assert_close(model.loss(output, batch), expected)
    if inlier_weight:
        last = inlier_loss(output.extras["match_matrix"][:, -1])
        sums = output.extras["source_inliers"], output.extras["target_inliers"]
        torch.testing.assert_close(last, sum((1 - x[:, -1]).mean() for x in sums))


def test_cycle_adds_a_tenth_of_its_loss():
    batch = make_batch()
    plain, cycle = small_dcp().train(), small_dcp(cycle="on").train()
    output = cycle(batch)
    back = Pose(output.extras["cycle_rotation"], output.extras["cycle_translation"])
    expected = plain.loss(plain(batch), batch) + 0.1 * cycle_loss(output.pose, back)
    torch.testing.assert_close(cycle.loss(output, batch), expected)
    odd = small_dcp(cycle="published").train()
    assert odd.loss(odd(batch), batch) != cycle.loss(output, batch)


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_the_layer_answers_with_kabsch_and_vanishes_in_eval_mode(build):
    batch = make_batch()
    plain, layered = build().eval(), with_layer(build).eval()
    with torch.no_grad():
        a, b = plain(batch), layered(batch)
    assert torch.equal(a.pose.rotation, b.pose.rotation)
    assert a.poses.rotation.shape == b.poses.rotation.shape
    assert plain.state_dict().keys() == layered.state_dict().keys()


def test_without_truth_there_is_no_loss():
    batch = replace(make_batch(), pose=None)
    model = small_dcp().eval()
    with pytest.raises(ValueError, match=r"batch\.pose is None"):
        model.loss(model(batch), batch)
