"""In training mode ours equal the published networks, written out in `oracles/published.py`."""

from __future__ import annotations

import pytest
import torch

from models.helpers import as_dtype, golden, make_batch, small_dcp, small_rpmnet
from oracles import published
from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.losses import dcp_loss, rpmnet_loss
from spoonful.models import RPMNet


def leaves(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of the model's state, with gradients where the model has them."""
    wanted = {name for name, p in model.named_parameters() if p.requires_grad}
    return {
        name: value.detach().clone().requires_grad_(name in wanted)
        for name, value in model.state_dict().items()
    }


def assert_same_gradients(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> None:
    largest = max(p.grad.abs().max() for p in model.parameters() if p.grad is not None)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            torch.testing.assert_close(
                parameter.grad, state[name].grad, rtol=1e-6, atol=1e-9 * float(largest), msg=name
            )


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pointer": "identity"},
        {"embedding": "pointnet"},
        {"head": "mlp"},
    ],
    ids=["v2", "v1", "pointnet", "mlp"],
)
def test_dcp_with_gradients_and_running_statistics(options, training):
    batch = make_batch(3, 30, 30, dtype=torch.float64)
    model = small_dcp(**options).double()
    # Warm the running statistics, so that eval mode has something to disagree about.
    model.train()(make_batch(3, 30, 30, seed=1, dtype=torch.float64))
    model.train(training)
    state = leaves(model)
    rotation, translation = published.dcp(
        state,
        batch.source,
        batch.target,
        training=training,
        embedding=options.get("embedding", "dgcnn"),
        pointer=options.get("pointer", "transformer"),
    )
    output = model(batch)
    torch.testing.assert_close(output.pose.rotation, rotation)
    torch.testing.assert_close(output.pose.translation, translation)
    dcp_loss(Pose(rotation, translation), batch.pose).backward()
    model.loss(output, batch).backward()
    assert_same_gradients(model, state)
    for name, buffer in model.named_buffers():
        torch.testing.assert_close(buffer, state[name], msg=name)


@pytest.mark.slow
def test_rpmnet_with_gradients():
    batch = make_batch(2, 100, 90, dtype=torch.float64)
    torch.manual_seed(0)
    model = RPMNet().double().train()
    state = leaves(model)
    found = published.rpmnet(
        state,
        batch.source,
        batch.target,
        batch.source_normals,
        batch.target_normals,
        iterations=2,
    )
    output = model(batch, keep_matches=True)
    assert output.poses is not None
    assert output.poses.rotation.shape == (2, 2, 3, 3)
    for i, (rotation, translation, shares) in enumerate(found):
        torch.testing.assert_close(output.poses.rotation[:, i], rotation)
        torch.testing.assert_close(output.poses.translation[:, i], translation)
        torch.testing.assert_close(output.extras["match_matrix"][:, i], shares)
    poses = Pose(
        torch.stack([one[0] for one in found], 1), torch.stack([one[1] for one in found], 1)
    )
    rpmnet_loss(poses, batch.pose, batch.source, [one[2] for one in found]).backward()
    model.loss(output, batch).backward()
    assert_same_gradients(model, state)


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_float32_follows_float64_in_training_mode(build):
    batch = make_batch(2, 64, 64)
    low = build().train()(batch)
    high = build().double().train()(as_dtype(batch, torch.float64))
    torch.testing.assert_close(low.pose.rotation.double(), high.pose.rotation, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_golden_rpmnet_is_the_same_in_training_mode():
    io = golden("rpmnet_io")
    model = RPMNet().train()
    model.load_state_dict(golden("rpmnet_weights"))
    source, target = io["points_src"], io["points_ref"]
    with torch.no_grad():
        output = model(Batch(source[..., :3], target[..., :3], source[..., 3:], target[..., 3:]))
    assert output.poses is not None
    found = output.poses.matrix()[..., :3, :]
    torch.testing.assert_close(found, io["transforms"], rtol=1e-4, atol=1e-5)
