"""The compiled pose head: the composite's numbers, at another speed, and never in the way."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from contextlib import nullcontext
from importlib import resources
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from geometry.zoo import zoo
from spoonful.geometry import (
    SpoonfulLayer,
    kabsch,
    kernels,
    random_rotation,
    refine,
    robust_kabsch,
)
from spoonful.geometry.kernels import library as library_module
from spoonful.geometry.kernels import switch
from spoonful.geometry.kernels.library import STATE, library

ZOO = zoo()
FORMS = ["source", "target"]
DTYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
TIED = {"collinear reversed", "point reflected", "mirrored tie"}

needs_kernel = pytest.mark.skipif(
    library(torch.float32) is None or library(torch.float64) is None,
    reason="the C kernel is not built: python hatch_build.py",
)


def draw(dtype, batch=(4,), n=300, seed=0):
    """Matches that a rigid motion nearly explains, weights and a start."""
    generator = torch.Generator().manual_seed(seed)
    kind = {"generator": generator, "dtype": dtype}
    source = torch.randn(*batch, n, 3, **kind)
    target = 0.9 * source.roll(1, -1) + 0.1 * torch.randn(*batch, n, 3, **kind) + 2
    return source, target, torch.rand(*batch, n, **kind), random_rotation(*batch, **kind)


def run(fit, leaves, *, composite, probe=0):
    """Poses and gradients of `fit`, with the kernel or without."""
    leaves = [x.detach().clone().requires_grad_() for x in leaves]
    with kernels.disabled() if composite else nullcontext():
        pose = fit(*leaves)
        generator = torch.Generator().manual_seed(probe)
        loss = sum((x * torch.randn(x.shape, generator=generator)).sum() for x in pose)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    assert ("Head" in str(_nodes(pose.rotation))) != composite
    return [x.detach() for x in pose], gradients


def _nodes(tensor):
    """The names of a tensor's node and of those before it."""
    before = [node for node, _ in tensor.grad_fn.next_functions if node is not None]
    return [node.name() for node in (tensor.grad_fn, *before)]


def error(ours, theirs, scale=0.0):
    size = max(theirs.abs().max().item(), scale, 1e-300)
    return (ours.double() - theirs.double()).abs().max().item() / size


def errors(ours, theirs, source, target):
    """Relative errors of rotation, translation and gradients (source, target, weights, ...).

    A translation is small beside the means it is the difference of, and the gradient at a weight
    is small (0 at a perfect fit) beside the terms that it sums.
    """
    (R, t), gradients = ours
    (R_, t_), gradients_ = theirs
    reach = max(source.abs().max().item(), target.abs().max().item())
    found = [error(R, R_), error(t, t_, reach)]
    for i, (a, b) in enumerate(zip(gradients, gradients_, strict=True)):
        if b is None:
            assert a is None or not a.any()
            continue
        scale = 0.0
        if i == 2:
            scale = (gradients_[1].double().abs().max() * reach).item()
        found.append(error(a, b, scale))
    return found


def assert_agrees(fit, leaves):
    found = errors(
        run(fit, leaves, composite=False), run(fit, leaves, composite=True), leaves[0], leaves[1]
    )
    assert max(found) <= TOLERANCE[leaves[0].dtype], found


# The same numbers ------------------------------------------------------------------------------


@needs_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", ["kabsch", "detached", "perturbed"])
def test_the_layer_agrees_with_the_composite(dtype, masked, form, start):
    *leaves, _ = draw(dtype)
    mask = torch.rand(4, 300) < 0.7 if masked else None
    layer = SpoonfulLayer(form=form, start=start, starts=3 if start == "perturbed" else 1)
    assert_agrees(
        lambda s, t, w: layer(s, t, w, mask, generator=torch.Generator().manual_seed(1)).poses,
        leaves,
    )


@needs_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_refine_agrees_with_the_composite_from_any_start(dtype, weighted, form):
    source, target, weights, start = draw(dtype)
    assert_agrees(
        lambda s, t, w, r: refine(s, t, r, weights=w if weighted else None, form=form),
        [source, target, weights, start],
    )


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("batch", "n"), [((), 50), ((2, 3), 50), ((3,), 1), ((3,), 2), ((2,), 257), ((1, 2), 200_000)]
)
def test_kabsch_agrees_for_any_batch_and_any_number_of_points(dtype, batch, n):
    *leaves, _ = draw(dtype, batch, n)
    assert_agrees(kabsch, leaves)


@needs_kernel
@pytest.mark.parametrize("used", ["rotation", "translation"])
def test_a_loss_on_part_of_the_output_agrees(used):
    *leaves, _ = draw(torch.float64)
    for which in ("pose", "refined"):
        results = []
        for off in (nullcontext(), kernels.disabled()):
            inputs = [x.clone().requires_grad_() for x in leaves]
            with off:
                output = SpoonfulLayer()(*inputs)
            getattr(getattr(output, which), used).cumsum(-1).sum().backward()
            results.append([x.grad for x in inputs])
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(ZOO) - TIED))
@pytest.mark.parametrize("dtype", DTYPES)
def test_degenerate_clouds_agree_where_the_answer_is_unique(name, dtype, form):
    source, target = (x.to(dtype) for x in ZOO[name])
    leaves = [source, target, torch.ones_like(source[:, 0])]
    if name in ("coincident source", "needle"):
        # Coinciding points: the composite's means are rounded, so it sees a cloud of noise.
        # A needle: rho is 1e5 in the source form, and what the layer returns is amplified noise.
        fit = kabsch
    else:
        layer = SpoonfulLayer(form=form)

        def fit(*x):
            return layer(*x).poses

    ours = run(fit, leaves, composite=False)
    if name == "coincident source":
        assert torch.equal(ours[0][0], torch.eye(3, dtype=dtype))
        assert all(g.isfinite().all() for g in ours[1])
        return
    composite = run(fit, leaves, composite=True)
    if dtype == torch.float64:
        found = errors(ours, composite, source, target)
        assert max(found) <= (1e-9 if name == "far away" else 1e-10), found
        return
    # In float32 some of these clouds are hard for anyone: as near to the truth as the composite.
    truth = run(fit, [x.double() for x in leaves], composite=True)
    found = errors(ours, truth, source, target)
    allowed = errors(composite, truth, source, target)
    for mine, theirs in zip(found, allowed, strict=True):
        assert mine <= max(1e-5, 3 * theirs), (found, allowed)


@needs_kernel
@pytest.mark.parametrize("name", sorted(TIED))
@pytest.mark.parametrize("dtype", DTYPES)
def test_tied_clouds_get_one_of_the_best_rotations_and_finite_gradients(name, dtype):
    source, target = (x.to(dtype) for x in ZOO[name])
    (R, _), gradients = run(kabsch, [source, target], composite=False)
    (other, _), _ = run(kabsch, [source, target], composite=True)
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(R @ R.mT, torch.eye(3, dtype=dtype), rtol=0, atol=tolerance)
    assert torch.linalg.det(R) > 0
    s, t = source - source.mean(0), target - target.mean(0)
    H = t.mT @ s
    assert (R * H).sum() >= (other * H).sum() - tolerance * H.norm()
    assert all(g.isfinite().all() for g in gradients)


@needs_kernel
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("dtype", DTYPES)
def test_coinciding_points_with_any_weights_are_only_translated(n, dtype):
    *_, weights, _ = draw(dtype, (5,), n)
    point = torch.tensor([0.1, 1e5 / 3, -7e-9], dtype=dtype)
    pose = kabsch(point.expand(5, n, 3), -point.expand(5, n, 3), weights)
    assert torch.equal(pose.rotation, torch.eye(3, dtype=dtype).expand(5, 3, 3))
    torch.testing.assert_close(pose.translation, -2 * point.expand(5, 3))


@needs_kernel
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_nonfinite_cloud_damages_only_itself(bad):
    source, target, weights, _ = draw(torch.float32)
    layer = SpoonfulLayer()
    expected = layer(source, target, weights).poses
    source[1, 250, 2] = bad
    leaves = [x.requires_grad_() for x in (source, target, weights)]
    poses = layer(*leaves).poses
    assert poses.rotation[1].isnan().all()
    assert poses.translation[1].isnan().all()
    others = [0, 2, 3]
    assert torch.equal(poses.rotation[others], expected.rotation[others])
    assert torch.equal(poses.translation[others], expected.translation[others])
    (poses.rotation.sum() + poses.translation.sum()).backward()
    for leaf in leaves:
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[1].any()
        assert leaf.grad[0].any()


@needs_kernel
@pytest.mark.parametrize("empty", ["mask", "weights"])
def test_a_cloud_of_nothing_is_the_identity_without_gradient(empty):
    source, target, weights, _ = draw(torch.float32)
    mask = torch.ones(4, 300, dtype=torch.bool)
    (mask if empty == "mask" else weights)[2] = 0
    if empty == "mask":
        source[2] = torch.nan
    leaves = [x.requires_grad_() for x in (source, target, weights)]
    poses = SpoonfulLayer()(*leaves, mask).poses
    assert torch.equal(poses.rotation[2], torch.eye(3).expand(6, 3, 3))
    assert torch.equal(poses.translation[2], torch.zeros(6, 3))
    (poses.rotation.sum() + poses.translation.sum()).backward()
    for leaf in leaves:
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[2].any()


@needs_kernel
def test_masked_points_may_hold_nan_and_get_no_gradient():
    source, target, weights, _ = draw(torch.float64)
    mask = torch.rand(4, 300) < 0.5
    source[~mask] = torch.nan
    weights[~mask] = torch.inf
    leaves = [x.requires_grad_() for x in (source, target, weights)]
    poses = SpoonfulLayer()(*leaves, mask).poses
    (poses.rotation.sum() + poses.translation.sum()).backward()
    assert poses.rotation.isfinite().all()
    for leaf in leaves:
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[~mask].any()


@needs_kernel
def test_a_mask_is_a_removal():
    source, target, weights, start = draw(torch.float64)
    mask = torch.rand(4, 300) < 0.6
    together = refine(source, target, start, weights=weights, mask=mask)
    for i, keep in enumerate(mask):
        alone = refine(source[i, keep], target[i, keep], start[i], weights=weights[i, keep])
        torch.testing.assert_close(together.rotation[i], alone.rotation, rtol=0, atol=1e-12)


# Accuracy of the rotation ----------------------------------------------------------------------


def hard_matrices(n):
    """Classes of (n, 3, 3) float64 matrices that are exact in float32."""
    generator = torch.Generator().manual_seed(0)
    kind = {"generator": generator, "dtype": torch.float64}

    def with_singular_values(*values):
        U, V = random_rotation(n, **kind), random_rotation(n, **kind)
        return U * torch.tensor(values, dtype=torch.float64) @ V.mT

    random = torch.randn(n, 3, 3, **kind)
    half_turn = torch.diag(torch.tensor([1.0, -1, -1], dtype=torch.float64))
    classes = {
        "random": random,
        "tiny": 1e-18 * random,
        "huge": 1e18 * random,
        "flat": with_singular_values(1, 0.6, 0),
        "graded": with_singular_values(1, 1e-2, 1e-4),
        "equal": with_singular_values(2, 2, 2),
        "two equal": with_singular_values(3, 1, 1),
        "reflected": with_singular_values(1, 0.5, -0.2),
        "nearly tied reflection": with_singular_values(1, 0.5, -0.499),
        "nearly a half turn": random
        @ random.mT
        @ half_turn
        @ random_rotation(n, max_degrees=1e-3, **kind),
        "nearly the identity": random @ random.mT @ random_rotation(n, max_degrees=1e-3, **kind),
    }
    return {name: matrix.float().double() for name, matrix in classes.items()}


def rotations_of(matrix):
    """Kabsch's rotation for a cross moment of exactly a quarter of `matrix`."""
    eye, zero = torch.eye(3, dtype=matrix.dtype), torch.zeros(2, 3, dtype=matrix.dtype)
    source = torch.cat([eye, -eye, zero]).expand(len(matrix), 8, 3)
    half = matrix.mT
    target = torch.cat([half, -half, zero.expand(len(matrix), 2, 3)], dim=-2)
    return kabsch(source, target).rotation


def by_svd(matrix):
    U, _, Vh = torch.linalg.svd(matrix)
    flip = torch.ones(len(matrix), 3, dtype=matrix.dtype)
    flip[:, 2] = torch.linalg.det(U @ Vh).sign()
    return U * flip.unsqueeze(-2) @ Vh


def asymmetry(R, matrix):
    """R^T H is symmetric at the best rotation."""
    K = R.mT @ matrix
    return ((K - K.mT).abs().amax((-1, -2)) / matrix.abs().amax((-1, -2))).max()


@pytest.mark.slow
@needs_kernel
def test_rotations_of_hard_matrices_are_right_to_the_last_digit():
    for name, matrix in hard_matrices(10_000).items():
        truth = by_svd(matrix)
        single = (rotations_of(matrix.float()) - truth).abs().amax((-1, -2))
        library = (by_svd(matrix.float()) - truth).abs().amax((-1, -2))
        assert single.max() <= 2e-7, name  # not even of the matrix's condition
        assert single.max() <= library.max(), name
        # In float64 there is nothing better to compare with, so look at what makes it the best.
        R = rotations_of(matrix)
        assert (R.mT @ R - torch.eye(3)).abs().max() <= 4e-15, name
        assert asymmetry(R, matrix) <= 4e-15, name
        assert asymmetry(R, matrix) <= asymmetry(truth, matrix), name


@needs_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_are_fitted_by_the_least_turn(dtype):
    a, b = torch.randn(2, 2000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = (b.unsqueeze(-1) * a.unsqueeze(-2)).to(dtype)
    R = rotations_of(matrix).double()
    cosine = torch.cosine_similarity(a, b, dim=-1)
    trace = R.diagonal(dim1=-2, dim2=-1).sum(-1)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close((trace - 1) / 2, cosine, rtol=0, atol=tolerance)
    along = torch.nn.functional.normalize((R @ a.unsqueeze(-1)).squeeze(-1), dim=-1)
    torch.testing.assert_close(
        along, torch.nn.functional.normalize(b, dim=-1), rtol=0, atol=tolerance
    )


# Derivatives -----------------------------------------------------------------------------------


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("form", FORMS)
def test_first_and_second_derivatives_pass_their_checks(form):
    leaves = [x.requires_grad_() for x in draw(torch.float64, (1,), 5)[:3]]
    mask = torch.tensor([[True, True, False, True, True]])
    layer = SpoonfulLayer(iterations=2, form=form)

    def last(*x):
        poses = layer(*x, mask).poses
        return poses.rotation[..., -1, :, 1], poses.translation[..., -1, :]

    assert torch.autograd.gradcheck(last, leaves, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(last, leaves)


@needs_kernel
def test_second_derivatives_count_a_cloud_that_is_passed_twice_once():
    def curvature(off):
        x = draw(torch.float64, (), 7)[0].requires_grad_()
        with off:
            loss = refine(x, x.roll(1, 0), random_rotation(dtype=torch.float64)).rotation.sum()
            same = kabsch(x, x).translation.square().sum()
            (first,) = torch.autograd.grad(loss + same, x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0]

    torch.manual_seed(0)
    ours = curvature(nullcontext())
    torch.manual_seed(0)
    torch.testing.assert_close(ours, curvature(kernels.disabled()), rtol=1e-9, atol=1e-12)


@needs_kernel
@pytest.mark.slow
def test_checkpointing_and_vectorised_jacobians_work():
    source, target, *_ = draw(torch.float64, (), 5)
    source.requires_grad_()
    expected = torch.autograd.functional.jacobian(lambda s: kabsch(s, target).rotation, source)
    at_once = torch.autograd.functional.jacobian(
        lambda s: kabsch(s, target).rotation, source, vectorize=True
    )
    torch.testing.assert_close(at_once, expected)
    (direct,) = torch.autograd.grad(kabsch(source, target).rotation.cumsum(0).sum(), source)
    saved = checkpoint(lambda s: kabsch(s, target).rotation, source, use_reentrant=False)
    (again,) = torch.autograd.grad(saved.cumsum(0).sum(), source)
    assert torch.equal(again, direct)


# What it accepts -------------------------------------------------------------------------------


@needs_kernel
def test_any_layout_in_memory_gives_the_same_result():
    source, target, weights, _ = draw(torch.float32)
    expected = kabsch(source, target, weights)
    strided = source.mT.contiguous().mT, target[..., [2, 1, 0]].flip(-1), weights.mT.clone().mT
    negative = torch.complex(source, -source).conj().imag
    assert negative.is_neg()
    for inputs in (strided, (negative, target, weights)):
        assert torch.equal(kabsch(*inputs).rotation, expected.rotation)


@needs_kernel
def test_precisions_mix_as_in_the_composite():
    source, target, weights, start = draw(torch.float32)
    assert kabsch(source, target, weights.double()).rotation.dtype == torch.float64
    assert refine(source, target, start.double()).rotation.dtype == torch.float32
    half = source.bfloat16().requires_grad_()
    pose = kabsch(half, target)
    assert pose.rotation.dtype == torch.float32
    pose.rotation.sum().backward()
    assert half.grad.dtype == torch.bfloat16


@needs_kernel
def test_inference_mode_and_no_grad_work():
    source, target, *_ = draw(torch.float32)
    expected = kabsch(source, target).rotation
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(kabsch(source, target).rotation, expected)


@needs_kernel
@pytest.mark.parametrize("form", FORMS)
def test_the_number_of_threads_changes_no_bit(form):
    *leaves, _ = draw(torch.float32, (3,), 100_001)
    layer = SpoonfulLayer(form=form)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            poses, gradients = run(lambda *x: layer(*x).poses, leaves, composite=False)
            results.append([*poses, *gradients])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert torch.equal(a, b)


# When it is used -------------------------------------------------------------------------------


@needs_kernel
def test_it_is_used_by_default_and_can_be_switched_off(monkeypatch):
    inputs = (*draw(torch.float32)[:3], None)
    assert kernels.usable(*inputs)
    with kernels.disabled():
        assert not kernels.usable(*inputs)
    assert kernels.usable(*inputs)
    monkeypatch.setenv("SPOONFUL_KERNELS", "off")
    assert not kernels.usable(*inputs)


@pytest.mark.slow
@pytest.mark.skipif(torch.__version__ < "2.8", reason="needs torch 2.8")
@needs_kernel
def test_it_stays_away_from_tensors_that_stand_for_more_than_numbers():
    source, target, weights, _ = draw(torch.float32)
    seen = []

    def look(s):
        seen.append(kernels.usable(s, target, weights, None))
        return s

    torch.func.vmap(lambda s: look(s))(source[None])
    torch.func.grad(lambda s: look(s).sum())(source)
    torch.func.jvp(look, (source,), (source,))
    with torch.autograd.forward_ad.dual_level():
        look(source)
    with torch._subclasses.FakeTensorMode():
        look(torch.empty(4, 300, 3))
    torch.fx.experimental.proxy_tensor.make_fx(look)(source)
    torch.jit.trace(look, source, check_trace=False)
    torch.compile(look, backend="eager")(source)
    look(source.to("meta"))
    look(source.to_sparse())
    look([1.0])
    assert len(seen) >= 10
    assert not any(seen)


def test_the_source_is_part_of_the_package():
    found = resources.files("spoonful.geometry.kernels").joinpath("pose_head.c")
    assert "pose_head_forward" in found.read_text()


# How it is built and loaded --------------------------------------------------------------------


@pytest.fixture
def fresh_library():
    """Look for libraries anew, before and after a test."""
    library.cache_clear()
    yield
    library.cache_clear()


def test_without_the_compiled_file_torchs_operations_do_the_work(
    fresh_library, monkeypatch, tmp_path, caplog
):
    monkeypatch.setattr(library_module, "_FOLDER", tmp_path)
    x = torch.randn(2, 9, 3, requires_grad=True)
    with caplog.at_level("DEBUG", logger=library_module.__name__):
        pose = kabsch(x, x + 1)
        assert not kernels.usable(x, x, None, None)
    assert sum("using torch's own operations" in each for each in caplog.messages) == 1
    pose.translation.sum().backward()
    assert torch.allclose(pose.translation, torch.ones(2, 3), atol=1e-5)
    assert "not built" in kernels.status()


def test_a_file_that_is_no_library_of_this_version_is_not_used(
    fresh_library, monkeypatch, tmp_path
):
    monkeypatch.setattr(library_module, "_FOLDER", tmp_path)
    (tmp_path / "pose_head_float.so").write_bytes(b"half written")
    assert library(torch.float32) is None


@needs_kernel
def test_the_library_has_the_state_that_python_allocates(fresh_library, monkeypatch):
    assert library(torch.float32).pose_head_state() == STATE
    assert kernels.status() == "CPU kernel: compiled"
    library.cache_clear()
    monkeypatch.setattr(library_module, "STATE", STATE - 1)
    assert library(torch.float32) is None


def hatch_build():
    """The build hook's module; skips outside a checkout."""
    path = Path(__file__).parents[2] / "hatch_build.py"
    if not path.is_file():
        pytest.skip("needs a checkout")
    spec = importlib.util.spec_from_file_location("hatch_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def c_source():
    return Path(str(resources.files("spoonful.geometry.kernels"))) / "pose_head.c"


@pytest.mark.slow
@needs_kernel
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler `cc`")
@pytest.mark.parametrize(("flags", "portable"), [("", True), (" -DNO_VECTORS", False)])
def test_the_build_makes_libraries_that_agree_without_vectors_too(
    flags, portable, fresh_library, monkeypatch, tmp_path
):
    monkeypatch.setenv("CC", "cc" + flags)
    build = hatch_build()
    # The installed library has all optimisations, which take the compiler several times as long.
    monkeypatch.setattr(build, "FLAGS", ["-O0" if flag == "-O3" else flag for flag in build.FLAGS])
    made = build.compile_all(c_source(), tmp_path, portable=portable)
    names = {path.name.split(".")[0] for path in made}
    assert {"pose_head_float", "pose_head_double"} <= names
    assert sorted(tmp_path.iterdir()) == sorted(made)  # nothing else is left behind
    monkeypatch.setattr(library_module, "_FOLDER", tmp_path)
    layer = SpoonfulLayer(form="target")
    for dtype in DTYPES:
        clouds = draw(dtype, n=301)[:3]
        assert_agrees(lambda *x: layer(*x).poses, clouds)
        assert_agrees(lambda *x: robust_kabsch(*x, noise=1.0).pose, clouds)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"CC": "/nonexistent"}, "/nonexistent not found"),
        ({"CC": "", "PATH": ""}, "cc not found; gcc not found; clang not found"),
        ({"CC": shlex.quote(sys.executable)}, "failed"),
    ],
)
def test_without_a_compiler_the_build_says_what_it_looked_for(
    environment, reason, monkeypatch, tmp_path
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RuntimeError, match=reason):
        hatch_build().compile_all(c_source(), tmp_path, portable=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["0", "false", "of", "all"])
def test_an_unknown_value_of_the_switch_is_warned_of_and_read_as_on(value, monkeypatch):
    monkeypatch.setenv("SPOONFUL_KERNELS", value)
    switch._means_off.cache_clear()
    with pytest.warns(UserWarning, match=f"must be on or off, got '{value}'"):
        assert not switch.off()


# Clouds of any size ----------------------------------------------------------------------------


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-15, 1e15, 1e19, 1e25, 1e30, 1e33])
def test_clouds_of_any_size_get_the_poses_and_gradients_of_usual_ones(scale, form, composite):
    source, target, weights, _ = draw(torch.float32, n=60)
    leaves = [x.requires_grad_() for x in (source * scale, target * scale, weights)]
    layer = SpoonfulLayer(form=form)

    def results(leaves):
        poses = layer(*leaves).poses
        loss = poses.rotation.cumsum(-1).sum() + poses.translation.sum()
        return [*poses, *torch.autograd.grad(loss, leaves)]

    with kernels.disabled() if composite else nullcontext():
        ours = results(leaves)
    with kernels.disabled():
        truth = results([x.detach().double().requires_grad_() for x in leaves])
    for a, b in zip(ours, truth, strict=True):
        assert error(a, b) <= 1e-5


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e37), (torch.float64, 1e160)])
def test_a_cloud_beyond_the_largest_is_nan_and_only_that_one(dtype, scale, form, composite):
    source, target, weights, _ = draw(dtype, (2,), n=60)
    factor = torch.tensor([1.0, scale], dtype=dtype)[:, None, None]
    leaves = [x.requires_grad_() for x in (source * factor, target * factor, weights)]
    with kernels.disabled() if composite else nullcontext():
        poses = SpoonfulLayer(form=form)(*leaves).poses
        loss = poses.rotation.cumsum(-1).sum() + poses.translation.sum()
        gradients = torch.autograd.grad(loss, leaves)
    assert all(x[0].isfinite().all() and x[1].isnan().all() for x in poses)
    assert all(x.isfinite().all() and x[0].any() and not x[1].any() for x in gradients)


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", [(1.0, 1e30), (1e8, 1.0), (1e-30, 1e30)])
def test_clouds_of_very_different_sizes_have_finite_poses_and_gradients(sizes, form, composite):
    source, target, weights, _ = draw(torch.float32, n=60)
    leaves = [source * sizes[0], target * sizes[1], weights]
    leaves = [x.requires_grad_() for x in leaves]
    with kernels.disabled() if composite else nullcontext():
        output = SpoonfulLayer(form=form)(*leaves)
        loss = output.poses.rotation.cumsum(-1).sum() + output.poses.translation.sum()
        gradients = torch.autograd.grad(loss, leaves)
    assert all(x.isfinite().all() for x in (*output.poses, *gradients))


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ratio", [1e-9, 1e-20])
def test_a_chain_of_refinements_that_overflows_passes_no_gradient(ratio, form, composite):
    # The clouds are unrelated, so the refinement wanders, and in every iteration an error may grow
    # by as much as the clouds differ in size.
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(2, 2000, 20, 3, generator=generator)
    source, target = (source * ratio, target) if form == "source" else (source, target * ratio)
    leaves = [x.requires_grad_() for x in (source, target)]
    with kernels.disabled() if composite else nullcontext():
        poses = SpoonfulLayer(form=form)(*leaves).poses
        loss = poses.rotation.cumsum(-1).sum()
        gradients = torch.autograd.grad(loss, leaves, retain_graph=True)
        lost = torch.autograd.grad(loss * torch.nan, leaves)
    assert not any(x.isnan().any() for x in (*poses, *gradients))
    # A loss that is NaN shows in the gradient.
    assert all(x.isnan().any(-1).all() for x in lost)
