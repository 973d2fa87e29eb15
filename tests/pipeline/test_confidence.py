"""Confidence: the verdict never contradicts the warnings."""

from __future__ import annotations

import pytest
import torch

from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.confidence import AS_GOOD, FitStatistics, confidence_of, freedom_of
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.search import Search


@pytest.mark.parametrize("rival", [AS_GOOD, 0.8, 0.99, 1.0, 5.0])
def test_a_pose_with_a_rival_that_fits_about_as_well_is_never_confident(rival):
    fit = FitStatistics(support=1e4, agreement=1.0, share=1.0, rivals=(rival,))
    assert fit.equals == 1
    assert confidence_of(fit) < CONFIDENT


def test_a_pose_that_little_holds_is_never_confident():
    fit = FitStatistics(support=1e4, agreement=1.0, share=1.0, loose=True)
    assert confidence_of(fit) < CONFIDENT


def test_confidence_falls_as_a_rival_comes_nearer():
    found = [
        confidence_of(FitStatistics(support=100, agreement=0.8, share=0.5, rivals=(rival,)))
        for rival in (0.0, 0.3, 0.5, 0.69, 0.7, 1.0)
    ]
    assert found == sorted(found, reverse=True)


def test_a_surface_where_a_sensor_looked_through_lowers_confidence():
    found = [
        confidence_of(FitStatistics(support=100, agreement=0.8, share=0.5, through=through))
        for through in (0.0, 0.005, 0.02, 0.05, 0.2)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] - found[1] < 0.05


def roofs(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The heights of gentle hills with flat roofs, as a scanner sees them from above."""
    height = 3 * torch.sin(x / 23) + 2 * torch.cos(y / 17 + x / 41)
    generator = torch.Generator().manual_seed(0)
    for left, front, top in torch.rand(40, 3, generator=generator).tolist():
        on = ((x - 200 * left).abs() < 9) & ((y - 200 * front).abs() < 9)
        height = torch.where(on, 5 + 9 * top, height)
    return height


def from_above(start: float, seed: int, *, bare: bool) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.rand(2, 20_000, generator=generator)
    x, y = start + 150 * x, 200 * y
    z = torch.zeros_like(x) if bare else roofs(x, y)
    return torch.stack([x, y, z + 0.02 * torch.randn(z.shape, generator=generator)], -1)


@pytest.mark.slow
@pytest.mark.parametrize("bare", [False, True], ids=["hills", "plain"])
def test_slight_slopes_and_roofs_seen_from_above_hold_a_pose_and_a_plain_does_not(bare):
    scans = [from_above(start, seed, bare=bare) for start, seed in ((0, 1), (50, 2))]
    same = Pose(torch.eye(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64))
    pair = prepare(*(Cloud(scan.double()) for scan in scans))
    freedom = freedom_of(Search(pair), pair.frame.pose_in(same))
    assert (len(freedom.slides), len(freedom.turns)) == ((2, 1) if bare else (0, 0))
