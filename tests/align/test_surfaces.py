"""All scans fitted to each other on their surfaces."""

from __future__ import annotations

import math

import torch

from pipeline.lumps import lumpy, off_by, view
from spoonful.align.surfaces import Surface, refine
from spoonful.data.normals import unsigned_normals
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.neighbors import Index


def ring(count: int) -> list[Surface]:
    """Views all around one solid, in its frame."""
    found = []
    for k in range(count):
        angle = 2 * math.pi * k / count
        points = view(lumpy(3000, k), (math.cos(angle), math.sin(angle), 0.3)).float()
        found.append(Surface(Index(points), unsigned_normals(points, 12), 0.1))
    return found


def test_a_ring_of_scans_that_drifted_closes_again() -> None:
    surfaces = ring(6)
    drift = [
        Pose(
            rotation_from_vector(0.012 * k * torch.tensor([0.5, -0.3, 1.0], dtype=torch.float64)),
            0.012 * k * torch.tensor([1.0, 0.5, -0.5], dtype=torch.float64),
        )
        for k in range(6)
    ]
    pairs = [(k, (k + 1) % 6, surfaces[k], surfaces[(k + 1) % 6]) for k in range(6)]
    found = refine(dict(enumerate(drift)), pairs)
    still = Pose.identity(dtype=torch.float64)
    assert found[0] is drift[0]
    before = [off_by(pose, still) for pose in drift]
    after = [off_by(found[k], still) for k in range(6)]
    assert max(before)[0] > 3
    assert max(pair[0] for pair in after) < 0.2
    assert max(pair[1] for pair in after) < 0.004


def test_scans_on_a_plane_do_not_slide_along_it() -> None:
    generator = torch.Generator().manual_seed(0)
    flat = torch.rand(400, 3, generator=generator) * torch.tensor([1.0, 1.0, 0.0])
    up = torch.tensor([0.0, 0.0, 1.0]).expand(400, 3)
    plane = Surface(Index(flat), up, 0.1)
    lifted = Pose(torch.eye(3).double(), torch.tensor([0.05, 0.02, 0.04]).double())
    found = refine({0: Pose.identity(dtype=torch.float64), 1: lifted}, [(0, 1, plane, plane)])
    wanted = torch.tensor([0.05, 0.02, 0.0]).double()
    torch.testing.assert_close(found[1].translation, wanted, atol=1e-3, rtol=0)
