"""Point-to-plane layers: the step, its gradient, and the gradient of the minimum."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spoonful.geometry import Pose, random_rotation
from spoonful.geometry.point_to_plane import plane_minimum, point_to_plane


def planes(generator, n=14, noise=0.05):
    normals = torch.nn.functional.normalize(
        torch.randn(n, 3, generator=generator, dtype=torch.float64), dim=-1
    )
    target = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    rotation = random_rotation(max_degrees=10, generator=generator, dtype=torch.float64)
    shake = noise * torch.randn(n, 3, generator=generator, dtype=torch.float64)
    return (target + shake - 0.1) @ rotation, target, normals


def converged(*inputs: Tensor, rounds: int = 20) -> Pose:
    pose = None
    for _ in range(rounds):
        pose = point_to_plane(*inputs, start=pose)
    assert pose is not None
    return pose


def test_steps_converge_to_the_pose_of_moved_planes(generator):
    source, target, normals = planes(generator, noise=0)
    pose = converged(source, target, normals, rounds=8)
    torch.testing.assert_close(pose.apply(source), target)


def test_the_symmetric_step_is_exact_on_spheres(generator):
    normals = torch.nn.functional.normalize(
        torch.randn(300, 3, generator=generator, dtype=torch.float64), dim=-1
    )
    slid = torch.nn.functional.normalize(normals + 0.2 * normals.roll(1, 0), dim=-1)
    centres = 3 * torch.eye(3, dtype=torch.float64).repeat(100, 1)  # three spheres: no free turn
    shift = torch.tensor([0.1, 0.05, -0.1], dtype=torch.float64)
    source, target = slid + centres + shift, normals + centres
    plain = point_to_plane(source, target, normals)
    symmetric = point_to_plane(source, target, normals, source_normals=slid)
    torch.testing.assert_close(symmetric.translation, -shift)
    assert float((plain.translation + shift).norm()) > 1e-4


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_step_passes_gradcheck(symmetric, generator):
    source, target, normals = planes(generator)
    weights = torch.rand(14, generator=generator, dtype=torch.float64) + 0.3
    other = normals.flip(0).clone() if symmetric else None
    inputs = [x.requires_grad_() for x in (source, target, normals, weights)]
    assert torch.autograd.gradcheck(
        lambda *x: tuple(point_to_plane(*x, source_normals=other)),
        inputs,
        check_forward_ad=True,
        fast_mode=True,
    )


def test_the_gradient_of_the_minimum_equals_that_of_unrolled_steps(generator):
    source, target, normals = planes(generator)
    weights = torch.rand(14, generator=generator, dtype=torch.float64) + 0.3
    inputs = [x.requires_grad_() for x in (source, target, normals, weights)]
    with torch.no_grad():
        pose = converged(*inputs)
    implicit = plane_minimum(*inputs[:3], pose, inputs[3])
    direction = torch.randn(3, 4, generator=generator, dtype=torch.float64)

    def loss(pose: Pose) -> Tensor:
        return (pose.matrix()[:3] * direction).sum()

    ours = torch.autograd.grad(loss(implicit), inputs)
    theirs = torch.autograd.grad(loss(converged(*inputs)), inputs)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-8)


def test_both_modes_of_the_minimum_pass_gradcheck(generator):
    inputs = [x.requires_grad_() for x in planes(generator, n=10)]

    def minimum(*x: Tensor) -> tuple[Tensor, ...]:
        with torch.no_grad():
            pose = converged(*(y.detach() for y in x))
        return tuple(plane_minimum(*x, pose))

    assert torch.autograd.gradcheck(minimum, inputs, atol=1e-6, fast_mode=True)


def test_one_plane_leaves_motions_along_it_alone(generator):
    points = torch.rand(30, 3, generator=generator, dtype=torch.float64)
    points[:, 2] = 0
    up = torch.tensor([0.0, 0, 1], dtype=torch.float64).expand_as(points)
    raised = points + torch.tensor([0.3, 0.2, 0.5], dtype=torch.float64)
    pose = point_to_plane(raised, points, up)
    torch.testing.assert_close(pose.rotation, torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(
        pose.translation, torch.tensor([0, 0, -0.5], dtype=torch.float64), rtol=0, atol=1e-9
    )


def test_masked_points_do_not_count(generator):
    source, target, normals = planes(generator)
    mask = torch.arange(14) < 10
    spoilt = torch.where(mask[:, None], target, torch.nan)
    found = point_to_plane(source, spoilt, normals, mask=mask)
    expected = point_to_plane(source[:10], target[:10], normals[:10])
    torch.testing.assert_close(found.rotation, expected.rotation)
