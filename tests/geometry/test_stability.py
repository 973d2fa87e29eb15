"""rho is the growth of an error, measured; and the status names what went wrong."""

from __future__ import annotations

import pytest
import torch

from geometry.zoo import zoo
from spoonful.geometry import (
    Status,
    kabsch,
    random_rotation,
    refine,
    rotation_from_vector,
    stability,
    vee,
)

ZOO = zoo()


def scaled_pair(a: float, generator: torch.Generator, noise: float = 0.0):
    source = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    R = random_rotation(generator=generator, dtype=torch.float64)
    extra = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    return source, a * (source @ R.mT + noise * extra)


@pytest.mark.parametrize("a", [0.02, 0.1, 0.5, 0.9, 1.0, 1.5, 3.0])
def test_rho_of_a_scaled_copy_is_the_closed_form(a, generator):
    source, target = scaled_pair(a, generator)
    assert stability(source, target, form="source").rho.item() == pytest.approx(
        abs(1 - a), abs=1e-9
    )
    assert stability(source, target, form="target").rho.item() == pytest.approx(
        abs(1 - 1 / a), abs=1e-8
    )


def measured_growth(source, target, form):
    """The factor by which the most unstable small error grows in one iteration."""
    best = kabsch(source, target).rotation
    error = torch.tensor([1.0, 0.7, -0.4], dtype=torch.float64)
    size = 1e-7
    for _ in range(60):  # power iteration: aligns the error with the dominant direction
        error = error / error.norm()
        start = best @ rotation_from_vector(size * error)
        after = refine(source, target, start, iterations=1, form=form).rotation[0]
        error = vee(best.mT @ after) / (2 * size)
        growth = error.norm().item()
    return growth


@pytest.mark.slow
@pytest.mark.parametrize("form", ["source", "target"])
@pytest.mark.parametrize("rho", [0.1, 0.3, 0.7, 1.5, 4.0, 12.0, 50.0])
def test_measured_growth_of_an_error_is_rho_within_five_percent(form, rho, generator):
    # Scale the matches until the cloud has the wanted rho; noise makes it no special case.
    low, high = (1.0, 60.0) if form == "source" else (1 / 60.0, 1.0)
    for _ in range(20):
        a = (low * high) ** 0.5
        source, target = scaled_pair(a, generator.manual_seed(4), noise=0.02)
        too_much = stability(source, target, form=form).rho.item() > rho
        if form == "source":
            low, high = (low, a) if too_much else (a, high)
        else:
            low, high = (a, high) if too_much else (low, a)
    predicted = stability(source, target, form=form).rho.item()
    assert predicted == pytest.approx(rho, rel=0.05)
    assert measured_growth(source, target, form) == pytest.approx(predicted, rel=0.05)


def test_float32_rounding_diverges_at_the_predicted_rate(generator):
    source, target = (x.float() for x in scaled_pair(0.1, generator, noise=0.05))
    best = kabsch(source, target).rotation
    rho = stability(source, target, form="target").rho.item()
    assert rho > 5
    refined = refine(source, target, best, iterations=5, form="target").rotation
    gaps = (refined - best).norm(dim=(-1, -2))
    assert (gaps[4] / gaps[1]).item() ** (1 / 3) == pytest.approx(rho, rel=0.15)
    # The source form, on the same matches, stays where it is.
    calm = refine(source, target, best, iterations=5, form="source").rotation
    assert (calm - best).norm(dim=(-1, -2)).max() < 1e-6


def test_divergence_is_the_papers_sum_over_iterations(generator):
    source, target = scaled_pair(0.05, generator, noise=0.1)
    start = kabsch(source, target).rotation @ rotation_from_vector(
        torch.tensor([1e-4, 0, 0], dtype=torch.float64)
    )
    report = stability(source, target, start, iterations=3, form="target")
    refined = refine(source, target, start, iterations=3, form="target").rotation
    expected = (refined - start).norm(dim=(-1, -2)).sum()
    torch.testing.assert_close(report.divergence, expected)


def test_indicators_of_the_paper_follow_their_definitions(generator):
    source, target = scaled_pair(0.5, generator, noise=0.3)
    R = kabsch(source, target).rotation
    report = stability(source, target, form="target")
    s, t = source - source.mean(0), target - target.mean(0)
    G, F = t.mT @ t / 40, t.mT @ s / 40
    free = torch.linalg.solve(G, F)
    torch.testing.assert_close(report.target_det, torch.linalg.det(G))
    torch.testing.assert_close(report.distance, (free - R).norm(dim=0).max())
    cosine = (free * R).sum(0).abs() / free.norm(dim=0)
    torch.testing.assert_close(report.angle_degrees, torch.rad2deg(torch.acos(cosine)).max())


def test_condition_numbers_are_those_of_the_two_systems(generator):
    source, target = scaled_pair(0.5, generator, noise=0.3)
    report = stability(source, target)
    S = torch.cov(source.mT, correction=0)
    H = (target - target.mean(0)).mT @ (source - source.mean(0)) / 40
    s = torch.linalg.svdvals(H)
    d = torch.linalg.det(H).sign()
    torch.testing.assert_close(report.pose_condition, (s[0] + s[1]) / (s[1] + d * s[2]))
    e = torch.linalg.eigvalsh(S)
    torch.testing.assert_close(report.step_condition, (e[2] + e[1]) / (e[1] + e[0]))


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("identical", Status.STABLE),
        ("planar", Status.STABLE),
        ("collinear", Status.AMBIGUOUS),
        ("two points", Status.AMBIGUOUS),
        ("one point", Status.AMBIGUOUS),
        ("coincident", Status.AMBIGUOUS),
        ("mirrored tie", Status.AMBIGUOUS),
        ("point reflected", Status.AMBIGUOUS),
    ],
)
def test_status_names_the_degenerate_cases(name, status):
    assert Status(stability(*ZOO[name]).status.item()) == status


def test_one_batch_reports_each_cloud_for_itself(generator):
    good, shrunk = scaled_pair(1.0, generator), scaled_pair(0.1, generator)
    line = torch.linspace(0, 1, 40, dtype=torch.float64)[:, None].expand(40, 3)
    broken = good[0].clone()
    broken[3, 1] = torch.nan
    source = torch.stack([good[0], shrunk[0], line, good[0], broken])
    target = torch.stack([good[1], shrunk[1], line, good[1], good[1]])
    mask = torch.ones(5, 40, dtype=torch.bool)
    mask[3] = False
    report = stability(source, target, mask=mask, form="target")
    assert [Status(s).name for s in report.status.tolist()] == [
        "STABLE",
        "UNSTABLE",
        "AMBIGUOUS",
        "EMPTY",
        "NONFINITE",
    ]
    assert report.rho[4].isnan()
    assert report.rho[:4].isfinite().all()
