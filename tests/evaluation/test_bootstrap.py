from __future__ import annotations

import importlib
import math

import pytest
import torch

from spoonful.evaluation.bootstrap import STATISTICS, bootstrap, interval, replicate
from spoonful.metrics import summarize

module = importlib.import_module("spoonful.evaluation.bootstrap")  # its function has its name


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(generator):
    """300 samples of 80 exponential errors, whose mean, RMSE and median are known."""
    truth = {"mean": 1.0, "rmse": math.sqrt(2), "median": math.log(2)}
    hits = dict.fromkeys(truth, 0)
    samples = 300
    for sample in range(samples):
        errors = torch.empty(80, dtype=torch.float64).exponential_(generator=generator)
        found = bootstrap(errors, resamples=400, seed=sample)
        for name, value in truth.items():
            hits[name] += found[name].low <= value <= found[name].high
    # 95 % are promised. The percentile bootstrap falls a little short on skewed errors, by more
    # for the RMSE, in which a few large ones decide; three standard errors here are 4 %.
    assert 0.90 <= hits["mean"] / samples <= 0.99
    assert 0.90 <= hits["median"] / samples <= 0.99
    assert 0.85 <= hits["rmse"] / samples <= 0.99


def test_a_resample_has_the_statistics_of_the_items_drawn(generator):
    """By the plain way: gather the items of each draw, and summarise them."""
    errors = torch.randn(17, 3, generator=generator, dtype=torch.float64)
    got = replicate({"error": errors}, resamples=50, seed=4)["error"]
    drawn = torch.cat(list(module._draws(17, 50, 4)))
    for row, counts in enumerate(drawn):
        plain = summarize(errors.repeat_interleave(counts, dim=0))
        for name in STATISTICS:
            assert got[name][row].item() == pytest.approx(getattr(plain, name), rel=1e-12)


def test_memory_is_bounded_by_going_in_parts(monkeypatch, generator):
    errors = {"error": torch.rand(30, generator=generator)}
    whole = replicate(errors, resamples=100)["error"]["mean"]
    monkeypatch.setattr(module, "_AT_ONCE", 300)
    parts = replicate(errors, resamples=100)["error"]["mean"]
    assert torch.equal(whole, parts)


def test_a_failed_item_makes_means_infinite_where_it_is_drawn_and_never_nan():
    errors = torch.tensor([1.0, 2, 3, math.nan])
    got = replicate({"error": errors}, resamples=200)["error"]
    drawn = torch.cat(list(module._draws(4, 200, 0)))
    assert torch.equal(got["mean"].isinf(), drawn[:, 3] > 0)
    for values in got.values():
        assert not values.isnan().any()
    found = bootstrap(errors)
    assert found["mean"].low < math.inf
    assert found["mean"].high == math.inf
    assert found["median"].low == 1


def test_the_same_seed_gives_the_same_intervals_and_another_one_does_not(generator):
    errors = torch.rand(40, generator=generator)
    assert bootstrap(errors, seed=1) == bootstrap(errors, seed=1)
    assert bootstrap(errors, seed=1) != bootstrap(errors, seed=2)


def test_one_item_has_no_interval():
    assert math.isnan(bootstrap(torch.tensor([3.0]))["mean"].low)


@pytest.mark.parametrize(
    ("errors", "options", "message"),
    [
        (torch.zeros(0), {}, r"errors must have .* K >= 1, got \(0,\)"),
        (torch.zeros(2, 2, 2), {}, r"shape \(K,\) or \(K, D\)"),
        (torch.zeros(3), {"resamples": 0}, "resamples must be at least 1, got 0"),
        (torch.zeros(3), {"level": 1.0}, "level must lie between 0 and 1"),
    ],
)
def test_mistakes_are_named(errors, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(errors, **options)


def test_metrics_must_be_of_the_same_items():
    with pytest.raises(ValueError, match="same items"):
        replicate({"a": torch.zeros(2), "b": torch.zeros(3)})


def test_nan_among_replicates_is_passed_on():
    assert math.isnan(interval(torch.tensor([1.0, math.nan])).low)
