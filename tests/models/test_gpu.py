"""On a GPU: the same answers, in every precision that is offered there."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from models.helpers import make_batch, small_dcp, small_rpmnet, with_layer
from scripts import run_script
from spoonful.geometry import kernels
from spoonful.metrics import rotation_error_degrees
from spoonful.models.kernels.edge_ops import edge_summary
from spoonful.models.matcher import Matcher
from spoonful.models.neighborhoods import ball, knn
from spoonful.models.parameters import Annealing

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
def test_compiled_parts_have_the_eager_gradient_of_every_weight(build):
    torch.compiler.reset()
    batch = make_batch(4, 64, 60).to("cuda")
    model = with_layer(build).cuda().train()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    gradients = []
    for _ in range(2):
        model.load_state_dict(state)
        model.zero_grad()
        model.loss(model(batch), batch).backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        model.compile_parts(dynamic=False)
    largest = max(float(gradient.norm()) for gradient in gradients[0])
    for eager, compiled in zip(*gradients, strict=True):
        assert (compiled - eager).norm() < 0.01 * eager.norm() + 1e-5 * largest


def test_a_compiled_batch_norm_of_two_processes_has_the_eager_gradient(tmp_path):
    # On the CPU. It is here because only trainings on a GPU compile their networks.
    run_script(Path(__file__).with_name("normalize_in_two_processes.py"), tmp_path / "rendezvous")


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


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_with_kernels_bfloat16_is_as_near_to_float32_as_without(build):
    batch = make_batch(4, 64, 60).to("cuda")
    model = with_layer(build).cuda().train()
    state = {name: value.clone() for name, value in model.state_dict().items()}

    def gradient(bf16, off):
        model.load_state_dict(state)
        model.zero_grad()
        with kernels.disabled() if off else nullcontext():
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bf16):
                output = model(batch)
            model.loss(output, batch).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    exact = gradient(False, True)
    exact_too = gradient(False, False)
    without, fused = gradient(True, True), gradient(True, False)
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(exact_too, exact, dim=0) > 0.9999
    assert 1 - cosine(fused, exact, dim=0) < max(0.02, 2 * (1 - cosine(without, exact, dim=0)))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("points", [300, 1024])
def test_neighbours_and_soft_matches_are_those_of_torch(points, masked):
    generator = torch.Generator("cuda").manual_seed(0)
    kind = {"device": "cuda", "generator": generator}
    cloud = torch.rand(3, points, 3, **kind)
    mask = torch.rand(3, points, **kind) < 0.8 if masked else None
    with kernels.disabled():
        expected = knn(cloud, 20, mask=mask), ball(cloud, 0.2, 32, mask=mask)
    for a, b in zip(
        (knn(cloud, 20, mask=mask), ball(cloud, 0.2, 32, mask=mask)), expected, strict=True
    ):
        assert torch.equal(a.sort(-1).values, b.sort(-1).values)
    of_source, of_target = (torch.randn(3, points, 16, **kind).requires_grad_() for _ in range(2))
    annealing = Annealing(
        torch.full((3,), 2.0, device="cuda"), torch.full((3,), 20.0, device="cuda")
    )
    results = []
    for off in (nullcontext(), kernels.disabled()):
        with off:
            found = Matcher()(
                of_source, of_target, cloud, annealing, source_mask=mask, target_mask=mask
            )
        outputs = [found.matches, found.source_inliers, found.target_inliers]
        loss = sum((x * x.detach().roll(1, 1)).sum() for x in outputs)
        results.append([*outputs, *torch.autograd.grad(loss, [of_source, of_target])])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_register_answers_on_the_device_of_the_cloud():
    cloud = torch.rand(300, 3)
    model = small_dcp().cuda()
    assert model.register(cloud, cloud).pose.rotation.device.type == "cpu"
    assert model.register(cloud.cuda(), cloud.cuda()).pose.rotation.device.type == "cuda"


@pytest.mark.parametrize(
    ("shape", "masked"), [((4, 100, 20, 70), True), ((8, 717, 64, 192), False)]
)
def test_extremes_and_sums_of_a_layer_are_torchs(shape, masked):
    torch.manual_seed(0)
    y = torch.randn(shape, device="cuda").bfloat16()
    gamma = torch.randn(shape[-1], device="cuda")
    mask = torch.rand(shape[:2], device="cuda") < 0.7 if masked else None
    extreme, arg, stats = edge_summary(y, gamma, mask)
    sign = torch.where(gamma < 0, -1.0, 1.0)
    signed = y.float() * sign
    assert torch.equal(extreme * sign, signed.amax(2))
    assert torch.equal(signed.gather(2, arg.long().unsqueeze(2)).squeeze(2), signed.amax(2))
    counted = y.float() if mask is None else y.float() * mask[:, :, None, None]
    sums = torch.stack([counted.sum((1, 2)), counted.square().sum((1, 2))], 1)
    assert (stats - sums).abs().max() <= 1e-5 * sums.abs().max()
