"""The pose head on a GPU: in Triton's interpreter here, and where there is a GPU, on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from geometry.agreement import assert_agrees, draw
from interpreted import assert_passes_interpreted, needs_interpreter
from spoonful import SpoonfulLayer, kabsch, refine
from spoonful.geometry import kernels
from spoonful.geometry.kernels import cuda

FORMS = ["source", "target"]
DTYPES = [torch.float32, torch.float64]
on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def gpu(test):
    for mark in on_gpu:
        test = mark(test)
    return test


@needs_interpreter
def test_in_the_interpreter_the_kernels_give_the_numbers_of_the_composite():
    assert_passes_interpreted(Path(__file__).with_name("interpreted_triton.py"))


def test_without_triton_the_answer_is_no_and_one_line_says_why(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "spoonful.geometry.kernels.pose_head_triton", raising=False)
    cuda.available.cache_clear()
    with caplog.at_level("DEBUG", logger=cuda.__name__):
        assert not cuda.available(torch.device("cuda", 0))
        assert not cuda.available(torch.device("cuda", 0))
    cuda.available.cache_clear()
    assert len(caplog.messages) == 1
    assert "using torch's own operations" in caplog.messages[0]


def test_importing_the_package_imports_neither_triton_nor_dynamo():
    code = "import sys, spoonful; assert not {'triton', 'torch._dynamo'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("form", "start", "masked"), [("source", "kabsch", False), ("target", "perturbed", True)]
)
def test_the_layer_agrees_with_the_composite(dtype, form, start, masked):
    *leaves, _ = draw(dtype, (4,), 300, device="cuda")
    mask = torch.rand(4, 300, device="cuda") < 0.7 if masked else None
    layer = SpoonfulLayer(form=form, start=start, starts=3 if start == "perturbed" else 1)

    def fit(s, t, w):
        return layer(s, t, w, mask, generator=torch.Generator("cuda").manual_seed(1)).poses()

    assert kernels.usable(*leaves, mask)
    assert_agrees(fit, leaves)


@gpu
@pytest.mark.parametrize("form", FORMS)
def test_refine_agrees_from_any_start(form):
    leaves = draw(torch.float32, (2, 3), 300, device="cuda")
    assert_agrees(lambda s, t, w, r: refine(s, t, r, weights=w, form=form), leaves)


@gpu
@pytest.mark.parametrize(
    ("clouds", "points"), [(1, 1), (1, 2), (3, 257), (2, 200_000), (5000, 300)]
)
def test_kabsch_agrees_for_any_number_of_clouds_and_points(clouds, points):
    leaves = draw(torch.float32, (clouds,), points, device="cuda")[:3]
    assert_agrees(kabsch, leaves, [x.double() for x in leaves])


@gpu
def test_it_waits_for_nothing_and_can_be_captured_in_a_graph():
    *leaves, _ = draw(torch.float32, (4,), 300, device="cuda")
    leaves = [x.requires_grad_() for x in leaves]
    layer = SpoonfulLayer()

    def step():
        poses = layer(*leaves).poses()
        loss = poses.rotation.cumsum(-1).sum() + poses.translation.sum()
        return torch.autograd.grad(loss, leaves)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    before = torch.cuda.get_sync_debug_mode()
    try:
        torch.cuda.set_sync_debug_mode("error")
        step()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    with torch.no_grad():
        for leaf, new in zip(leaves, draw(torch.float32, (4,), 300, seed=1), strict=False):
            leaf.copy_(new)
    graph.replay()
    for a, b in zip(captured, step(), strict=True):
        assert torch.equal(a, b)


@gpu
def test_it_is_two_kernels():
    *leaves, _ = draw(torch.float32, (4,), 300, device="cuda")
    leaves = [x.requires_grad_() for x in leaves]
    output = SpoonfulLayer()(*leaves)  # compiled before it is watched
    torch.autograd.grad(output.refined.rotation.sum(), leaves)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        rotation = SpoonfulLayer()(*leaves).refined.rotation
        torch.autograd.grad(rotation, leaves, torch.ones_like(rotation))
        torch.cuda.synchronize()
    launched = [event.name for event in profile.events() if "fill" not in event.name.lower()]
    heads = [name for name in launched if "pose_head" in name]
    assert sorted(heads) == ["pose_head_backward", "pose_head_forward"], launched


@gpu
def test_second_derivatives_and_torch_func_go_through_the_composite():
    source, target, _, _ = draw(torch.float64, (), 6, device="cuda")
    source.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda s: kabsch(s, target).rotation, [source])
    each = torch.func.vmap(kabsch)(source.expand(2, 6, 3), target.expand(2, 6, 3))
    torch.testing.assert_close(each.rotation[1], kabsch(source, target).rotation)
    _, moved = torch.func.jvp(lambda s: kabsch(s, target).rotation, (source,), (target,))
    assert moved.isfinite().all()


@gpu
def test_compiled_it_is_used_and_vmap_is_not_disturbed():
    *leaves, _ = draw(torch.float32, (4,), 300, device="cuda")
    layer = SpoonfulLayer()
    compiled = torch.compile(lambda *x: layer(*x).poses(), fullgraph=True)
    assert_agrees(compiled, leaves)
    each = torch.compile(torch.func.vmap(kabsch), fullgraph=True)(*leaves)
    torch.testing.assert_close(each.rotation, kabsch(*leaves).rotation, rtol=1e-4, atol=1e-5)


@gpu
def test_it_can_be_switched_off(monkeypatch):
    leaves = draw(torch.float32, device="cuda")[:3]
    assert kernels.usable(*leaves, None)
    with kernels.disabled():
        assert not kernels.usable(*leaves, None)
    monkeypatch.setenv("SPOONFUL_KERNELS", "off")
    assert not kernels.usable(*leaves, None)
