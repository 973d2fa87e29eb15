"""The frame of a pair: poses go in and come back, far from the origin and in batches."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spoonful.frame import Frame
from spoonful.geometry import Pose, plane_covariance, rotation_from_vector


def cloud(seed: int, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 3, generator=generator, dtype=torch.float64)


def turn(seed: int) -> torch.Tensor:
    return rotation_from_vector(cloud(seed, 1)[0])


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e4))
def test_a_pose_goes_into_the_frame_and_back(seed: int, scale: float) -> None:
    source = scale * cloud(seed, 50)
    truth = Pose(turn(seed), scale * cloud(seed + 1, 1)[0])
    target = truth.apply(source)
    frame = Frame.of(source, target)
    inside = frame.pose_in(truth)
    torch.testing.assert_close(inside.apply(frame.source_in(source)), frame.target_in(target))
    back = frame.pose_out(inside)
    torch.testing.assert_close(back.rotation, truth.rotation)
    torch.testing.assert_close(back.translation, truth.translation, atol=1e-9 * scale, rtol=1e-9)


def test_a_covariance_leaves_the_frame_as_that_of_the_clouds_own_fit() -> None:
    source, normals = 10 * cloud(0, 40) + 3, torch.nn.functional.normalize(cloud(1, 40), dim=-1)
    truth = Pose(turn(2), cloud(3, 1)[0])
    target = truth.apply(source) + 0.1 * cloud(4, 40)
    frame = Frame.of(source, target)
    inside = (frame.source_in(source), frame.target_in(target), normals, frame.pose_in(truth))
    torch.testing.assert_close(
        frame.covariance_out(plane_covariance(*inside)),
        plane_covariance(source, target, normals, truth),
    )


def test_poses_between_maps_keep_millimetres() -> None:
    corner = torch.tensor([5e5, 5.4e6, 300.0], dtype=torch.float64)
    source = corner + 100 * cloud(0, 50).sigmoid()
    truth = Pose(turn(5), torch.tensor([1e6, -2e6, 50.0], dtype=torch.float64))
    frame = Frame.of(source, truth.apply(source))
    # A network's answer is float32, right to 1e-7 of the extent.
    back = frame.pose_out(frame.pose_in(truth).to(torch.float32))
    assert back.translation.dtype == torch.float64
    assert (back.apply(source) - truth.apply(source)).abs().max() < 1e-3
    torch.testing.assert_close(
        back.rotation @ back.rotation.mT, torch.eye(3, dtype=torch.float64), atol=1e-12, rtol=0
    )


def test_frames_come_in_batches_and_padding_decides_nothing() -> None:
    source = torch.stack([cloud(seed, 30) for seed in range(4)])
    target = torch.stack([2 * cloud(seed, 20) for seed in range(4, 8)])
    padded = torch.cat([source, torch.full((4, 6, 3), 1e6)], dim=1)
    mask = (torch.arange(36) < 30).expand(4, 36)
    frame = Frame.of(padded, target, source_mask=mask)
    for i in range(4):
        alone = Frame.of(source[i], target[i])
        for one, other in zip(alone, frame, strict=True):
            torch.testing.assert_close(one, other[i])
    assert frame.pose_out(Pose.identity(4)).rotation.shape == (4, 3, 3)
