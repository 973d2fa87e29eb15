"""What all fits have in common: batches, precision, masks, NaN, size, vmap and torch.compile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from graphs import whole_graph
from spoonful.geometry import (
    Pose,
    covariance,
    kabsch,
    kernels,
    plane_covariance,
    plane_minimum,
    point_to_plane,
    random_rotation,
    robust_kabsch,
    robust_similarity,
    similarity,
)


def _normals(cloud: Tensor) -> Tensor:
    """Directions for a cloud's points by their number, so that all fits take the same arguments."""
    number = torch.ones_like(cloud).cumsum(-2) * torch.tensor([1.0, 2.0, 3.0]).to(cloud)
    return torch.nn.functional.normalize(number.sin(), dim=-1)


def _robust(
    fit: Callable[..., object], rounds: int = 3, **settings: object
) -> Callable[..., tuple[Tensor, ...]]:
    return lambda *x, **options: tuple(fit(*x, rounds=rounds, **settings, **options).pose)


def _step(source: Tensor, target: Tensor, weights: Tensor, **options: Tensor) -> tuple[Tensor, ...]:
    normals = _normals(source + target)
    return tuple(point_to_plane(source, target, normals, weights, **options))


def _minimum(
    source: Tensor, target: Tensor, weights: Tensor, **options: Tensor
) -> tuple[Tensor, ...]:
    pose = kabsch(source, target, weights, **options)
    return tuple(plane_minimum(source, target, _normals(source), pose, weights, **options))


def _covariance(
    source: Tensor, target: Tensor, weights: Tensor, **options: Tensor
) -> tuple[Tensor, ...]:
    pose = similarity(source, target, weights, **options)
    return (covariance(source, target, pose, weights, **options),)


def _plane_covariance(
    source: Tensor, target: Tensor, weights: Tensor, **options: Tensor
) -> tuple[Tensor, ...]:
    pose = kabsch(source, target, weights, **options)
    normals = _normals(source)
    return (plane_covariance(source, target, normals, pose, weights, **options),)


FITS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "kabsch": lambda *x, **options: tuple(kabsch(*x, **options)),
    "similarity": lambda *x, **options: tuple(similarity(*x, **options)),
    "robust_kabsch": _robust(robust_kabsch),
    "robust_similarity": _robust(robust_similarity),
    "gnc": _robust(robust_kabsch, 5, loss="gnc-tls", noise=0.1),
    "point_to_plane": _step,
    "plane_minimum": _minimum,
    "covariance": _covariance,
    "plane_covariance": _plane_covariance,
}
every = pytest.mark.parametrize("name", FITS)


def clouds(
    *batch: int, n: int = 9, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(*batch, n, 3, generator=generator, dtype=dtype)
    rotation = random_rotation(*batch, max_degrees=20, generator=generator, dtype=dtype)
    target = source @ rotation.mT + 0.1
    target = target + 0.02 * torch.randn(target.shape, generator=generator, dtype=dtype)
    return source, target, torch.rand(*batch, n, generator=generator, dtype=dtype) + 0.5


def gradients(name: str, *inputs: Tensor) -> tuple[Tensor, ...]:
    leaves = [x.clone().requires_grad_() for x in inputs]
    total = sum(value.nan_to_num().sum() for value in FITS[name](*leaves))
    return torch.autograd.grad(total, leaves)


@every
def test_any_batch_shape_gives_what_single_clouds_give(name):
    inputs = clouds(2, 3)
    for whole, one in zip(FITS[name](*inputs), FITS[name](*(x[1, 2] for x in inputs)), strict=True):
        torch.testing.assert_close(whole[1, 2], one)


@every
def test_an_empty_batch_gives_an_empty_result(name):
    for value in FITS[name](*clouds(0)):
        assert value.shape[0] == 0


@every
def test_one_set_of_weights_serves_all_clouds(name):
    source, target, weights = clouds(3)
    shared = weights[0]
    for ours, expected in zip(
        FITS[name](source, target, shared),
        FITS[name](source, target, shared.expand(3, 9)),
        strict=True,
    ):
        torch.testing.assert_close(ours, expected)


@every
def test_float32_agrees_with_float64(name):
    narrow = FITS[name](*(x.float() for x in clouds(2)))
    for ours, exact in zip(narrow, FITS[name](*clouds(2)), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours.double(), exact, rtol=2e-3, atol=2e-5)


@every
def test_a_masked_point_does_not_count_even_if_it_is_nan(name):
    source, target, weights = clouds(2)
    mask = torch.arange(9) < 7
    spoilt = torch.where(mask[:, None], target, torch.nan)
    found = FITS[name](source, spoilt, weights, mask=mask.expand(2, 9))
    for ours, expected in zip(
        found, FITS[name](source[:, :7], target[:, :7], weights[:, :7]), strict=True
    ):
        if name != "point_to_plane":  # whose normals here depend on the target
            torch.testing.assert_close(ours, expected)
        assert ours.isfinite().all()


@every
def test_nan_in_one_cloud_stays_there_and_has_no_gradient(name):
    source, target, weights = clouds(3)
    target[1, 0, 0] = torch.nan
    found = FITS[name](source, target, weights)
    for value, expected in zip(found, FITS[name](*clouds(3)), strict=True):
        assert value[1].isnan().all()
        torch.testing.assert_close(value[[0, 2]], expected[[0, 2]])
    for gradient in gradients(name, source, target, weights):
        assert gradient.isfinite().all()
        assert not gradient[1].any()


@every
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_coordinates_of_any_size_have_finite_poses_and_gradients(name, size):
    source, target, weights = (x.float() for x in clouds(2))
    found = FITS[name](size * source, size * target, weights)
    grown = (size * source, size * target, weights)
    if "covariance" in name:  # the square of a length, which float32 may not hold
        assert all(value[:, :3, :3].isfinite().all() for value in found)
        return
    assert all(value.isfinite().all() for value in found)
    if name in ("kabsch", "similarity"):
        torch.testing.assert_close(found[0], FITS[name](source, target, weights)[0])
    assert all(gradient.isfinite().all() for gradient in gradients(name, *grown))


@every
@pytest.mark.parametrize("kind", ["one point", "coinciding", "line", "mirrored", "no weight"])
def test_degenerate_clouds_have_finite_results_and_gradients(name, kind):
    source, target, weights = clouds(2)
    few = slice(0, 1) if kind == "one point" else slice(None)
    changed = {
        "one point": source,
        "coinciding": source[:, :1].expand_as(source),
        "line": source[:, :, :1].expand_as(source),
        "mirrored": -source,
        "no weight": source,
    }[kind]
    inputs = changed[:, few], target[:, few], (kind != "no weight") * weights[:, few]
    assert all(value.isfinite().all() for value in FITS[name](*inputs))
    assert all(gradient.isfinite().all() for gradient in gradients(name, *inputs))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["point_to_plane", "covariance", "plane_covariance"])
def test_gradients_of_both_modes_and_second_ones_pass_gradcheck(name):
    inputs = [x.requires_grad_() for x in clouds()]

    def values(*x: Tensor) -> list[Tensor]:
        return [value / FITS[name](*clouds())[0].norm() for value in FITS[name](*x)]

    assert torch.autograd.gradcheck(values, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(values, inputs, fast_mode=True)


@pytest.mark.slow  # the profiler's first use takes seconds
@every
def test_no_tensor_is_larger_than_the_inputs(name):
    inputs = [x.requires_grad_() for x in clouds(2, n=2000)]
    size = sum(x.nbytes for x in inputs)

    def run() -> None:
        found = FITS[name](*inputs)
        torch.autograd.grad(sum(value.sum() for value in found), inputs)

    run()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        run()
    events = profile.events()
    assert max(event.self_cpu_memory_usage for event in events) <= size
    if kernels.built() and name in ("kabsch", "similarity", "robust_kabsch", "robust_similarity"):
        # The gradients, the factors of a robust fit, and a few numbers for each cloud.
        taken = sum(max(0, event.self_cpu_memory_usage) for event in events)
        assert taken < 1.5 * size


@every
def test_vmap_gives_what_a_batch_gives(name):
    inputs = clouds(3)
    for ours, expected in zip(
        torch.func.vmap(FITS[name])(*inputs), FITS[name](*inputs), strict=True
    ):
        torch.testing.assert_close(ours, expected)


# Each operation is traced: one round, and no fit before a covariance. The parts of "robust_kabsch"
# are those of "robust_similarity" and "gnc"; test_compile.py compiles "kabsch" within the layer.
SHORT = FITS | {
    "robust_similarity": _robust(robust_similarity, 1),
    "gnc": _robust(robust_kabsch, 1, loss="gnc-tls", noise=0.1),
    "plane_minimum": lambda s, t, w: tuple(plane_minimum(s, t, _normals(s), _pose(s), w)),
    "covariance": lambda s, t, w: (covariance(s, t, _pose(s), w),),
    "plane_covariance": lambda s, t, w: (plane_covariance(s, t, _normals(s), _pose(s), w),),
}
del SHORT["kabsch"], SHORT["robust_kabsch"]


def _pose(source: Tensor) -> Pose:
    return Pose(torch.eye(3).to(source).expand(len(source), 3, 3), source.mean(-2))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_compiles_into_one_graph(name):
    compiled = torch.compile(SHORT[name], fullgraph=True, backend=whole_graph)
    results = []
    for fit in (compiled, SHORT[name]):
        leaves = [x.requires_grad_() for x in clouds(2)]
        found = fit(*leaves)
        results.append([*found, *torch.autograd.grad(sum(x.sum() for x in found), leaves)])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


# ---- In the plane -------------------------------------------------------------------------------


def flat_clouds(*batch: int, n: int = 7, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(*batch, n, 2, generator=generator, dtype=torch.float64)
    angle = torch.rand(*batch, generator=generator, dtype=torch.float64) * 6
    c, s = angle.cos(), angle.sin()
    rotation = torch.stack([c, -s, s, c], -1).unflatten(-1, (2, 2))
    noise = 0.1 * torch.randn(source.shape, generator=generator, dtype=torch.float64)
    weights = torch.rand(*batch, n, generator=generator, dtype=torch.float64) + 0.1
    return source, scale * source @ rotation.mT + 2 + noise, weights


@pytest.mark.parametrize("fit", [kabsch, similarity])
def test_a_fit_in_the_plane_is_that_of_the_plane_in_space(fit):
    source, target, weights = flat_clouds(4, scale=1.3)
    # Far above and below, equal points hold the rotation in space to the plane.
    raised = [torch.nn.functional.pad(x, (0, 1)) for x in (source, target)]
    found, space = fit(source, target, weights), fit(*raised, weights)
    upright = space.rotation[:, 2, 2] > 0
    assert upright.any()
    torch.testing.assert_close(found.rotation[upright], space.rotation[upright][:, :2, :2])
    torch.testing.assert_close(found.translation[upright], space.translation[upright][:, :2])


@pytest.mark.parametrize("fit", [kabsch, similarity])
def test_gradients_in_the_plane_pass_gradcheck(fit):
    inputs = [x.requires_grad_() for x in flat_clouds(2, n=4)]

    def values(*x: Tensor) -> tuple[Tensor, ...]:
        return tuple(fit(*x))

    assert torch.autograd.gradcheck(values, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(values, inputs, fast_mode=True)


@pytest.mark.parametrize("fit", [kabsch, similarity])
@pytest.mark.parametrize("kind", ["one point", "coinciding", "mirrored tie", "no weight", "nan"])
def test_degenerate_clouds_in_the_plane(fit, kind):
    source, target, weights = flat_clouds(2)
    axes = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]], dtype=torch.float64).expand(2, 4, 2)
    mirror = torch.tensor([1.0, -1.0], dtype=torch.float64)
    source, target, weights = {
        "one point": (source[:, :1], target[:, :1], weights[:, :1]),
        "coinciding": (source[:, :1].expand_as(source), target, weights),
        "mirrored tie": (axes, axes * mirror, weights[:, :1].expand(2, 4)),
        "no weight": (source, target, 0 * weights),
        "nan": (source * torch.nan, target, weights),
    }[kind]
    leaves = [x.clone().requires_grad_() for x in (source, target, weights)]
    found = fit(*leaves)
    eye = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
    expected = eye * torch.nan if kind == "nan" else eye
    torch.testing.assert_close(found.rotation, expected + 0 * expected, equal_nan=True)
    total = sum(value.nan_to_num().sum() for value in found)
    assert all(g.isfinite().all() for g in torch.autograd.grad(total, leaves))


def test_a_pose_in_the_plane_moves_points_and_inverts():
    source, target, _ = flat_clouds(3)
    pose = kabsch(source, target)
    torch.testing.assert_close(pose.inverse().apply(pose.apply(source)), source)
    assert pose.matrix().shape == (3, 3, 3)
    assert isinstance(pose, Pose)


def test_clouds_broadcast_as_in_torch_linalg():
    source, target, weights = clouds(4)
    found = kabsch(source[0], target, weights[0])
    for k in range(4):
        one = kabsch(source[0], target[k], weights[0])
        torch.testing.assert_close(found.rotation[k], one.rotation)
