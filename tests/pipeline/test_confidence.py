"""Confidence: the verdict never contradicts the warnings."""

from __future__ import annotations

import pytest

from spoonful.pipeline.alignment import CONFIDENT
from spoonful.pipeline.confidence import AS_GOOD, FitStatistics, confidence_of


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
