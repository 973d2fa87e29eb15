"""The analysis: every figure is drawn from its data, and says what the theory says."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from scripts import load_benchmark
from spoonful.cli.app import run
from spoonful.data import synthetic
from spoonful.models import DCP, PointNetLK, RPMNet
from spoonful.training import build, override
from spoonful.training.config import Config

pytest.importorskip("matplotlib")

load_benchmark("analyze")
from analysis import cases as measures  # noqa: E402
from analysis import ours  # noqa: E402
from analysis.cases import Cases, growth, measure, resized, scaled  # noqa: E402
from analysis.plots import THEMES, Drawing, styled  # noqa: E402
from analysis.report import FIGURES, analyze, in_short  # noqa: E402
from analysis.subject import (  # noqa: E402
    Curve,
    Subject,
    compared,
    last_layer,
    read_curves,
)

TINY = (
    "dcp.embedding=pointnet",
    "dcp.emb_dims=16",
    "dcp.ff_dims=16",
    "dcp.n_heads=2",
    "data.protocol=dcp-unseen",
    "data.points=48",
)


def line(step: int, rho: float) -> dict:
    found = {"rho_target": rho, "rho_source": 0.9, "extent_ratio": 2.0, "divergence_median": 1e-6}
    return {"step": step, "validation": found}


@pytest.fixture(scope="module")
def subject() -> Subject:
    config = override(Config(), TINY)
    torch.manual_seed(0)
    return Subject(
        name="tiny",
        model=build.model(config).eval(),
        data=synthetic.load("test", per_category=1, points=96),
        training_data=synthetic.load("train", per_category=1, points=96),
        protocol=build.protocol(config),
        config=config,
        curves=[Curve("one", [line(0, 30.0), line(10, 0.5)]), Curve("two", [line(0, 20.0)])],
        pairs=8,
        steps=4,
        batch_size=4,
    )


@pytest.fixture(scope="module")
def drawings(subject) -> dict[str, Drawing]:
    return {name: make(subject) for name, make in FIGURES.items()}


def rows_of(drawing: Drawing) -> list[dict]:
    return [dict(zip(drawing.data.columns, row, strict=True)) for row in drawing.data.rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_data_and_can_be_drawn(drawings, name):
    drawing = drawings[name]
    rows = list(csv.reader(io.StringIO(drawing.data.csv())))
    assert len(rows) > 2
    assert all(len(row) == len(drawing.data.columns) for row in rows)
    assert drawing.caption.endswith(".")
    assert " nan" not in drawing.caption
    if drawing.draw is None:
        assert drawing.shown is not None
        return
    with styled("light") as theme:
        figure = drawing.draw(theme)
    for axes in figure.axes:
        assert axes.get_xlabel()
    assert any(axes.get_ylabel() or axes.get_title(loc="left") for axes in figure.axes)


@pytest.mark.slow
def test_the_report_is_one_file_for_light_and_dark_pages(subject, tmp_path):
    names = ["feasible-set", "correspondences", "errors"]
    page = analyze(subject, tmp_path, names).read_text()
    assert page.count("<source media") == 2
    assert not re.search(r'(?:src|srcset|href)="(?:https?:)?//', page)
    for name in names:
        assert f'id="{name}"' in page
        assert (tmp_path / f"{name}.csv").is_file()
    assert (tmp_path / "feasible-set.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "feasible-set.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert list(numbers["figures"]) == names
    assert numbers["figures"]["correspondences"]["extent_ratio"] > 0
    # It begins with what makes the refinement diverge.
    assert page.index("A rho above 1.") < page.index("<h2>The linearised constraints")
    assert numbers["in_short"]["test, target form: rho, median"] > 0
    assert in_short(subject, ["feasible-set"]) is None


@pytest.mark.parametrize(("scale", "diverges"), [(0.25, "target"), (4.0, "source"), (1.0, None)])
def test_small_matches_make_the_target_form_diverge_and_large_ones_the_source_form(scale, diverges):
    short = ours.in_short(SimpleNamespace(cases=scaled([scale] * 3)))
    assert short.facts["test: extent of the matches over their source's, median"] == pytest.approx(
        scale, rel=0.05
    )
    for form in ("source", "target"):
        for share in ("share with rho above 1", "share that has left Kabsch"):
            assert short.facts[f"test, {form} form: {share}"] == (form == diverges)


@pytest.mark.slow
def test_measured_growth_is_rho_in_both_forms_and_precisions(drawings):
    rows = rows_of(drawings["divergence-vs-rho"])
    assert {(row["form"], row["geometry"]) for row in rows} == {
        (form, dtype) for form in ("source", "target") for dtype in ("float32", "float64")
    }
    near = [abs(row["growth"] / row["rho"] - 1) < 0.05 for row in rows]
    assert sum(near) > 0.9 * len(near)
    for form in ("source", "target"):
        share = drawings["divergence-vs-rho"].facts[f"rho, {form} form: share predicted"]
        assert share > 0.9


@pytest.mark.slow
def test_in_float64_the_layer_changes_nothing_where_it_changes_the_gradient_in_float32(drawings):
    rows = rows_of(drawings["divergence-vs-gradient"])
    changes = {
        geometry: max(
            row["gradient_relative"]
            for row in rows
            if (row["form"], row["geometry"]) == ("target", geometry)
        )
        for geometry in ("float32", "float64")
    }
    assert changes["float32"] > 1e-2
    assert changes["float64"] < 1e-4


@pytest.mark.slow
def test_isometric_matches_converge_from_any_start_within_six_steps(drawings):
    for row in rows_of(drawings["convergence"]):
        if row["matches"].startswith("isometric") and row["refinements"] == 6:
            assert row["median"] < 1e-6, row["start_degrees"]


@pytest.mark.slow
def test_the_steps_of_an_epoch_are_those_of_the_paper(subject):
    assert [tuple(p.shape) for p in last_layer(subject.model)] == [(16,), (16,)]
    decoder = subject.model.pointer.model.decoder
    assert last_layer(subject.model)[0] is next(decoder.norm.parameters())
    assert len(subject.epoch.steps) == 4
    assert len(subject.epoch.cases) == 16


def test_models_of_each_kind_have_a_last_layer():
    for model in (DCP.v1(), RPMNet(feat_dim=8)):
        assert last_layer(model)


def test_gradients_are_compared_for_weighted_matches_too():
    torch.manual_seed(1)
    model = RPMNet(features=("xyz", "dxyz"), feat_dim=8, neighbors=4, train_iterations=1).train()
    config = override(Config(), [*TINY, "model=rpmnet"])
    corpus = synthetic.load("train", per_category=1, points=96)
    other = Subject("rpm", model, corpus, corpus, build.protocol(config), batch_size=3)
    batch = next(other.training_batches(1))
    changes, loss = compared(model, model(batch), batch)
    assert loss.isfinite()
    assert all(step.divergence >= 0 for step in changes.values())


def test_resizing_matches_moves_rho_and_not_the_pose():
    some = scaled([0.3, 1.0, 2.0], noise=0.0)
    other = resized(some)
    before, after = (measure(each, "source") for each in (some, other))
    assert (before["rho"] - after["rho"]).abs().min() > 1e-3
    torch.testing.assert_close(
        measures.kabsch(some.source, some.matches).rotation,
        measures.kabsch(other.source, other.matches).rotation,
        rtol=0,
        atol=1e-5,
    )


def test_growth_of_weighted_cases():
    some = scaled([0.25])
    spoilt = some.matches.clone()
    spoilt[:, :5] += 10
    weights = torch.ones(1, spoilt.shape[1])
    weights[:, :5] = 0
    clean = growth(Cases(some.source[:, 5:], some.matches[:, 5:]), "target")
    torch.testing.assert_close(
        growth(Cases(some.source, spoilt, weights), "target"), clean, rtol=1e-3, atol=1e-3
    )


def test_themes_tell_series_apart_by_luminance_from_their_paper():
    def light(color: str) -> float:
        return sum(
            share * int(color[i : i + 2], 16) / 255
            for share, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5))
        )

    for mode, theme in THEMES.items():
        with styled(mode) as found:
            assert found is theme
        for color in (theme.ink, theme.faint, *theme.series[:5]):
            assert abs(light(color) - light(theme.paper)) > 0.25, (mode, color)


@pytest.mark.slow
def test_what_cannot_be_drawn_is_said_in_the_report(subject, tmp_path):
    bare = replace(subject, curves=[])
    page = analyze(bare, tmp_path, ["feasible-set", "rho-during-training"]).read_text()
    assert "Not drawn: rho-during-training shows the logs of training runs" in page
    with pytest.raises(ValueError, match="logs of training runs"):
        analyze(bare, tmp_path, ["rho-during-training"])


@pytest.mark.slow
def test_a_model_without_matches_is_refused_in_words(subject, tmp_path):
    lk = replace(subject, model=PointNetLK(dim=16, iterations=1).eval(), config=None)
    with pytest.raises(ValueError, match="makes no matches, and there is nothing to refine"):
        analyze(lk, tmp_path, ["errors"])
    page = analyze(lk, tmp_path, ["feasible-set", "errors"]).read_text()
    assert "Not drawn: this model makes no matches" in page
    assert 'id="in-short"' not in page


def test_curves_are_read_from_runs_and_from_results(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text(json.dumps({"epoch": 0, **line(5, 1.0)}) + "\n")
    assert [curve.name for curve in read_curves(tmp_path / "run")] == ["run"]
    content = {
        "model": "dcp",
        "condition": "kabsch",
        "untrained": line(0, 9.0)["validation"],
        "log": [line(5, 1.0)],
    }
    (tmp_path / "dcp-kabsch-seed0.json").write_text(json.dumps(content))
    (curve,) = read_curves(tmp_path)
    assert (curve.name, [each["step"] for each in curve.lines]) == ("dcp kabsch", [0, 5])
    with pytest.raises(ValueError, match="holds no log"):
        read_curves(tmp_path / "nothing")


@pytest.mark.slow
def test_the_command_draws_one_figure_without_training_anything(tmp_path, capsys):
    assert run(["analyze", "feasible-set", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "feasible-set.svg").is_file()
    assert "report.html" in capsys.readouterr().out
    (tmp_path / "file").touch()
    assert run(["analyze", "--out", str(tmp_path / "file")]) == 2
    assert "--out must be a folder, and" in capsys.readouterr().err
    assert run(["analyze", "feasable-set"]) == 2
    assert "no figure named 'feasable-set'; did you mean 'feasible-set'?" in capsys.readouterr().err


def test_a_method_that_is_no_network_is_refused(capsys):
    assert run(["analyze", "--model", "icp"]) == 2
    assert "is no network" in capsys.readouterr().err
