"""The pose head on a GPU: in Triton's interpreter here, and where there is a GPU, on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from geometry.agreement import (
    assert_agrees,
    assert_packed_agrees,
    assert_robust_agrees,
    draw,
    pack,
    poses_and_gradients,
)
from interpreted import assert_passes_interpreted, needs_interpreter
from spoonful.geometry import (
    SpoonfulLayer,
    kabsch,
    kabsch_packed,
    kernels,
    refine,
    robust_kabsch,
    robust_similarity,
    similarity,
    similarity_packed,
)
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


@pytest.mark.slow
@needs_interpreter
def test_in_the_interpreter_all_kernels_give_torchs_numbers():
    tests = Path(__file__).parents[1]
    assert_passes_interpreted(  # in one process: starting it takes seconds
        tests / "geometry" / "interpreted_triton.py",
        tests / "models" / "interpreted_kernels.py",
        tests / "neighbors" / "interpreted_nearest.py",
        tests / "data" / "interpreted_normals.py",
        tests / "pipeline" / "interpreted_field.py",
        tests / "geometry" / "interpreted_plane_step.py",
    )


@pytest.mark.slow
@needs_interpreter
@pytest.mark.parametrize(
    ("entry", "real", "constants"),
    [
        ("pose_head_forward", "fp32", {"offsets": None, "sums": None}),
        ("pose_head_forward", "fp64", {"mask": None, "REFINE": False, "AGAIN": True}),
        ("pose_head_backward", "fp32", {"mask": None, "factor": None, "g_factor": None}),
        ("pose_head_backward", "fp32", {"offsets": None, "REFINE": False}),
        ("cloud_sums", "fp32", {"offsets": None, "LOSS": 3}),
    ],
)
def test_the_kernels_compile_for_a_gpu(entry, real, constants):
    """Translated for an H200 on any machine: what the interpreter takes, the compiler may not."""
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    from spoonful.geometry.kernels import pose_head_triton

    function = getattr(pose_head_triton, entry)
    types = dict.fromkeys(function.arg_names, f"*{real}")
    types |= dict.fromkeys(["points", "starts", "iterations", "parts"], "i32")
    types |= {"state": "*fp64", "sums": "*fp64", "offsets": "*i64", "mask": "*i1"}
    usual = {"TARGET": False, "START": "kabsch", "REFINE": True, "LANES": 64, "UNROLL": 4}
    usual |= {"SPREAD": "source", "AGAIN": False, "CUTOFF": 1.5, "start": None, "d_start": None}
    constants = usual | constants
    names = function.arg_names
    source = triton.compiler.ASTSource(
        function,
        {name: "constexpr" if name in constants else types[name] for name in names},
        {(names.index(name),): value for name, value in constants.items() if name in names},
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
    assert f".entry {entry}" in made.asm["ptx"]


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
        return layer(s, t, w, mask, generator=torch.Generator("cuda").manual_seed(1)).poses

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
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("points", [300, 200_000])
def test_similarity_agrees_with_the_composite(dtype, points):
    leaves = draw(dtype, (3,), points, device="cuda")[:3]
    mask = torch.rand(3, points, device="cuda") < 0.7
    truth = [x.double() for x in leaves]
    assert_agrees(lambda s, t, w: similarity(s, 3 * t, w, mask), leaves, truth)


@gpu
def test_packed_similarities_are_the_padded_ones():
    leaves = draw(torch.float32, (3,), 200, device="cuda")[:3]
    offsets = torch.tensor([0, 200, 400, 600], device="cuda")

    def packed(*x):
        s, t, w = (each.flatten(0, 1) for each in x)
        return similarity_packed(s, t, offsets, w)

    ours, theirs = (
        poses_and_gradients(fit, leaves, composite=False) for fit in (packed, similarity)
    )
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        assert torch.equal(a, b)


@gpu
@pytest.mark.parametrize(
    ("fit", "loss", "dtype", "points"),
    [
        (robust_kabsch, "huber", torch.float32, 300),
        (robust_similarity, "tukey", torch.float64, 300),
        (robust_similarity, "geman-mcclure", torch.float32, 100_000),
        (robust_kabsch, "gnc-tls", torch.float64, 100_000),
        (robust_similarity, "gnc-tls", torch.float32, 300),
        (robust_kabsch, "estimated noise", torch.float32, 300),
    ],
)
def test_robust_fits_agree_with_the_composite(fit, loss, dtype, points):
    source, target, weights, _ = draw(dtype, (3,), points, device="cuda")
    target[:, ::5] = target[:, ::5].flip(1)  # wrong matches
    target[1, 7] = torch.nan
    options = {"noise": torch.tensor([0.1, 0.1, 0.2], device="cuda"), "loss": loss, "rounds": 6}
    if loss == "estimated noise":
        options |= {"noise": None, "loss": "tukey"}

    tolerance = 2e-4 if dtype == torch.float32 else 1e-10
    assert_robust_agrees(fit, (source, target, weights), options, tolerance)


@gpu
def test_a_robust_fit_allocates_its_factors_and_scaled_weights_and_little_else():
    source, target, weights, _ = draw(torch.float32, (), 1_000_000, device="cuda")
    robust_similarity(source, target, weights, noise=0.1, rounds=2)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    # What was asked for: the allocator may hand out a larger block that other tests left behind.
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    found = robust_similarity(source, target, weights, noise=0.1, rounds=2)
    asked = torch.cuda.memory_stats()["requested_bytes.all.peak"] - before
    assert asked < 2.1 * found.weights.nbytes


def recorded_in_silence(step):
    """A CUDA graph of `step` and what it will write; fails if the step waits for the device."""
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
    return graph, captured


@gpu
def test_it_waits_for_nothing_and_can_be_captured_in_a_graph():
    *leaves, _ = draw(torch.float32, (4,), 300, device="cuda")
    leaves = [x.requires_grad_() for x in leaves]
    layer = SpoonfulLayer()

    def step():
        poses = layer(*leaves).poses
        loss = poses.rotation.cumsum(-1).sum() + poses.translation.sum()
        return torch.autograd.grad(loss, leaves)

    graph, captured = recorded_in_silence(step)
    with torch.no_grad():
        for leaf, new in zip(leaves, draw(torch.float32, (4,), 300, seed=1), strict=False):
            leaf.copy_(new)
    graph.replay()
    for a, b in zip(captured, step(), strict=True):
        assert torch.equal(a, b)


@gpu
def test_similarity_and_robust_fits_wait_for_nothing():
    *leaves, _ = draw(torch.float32, (4,), 300, device="cuda")
    leaves = [x.requires_grad_() for x in leaves]

    def step():
        pose = similarity(*leaves)
        loss = pose.rotation.cumsum(-1).sum() + pose.translation.sum() + pose.scale.sum()
        with torch.no_grad():
            robust = robust_similarity(*leaves, noise=0.1, rounds=3)
        return *torch.autograd.grad(loss, leaves), *robust.pose, robust.weights

    graph, captured = recorded_in_silence(step)
    with torch.no_grad():
        for leaf, new in zip(leaves, draw(torch.float32, (4,), 300, seed=1), strict=False):
            leaf.copy_(new)
    graph.replay()
    for a, b in zip(captured, step(), strict=True):
        assert torch.equal(a, b)


SIZES = [0, 1, 2, 300, 5000, 0, 40, 128, 129]


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_packed_clouds_get_what_they_get_alone(dtype, form):
    clouds = [draw(dtype, (), n, seed=i)[:3] for i, n in enumerate(SIZES)]
    assert_packed_agrees(SpoonfulLayer(1, form), clouds, device="cuda")


@gpu
def test_packed_clouds_get_what_they_get_padded():
    clouds = [draw(torch.float32, (), n, seed=i)[:3] for i, n in enumerate(SIZES)]
    flat, offsets = pack(clouds)
    mask = torch.arange(max(SIZES)) < torch.tensor(SIZES)[:, None]
    padded = [
        x.new_zeros(*mask.shape, *x.shape[1:]).masked_scatter_(mask_of(x, mask), x) for x in flat
    ]
    mask, offsets = mask.cuda(), offsets.cuda()
    layer = SpoonfulLayer()
    ours = poses_and_gradients(
        lambda s, t, w: layer.packed(s, t, offsets, w).poses,
        [x.cuda() for x in flat],
        composite=False,
    )
    theirs = poses_and_gradients(
        lambda s, t, w: layer(s, t, w, mask).poses, [x.cuda() for x in padded], composite=False
    )
    for a, b in zip(ours[0], theirs[0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    for a, b in zip(ours[1], theirs[1], strict=True):
        torch.testing.assert_close(a, b[mask], rtol=1e-4, atol=1e-5)


def mask_of(values, mask):
    return mask if values.ndim == 1 else mask.unsqueeze(-1).expand(*mask.shape, values.shape[-1])


@gpu
def test_packed_it_waits_for_nothing_and_can_be_captured_in_a_graph():
    (source, target, weights), offsets = pack(
        [draw(torch.float32, (), n, seed=i)[:3] for i, n in enumerate(SIZES)]
    )
    leaves = [x.cuda().requires_grad_() for x in (source, target, weights)]
    offsets = offsets.cuda()
    layer = SpoonfulLayer()

    def step():
        rotation, translation = layer.packed(*leaves[:2], offsets, leaves[2]).poses
        pose = kabsch_packed(*leaves[:2], offsets)
        loss = rotation.cumsum(-1).sum() + translation.sum() + pose.rotation[:, 0].sum()
        return torch.autograd.grad(loss, leaves)

    graph, captured = recorded_in_silence(step)
    with torch.no_grad():  # other clouds of other sizes, in the same memory
        leaves[0].copy_(leaves[0].roll(7, 0))
        offsets[1:-1] = offsets[1:-1].flip(0).sub(len(source)).neg()
    graph.replay()
    for a, b in zip(captured, step(), strict=True):
        assert torch.equal(a, b)


@gpu
def test_packed_clouds_that_cannot_be_are_nan():
    source, target, weights, _ = draw(torch.float32, (), 600, device="cuda")
    offsets = torch.tensor([0, 200, 1 << 40, 300, 500], device="cuda")
    found = kabsch_packed(source, target, offsets, weights).rotation.isnan().flatten(1).all(1)
    assert found.tolist() == [False, True, True, True]


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
    compiled = torch.compile(lambda *x: layer(*x).poses, fullgraph=True)
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
