"""All scans fitted to each other on their surfaces."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.lumps import lumpy, off_by, view
from spoonful.align.surfaces import Surface, covariances, refine
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


def links(surfaces: list[Surface]) -> list[tuple[int, int, Surface, Surface]]:
    """Each view with the next one, and the last with the first."""
    ends = [(k, (k + 1) % len(surfaces)) for k in range(len(surfaces))]
    return [(i, j, surfaces[i], surfaces[j]) for i, j in ends]


def test_a_ring_of_scans_that_drifted_closes_again() -> None:
    surfaces = ring(6)
    drift = [
        Pose(
            rotation_from_vector(0.012 * k * torch.tensor([0.5, -0.3, 1.0], dtype=torch.float64)),
            0.012 * k * torch.tensor([1.0, 0.5, -0.5], dtype=torch.float64),
        )
        for k in range(6)
    ]
    pairs = links(surfaces)
    found = refine(dict(enumerate(drift)), pairs)
    still = Pose.identity(dtype=torch.float64)
    assert found[0] is drift[0]
    before = [off_by(pose, still) for pose in drift]
    after = [off_by(found[k], still) for k in range(6)]
    assert max(before)[0] > 3
    assert max(pair[0] for pair in after) < 0.2
    assert max(pair[1] for pair in after) < 0.004
    # The errors are about as large as their covariances say.
    off = [found[k].translation @ torch.linalg.solve(c[3:, 3:], found[k].translation) / 3
           for k, c in covariances(found, pairs, {}).items() if k]  # fmt: skip
    assert 0.4 < math.sqrt(sum(off) / len(off)) < 2.5


def test_covariances_grow_along_a_chain_and_shrink_with_a_loop() -> None:
    pairs = links(ring(6))
    poses = refine({k: Pose.identity(dtype=torch.float64) for k in range(6)}, pairs)
    loop = covariances(poses, pairs, {})
    chain = [float(c.trace()) for c in covariances(poses, pairs[:-1], {}).values()]
    assert chain[0] == 0
    assert chain[5] > 2 * chain[1]
    assert float(loop[5].trace()) < 0.5 * chain[5]


def test_a_scale_that_may_be_off_is_in_the_covariance() -> None:
    generator = torch.Generator().manual_seed(0)
    points = 4 * torch.rand(1500, 3, generator=generator)
    side = torch.arange(1500) % 3
    points[torch.arange(1500), side] = 0.0  # a corner of three planes
    corner = Surface(Index(points), torch.eye(3)[side], 0.5)
    away = torch.tensor([100.0, 0.0, 0.0])
    far = Surface(Index(points + away), corner.normals, 0.5)
    poses = {0: Pose.identity(dtype=torch.float64), 1: Pose(torch.eye(3).double(), -away.double())}
    pairs = [(0, 1, corner, far)]
    spread = covariances(poses, pairs, {0: 0.0, 1: 0.02})[1]
    # It moves the corner, 100 m from the centre of the second scan, by 2 m.
    assert float(spread[3, 3].sqrt()) == pytest.approx(2.0, rel=0.05)
    assert float(covariances(poses, pairs, {})[1][3, 3].sqrt()) < 0.1


def test_scans_on_a_plane_do_not_slide_along_it() -> None:
    generator = torch.Generator().manual_seed(0)
    flat = torch.rand(400, 3, generator=generator) * torch.tensor([1.0, 1.0, 0.0])
    up = torch.tensor([0.0, 0.0, 1.0]).expand(400, 3)
    plane = Surface(Index(flat), up, 0.1)
    lifted = Pose(torch.eye(3).double(), torch.tensor([0.05, 0.02, 0.04]).double())
    found = refine({0: Pose.identity(dtype=torch.float64), 1: lifted}, [(0, 1, plane, plane)])
    wanted = torch.tensor([0.05, 0.02, 0.0]).double()
    torch.testing.assert_close(found[1].translation, wanted, atol=1e-3, rtol=0)
