from __future__ import annotations

import math

import pytest
import torch

from evaluation.small import result
from spoonful.evaluation import compare
from spoonful.evaluation.result import Data


def test_a_paired_interval_sees_what_two_single_ones_do_not(generator):
    """Items differ by much, methods by little: only the pairing finds it."""
    hard = 10 * torch.rand(60, generator=generator).double()
    a = result(hard)
    b = result(hard - 0.1 + 0.05 * torch.randn(60, generator=generator).double().clamp(-1, 1), "b")
    found = compare(a, b).differences["error"]["mean"]
    assert found.difference == pytest.approx(found.second - found.first)
    assert found.interval.low < found.difference < found.interval.high < 0
    assert found.decided
    assert a["error"].intervals["mean"].low < b["error"].summary.mean


def test_a_result_does_not_differ_from_itself(generator):
    same = result(torch.rand(20, 3, generator=generator))
    found = compare(same, same)
    for it in found.differences["error"].values():
        assert it.difference == 0
        assert it.interval == (0, 0)
        assert not it.decided
    assert found.better["error"][0] == 0.5


def test_better_counts_items_and_ties_half():
    found = compare(result(torch.tensor([1.0, 2, 3, 4])), result(torch.tensor([0.0, 1, 3, 9]), "b"))
    assert found.better["error"][0] == 2.5 / 4


def test_results_of_different_things_refuse_to_be_compared():
    ours = result(torch.ones(3))
    for other, message in (
        (result(torch.ones(3), "b", protocol_hash="other"), "different protocols.*other"),
        (result(torch.ones(3), "b", data=Data("toy/test", "abc", 3)), "different data.*abc"),
        (result(torch.ones(3), "b", data=Data("toys", "fedcba", 3)), "different data.*toys"),
        (result(torch.ones(3), "b", index=torch.tensor([0, 1, 5])), "2 items are in only one"),
        (result(torch.ones(2), "b", data=ours.data), "different items"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(ours, other)


def test_failures_count_unless_they_are_left_out():
    a = result(torch.tensor([1.0, 2, math.inf, 4]))
    b = result(torch.tensor([2.0, 2, 2, math.inf]), "b")
    plain = compare(a, b)
    assert math.isnan(plain.differences["error"]["mean"].difference)
    assert not plain.differences["error"]["mean"].decided
    assert plain.differences["error"]["median"].difference == pytest.approx(-1)
    finite = compare(a, b, finite_only=True)
    assert (finite.items, finite.left_out) == (2, 2)
    assert finite.differences["error"]["mean"].difference == 0.5
    with pytest.raises(ValueError, match="leaves no item"):
        compare(result(torch.tensor([math.inf])), result(torch.ones(1)), finite_only=True)


def test_metrics_that_only_one_has_are_left_out():
    a = result(torch.ones(2), errors={"error": torch.ones(2), "extra": torch.ones(2)})
    assert list(compare(a, result(torch.ones(2), "b")).differences) == ["error"]
