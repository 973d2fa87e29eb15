"""The Triton kernels on the CPU, in Triton's interpreter: the composite's numbers everywhere.

Run by test_triton.py in a process of its own, since Triton decides to interpret when it is imported
(TRITON_INTERPRET=1). Clouds are few and small: a cloud takes a tenth of a second.
"""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from triton.runtime.interpreter import InterpretedFunction

from geometry.agreement import (
    assert_agrees,
    assert_packed_agrees,
    assert_robust_agrees,
    draw,
    pack,
    poses_and_gradients,
)
from geometry.zoo import zoo
from spoonful.geometry import (
    SpoonfulLayer,
    kabsch,
    kernels,
    random_rotation,
    refine,
    robust_kabsch,
    robust_similarity,
    similarity,
)
from spoonful.geometry.kernels import cuda, library, node, switch
from spoonful.geometry.plan import Plan

ZOO = zoo()
FORMS = ["source", "target"]
# Here several rotations are equally good, or noise decides.
AMBIGUOUS = {"collinear reversed", "point reflected", "mirrored tie", "coincident source", "needle"}


@pytest.fixture(autouse=True)
def _cpu_tensors_to_triton(monkeypatch):
    """Let the geometry send the CPU's tensors to the Triton kernels, and call them faster."""

    monkeypatch.setattr(library, "call", cuda.launch)
    monkeypatch.setattr(switch, "library", lambda dtype: True)
    patching = InterpretedFunction.__call__
    # A kernel prepares the language for all functions of its module, and the first call of a
    # function elsewhere (those are Triton's own) for the others there.
    prepared = {cuda._kernel("pose_head_forward")[0].fn.__module__}

    def quick(self, *args, **kwargs):
        if self.fn.__module__ in prepared:
            return self.rewrite()(*args, **kwargs)
        prepared.add(self.fn.__module__)
        return patching(self, *args, **kwargs)

    monkeypatch.setattr(InterpretedFunction, "__call__", quick)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 256 points, so that few points already need several."""
    monkeypatch.setattr(cuda, "_MOST_WARPS", 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", ["kabsch", "detached", "perturbed"])
def test_the_layer_agrees_with_the_composite(form, start):
    *leaves, _ = draw(torch.float64)
    mask = torch.rand(2, 40) < 0.7
    starts = 2 if start == "perturbed" else 1
    layer = SpoonfulLayer(2, form, start, starts=starts)

    def fit(s, t, w):
        return layer(s, t, w, mask, generator=torch.Generator().manual_seed(1)).poses

    assert_agrees(fit, leaves)


@pytest.mark.parametrize("form", FORMS)
def test_in_single_precision_too(form):
    *leaves, _ = draw(torch.float32, (1,))
    layer = SpoonfulLayer(5, form)
    assert_agrees(lambda *x: layer(*x).poses, leaves, [x.double() for x in leaves])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_refine_agrees_from_any_start(form, weighted):
    def fit(s, t, w, r):
        return refine(s, t, r, weights=w if weighted else None, iterations=2, form=form)

    assert_agrees(fit, draw(torch.float64, (1,)))


@pytest.mark.parametrize(("batch", "n"), [((), 5), ((1, 2), 1), ((1,), 2)])
def test_kabsch_agrees_for_any_batch_and_few_points(batch, n):
    assert_agrees(kabsch, draw(torch.float64, batch, n)[:3])


@pytest.mark.parametrize("form", FORMS)
def test_several_blocks_are_one_cloud(form, small_blocks):
    source, target, weights, _ = draw(torch.float64, (2,), 300)
    mask = torch.rand(2, 300) < 0.7
    mask[0, :256] = False  # a whole block
    weights[1, :256] = 0
    layer = SpoonfulLayer(1, form)
    assert_agrees(lambda s, t, w: layer(s, t, w, mask).poses, [source, target, weights])


@pytest.mark.parametrize("name", sorted(set(ZOO) - AMBIGUOUS))
def test_degenerate_clouds_agree_in_single_precision_with_the_composite_in_double(name):
    # In the form that suits each: of two points that coincide, the spread is that of the others.
    single = [x.float() for x in ZOO[name]]
    layer = SpoonfulLayer(1)
    assert_agrees(lambda *x: layer(*x).poses, single, [x.double() for x in single])


@pytest.mark.parametrize("name", sorted(AMBIGUOUS))
def test_ambiguous_clouds_get_one_of_the_best_rotations_and_a_finite_gradient(name):
    single = [x.float() for x in ZOO[name]]
    (R, t), gradients = poses_and_gradients(kabsch, single, composite=False)
    (best, _), _ = poses_and_gradients(kabsch, [x.double() for x in single], composite=True)
    assert (R.mT @ R - torch.eye(3)).abs().max() < 1e-6
    assert torch.linalg.det(R) > 0
    assert t.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    s, t = (x.double() - x.double().mean(0) for x in single)
    cross = t.mT @ s
    gain, most = (R.double() * cross).sum(), (best * cross).sum()
    assert gain >= most - 1e-6 * cross.norm()


def test_coinciding_points_are_not_turned():
    source, target = (x.float() for x in ZOO["coincident source"])
    assert torch.equal(kabsch(source, target).rotation, torch.eye(3))


def test_a_spoilt_cloud_is_nan_and_an_empty_one_the_identity_and_no_other_is_disturbed():
    source, target, weights, _ = draw(torch.float32, (5,))
    alone = SpoonfulLayer(1)(source[4], target[4], weights[4]).poses
    mask = torch.ones(5, 40, dtype=torch.bool)
    mask[0] = False  # no points, and what is stored there counts for nothing
    source[0] = torch.nan
    weights[1] = 0
    target[2, 7] = torch.inf
    weights[3, 5] = -1
    leaves = [x.requires_grad_() for x in (source, target, weights)]
    # (The layer itself refuses a negative weight on the CPU.)
    poses = kernels.pose_head(*leaves, mask, None, Plan(1, "source", "kabsch"))
    for cloud in (0, 1):
        assert torch.equal(poses.rotation[cloud], torch.eye(3).expand(2, 3, 3))
        assert not poses.translation[cloud].any()
    for cloud in (2, 3):
        assert poses.rotation[cloud].isnan().all()
        assert poses.translation[cloud].isnan().any(-1).all()
    assert torch.equal(poses.rotation[4], alone.rotation)
    sum(x.sum() for x in poses).backward()
    for leaf in leaves:
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[:4].any()
        assert leaf.grad[4].any()


@pytest.mark.parametrize("refined", [False, True])
def test_matches_in_one_place_far_from_the_rest_give_the_least_turn(small_blocks, refined):
    # Moments that vanish look like those of a tiny cloud; summed in a larger unit they overflow.
    source, target, weights = torch.zeros(1, 600, 3), torch.zeros(1, 600, 3), torch.zeros(1, 600)
    source[:, -2, 0], source[:, -1, 0] = 1, -1
    target[:, -2:], weights[:, -2:] = 10, 1
    leaves = [x.requires_grad_() for x in (source, target, weights)]
    pose = SpoonfulLayer(1, "target")(*leaves).poses if refined else kabsch(*leaves)
    assert torch.equal(pose.rotation, torch.eye(3).expand_as(pose.rotation))
    assert (pose.translation == 10).all()
    (pose.rotation.sum() + pose.translation.sum()).backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


def test_masked_points_may_hold_anything():
    source, target, weights, _ = draw(torch.float64, (1,))
    mask = torch.rand(1, 40) < 0.5
    layer = SpoonfulLayer(1)

    def fit(*leaves):
        return layer(*leaves, mask).poses

    clean = poses_and_gradients(fit, [source, target, weights], composite=False)
    source[~mask], weights[~mask] = torch.nan, torch.inf
    dirty = poses_and_gradients(fit, [source, target, weights], composite=False)
    for a, b in zip([*clean[0], *clean[1]], [*dirty[0], *dirty[1]], strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("which", ["pose", "refined"])
@pytest.mark.parametrize("used", ["rotation", "translation"])
def test_a_loss_on_part_of_the_output_agrees(which, used):
    layer = SpoonfulLayer(1)

    def fit(*leaves):
        return [getattr(getattr(layer(*leaves), which), used)]

    *leaves, _ = draw(torch.float64, (1,))
    ours, theirs = (poses_and_gradients(fit, leaves, composite=off) for off in (False, True))
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_gradients_that_are_not_needed_are_not_computed():
    source, target, weights, _ = draw(torch.float32, (1,))
    target.requires_grad_()
    kabsch(source, target, weights).rotation.cumsum(-1).sum().backward()
    expected = target.grad.clone()
    target.grad = None
    source.requires_grad_()
    kabsch(source, target, weights).rotation.cumsum(-1).sum().backward()
    assert torch.equal(target.grad, expected)
    assert weights.grad is None


def test_rotations_of_hard_matrices_are_right_to_the_last_digit():
    kind = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}

    def with_singular_values(*values):
        U, V = random_rotation(2, **kind), random_rotation(2, **kind)
        return U * torch.tensor(values, dtype=torch.float64) @ V.mT

    H = torch.cat(
        [
            with_singular_values(1, 0.6, 0),
            with_singular_values(1, 1e-2, 1e-4),
            with_singular_values(2, 2, 2),
            with_singular_values(3, 1, 1),
            with_singular_values(1, 0.5, -0.499),
            with_singular_values(1e18, 1e17, 1e16),
            with_singular_values(1e-18, 1e-18, 1e-19),
        ]
    )
    # Points whose cross moment is a quarter of the matrix.
    axes, none = torch.eye(3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    source = torch.cat([axes, -axes, none]).expand(len(H), 8, 3)
    target = torch.cat([H.mT, -H.mT, none.expand(len(H), 2, 3)], dim=-2)
    R = kabsch(source, target).rotation
    assert (R.mT @ R - axes).abs().max() <= 4e-15
    # At the best rotation R^T H is symmetric.
    K = R.mT @ H
    assert ((K - K.mT).abs().amax((-1, -2)) / H.abs().amax((-1, -2))).max() <= 4e-15


@pytest.mark.parametrize(("dtype", "form"), [(torch.float32, "source"), (torch.float64, "target")])
def test_packed_clouds_get_what_they_get_alone(dtype, form, small_blocks):
    sizes = [0, 1, 2, 300, 0, 40, 0]  # 300 of them are several blocks
    clouds = [draw(dtype, (), n, seed=i)[:3] for i, n in enumerate(sizes)]
    assert_packed_agrees(SpoonfulLayer(1, form), clouds)


def test_packed_degenerate_clouds_do_not_disturb_each_other():
    names = "one point", "coincident", "collinear", "planar mirrored", "tiny", "huge", "unrelated"
    clouds = [[x.float() for x in ZOO[name]] for name in names]
    assert_packed_agrees(SpoonfulLayer(1), [(s, t, torch.ones(len(s))) for s, t in clouds])


def test_packed_clouds_of_one_size_are_bit_for_bit_the_padded_ones():
    leaves = draw(torch.float32)[:3]
    layer = SpoonfulLayer(1, start="perturbed", starts=2)
    offsets = 40 * torch.arange(3)

    def packed(s, t, w):
        flat = (x.flatten(0, 1) for x in (s, t))
        generator = torch.Generator().manual_seed(1)
        return layer.packed(*flat, offsets.int(), w.flatten(), generator=generator).poses

    def padded(*inputs):
        return layer(*inputs, generator=torch.Generator().manual_seed(1)).poses

    ours, theirs = (poses_and_gradients(f, leaves, composite=False) for f in (packed, padded))
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("offsets", "spoilt"),
    [
        ([0, 4, 10], []),
        ([2, 4, 10], [0]),  # not from the first point
        ([0, 4, 9], [1]),  # not to the last one
        ([0, 99, 10], [0, 1]),
        ([-7, -3, 1 << 40], [0, 1]),
        ([0, 8, 3, 10], [1]),
    ],
)
def test_packed_clouds_that_cannot_be_are_nan_and_nothing_outside_is_touched(offsets, spoilt):
    # (On the CPU offsets are looked at, and these refused.)
    (source, target, weights), _ = pack([draw(torch.float32, (), 10)[:3]])
    around = torch.full((50, 3), torch.nan)
    around[20:30] = source
    leaves = [around[20:30].requires_grad_(), target, weights]
    plan = Plan(1, "source", "kabsch")
    poses = kernels.pose_head(*leaves, None, None, plan, torch.tensor(offsets))
    for b in range(len(offsets) - 1):
        expected = torch.Tensor.isnan if b in spoilt else torch.Tensor.isfinite
        assert expected(poses.rotation[b]).all()
        assert expected(poses.translation[b]).all()


@pytest.mark.parametrize("kind", ["kabsch", "given", "similarity"])
def test_compiled_it_is_one_node_forward_and_one_backward(kind, monkeypatch):
    monkeypatch.setattr(node, "usable", lambda *tensors: True)
    nodes = []

    def forward(graph, inputs):
        nodes.extend(f"{each.target} {each.args}" for each in graph.graph.nodes)
        return graph

    backend = aot_autograd(fw_compiler=forward, bw_compiler=forward)
    layer = SpoonfulLayer(1)

    def fit(s, t, w, r):
        if kind == "given":
            return refine(s, t, r, weights=w, iterations=1, check=False)
        return similarity(s, t, w) if kind == "similarity" else layer(s, t, w).poses

    leaves = draw(torch.float64, (1,), 6)
    compiled = torch.compile(fit, fullgraph=True, backend=backend)
    ours = poses_and_gradients(compiled, leaves, composite=False)
    theirs = poses_and_gradients(fit, leaves, composite=False)
    for name in ("pose_head_forward", "pose_head_backward"):
        assert sum(f"spoonful.{name}" in each for each in nodes) == 1
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    ("form", "scale"), [("source", 1e-30), ("target", 1e-20), ("source", 1e19), ("target", 1e30)]
)
def test_clouds_of_any_size_get_the_poses_and_gradients_of_usual_ones(form, scale):
    cloud, matches = (x.float() for x in ZOO["unrelated"])
    weights = torch.ones(12)
    layer = SpoonfulLayer(1, form)
    leaves = [cloud * scale, matches * scale, weights]
    poses, gradients = poses_and_gradients(lambda *x: layer(*x).poses, leaves, composite=False)
    leaves = [x.double() for x in leaves]
    truth, true = poses_and_gradients(lambda *x: layer(*x).poses, leaves, composite=True)
    for a, b in zip([*poses, *gradients[:2]], [*truth, *true[:2]], strict=True):
        assert (a - b).abs().max() <= 2e-6 * b.abs().max()


@pytest.mark.parametrize(("ratio", "form"), [(1e-9, "source"), (1e-20, "target")])
def test_a_chain_of_refinements_that_overflows_passes_no_gradient(ratio, form):
    # test_kernels.py has all combinations, and more clouds.
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(2, 3, 20, 3, generator=generator)
    source, target = (source * ratio, target) if form == "source" else (source, target * ratio)
    leaves = [x.requires_grad_() for x in (source, target)]
    poses = SpoonfulLayer(form=form, start="detached")(*leaves).poses
    gradients = torch.autograd.grad(poses.rotation.cumsum(-1).sum(), leaves)
    assert not any(x.isnan().any() for x in (*poses, *gradients))


def test_clouds_beyond_the_largest_are_nan_and_have_no_gradient():
    source, target = (3e37 * x.float().requires_grad_() for x in ZOO["unrelated"])
    poses = SpoonfulLayer(1)(source, target).poses
    gradients = torch.autograd.grad(sum(x.sum() for x in poses), (source, target))
    assert all(value.isnan().all() for value in poses)
    assert not any(value.any() for value in gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_similarity_agrees_with_masks_and_weights(dtype):
    *leaves, _ = draw(dtype)
    mask = torch.rand(2, 40) < 0.7
    truth = [x.double() for x in leaves]
    assert_agrees(lambda s, t, w: similarity(s, 3 * t, w, mask), leaves, truth)


@pytest.mark.parametrize("used", [0, 1, 2])
def test_similarity_agrees_for_a_loss_on_part_of_the_output(used):
    leaves = draw(torch.float64, (1,))[:3]
    fit = lambda *x: [similarity(*x)[used]]  # noqa: E731
    ours, theirs = (poses_and_gradients(fit, leaves, composite=off) for off in (False, True))
    for a, b in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["one point", "two points", "collinear source", "mirrored", "tiny", "far away"]
)
def test_similarities_of_degenerate_clouds_agree(name):
    single = [x.float() for x in ZOO[name]]
    assert_agrees(similarity, single, [x.double() for x in single])


def test_similarities_without_extent_weight_or_sound_points_are_those_of_the_reference():
    source, target, weights, _ = draw(torch.float64, (6,))
    source[0] = 2.0  # no extent
    target[1] = 3.0  # no extent
    weights[2] = 0
    target[3, 5] = torch.nan
    target[4] = -source[4]  # the best rotation has a negative correlation left
    fits = [similarity(source, target, weights)]
    with kernels.disabled():
        fits.append(similarity(source, target, weights))
    for ours, theirs in zip(*fits, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("fit", "dtype"), [(kabsch, torch.float64), (similarity, torch.float32)])
def test_a_cloud_that_several_programs_sum_agrees(fit, dtype, small_blocks, monkeypatch):
    monkeypatch.setattr(cuda, "_MANY", 100)
    source, target, weights, _ = draw(dtype, (2,), 400)
    mask = torch.rand(2, 400) < 0.7
    mask[0, :256] = False  # whole blocks
    weights[1, 128:] = 0
    leaves = [source + 100, target, weights]
    assert_agrees(lambda s, t, w: fit(s, t, w, mask), leaves, [x.double() for x in leaves])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_a_cloud_of_any_size_that_several_programs_sum_agrees(scale, small_blocks, monkeypatch):
    monkeypatch.setattr(cuda, "_MANY", 100)
    source, target, _, _ = draw(torch.float32, (1,), 300)
    leaves = [source * scale, target * scale]
    assert_agrees(lambda *x: kabsch(*x)[:1], leaves, [x.double() for x in leaves])


ROBUST = {"kabsch": robust_kabsch, "similarity": robust_similarity}


@pytest.mark.parametrize(
    ("fit", "loss", "kind", "dtype"),
    [
        ("kabsch", "huber", "mask", torch.float32),
        ("similarity", "tukey", "start", torch.float64),
        ("similarity", "geman-mcclure", "weights", torch.float32),
        ("kabsch", "geman-mcclure", "estimated noise", torch.float64),
        ("kabsch", "gnc-tls", "mask", torch.float64),
        ("similarity", "gnc-tls", "start", torch.float32),
    ],
)
def test_robust_fits_agree(fit, loss, kind, dtype, small_blocks):
    n = 140
    source, target, weights, _ = draw(dtype, (2,), n)
    target[:, ::5] = target[:, ::5].flip(1)  # wrong matches
    weights[0, :5] = 0
    target[1] = torch.nan
    options = {"loss": loss, "noise": torch.tensor([0.1, 0.2], dtype=dtype), "rounds": 2}
    if kind == "estimated noise":
        options["noise"] = None
    if kind == "mask":
        options["mask"] = torch.arange(n) % 7 > 0
    if kind == "start":
        with kernels.disabled():
            near = ROBUST[fit](source, target, loss="tukey", noise=0.1, rounds=1).pose
        near = near._replace(translation=near.translation + 0.02)
        options["start"] = type(near)(*(x.nan_to_num() for x in near))

    tolerance = 5e-5 if dtype == torch.float32 else 1e-11
    assert_robust_agrees(ROBUST[fit], (source, target, weights), options, tolerance)


def test_robust_fits_of_degenerate_clouds_are_finite():
    for name in ("one point", "coincident", "coincident source", "collinear source", "needle"):
        source, target = (x.float() for x in ZOO[name])
        found = robust_similarity(source, target, noise=0.1, rounds=1)
        assert all(bool(x.isfinite().all()) for x in (*found.pose, found.weights))
