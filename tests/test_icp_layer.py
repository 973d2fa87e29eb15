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
