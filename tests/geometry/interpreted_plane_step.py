"""The point-to-plane kernel on the CPU, in Triton's interpreter: the step that torch takes.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib

import pytest
import torch

from spoonful.geometry import Pose, random_rotation
from spoonful.geometry.kernels import plane_step_triton
from spoonful.icp import FEWEST, Matches, plane_step


@pytest.mark.parametrize(
    ("dtype", "spread"),
    [(torch.float32, 0.01), (torch.float32, 1.0), (torch.float32, 10.0), (torch.float64, 1.0)],
)
def test_the_kernel_takes_the_same_step(dtype, spread, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    generator = torch.Generator().manual_seed(0)
    moved = (10 * torch.rand(3, 300, 3, generator=generator, dtype=dtype)) + 5
    onto = moved + spread * torch.randn(moved.shape, generator=generator, dtype=dtype)
    normals = torch.randn(moved.shape, generator=generator, dtype=dtype)
    normals[1] = torch.tensor([0.6, 0, 0.8], dtype=dtype)  # a single plane
    normals = torch.nn.functional.normalize(normals, dim=-1)
    weight = torch.rand(3, 300, generator=generator, dtype=dtype)
    weight[2, 2:] = 0  # too few matches
    pose = Pose(
        random_rotation(3, generator=generator, dtype=dtype),
        torch.randn(3, 3, generator=generator, dtype=dtype),
    )
    found = Matches(onto, (moved - onto).square().sum(-1), weight, normals)
    exact = Matches(*(x.double() for x in found))
    wanted = plane_step(moved.double(), exact, pose.to(torch.float64), damping=1e-4)
    given = plane_step_triton.plane_step(moved, onto, normals, weight, *pose, 1e-4, FEWEST)
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs.to(dtype), rtol=1e-5, atol=1e-5)
