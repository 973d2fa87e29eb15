"""Confidence: the verdict never contradicts the warnings."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.floors import box, floor
from pipeline.lumps import lumpy
from spoonful.data.clouds import Cloud
from spoonful.data.normals import estimate_normals
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.confidence import (
    FitStatistics,
    confidence_of,
    statistics_of,
    warnings_of,
)
from spoonful.pipeline.freedom import Freedom, freedom_of
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.rivals import AS_GOOD, exactness_of
from spoonful.pipeline.search import Search

PERFECT = FitStatistics(support=1e4, agreement=1.0, exactness=1.0, share=1.0)
GOOD = FitStatistics(support=100, agreement=0.8, exactness=0.8, share=0.5)


@pytest.mark.parametrize("rival", [AS_GOOD, 0.8, 0.99, 1.0, 5.0])
def test_a_pose_with_a_rival_that_fits_about_as_well_is_never_confident(rival):
    fit = PERFECT._replace(rivals=(rival,))
    assert fit.equals == 1
    assert confidence_of(fit) < CONFIDENT


def test_a_pose_that_little_holds_is_never_confident():
    assert confidence_of(PERFECT._replace(loose=True)) < CONFIDENT


def test_confidence_falls_as_a_rival_comes_nearer():
    found = [
        confidence_of(GOOD._replace(rivals=(rival,))) for rival in (0.0, 0.3, 0.5, 0.69, 0.7, 1.0)
    ]
    assert found == sorted(found, reverse=True)


def test_a_surface_where_a_sensor_looked_through_lowers_confidence():
    found = [
        confidence_of(GOOD._replace(through=through)) for through in (0.0, 0.002, 0.02, 0.05, 0.2)
    ]
    assert found == sorted(found, reverse=True)
    # Edges and noise explain a little of it.
    assert found[0] == found[1] > found[2]


def test_surfaces_that_lie_beside_each_other_are_doubted():
    """As two fronts of a street: many matches and much surface agree, but not exactly."""
    found = [
        confidence_of(GOOD._replace(agreement=0.65, exactness=x)) for x in (0.4, 0.5, 0.7, 0.8)
    ]
    assert found == sorted(found)
    assert found[1] < CONFIDENT < found[3]


def test_the_same_matches_on_more_common_surface_are_weaker_evidence():
    """Two round objects that differ share much surface at some pose, but few matches."""
    found = [confidence_of(GOOD._replace(agreement=0.65, share=x)) for x in (0.1, 0.3, 0.6, 1.0)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("scans", "relief"),
    [
        ((floor(box(1, 1), box(2.5, 1.7)), floor(box(1, 1), box(2.5, 1.7))), 1.0),
        ((floor(box(1, 1), box(2.5, 1.7)), floor(box(1.2, 0.8), box(2.3, 1.9))), 0.0),
        ((floor(), floor()), None),
    ],
    ids=["the same things", "other things", "nothing"],
)
def test_relief_that_lies_elsewhere_is_a_reason_to_doubt(scans, relief):
    """Any two rooms share walls and a floor at some pose, but not what stands in them."""
    search, here = Search(prepare(*scans, 0.06)), Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    fit = statistics_of(search, search.measure(here), relief_of(search, here.at(0)), Freedom())
    doubts = [text for text in warnings_of(search.pair, fit, Freedom(), (1, 1)) if "relief" in text]
    if relief is None:
        assert math.isnan(fit.relief)
    else:
        assert fit.relief == pytest.approx(relief, abs=0.25)
    assert fit.loose == bool(doubts) == (relief == 0.0)


def test_more_relief_must_agree_the_more_the_scans_share_unless_free_space_counts():
    """Two scans of nearly all of a room see the same furniture."""
    shares = (0.1, 1 / 3, 0.5, 2 / 3, 1.0)
    found = [GOOD._replace(share=share).least_relief for share in shares]
    assert found == pytest.approx([0.3, 0.3, 0.375, 0.45, 0.45])
    assert {GOOD._replace(share=share, seen=True).least_relief for share in shares} == {0.3}


def test_exactness_falls_as_surfaces_part():
    generator = torch.Generator().manual_seed(0)
    x, y = 2 * torch.rand(2, 6000, generator=generator) - 1
    hills = torch.stack([x, y, 0.3 * torch.sin(4 * x + 1) * torch.cos(3 * y)], 1).double()
    pair = prepare(Cloud(hills), Cloud(hills))
    found = [
        exactness_of(pair, Pose(torch.eye(3), torch.tensor([0.0, 0.0, up])))
        for up in (0.0, 0.3, 0.6, 1.2)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[3] < 0.1


def test_noisy_normals_of_files_lower_the_score_but_not_the_agreement():
    points = lumpy(3000, 0)
    noise = torch.randn(points.shape, generator=torch.Generator().manual_seed(0)).double()
    normals = torch.nn.functional.normalize(estimate_normals(points) + noise, dim=-1)
    here = Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    fits = []
    for cloud in (Cloud(points), Cloud(points, normals)):
        search = Search(prepare(cloud, cloud))
        judged = search.measure(here)
        relief = relief_of(search, here.at(0))
        freedom = freedom_of(search, here.at(0), relief)
        fits.append((judged, statistics_of(search, judged, relief, freedom)))
    (plain, without), (noisy, given) = fits
    assert noisy.agreement < plain.agreement - 0.05
    assert given.agreement == without.agreement == plain.agreement
    assert given.share == without.share
    assert given.loose == without.loose
