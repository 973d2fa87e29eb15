"""On a GPU: the same points and normals as on the CPU."""

from __future__ import annotations

import pytest
import torch

from spoonful.data.normals import estimate_normals
from spoonful.data.sampling import (
    random_points,
    sample_surface,
    voxel_average_to,
)
from spoonful.frame import Frame
from spoonful.geometry import Pose

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture
def clouds(generator: torch.Generator) -> torch.Tensor:
    points = torch.randn(4, 1000, 3, generator=generator)
    return points / points.norm(dim=-1, keepdim=True)


def test_normals_are_those_of_the_cpu(clouds: torch.Tensor) -> None:
    for points in (clouds, clouds.repeat(1, 6, 1) + 1e-3 * torch.randn(4, 6000, 3)):
        torch.testing.assert_close(
            estimate_normals(points.cuda()).cpu(), estimate_normals(points), atol=1e-3, rtol=0
        )


def test_normals_of_a_large_cloud_take_little_memory(generator: torch.Generator) -> None:
    points = torch.randn(150_000, 3, generator=generator).cuda()
    points = points / points.norm(dim=-1, keepdim=True)
    torch.cuda.reset_peak_memory_stats()
    normals = estimate_normals(points)
    assert torch.cuda.max_memory_allocated() < 2**30
    assert ((normals * points).sum(-1) > 0.99).all()


def test_samples_are_those_of_the_cpu(clouds: torch.Tensor) -> None:
    fewer = voxel_average_to(clouds[0].cuda(), 200, normals=clouds[0].cuda())
    expected = voxel_average_to(clouds[0], 200, normals=clouds[0])
    assert fewer.size == expected.size
    torch.testing.assert_close(fewer.points.cpu(), expected.points)
    torch.testing.assert_close(fewer.normals.cpu(), expected.normals)


def test_generators_of_the_gpu_choose_there(clouds: torch.Tensor) -> None:
    def chosen() -> list[torch.Tensor]:
        generator = torch.Generator("cuda").manual_seed(1)
        points = clouds.cuda()
        faces = torch.arange(999, device="cuda").reshape(-1, 3)
        return [
            random_points(points, 50, generator),
            sample_surface(points[0], faces, 50, generator).points,
        ]

    for first, again in zip(chosen(), chosen(), strict=True):
        assert first.device.type == "cuda"
        assert torch.equal(first, again)


def test_poses_come_back_from_the_gpu(clouds: torch.Tensor) -> None:
    frame = Frame.of(clouds[:2].cuda() * 7 + 100, clouds[2:].cuda() * 5)
    pose = frame.pose_out(Pose.identity(2, device="cuda"))
    back = frame.pose_in(pose).to(torch.float32)
    torch.testing.assert_close(back.translation, torch.zeros(2, 3, device="cuda"))
