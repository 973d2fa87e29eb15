"""Confidence: the verdict never contradicts the warnings."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from pipeline.lumps import lumpy
from spoonful.data.clouds import Cloud
from spoonful.data.normals import estimate_normals
from spoonful.geometry import Pose
from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.confidence import (
    AS_GOOD,
    FitStatistics,
    confidence_of,
    different,
    exactness_of,
    most_exact_first,
    rivals_of,
    statistics_of,
)
from spoonful.pipeline.freedom import freedom_of
from spoonful.pipeline.prepare import prepare
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


@pytest.mark.parametrize(("score", "first"), [(0.8, 0.0), (0.5, 2.0)])
def test_of_nearby_poses_that_fit_as_well_the_most_exact_is_first(score, first):
    cloud = Cloud(lumpy(8000, seed=0))
    search = Search(prepare(cloud, cloud))
    shifts = torch.tensor([[2.0, 0, 0], [40.0, 0, 0], [0.0, 0, 0]])
    judged = search.measure(Pose(torch.eye(3).expand(3, 3, 3), shifts), ("a", "b", "c"))
    judged = replace(judged, score=torch.tensor([1.0, 0.9, score]))
    found = most_exact_first(search.pair, judged)
    assert float(found.pose.translation[0, 0]) == first
    assert sorted(found.name) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("agreement", "common", "score", "equal"),
    [
        (0.74, 100.0, 0.3, True),
        (0.70, 100.0, 0.3, False),  # surfaces that agree less
        (0.74, 80.0, 0.3, False),  # less common surface
        (0.74, 100.0, 0.1, False),  # hardly any matches
    ],
)
def test_a_rival_that_fits_as_well_is_equal_even_if_fewer_matches_agree(
    agreement, common, score, equal
):
    half = lumpy(3000, seed=0) + torch.tensor([0.5, 0, 0])
    around = torch.diag(torch.tensor([-1.0, -1.0, 1.0]))
    cloud = Cloud(torch.cat([half, half @ around.double()]))
    search = Search(prepare(cloud, cloud))
    judged = replace(
        search.measure(Pose(torch.stack([torch.eye(3), around]), torch.zeros(2, 3))),
        agreement=torch.tensor([0.75, agreement]),
        common=torch.tensor([100.0, common]),
        score=torch.tensor([1.0, score]),
    )
    found = rivals_of(search, judged)
    torch.testing.assert_close(found, torch.tensor([0.0, 1.0 if equal else score]))


def test_poses_on_the_way_to_the_same_place_are_no_rivals():
    cloud = Cloud(lumpy(8000, seed=0))
    search = Search(prepare(cloud, cloud))
    shifts = torch.tensor([[0.0, 0, 0], [3.2, 0, 0], [40.0, 0, 0]])
    judged = search.measure(Pose(torch.eye(3).expand(3, 3, 3), shifts))
    judged = replace(judged, score=torch.tensor([1.0, 0.9, 0.9]))
    assert different(search.pair, judged.pose, judged.pose.at(0)).tolist() == [False, True, True]
    torch.testing.assert_close(rivals_of(search, judged), torch.tensor([0.0, 0.0, 0.9]))


@pytest.mark.parametrize("furnished", [False, True])
def test_a_rival_that_only_fits_the_walls_is_not_equal(furnished):
    """A room turned by half a turn: its walls lie on each other, its furniture does not."""
    generator = torch.Generator().manual_seed(0)
    walls = torch.rand(6, 3000, 3, generator=generator, dtype=torch.float64) - 0.5
    for side, axis, end in zip(walls, (0, 0, 1, 1, 2, 2), (-0.5, 0.5) * 3, strict=True):
        side[:, axis] = end
    chest = 0.25 * walls.flatten(0, 1) + torch.tensor([0.25, 0.3, -0.375])
    room = walls.flatten(0, 1) * torch.tensor([6.0, 4.0, 3.0])
    rooms = [room, chest * torch.tensor([6.0, 4.0, 3.0])] if furnished else [room]
    cloud = Cloud(torch.cat(rooms))
    search = Search(prepare(cloud, cloud, 0.1))
    around = torch.diag(torch.tensor([-1.0, -1.0, 1.0]))
    # About the middle of the room; the frame is about the centroid.
    middle = -search.pair.frame.target_center.float() / 0.1
    shifts = torch.stack([torch.zeros(3), middle - around @ middle])
    judged = search.measure(Pose(torch.stack([torch.eye(3), around]), shifts))
    judged = replace(judged, score=torch.tensor([1.0, 0.3]))
    assert float(judged.agreement[1]) > 0.9
    judged = replace(judged, agreement=torch.tensor([0.99, 0.99]))
    found = float(rivals_of(search, judged)[1])
    assert found == pytest.approx(0.3 if furnished else 1.0)


def test_noisy_normals_of_files_lower_the_score_but_not_the_agreement():
    points = lumpy(3000, 0)
    noise = torch.randn(points.shape, generator=torch.Generator().manual_seed(0)).double()
    normals = torch.nn.functional.normalize(estimate_normals(points) + noise, dim=-1)
    here = Pose(torch.eye(3).unsqueeze(0), torch.zeros(1, 3))
    fits = []
    for cloud in (Cloud(points), Cloud(points, normals)):
        search = Search(prepare(cloud, cloud))
        judged = search.measure(here)
        fits.append((judged, statistics_of(search, judged, freedom_of(search, here.at(0)))))
    (plain, without), (noisy, given) = fits
    assert noisy.agreement < plain.agreement - 0.05
    assert given.agreement == without.agreement == plain.agreement
    assert given.share == without.share
    assert given.loose == without.loose
