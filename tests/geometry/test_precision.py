"""Geometry keeps float32 whatever surrounds it, and no global switch reaches it."""

from __future__ import annotations

import pytest
import torch

from spoonful.geometry import SpoonfulLayer, kabsch, kernels, moments, refine


@pytest.fixture
def clouds(generator):
    source = torch.randn(4, 60, 3, generator=generator)
    return source, source.roll(1, -1) + 0.1 * torch.randn(4, 60, 3, generator=generator)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_inputs_are_computed_in_float32_and_returned_as_asked(clouds, dtype):
    source, target = (x.to(dtype) for x in clouds)
    pose = kabsch(source, target)
    assert pose.rotation.dtype == torch.float32
    expected = kabsch(source.float(), target.float())
    assert torch.equal(pose.rotation, expected.rotation)
    assert pose.to(dtype).rotation.dtype == dtype


def test_float64_stays_float64_and_wins_over_float32(clouds):
    source, target = clouds
    assert kabsch(source.double(), target.double()).rotation.dtype == torch.float64
    assert kabsch(source, target.double()).rotation.dtype == torch.float64


def test_half_gradients_arrive_in_the_dtype_of_the_points(clouds):
    source = clouds[0].bfloat16().requires_grad_()
    kabsch(source, clouds[1]).rotation.sum().backward()
    assert source.grad.dtype == torch.bfloat16
    assert source.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(clouds, dtype):
    layer = SpoonfulLayer()
    expected = layer(*clouds).poses
    with torch.autocast("cpu", dtype=dtype):
        inside = layer(*clouds).poses
    assert torch.equal(inside.rotation, expected.rotation)
    assert torch.equal(inside.translation, expected.translation)


def test_the_global_matmul_precision_changes_nothing(clouds):
    def everything():
        source, target = (x.clone().requires_grad_() for x in clouds)
        pose = kabsch(source, target)
        refined = refine(source, target, pose.rotation)
        moved = pose.compose(pose.inverse()).apply(source)
        (refined.rotation.sum() + moved.sum()).backward()
        return *refined, *moments(source, target), source.grad, target.grad

    expected = everything()
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        for a, b in zip(everything(), expected, strict=True):
            assert torch.equal(a, b)
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.slow
def test_no_matrix_product_is_ever_called(clouds):
    """The kernels that TF32 switches are not used, so no switch can matter on any device."""
    source, target = (x.clone().requires_grad_() for x in clouds)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with kernels.disabled(), torch.profiler.profile(activities=cpu) as profile:
        output = SpoonfulLayer()(source, target).poses
        (output.rotation.sum() + output.translation.sum()).backward()
    called = {event.key for event in profile.key_averages()}
    products = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::matmul"}
    assert "aten::linalg_svd" in called
    # linalg_svd's own kernels are LAPACK's and do not obey the switch.
    assert not called & products
