"""The node in C++: the results of Python's node, in every mode that autograd has."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from importlib import resources
from types import SimpleNamespace

import pytest
import torch

# The same tests as of Python's node, run here with the other.
from geometry.test_errors import *  # noqa: F403
from geometry.test_kernels import (  # noqa: F401
    draw,
    test_a_loss_on_part_of_the_output_agrees,
    test_a_nonfinite_cloud_damages_only_itself,
    test_any_layout_in_memory_gives_the_same_result,
    test_checkpointing_and_vectorised_jacobians_work,
    test_first_and_second_derivatives_pass_their_checks,
    test_inference_mode_and_no_grad_work,
    test_it_stays_away_from_tensors_that_stand_for_more_than_numbers,
    test_precisions_mix_as_in_the_composite,
    test_second_derivatives_count_a_cloud_that_is_passed_twice_once,
    test_the_layer_agrees_with_the_composite,
    test_the_number_of_threads_changes_no_bit,
)
from interpreted import needs_interpreter
from spoonful import SpoonfulLayer, kabsch, refine
from spoonful.geometry import kernels
from spoonful.geometry.kernels import build, head, node
from spoonful.geometry.kernels.call import Call, Plan

LAYER = SpoonfulLayer()


@pytest.fixture(scope="module")
def _built():
    # Elsewhere in the tests Python's node is meant, so this one is put away again.
    if build.library("float") is None or build.library("double") is None or not node.build_now():
        pytest.skip("no C or C++ compiler here (or a cache that cannot be written)")
    operator, node.operator = node.operator, None
    return operator


@pytest.fixture(autouse=True)
def in_cpp(_built, monkeypatch):
    monkeypatch.setattr(node, "operator", _built)


def leaves_of(dtype=torch.float32, **kinds):
    return [x.requires_grad_() for x in draw(dtype, **kinds)[:3]]


def is_cpp(tensor):
    return tensor.grad_fn is not None and "CppNode<spoonful::PoseHead>" in tensor.grad_fn.name()


def loss_of(poses):
    return poses.rotation.cumsum(-1).sum() + poses.translation.cumsum(-1).sum()


# The same bits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["kabsch", "detached", "perturbed", "given", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_gives_the_bits_of_pythons_node(start, dtype, monkeypatch):
    source, target, weights, rotation = draw(dtype, (2, 3), 50)
    mask = torch.rand(2, 3, 50) < 0.7
    layer = SpoonfulLayer(3, "target", start if start not in ("given", "none") else "kabsch")

    def fit(s, t, w, r):
        if start == "none":
            return kabsch(s, t, w, mask)
        if start == "given":
            return refine(s, t, r, weights=w, mask=mask)
        return layer(s, t, w, mask, generator=torch.Generator().manual_seed(1)).poses

    results = []
    for operator in (node.operator, None):
        monkeypatch.setattr(node, "operator", operator)
        leaves = [x.clone().requires_grad_() for x in (source, target, weights, rotation)]
        poses = fit(*leaves)
        assert is_cpp(poses.rotation) == (operator is not None)
        assert poses.rotation.grad_fn is poses.translation.grad_fn
        found = torch.autograd.grad(loss_of(poses), leaves, allow_unused=True)
        results.append([*poses, *found])
    for ours, theirs in zip(*results, strict=True):
        assert (ours is None) == (theirs is None)
        assert ours is None or torch.equal(ours, theirs)


def test_only_gradients_that_are_wanted_are_computed(monkeypatch):
    source, target, weights = leaves_of()
    everything = torch.autograd.grad(
        loss_of(LAYER(source, target, weights).poses), (source, target, weights)
    )
    poses = LAYER(source, target, weights).poses
    (alone,) = torch.autograd.grad(loss_of(poses), target)
    assert torch.equal(alone, everything[1])
    poses = LAYER(source.detach(), target, weights.detach()).poses
    assert is_cpp(poses.rotation)
    loss_of(poses).backward()
    assert torch.equal(target.grad, everything[1])
    assert source.grad is None
    assert weights.grad is None


def test_without_a_gradient_to_follow_there_is_none():
    leaves = leaves_of()
    output = LAYER(*leaves)
    unused = torch.autograd.grad(
        output.pose.rotation.detach().sum() + 0 * leaves[0].sum(), leaves, allow_unused=True
    )
    assert unused[1] is None
    assert not LAYER(*(x.detach() for x in leaves)).poses.rotation.requires_grad
    with torch.no_grad():
        assert not LAYER(*leaves).poses.rotation.requires_grad


# What autograd promises ------------------------------------------------------------------------


def test_changing_an_input_or_a_result_in_place_is_noticed():
    for change in ("source", "rotation"):
        source, target, weights = leaves_of()
        source = source * 1
        poses = LAYER(source, target, weights).poses
        assert is_cpp(poses.rotation)
        with torch.no_grad():
            (source if change == "source" else poses.rotation).mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            poses.translation.sum().backward()


def test_a_graph_is_used_once_unless_it_is_kept():
    leaves = leaves_of()
    loss = loss_of(LAYER(*leaves).poses)
    first = torch.autograd.grad(loss, leaves, retain_graph=True)
    second = torch.autograd.grad(loss, leaves)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(loss, leaves)


def test_results_may_be_changed_in_place_where_backward_does_not_need_them():
    leaves = leaves_of()
    expected = torch.autograd.grad(2 * LAYER(*leaves).poses.translation.sum(), leaves)
    translation = LAYER(*leaves).poses.translation
    translation.mul_(2)
    found = torch.autograd.grad(translation.sum(), leaves)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_hooks_see_their_gradients():
    source, target, weights = leaves_of()
    (expected,) = torch.autograd.grad(loss_of(LAYER(source, target, weights).poses), source)
    seen = []
    poses = LAYER(source, target, weights).poses
    source.register_hook(lambda g: seen.append(g) or 2 * g)
    poses.rotation.grad_fn.register_hook(lambda found, given: seen.append(found[0]))
    poses.rotation.register_hook(lambda g: seen.append(g))
    poses.rotation.retain_grad()
    loss_of(poses).backward()
    assert len(seen) == 3
    assert torch.equal(source.grad, 2 * expected)
    assert poses.rotation.grad.shape == poses.rotation.shape


def test_saved_tensors_may_be_packed_away():
    leaves = leaves_of()
    expected = torch.autograd.grad(loss_of(LAYER(*leaves).poses), leaves)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: packed.append(x.clone()) or len(packed) - 1, lambda i: packed[i]
    ):
        loss = loss_of(LAYER(*leaves).poses)
    found = torch.autograd.grad(loss, leaves)
    assert len(packed) >= 5
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomalies_are_traced_to_the_call():
    leaves = leaves_of()
    with torch.autograd.detect_anomaly(check_nan=True):
        poses = LAYER(*leaves).poses
        poses.translation.register_hook(lambda g: g * torch.nan)
        loss = poses.translation.sum()
        with (
            pytest.warns(UserWarning, match=r"poses = LAYER\(\*leaves\)"),
            pytest.raises(RuntimeError, match=r"PoseHead.* returned nan"),
        ):
            loss.backward()


def test_threads_go_backward_at_once():
    leaves = leaves_of()
    expected = torch.autograd.grad(loss_of(LAYER(*leaves).poses), leaves)
    loss = loss_of(LAYER(*leaves).poses)
    found = []

    def work():
        for _ in range(5):
            found.append(torch.autograd.grad(loss, leaves, retain_graph=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    for gradients in found:
        assert all(torch.equal(a, b) for a, b in zip(gradients, expected, strict=True))


def test_a_graph_of_the_gradient_is_torchs_own():
    leaves = leaves_of(torch.float64)
    poses = LAYER(*leaves).poses
    assert is_cpp(poses.rotation)
    found = torch.autograd.grad(loss_of(poses), leaves, create_graph=True)
    assert all(x.requires_grad for x in found)
    plain = torch.autograd.grad(loss_of(LAYER(*leaves).poses), leaves)
    for a, b in zip(found, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_gradients_that_are_batched_are_torchs_own():
    leaves = leaves_of(torch.float64)
    poses = LAYER(*leaves).poses
    probes = torch.randn(3, *poses.rotation.shape, dtype=torch.float64)
    together = torch.autograd.grad(
        poses.rotation, leaves, probes, retain_graph=True, is_grads_batched=True
    )
    for i, probe in enumerate(probes):
        one = torch.autograd.grad(poses.rotation, leaves, probe, retain_graph=True)
        for a, b in zip(together, one, strict=True):
            torch.testing.assert_close(a[i], b, rtol=1e-9, atol=1e-12)


def test_gradients_in_any_layout_are_the_same():
    leaves = leaves_of()
    poses = LAYER(*leaves).poses
    probe = torch.randn_like(poses.rotation)
    negative = torch.complex(probe, -probe).conj().imag
    strided = probe.mT.contiguous().mT
    results = [
        torch.autograd.grad(poses.rotation, leaves, g, retain_graph=True)
        for g in (probe, negative, strided)
    ]
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


# When it is used -------------------------------------------------------------------------------


def test_it_can_be_switched_off(monkeypatch):
    leaves = leaves_of()
    assert is_cpp(LAYER(*leaves).poses.rotation)
    assert not is_cpp(SpoonfulLayer(kernels=False)(*leaves).poses.rotation)
    with kernels.disabled():
        assert not is_cpp(LAYER(*leaves).poses.rotation)
        assert kernels.quick_pose(*leaves, None, Plan(5, "source", "kabsch"), checked=True) is None
    monkeypatch.setenv("SPOONFUL_KERNELS", "off")
    assert not is_cpp(LAYER(*leaves).poses.rotation)


def test_the_short_way_takes_nothing_that_was_not_checked():
    source, target, weights = draw(torch.float32)[:3]
    plan = Plan(5, "source", "kabsch")
    mask = torch.ones(4, 300, dtype=torch.bool)
    LAYER(source, target, weights, mask)  # so that there is a way for these

    def short(s=source, t=target, w=weights, m=mask):
        return kernels.quick_pose(s, t, w, m, plan, checked=True)

    assert short() is not None
    for t in (target[:, :5], target.double(), target[0], target.mT.contiguous().mT, [1.0]):
        assert short(t=t) is None
    for w in (weights[:, :5], weights.double(), weights.reshape(2, 600), weights.to_sparse(), 1.0):
        assert short(w=w) is None
    for m in (mask[:, :5], mask.float(), mask.reshape(300, 4), mask.to("meta")):
        assert short(m=m) is None
    for s in (source.half(), source.to("meta"), source.expand(4, 300, 3)[:, ::2], [1.0]):
        assert short(s=s) is None
    with torch.autograd.forward_ad.dual_level():
        assert short() is not None
        for name, x in (("s", source), ("t", target), ("w", weights)):
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
            assert short(**{name: dual}) is None
    torch.func.vmap(lambda s: [short(), s][1])(source[None])
    # On the CPU the weights' values are looked at, so they are never passed on unseen.
    assert kernels.quick_pose(source, target, weights, mask, plan) is None
    with pytest.raises(ValueError, match="weights must be >= 0"):
        LAYER(source, target, -weights, mask)


def test_the_ways_it_remembers_are_not_without_end(monkeypatch):
    monkeypatch.setattr(head, "_MOST_WAYS", 3)
    monkeypatch.setattr(head, "_ways", {})
    for n in range(5, 15):
        assert is_cpp(kabsch(*leaves_of(n=n)).rotation)
        assert 1 <= len(head._ways) <= 3


# Launches on a GPU -----------------------------------------------------------------------------

LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    *[ctypes.c_uint] * 7,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
INPUTS = ["source", "target", "weights", "start"]
FORWARD = [*INPUTS, "rotation", "translation", "state"]
BACKWARD = [*INPUTS, "rotation", "state", "g_rotation", "g_translation", "d_target", "d_start"]


class Driver:
    """A CUDA driver that computes with pose_head.c what it is asked to launch."""

    def __init__(self, error=0):
        self.launches, self.error = [], error
        self.function = LAUNCH(self)
        self.table = node._Gpu(launch=ctypes.cast(self.function, ctypes.c_void_p))

    def __call__(self, kernel, *rest):
        *shape, stream, arguments, extra = rest
        names = {7: FORWARD, 8: BACKWARD}[kernel]

        def value(i, kind):
            return ctypes.cast(arguments[i], ctypes.POINTER(kind))[0]

        pointers = {name: value(i, ctypes.c_void_p) for i, name in enumerate(names)}
        sizes = [value(len(names) + i, ctypes.c_int32) for i in range(3)]
        added = [value(len(names) + 3 + i, ctypes.c_void_p) for i in range(2)]
        self.launches.append((kernel, shape, stream, sizes, added, extra))
        points, starts, iterations = sizes
        call = Call(
            clouds=shape[0],
            points=points,
            starts=starts,
            iterations=iterations,
            threads=1,
            **pointers,
        )
        entry = "pose_head_forward" if kernel == 7 else "pose_head_backward"
        return self.error or getattr(build.library("float"), entry)(ctypes.byref(call))


@pytest.fixture
def driver():
    driver = Driver()
    node._state.library.spoonful_use_gpu(ctypes.byref(driver.table))
    yield driver
    node._state.library.spoonful_use_gpu(ctypes.byref(node._Gpu()))
    node._cuda_is_there = None


def test_a_launch_passes_what_the_kernel_expects(driver):
    source, target, weights, rotation = draw(torch.float32, (3,), 40)
    plan = Plan(4, "source", "given")
    program = node.new_program(plan, node.Kernel(7, 128, 32, 2))
    d_target, d_start = 8, 32
    node.add_backward(program, node.Kernel(8, 64, 96, 2), 1 + 2 + d_target + d_start)
    results = []
    for use in (True, False):
        t, r = target.clone().requires_grad_(), rotation.clone().requires_grad_()
        if use:
            poses = node.operator(source, t, weights, r, None, program, 5, 4, True)
        else:
            poses = refine(source, t, r, weights=weights, iterations=4)
        found = torch.autograd.grad(sum(x.cumsum(-1).sum() for x in poses), (t, r))
        results.append([*poses, *found])
    for ours, theirs in zip(*results, strict=True):
        assert torch.equal(ours, theirs)
    forward, backward = driver.launches
    #        grid     block    shared
    assert forward == (7, [3, 1, 1, 128, 1, 1, 32], None, [40, 1, 4], [None, None], None)
    assert backward == (8, [3, 5, 1, 64, 1, 1, 96], None, [40, 1, 4], [None, None], None)


def test_a_backward_kernel_that_is_not_there_is_pythons_to_find(driver, monkeypatch):
    source, target, weights, rotation = draw(torch.float32, (3,), 40)
    program = node.new_program(Plan(2, "source", "given"), node.Kernel(7, 128, 32, 2))
    asked = []
    gradients = head._gradients
    monkeypatch.setattr(head, "_gradients", lambda *x: asked.append(x[4]) or gradients(*x))
    leaves = [x.requires_grad_() for x in (source, target, weights, rotation)]
    poses = node.operator(*leaves, None, program, 1, 2, True)
    found = torch.autograd.grad(poses[1].sum(), leaves[1:3])
    assert asked == [[False, True, True, False]]
    expected = torch.autograd.grad(
        refine(source, target, rotation, weights=weights, iterations=2).translation.sum(),
        leaves[1:3],
    )
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_launch_that_fails_raises(driver):
    driver.error = 700
    source, target, weights, rotation = draw(torch.float32, (3,), 40)
    program = node.new_program(Plan(2, "source", "given"), node.Kernel(7, 128, 32, 2))
    with pytest.raises(RuntimeError, match="CUDA did not take the pose head: error 700"):
        node.operator(source, target, weights, rotation, None, program, 1, 2, True)
    with pytest.raises(RuntimeError, match="no program 5000"):
        node.operator(source, target, weights, rotation, None, 5000, 1, 2, True)


PTX = """
.visible .entry pose_head_forward(
    .param .u64 .ptr .global .align 1 pose_head_forward_param_0,
    .param .u64 pose_head_forward_param_1,
    .param .u32 pose_head_forward_param_2,
    .param .u32 pose_head_forward_param_3,
    .param .u32 pose_head_forward_param_4,
    .param .u64 .ptr .global .align 1 pose_head_forward_param_5
)
.reqntid 128
{ }
"""


def compiled(ptx=PTX, **about):
    metadata = {"num_warps": 4, "num_ctas": 1, "shared": 32, "global_scratch_size": 0, **about}
    return SimpleNamespace(metadata=SimpleNamespace(**metadata), asm={"ptx": ptx}, function=9)


def test_a_compiled_kernel_is_launched_only_if_its_arguments_are_the_ones_we_know():
    kernel = node.kernel_of(compiled(), 2)
    assert (kernel.function, kernel.threads, kernel.shared, kernel.scratch) == (9, 128, 32, 1)
    for strange in (
        node.kernel_of(compiled(), 1),
        node.kernel_of(compiled(), 3),
        node.kernel_of(compiled(PTX.replace("u32", "u64")), 2),
        node.kernel_of(compiled(PTX.replace("reqntid 128", "reqntid 256")), 2),
        node.kernel_of(compiled(PTX.replace("param_5", "param_5[16]")), 2),
        node.kernel_of(compiled(PTX + PTX), 2),
        node.kernel_of(compiled(""), 2),
        node.kernel_of(compiled(global_scratch_size=64), 2),
        node.kernel_of(compiled(profile_scratch_size=64), 2),
        node.kernel_of(compiled(launch_pdl=True), 2),
        node.kernel_of(compiled(launch_cooperative_grid=True), 2),
        node.kernel_of(compiled(num_ctas=2), 2),
    ):
        assert strange is None


@needs_interpreter  # that is, a Triton which this is known of
def test_what_triton_compiles_for_a_gpu_has_the_arguments_we_know():
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    from spoonful.geometry.kernels import pose_head_triton

    types = {
        **dict.fromkeys(["source", "target", "rotation", "translation"], "*fp32"),
        **dict.fromkeys(["points", "starts", "iterations"], "i32"),
        "state": "*fp64",
        "mask": "*i1",
    }
    constants = {
        **dict.fromkeys(["weights", "start"]),
        **{"TARGET": False, "START": "kabsch", "REFINE": False, "LANES": 32, "UNROLL": 1},
    }
    function = pose_head_triton.pose_head_forward
    names = function.arg_names
    source = triton.compiler.ASTSource(
        function,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
    about = SimpleNamespace(metadata=made.metadata, asm=made.asm, function=9)
    kernel = node.kernel_of(about, 6)
    assert (kernel.threads, kernel.scratch) == (32, 2)
    assert node.kernel_of(about, 5) is None
    assert node.kernel_of(about, 7) is None


# On a GPU --------------------------------------------------------------------------------------


def gpu(test):
    needs = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    return pytest.mark.gpu(needs(test))


def on_gpu(fit, leaves):
    leaves = [x.detach().requires_grad_() for x in leaves]
    poses = fit(*leaves)
    found = torch.autograd.grad(loss_of(poses), leaves, allow_unused=True)
    return is_cpp(poses.rotation), [x.detach() for x in (*poses, *found) if x is not None]


def assert_same(ours, theirs):
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@gpu
@pytest.mark.parametrize("start", ["kabsch", "perturbed", "given", "none"])
def test_on_a_gpu_it_gives_the_bits_of_pythons_node(start, monkeypatch):
    leaves = [x.cuda() for x in draw(torch.float32, (2, 3), 300)]
    mask = torch.rand(2, 3, 300, device="cuda") < 0.7
    layer = SpoonfulLayer(3, "target", start if start == "perturbed" else "kabsch")

    def fit(s, t, w, r):
        if start == "none":
            return kabsch(s, t, w, mask)
        if start == "given":
            return refine(s, t, r, weights=w, mask=mask)
        return layer(s, t, w, mask, generator=torch.Generator("cuda").manual_seed(1)).poses

    asked = []
    gradients = head._gradients
    monkeypatch.setattr(head, "_gradients", lambda *x: asked.append(x) or gradients(*x))
    on_gpu(fit, leaves)  # compiles the kernels, and gives them to the node
    asked.clear()
    cpp, ours = on_gpu(fit, leaves)
    assert cpp
    assert not asked
    monkeypatch.setattr(node, "operator", None)
    cpp, theirs = on_gpu(fit, leaves)
    assert not cpp
    assert_same(ours, theirs)


@gpu
def test_on_a_gpu_streams_threads_and_graphs_are_respected():
    leaves = [x.cuda() for x in draw(torch.float32, (64,), 2000)[:3]]

    def fit(*x):
        return LAYER(*x).poses

    for _ in range(2):
        cpp, expected = on_gpu(fit, leaves)
    assert cpp
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            # What it waits for takes longer than it does itself.
            late = torch.randn(4096, 4096, device="cuda")
            late = (late @ late @ late)[0, 0] * 0
            assert_same(on_gpu(fit, [x + late for x in leaves])[1], expected)
    found = []
    threads = [threading.Thread(target=lambda: found.append(on_gpu(fit, leaves))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for cpp, results in found:
        assert cpp
        assert_same(results, expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cpp, captured = on_gpu(fit, leaves)
    graph.replay()
    assert cpp
    assert_same(captured, expected)


@gpu
def test_on_a_gpu_wrong_arguments_are_still_named():
    source, target, weights = (x.cuda() for x in draw(torch.float32)[:3])
    for _ in range(3):
        LAYER(source, target, weights)
    with pytest.raises(ValueError, match="source and target must hold matched points"):
        LAYER(source, target[:, :5], weights)
    with pytest.raises(ValueError, match="weights must have one entry a point"):
        LAYER(source, target, weights[:, :5])
    with pytest.raises(ValueError, match="weights must be on the device of source"):
        LAYER(source, target, weights.cpu())


# How it is built -------------------------------------------------------------------------------


@pytest.fixture
def unbuilt(monkeypatch):
    state = node._State()
    monkeypatch.setattr(node, "_state", state)
    monkeypatch.setattr(node, "operator", None)
    return state


def test_it_is_loaded_at_once_where_it_was_built_before(unbuilt):
    node.want()
    assert unbuilt.settled
    assert node.operator is not None


def test_it_is_built_for_those_who_call_often(unbuilt, monkeypatch, tmp_path):
    path = node._places()[0][0]
    monkeypatch.setattr(node, "_places", lambda: [(tmp_path / "node.so", ["c++"])])
    built = threading.Event()

    def make(*arguments):
        built.wait()
        return path

    monkeypatch.setattr(build, "make", make)
    for _ in range(node.OFTEN - 1):
        node.want()
    assert unbuilt.thread is None
    for _ in range(10):  # nobody waits
        node.want()
        assert node.operator is None
    built.set()
    unbuilt.thread.join()
    node.want()
    assert node.operator is not None


def test_leaving_while_it_is_built_is_quiet(tmp_path):
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-dM*) ;; *) exec sleep 3 ;; esac\n')
    compiler.chmod(0o700)
    script = (
        "import time; from spoonful.geometry.kernels import node\n"
        "for _ in range(node.OFTEN): node.want()\n"
        "while not list(node.build.cache_folder().glob('*/')): time.sleep(0.01)\n"
    )
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "CXX": str(compiler), "SPOONFUL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((cache / "kernels").iterdir()) == []


@pytest.mark.parametrize("what", ["compiler", "headers", "cache"])
@pytest.mark.parametrize("now", [False, True])
def test_without_a_compiler_headers_or_a_cache_one_line_says_so(
    unbuilt, what, now, monkeypatch, tmp_path, caplog
):
    if what == "compiler":
        monkeypatch.setenv("CXX", "/nonexistent")
    elif what == "headers":
        monkeypatch.setattr(torch, "__file__", str(tmp_path / "torch" / "__init__.py"))
    else:
        monkeypatch.setenv("SPOONFUL_CACHE", "/proc/none")
        monkeypatch.setattr(node, "OFTEN", 2)
    with caplog.at_level("DEBUG", logger=node.__name__):
        for _ in range(4):
            if now:
                assert not node.build_now()
            else:
                node.want()
            if unbuilt.thread is not None:
                unbuilt.thread.join()
    assert unbuilt.settled
    assert node.operator is None
    assert len(caplog.records) == 1
    assert "using Python's" in caplog.text
    source, target, weights = leaves_of()
    assert "PoseHead" in LAYER(source, target, weights).poses.rotation.grad_fn.name()


def test_the_source_is_part_of_the_package():
    found = resources.files("spoonful.geometry.kernels").joinpath("node.cpp")
    assert "pose_head_node" in found.read_text()
