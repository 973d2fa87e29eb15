"""benchmarks/scans.py: turned pairs, answers that agree, and the table."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
import torch

from scripts import load_benchmark
from spoonful.data.clouds import Cloud

scans = load_benchmark("scans")


@pytest.fixture
def pair():
    cloud = Cloud(torch.rand(50, 3, generator=torch.Generator().manual_seed(0)).double())
    return scans.Pair("some", "pair", cloud, cloud, np.eye(4), 5.0, 0.2, 0.1)


def answers(monkeypatch, nudge):
    """Let `auto` undo the turn and then move the source by `nudge(seed)` along x."""

    def auto(pair, seed):
        shift = np.eye(4)
        shift[0, 3] = nudge(seed)
        return scans.Outcome(shift @ pair.truth)

    monkeypatch.setattr(scans, "auto", auto)


@pytest.mark.parametrize("turns", [1, 3])
def test_equal_answers_are_steady_however_the_source_is_turned(pair, turns, monkeypatch):
    answers(monkeypatch, lambda seed: 0.0)
    assert scans.steady(pair, 3, turns, False)


@pytest.mark.parametrize(
    ("truth", "far"), [(0.0, 0.3), (0.15, -0.1)], ids=["another pose", "another verdict"]
)
def test_other_answers_are_not_steady(pair, truth, far, monkeypatch):
    answers(monkeypatch, lambda seed: far * (seed == 2))
    right = np.eye(4)
    right[0, 3] = truth
    assert not scans.steady(pair._replace(truth=right), 3, 3, False)
    assert scans.steady(pair._replace(truth=right), 2, 2, False)


def test_a_method_without_its_package_says_so(monkeypatch):
    monkeypatch.setenv("SPOONFUL_PYTHON_KISS_MATCHER", "/no/such/python")
    with pytest.raises(ImportError, match="SPOONFUL_PYTHON_KISS_MATCHER"):
        scans.METHODS["kiss"]()


def test_the_stages_of_a_registration_are_told_apart(pair):
    spent = scans.stages(pair, "cpu")
    assert {"prepare", "fpfh", "Field", "settle", "polish", "the rest"} <= {*spent}
    assert min(spent.values()) >= 0
    assert scans.profile([spent, spent]).count("\n") == len(spent) + 2


def test_an_interval_counts_pairs_and_not_their_turns():
    rows = [
        scans.Row("some", f"{pair}", pair < 6 or turn == 0, True, 0.95, 1.0, 1.0)
        for pair in range(8)
        for turn in range(3)
    ]
    cells = dict(zip(scans.HEADER, scans.report("auto", rows)[0], strict=True))
    assert (cells["turns"], cells["right"]) == ("3", "20 of 24")
    assert scans.report("auto", rows)[0][4] == scans.interval(20 / 24, 8)
    assert scans.interval(20 / 24, 8) in scans.reliability(rows)


@pytest.mark.parametrize(
    ("kind", "truth", "auto", "peer"),
    [("bunny", np.eye(4), 3, 2), ("simulated", np.eye(4), 1, 1), ("apart", None, 3, 0)],
)
def test_real_pairs_have_more_turns_and_strangers_are_for_auto_only(pair, kind, truth, auto, peer):
    given = pair._replace(kind=kind, truth=truth)
    options = Namespace(turns=3, peer_turns=2)
    assert scans.turns_of(given, "auto", options) == auto
    assert scans.turns_of(given, "ransac", options) == peer
