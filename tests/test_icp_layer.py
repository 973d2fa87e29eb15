"""The ICP layer: where it settles, and the gradient of that fixed point by both clouds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spoonful.geometry import Pose, random_rotation
from spoonful.icp import icp_layer


def clouds(generator, *batch, n=12):
    target = torch.rand(*batch, n, 3, generator=generator, dtype=torch.float64)
    rotation = random_rotation(*batch, max_degrees=2, generator=generator, dtype=torch.float64)
    noise = 0.002 * torch.randn(target.shape, generator=generator, dtype=torch.float64)
    normals = torch.nn.functional.normalize(target.roll(1, -2) - target, dim=-1)
    return (target + noise) @ rotation.mT + 0.01, target, normals


@pytest.mark.parametrize("planes", [False, True])
def test_the_gradient_is_that_of_the_fixed_point(planes, generator):
    source, target, normals = clouds(generator, 2)

    def pose(*x: Tensor) -> tuple[Tensor, ...]:
        return tuple(icp_layer(*x, normals=normals if planes else None))

    inputs = [source.requires_grad_(), target.requires_grad_()]
    assert torch.autograd.gradcheck(pose, inputs, atol=1e-5, fast_mode=True)


@pytest.mark.slow
@pytest.mark.parametrize("planes", [False, True])
def test_the_gradient_has_a_forward_mode_and_a_derivative(planes, generator):
    source, target, normals = clouds(generator, 1, n=8)

    def pose(*x: Tensor) -> tuple[Tensor, ...]:
        return tuple(icp_layer(*x, normals=normals if planes else None))

    inputs = [source.requires_grad_(), target.requires_grad_()]
    options = {"atol": 1e-4, "fast_mode": True}
    assert torch.autograd.gradcheck(pose, inputs, check_forward_ad=True, **options)
    assert torch.autograd.gradgradcheck(pose, inputs, **options)


def test_points_that_masks_remove_do_not_count_even_if_they_are_nan(generator):
    source, target, _ = clouds(generator, 2)
    padded = [torch.cat([x, torch.full((2, 3, 3), torch.nan)], -2) for x in (source, target)]
    kept = torch.arange(15) < 12
    found = icp_layer(*padded, mask=kept, target_mask=kept.expand(2, 15))
    torch.testing.assert_close(found.rotation, icp_layer(source, target).rotation)


def test_nan_in_one_cloud_stays_there_and_has_no_gradient(generator):
    source, target, _ = clouds(generator, 3)
    expected = icp_layer(source, target)
    target[1, 4] = torch.nan
    leaves = [x.requires_grad_() for x in (source, target)]
    found = icp_layer(*leaves)
    assert found.rotation[1].isnan().all()
    torch.testing.assert_close(found.rotation[::2], expected.rotation[::2])
    for gradient in torch.autograd.grad(found.translation.nansum(), leaves):
        assert gradient.isfinite().all()
        assert not gradient[1].any()


@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_coordinates_of_any_size_give_the_same_rotation(size, planes, generator):
    source, target, normals = (x.float() for x in clouds(generator, 2))
    options = {"normals": normals if planes else None}
    leaves = [(size * x).requires_grad_() for x in (source, target)]
    found = icp_layer(*leaves, reach=0.5 * size, **options)
    expected = icp_layer(source, target, reach=0.5, **options)
    torch.testing.assert_close(found.rotation, expected.rotation, rtol=0, atol=1e-5)
    torch.testing.assert_close(found.translation / size, expected.translation, rtol=0, atol=1e-5)
    gradients = torch.autograd.grad(found.rotation.sum() + found.translation.sum(), leaves)
    assert all(x.isfinite().all() for x in gradients)


@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize("kind", ["one point", "coinciding", "line", "mirrored", "all masked"])
def test_degenerate_clouds_have_finite_results_and_gradients(kind, planes, generator):
    source, target, normals = clouds(generator, 2)
    source = {
        "one point": source[:, :1],
        "coinciding": source[:, :1].expand_as(source),
        "line": source[:, :, :1].expand_as(source),
        "mirrored": -source,
        "all masked": source,
    }[kind]
    leaves = [x.clone().requires_grad_() for x in (source, target)]
    mask = torch.full(source.shape[:-1], kind != "all masked")
    found = icp_layer(*leaves, normals=normals if planes else None, mask=mask)
    assert all(x.isfinite().all() for x in found)
    total = found.rotation.sum() + found.translation.sum()
    if total.requires_grad:
        assert all(x.isfinite().all() for x in torch.autograd.grad(total, leaves))


def test_any_batch_shape(generator):
    source, target, _ = clouds(generator, 2, 3)
    found = icp_layer(source, target)
    torch.testing.assert_close(found.rotation[1, 2], icp_layer(source[1, 2], target[1, 2]).rotation)
    assert found.translation.shape == (2, 3, 3)


def test_without_matches_in_reach_the_start_is_returned(generator):
    source, target, _ = clouds(generator, 1)
    start = Pose.identity(1, dtype=torch.float64)
    source = (source + 100).requires_grad_()
    found = icp_layer(source, target, start, reach=1.0)
    torch.testing.assert_close(found.translation, start.translation)
    (gradient,) = torch.autograd.grad(found.translation.sum(), source)
    assert not gradient.any()


def test_bad_clouds_name_the_argument():
    with pytest.raises(ValueError, match="target must have the leading dimensions of source"):
        icp_layer(torch.rand(2, 5, 3), torch.rand(3, 5, 3))
