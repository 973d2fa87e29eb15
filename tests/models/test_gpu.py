"""On a GPU: the same answers, in every precision that is offered there."""

from __future__ import annotations

import pytest
import torch

from models.helpers import make_batch, small_dcp, small_rpmnet, with_layer
from spoonful.metrics import rotation_error_degrees

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_cuda_gives_the_cpus_poses_and_gradients(build):
    batch = make_batch(4, 64, 60)
    model = with_layer(build).train()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    here = model(batch)
    model.loss(here, batch).backward()
    expected = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    model.zero_grad()
    model.load_state_dict(state)
    model.cuda()
    there = model(batch.to("cuda"))
    model.loss(there, batch.to("cuda")).backward()
    found = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(there.pose.rotation.cpu(), here.pose.rotation, rtol=0, atol=1e-3)
    assert torch.nn.functional.cosine_similarity(found.cpu(), expected, dim=0) > 0.999


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_compiled_bfloat16_training_is_close_to_float32(build):
    torch.compiler.reset()
    batch = make_batch(4, 64, 64).to("cuda")
    model = with_layer(build).cuda().eval()
    with torch.no_grad():
        exact = model(batch).pose
        model.compile_parts()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            rough = model(batch).pose
    assert rotation_error_degrees(rough.rotation, exact.rotation).max() < 5.0
    model.train()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.loss(model(batch), batch)
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_register_answers_on_the_device_of_the_cloud():
    cloud = torch.rand(300, 3)
    model = small_dcp().cuda()
    assert model.register(cloud, cloud).pose.rotation.device.type == "cpu"
    assert model.register(cloud.cuda(), cloud.cuda()).pose.rotation.device.type == "cuda"
