"""The script behind docs/baselines.md: what it runs, and that its tables are what was measured."""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.small import shapes
from scripts import load_benchmark
from spoonful.classical import presets
from spoonful.classical.presets import Tuned
from spoonful.data import protocols
from spoonful.evaluation import evaluate, methods
from spoonful.training import shipped

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return load_benchmark("baselines")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The files of a run: two methods on an item or two, a search, a time."""
    path = tmp_path_factory.mktemp("measured")
    corpus = shapes(1024)
    for name in ("identity", "icp"):
        for protocol in ("rpm-crop", "dcp-clean"):
            card = replace(protocols.get(protocol), points=512)
            found = evaluate(methods.get(name), card, corpus, limit=2, chamfer=False)
            found.save(path / "results" / f"{name}-{protocol}.json")
            if name == "icp":
                found.save(path / "times" / f"{name}-{protocol}.json")
    search = {"items": 9, "trials": 3, "winner": 0, "finalists": [], "protocol": "rpm-crop"}
    search |= {"score_published": 2.0, "score_tuned": 2.0}
    settings = {"iterations": 30, "max_distance": 0.5}
    text = Tuned("icp", settings, search).as_json()
    (path / "tuned").mkdir()
    (path / "tuned" / "icp@rpm-crop.json").write_text(text)
    about = {"processor": "a fast one", "device": "a GPU", "libraries": "open3d 0.19.0"}
    (path / "machine.json").write_text(json.dumps(about))
    return path


@pytest.fixture
def folder(measured, tmp_path, monkeypatch):
    """A copy of the run's files, for a test to change."""
    monkeypatch.setattr(presets, "FOLDER", tmp_path / "presets")
    return shutil.copytree(measured, tmp_path, dirs_exist_ok=True)


def collected(script, folder, **how):
    summary = folder / "summary.json"
    options = argparse.Namespace(folders=[folder], summary=summary, presets=False, keep=False)
    script.collect(argparse.Namespace(**{**vars(options), **how}))
    return json.loads(summary.read_text())


@pytest.mark.slow
def test_tables_have_a_row_for_each_result_beside_the_papers_numbers(script, folder):
    content = collected(script, folder)
    lines = script.render("rpm-crop", content).splitlines()
    assert lines[0].startswith("| method | settings | items | aniso. R ° | iso. R ° (95 %)")
    assert lines[2].startswith("| no motion |  | 2 |")
    assert lines[3].startswith("| icp | published, none better | 2 |")
    assert lines[3].endswith("| 27.2 |")
    row = next(r for r in content["rows"] if (r["method"], r["protocol"]) == ("icp", "rpm-crop"))
    mean = row["statistics"]["rotation_degrees"]["mean"]
    assert script._short(mean) in lines[3]
    assert "**" in lines[3]
    assert "RMSE(R) °" in script.render("dcp-clean", content)
    assert "29.9, 23.5" in script.render("dcp-clean", content)
    assert "a fast one" in script.render_machine(content)
    assert "| icp | rpm-crop | 3 | 9 | 2.00 | 2.00 |  | as published |" in script.render_searches(
        content["searches"]
    )


@pytest.mark.slow
def test_results_that_are_collected_later_replace_their_own_rows_only(script, folder):
    before = collected(script, folder)
    _, *others = sorted((folder / "results").glob("*.json"))
    for path in others:
        path.unlink()
    after = collected(script, folder, keep=True)
    assert len(after["rows"]) == len(before["rows"])
    assert after["rows"][-1] in before["rows"]
    assert after["searches"] == before["searches"]


@pytest.mark.slow
def test_networks_stand_beside_what_the_paper_prints_for_them(script, folder):
    content = collected(script, folder)
    icp = next(r for r in content["rows"] if (r["method"], r["protocol"]) == ("icp", "rpm-crop"))
    content["rows"].append({**icp, "method": "dcp-v2", "settings": "dcp-v2-shapes"})
    content["rows"].append({**icp, "method": "icp", "protocol": "dcp-noise"})
    last = script.render("rpm-crop", content).splitlines()[-1]
    assert last.startswith("| dcp-v2 | dcp-v2-shapes |")
    assert last.endswith("| 12.6 |")
    # The paper has no classical method with noise: then there is no column.
    assert "paper" not in script.render("dcp-noise", content)
    content["rows"].append({**content["rows"][-1], "method": "dcp-v2"})
    assert "13.0, 5.83" in script.render("dcp-noise", content)


@pytest.mark.slow
def test_tuned_settings_go_into_the_package_when_asked(script, folder):
    collected(script, folder)
    assert not presets.FOLDER.exists()
    collected(script, folder, presets=True)
    assert presets.tuned("icp", "rpm-crop").build().iterations == 30


def test_parts_go_between_their_marks(script):
    text = "a\n<!-- baselines: x -->\nold\n<!-- end -->\nb <!-- baselines: y --><!-- end -->"
    new = script.put(text, {"x": "1", "y": "2"})
    assert "old" not in new
    assert new.startswith("a\n<!-- baselines: x -->\n\n1\n\n<!-- end -->\nb ")
    assert script.put(new, {"x": "1", "y": "2"}) == new
    assert script.put(text, {"z": "3"}) == text  # has no mark for it
    with pytest.raises(ValueError, match="no <!-- end -->"):
        script.put("<!-- baselines: x --> open", {"x": "1"})


def test_nothing_collected_is_a_clear_error(script, tmp_path):
    with pytest.raises(ValueError, match="no results in"):
        collected(script, tmp_path)


def asked(script, *words):
    """The options of `run` with these words."""
    return script.parser().parse_args(["run", "--out", "x", *words])


@pytest.mark.parametrize("rehearse", [False, True])
def test_lanes_know_their_methods_and_leave_no_core_without_work(script, rehearse):
    options = asked(script, "--device", "cuda", *(["--rehearse"] if rehearse else []))
    lanes = script.lanes(options, 16)
    assert sum(lane.processes for lane in lanes[:-1]) == 16
    known = {*presets.names(), *methods.names(), *shipped.DEFAULTS}
    for lane in lanes:
        for step in lane.steps:
            assert step.method in known
            assert step.protocol in protocols.names()
            if isinstance(step, script.Tune):
                assert step.method in presets.names()
        # Whatever needs no tuning comes first, and what was tuned last.
        kinds = [getattr(step, "settings", "tune") for step in lane.steps]
        if "tune" in kinds:
            assert "published" not in kinds[kinds.index("tune") :]
            assert "tuned" not in kinds[: kinds.index("tune")]
    assert [lane.name for lane in lanes] == list(script.LANES)
    measured = {s.method for lane in lanes for s in lane.steps if isinstance(s, script.Measure)}
    assert set(presets.names()) <= measured
    alone = script.lanes(options, 1)
    assert all(lane.processes == 1 for lane in alone)


def test_a_run_may_be_of_some_methods_with_fewer_trials_and_items(script):
    words = ["--methods", "rpm", "fgr", "--limit", "all=100", "rpm=40", "--search", "rpm=8,24,90"]
    options = asked(script, *words, "--tune-for", "rpm-crop", "--untimed", "fgr")
    library, batched, goicp, times = script.lanes(options, 2)
    assert {step.method for step in (*library.steps, *batched.steps)} == {"rpm", "fgr"}
    assert not goicp.steps
    assert {step.method for step in times.steps} == {"rpm"}
    searches = [step for step in batched.steps if isinstance(step, script.Tune)]
    assert [(s.protocol, s.trials, s.items, s.seconds) for s in searches] == [
        ("rpm-crop", 8, 24, 90.0)
    ]
    limits = {(s.method, s.limit, s.batch) for s in library.steps if isinstance(s, script.Measure)}
    assert limits == {("fgr", 100, 1)}
    assert {s.limit for s in batched.steps if isinstance(s, script.Measure)} == {40}
    # Its lanes are told the same.
    again = asked(script, *script._shared(options))
    assert script.lanes(again, 2) == script.lanes(options, 2)


@pytest.mark.parametrize("word", ["rpm", "rpm=a", "rpm=1,2,3", "no-such-method=4"])
def test_a_limit_that_makes_no_sense_is_named(script, word, capsys):
    with pytest.raises(SystemExit):
        asked(script, "--limit", word)
    assert f"--limit: {word!r} is not METHOD=NUMBER" in capsys.readouterr().err


@pytest.mark.slow
def test_a_method_tuned_to_the_published_settings_is_not_measured_twice(script, folder):
    tuned = script.Measure("icp", "tuned", "rpm-crop")
    assert script._method(tuned, folder) is None
    published = script._method(replace(tuned, settings="published"), folder)
    assert published.settings == "published"
    estimated = script.Measure("fgr", script.ESTIMATED, "rpm-crop")
    assert script._method(estimated, folder).run.normals == "estimated"


def test_the_documentation_has_the_tables_of_the_results(script):
    if not script.SUMMARY.is_file():
        pytest.skip("not measured yet")
    content = json.loads(script.SUMMARY.read_text(encoding="utf-8"))
    text = (ROOT / "benchmarks/results/baselines.md").read_text(encoding="utf-8")
    for protocol in script.PROTOCOLS:
        assert script.render(protocol, content) in text
    assert script.render_searches(content["searches"]) in text
    page = (ROOT / "docs/baselines.md").read_text(encoding="utf-8")
    assert script.render("rpm-crop", content) in page
