"""The geometry on a GPU: the CPU's numbers, whatever TF32 says, and no waiting for the device."""

from __future__ import annotations

import pytest
import torch

from geometry.zoo import zoo
from spoonful.geometry import SpoonfulLayer, kabsch, moments, refine, stability

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
ZOO = zoo()


@pytest.fixture
def clouds(generator):
    source = torch.randn(16, 200, 3, generator=generator)
    target = source.roll(1, -1) + 0.2 * torch.randn(16, 200, 3, generator=generator)
    return source, target, torch.rand(16, 200, generator=generator)


def poses_and_gradients(clouds, device, form="source"):
    leaves = [x.detach().to(device).requires_grad_() for x in clouds]
    poses = SpoonfulLayer(form=form)(*leaves).poses
    (poses.rotation.cumsum(-1).sum() + poses.translation.sum()).backward()
    return [x.detach().cpu() for x in (*poses, *(leaf.grad for leaf in leaves))]


@pytest.mark.parametrize("form", ["source", "target"])
def test_poses_and_gradients_are_those_of_the_cpu(clouds, form):
    for gpu, cpu in zip(
        poses_and_gradients(clouds, "cuda", form),
        poses_and_gradients(clouds, "cpu", form),
        strict=True,
    ):
        torch.testing.assert_close(gpu, cpu, rtol=1e-3, atol=1e-4)


def test_float64_agrees_to_ten_digits(clouds):
    double = [x.double() for x in clouds]
    for gpu, cpu in zip(
        poses_and_gradients(double, "cuda"), poses_and_gradients(double, "cpu"), strict=True
    ):
        torch.testing.assert_close(gpu, cpu, rtol=1e-9, atol=1e-10)


def test_the_tf32_switch_changes_nothing(clouds):
    before = torch.get_float32_matmul_precision()
    try:
        results = []
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            results.append(poses_and_gradients(clouds, "cuda"))
    finally:
        torch.set_float32_matmul_precision(before)
    for exact, loose in zip(*results, strict=True):
        assert torch.equal(exact, loose)


def test_autocast_changes_nothing(clouds):
    expected = poses_and_gradients(clouds, "cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        inside = poses_and_gradients(clouds, "cuda")
    for a, b in zip(inside, expected, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", ZOO)
def test_degenerate_clouds_stay_finite(name):
    source, target = (x.float().cuda().requires_grad_() for x in ZOO[name])
    pose = kabsch(source, target)
    refined = refine(source, target, pose.rotation)
    (refined.rotation.sum() + refined.translation.sum()).backward()
    assert refined.rotation.isfinite().all()
    assert source.grad.isfinite().all()
    assert target.grad.isfinite().all()
    assert stability(source.detach(), target.detach()).status.device.type == "cuda"


def test_a_negative_weight_makes_its_cloud_nan_and_no_other(clouds):
    source, target, weights = (x.cuda() for x in clouds)
    weights[3, 5] = -1
    found = moments(source, target, weights).cross.isnan().any(-1).any(-1)
    assert found.nonzero().flatten().tolist() == [3]


def test_compiled_by_inductor_it_gives_the_eager_gradients(clouds):
    def loss(source, target, weights):
        poses = SpoonfulLayer()(source, target, weights).poses
        return poses.rotation.cumsum(-1).sum() + poses.translation.sum()

    results = []
    for function in (loss, torch.compile(loss, fullgraph=True)):
        leaves = [x.detach().cuda().requires_grad_() for x in clouds]
        function(*leaves).backward()
        results.append([leaf.grad for leaf in leaves])
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-3, atol=1e-4)
