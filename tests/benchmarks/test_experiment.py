"""The controlled experiment: every condition runs, resumes, and ends in one small file."""

import json
import math
import os
import signal

import pytest
import torch

from scripts import load_benchmark
from spoonful.data import synthetic
from spoonful.training import build, checkpoint
from spoonful.training.build import Float64Layer
from spoonful.training.step import Stepper

_script = load_benchmark("experiment")
runs, tables = _script.runs, _script.tables
from training_grid import student  # noqa: E402

CONDITIONS, Job, config_of, grid = runs.CONDITIONS, runs.Job, runs.config_of, runs.grid
difference, results, table = tables.difference, tables.results, tables.table

TINY = [
    "dcp.embedding=pointnet",
    "dcp.emb_dims=8",
    "dcp.ff_dims=8",
    "dcp.n_heads=2",
    "data.points=16",
    "data.batch_size=8",
    "rpmnet.feat_dim=8",
    "rpmnet.neighbors=4",
    "rpmnet.train_iterations=1",
    "rpmnet.test_iterations=1",
]


@pytest.fixture(scope="module")
def corpora_folder(tmp_path_factory):
    """A corpus so small that loading it takes no time, as files for both splits."""
    from spoonful.training import corpora

    folder = tmp_path_factory.mktemp("corpus")
    for split in ("train", "test"):
        corpus = synthetic.load(split, per_category=2, points=64)
        corpora.save(corpus, folder / f"small-{split}.pt")
    return str(folder / "small-{split}.pt")


def ran(folder, data, todo, **options):
    said: list[str] = []
    left = runs.run(
        todo,
        folder / "out",
        data=data,
        steps=2,
        device="cpu",
        settings=TINY,
        limit=6,
        work=folder / "work",
        say=said.append,
        **options,
    )
    return left, said


def test_each_seed_has_all_conditions_in_the_order_they_are_named_in():
    names = [job.name for job in grid(["dcp"], [0, 3], ["target", "dcp-kabsch", "rpmnet-source"])]
    assert names == [
        "dcp-target-seed0",
        "dcp-kabsch-seed0",
        "dcp-target-seed3",
        "dcp-kabsch-seed3",
    ]
    assert len(set(grid())) == 2 * 3 * len(CONDITIONS)


def test_a_condition_changes_only_what_it_names():
    corpus = synthetic.load("train", per_category=2, points=64)
    settings = {
        name: config_of(Job("dcp", name, 1), steps=5, corpus=corpus, device="cpu").as_dict()
        for name in CONDITIONS
    }
    for name, content in settings.items():
        for section in content:
            if section not in ("refine", "loss", "name"):
                assert content[section] == settings["kabsch"][section], (name, section)
    exact = config_of(Job("dcp", "target-float64", 0), steps=5, corpus=corpus, device="cpu")
    assert isinstance(build.layer(exact.refine), Float64Layer)


def test_unknown_conditions_are_named():
    with pytest.raises(ValueError, match="no condition named 'pertubed'; did you mean 'perturbed-"):
        grid(only=["pertubed"])
    with pytest.raises(ValueError, match=r"no model named 'icp'; .* There are: dcp, rpmnet"):
        grid(["icp"])


@pytest.mark.slow
def test_runs_end_in_files_that_make_a_table_and_are_not_repeated(tmp_path, corpora_folder):
    todo = grid(["dcp", "rpmnet"], [0], ["dcp-kabsch", "dcp-perturbed-60", "rpmnet-matches"])
    weights = ["dcp-kabsch-seed0"]
    left, said = ran(tmp_path, corpora_folder, todo, other=corpora_folder, keep_weights=weights)
    assert left == []
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == [
        "dcp-kabsch-seed0.json",
        "dcp-kabsch-seed0.safetensors",
        "dcp-perturbed-60-seed0.json",
        "rpmnet-matches-seed0.json",
    ]
    assert list((tmp_path / "work").iterdir()) == []
    run = json.loads((tmp_path / "out" / "rpmnet-matches-seed0.json").read_text())
    assert run["config"]["loss"]["matches"] == 0.1
    assert set(run["tests"]) >= {"crop", "clean", "noise", "twice-sampled", "crop, small"}
    crop = run["tests"]["crop"]
    assert crop["count"] == len(crop["items"]["rotation_degrees"]) == 6
    assert crop["extent_ratio"]["median"] > 0
    assert {"rho_source", "rho_target", "extent_ratio"} <= run["log"][-1]["validation"].keys()
    text = table(results([tmp_path / "out"]))
    assert "| perturbed-60 | 1 |" in text
    assert "**rpmnet**: 2 steps of 8 pairs of 16 points on small/train" in text
    left, said = ran(tmp_path, corpora_folder, todo)
    assert said == ["3 of 3 runs are there already"]


@pytest.mark.slow
def test_a_trained_network_is_tested_on_the_pairs_of_the_runs(tmp_path, corpora_folder):
    options = {"data": corpora_folder, "device": "cpu"}
    todo = grid(["dcp"], [0], ["kabsch"])
    ran(tmp_path, corpora_folder, todo, keep_weights=["dcp-kabsch-seed0"])
    run = json.loads((tmp_path / "out" / "dcp-kabsch-seed0.json").read_text())
    network = checkpoint.load_model(tmp_path / "out" / "dcp-kabsch-seed0.safetensors")
    found = runs.measure("dcp", network, settings=TINY, limit=6, **options)
    assert found.keys() == run["tests"].keys()
    for name, values in found.items():
        was = run["tests"][name]
        assert values["count"] == was["count"]
        assert values["items"]["rotation_degrees"] == pytest.approx(
            was["items"]["rotation_degrees"], rel=1e-3
        )
    with pytest.raises(ValueError, match="no model named 'dcp,rpmnet'"):
        runs.measure("dcp,rpmnet", network, **options)


@pytest.mark.slow
def test_a_run_of_another_process_is_left_to_it_and_a_dead_claim_is_taken(tmp_path, corpora_folder):
    todo = grid(["dcp"], [0], ["kabsch", "source"])
    work = tmp_path / "work"
    work.mkdir()
    claims = [work / f"{job.name}.claim" for job in todo]
    claims[0].write_text(str(os.getppid()))
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    claims[1].write_text(str(child))
    left, _ = ran(tmp_path, corpora_folder, todo)
    assert left == todo[:1]
    assert [claim.exists() for claim in claims] == [True, False]


@pytest.mark.slow
def test_runs_in_the_published_arithmetic_have_its_layer_and_log_what_it_does(
    tmp_path, corpora_folder, monkeypatch
):
    layers = set()
    take = Stepper.step

    def noted(self, batch):
        layers.add((type(self.model.refine).__name__, self.model.refine.form))
        return take(self, batch)

    monkeypatch.setattr(Stepper, "step", noted)
    left, _ = ran(tmp_path, corpora_folder, grid(["dcp"], [0], ["published-target"]))
    assert left == []
    assert layers == {("PublishedLayer", "target")}
    run = json.loads((tmp_path / "out" / "dcp-published-target-seed0.json").read_text())
    found = run["log"][-1]["validation"]
    for form in ("source", "target", "published_source", "published_target"):
        assert found[f"divergence_{form}"] > 0
        assert 0 <= found[f"acting_{form}"] <= 1
        assert found[f"gradient_{form}"] > 0


def test_a_budget_that_is_spent_starts_nothing(tmp_path, corpora_folder):
    left, _ = ran(tmp_path, corpora_folder, grid(["dcp"], [0], ["kabsch"]), seconds=-1.0)
    assert len(left) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_training_stops_all_runs_says_so_and_loses_nothing(
    tmp_path, corpora_folder, monkeypatch, number
):
    todo = grid(["dcp"], [0], ["kabsch", "source"])
    take = Stepper.__call__

    def interrupted(self, *arguments):
        os.kill(os.getpid(), number)
        return take(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "__call__", interrupted)
        left, said = ran(tmp_path, corpora_folder, todo)
    assert left == todo
    assert said[-2:] == [
        "dcp-kabsch-seed0: stopped by a signal at step 1",
        "stopped by a signal; run the same command to resume",
    ]
    assert ran(tmp_path, corpora_folder, todo)[0] == []


@pytest.mark.slow
def test_a_signal_in_a_test_waits_for_its_file_and_begins_no_other_run(
    tmp_path, corpora_folder, monkeypatch
):
    measured = runs._measured

    def interrupted(*arguments):
        if not (tmp_path / "sent").exists():
            (tmp_path / "sent").touch()
            os.kill(os.getpid(), signal.SIGTERM)
        return measured(*arguments)

    monkeypatch.setattr(runs, "_measured", interrupted)
    todo = grid(["dcp"], [0], ["kabsch", "source"])
    left, said = ran(tmp_path, corpora_folder, todo)
    assert left == todo[1:]
    assert said[-1] == "stopped by a signal; run the same command to resume"
    assert (tmp_path / "out" / "dcp-kabsch-seed0.json").is_file()


@pytest.mark.parametrize("seeds", [3, 5, 8])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_intervals_of_few_seeds_hold_the_truth_as_often_as_they_say(seeds, shape):
    """2,000 experiments: two conditions, whose runs share what a seed decides."""
    generator = torch.Generator().manual_seed(seeds)
    draws = torch.randn(3, 2000, seeds, generator=generator, dtype=torch.float64)
    if shape == "skewed":
        draws = (0.5 * draws).exp()
    shared, first, second = draws
    differences = (5.5 + shared + second) - (5.0 + shared + first)
    half = student.t_quantile(0.975, seeds - 1) * differences.std(-1) / seeds**0.5
    inside = ((differences.mean(-1) - 0.5).abs() <= half).double().mean()
    assert 0.93 <= inside <= 0.97
    found = student.paired(differences[0].tolist())
    assert found.interval.high - found.mean == pytest.approx(float(half[0]))
    assert (found.p < 0.05) == found.decided


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_welch_intervals_hold_the_truth_as_often_as_they_say(seeds):
    generator = torch.Generator().manual_seed(seeds)
    inside = 0
    for _ in range(800):
        first, second = torch.randn(2, seeds, generator=generator, dtype=torch.float64)
        groups = [student.Group.of(values.tolist()) for values in (first, 2 * second + 1)]
        low, high = student.welch(*groups).interval
        inside += low <= 1 <= high
    assert 0.93 <= inside / 800 <= 0.97


def test_quantiles_of_student_are_those_of_a_table():
    known = {1: 12.7062, 2: 4.3027, 4: 2.7764, 25: 2.0595, 500: 1.9647}
    for freedom, value in known.items():
        assert student.t_quantile(0.975, freedom) == pytest.approx(value, abs=2e-4)
        assert student.t_below(value, freedom) == pytest.approx(0.975, abs=1e-5)


def test_a_single_run_has_no_interval():
    found = student.paired([0.5])
    assert math.isnan(found.interval.low)
    assert not found.decided
    assert student.holm([found.p, 0.001]) == [False, True]


def test_results_without_files_say_so(tmp_path):
    with pytest.raises(ValueError, match="no results"):
        table(results([tmp_path]))


def test_a_table_takes_the_place_of_the_last_one_in_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- experiment -->\nold\n<!-- end -->\nafter\n")
    for text in ("one", "two"):
        tables.put_into(text, page)
    expected = "before\n<!-- experiment -->\n\ntwo\n\n<!-- end -->\nafter\n"
    assert page.read_text() == expected
    page.write_text("no marks")
    with pytest.raises(ValueError, match="must have lines"):
        tables.put_into("text", page)


def finished(condition, seed, error):
    """A run's file with little in it."""
    values = {"mean": error, "median": error}
    names = ("correspondence", "extent_ratio", "rho_source", "rho_target")
    test = {"count": 1, "items": {"rotation_degrees": [error]}, **dict.fromkeys(names, values)}
    mode = "target" if "target" in condition else "none"
    data = {"points": None, "batch_size": 8, "corpus": "toys"}
    return {
        "model": "dcp",
        "condition": condition,
        "seed": seed,
        "steps": 12,
        "tests": {"clean": test},
        "untrained": {"rho_target": 9.0},
        "log": [{"step": 12, "validation": {"rho_target": 2.0, "extent_ratio": 4.0}}],
        "config": {"data": data, "refine": {"mode": mode}},
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ((-1.0, -1.1, -0.9, -1.0), "helps"),
        ((1.0, 1.1, 0.9, 1.0), "harms"),
        ((0.1, -0.1, 0.1, -0.1), "does not help as much as in the paper"),
        ((3.0, -3.0, 1.0, -1.0), "undecided"),
        ((-1.0,), "one run: no verdict"),
    ],
)
def test_the_plan_decides_by_the_interval_and_by_what_the_paper_reports(changes, verdict):
    from training_grid.answer import answer

    runs_of = [finished("kabsch", seed, 4.0 + 0.1 * seed) for seed in range(len(changes))]
    runs_of += [
        finished("target", seed, 4.0 + 0.1 * seed + change) for seed, change in enumerate(changes)
    ]
    text = answer(runs_of)
    assert f"| {verdict} |\n" in text
    assert "| the paper: DCP-v2, ModelNet40 (95 %) | 26 and 26 |" in text
    assert "| kabsch | 0 |" in text
    assert "| target | 12 | 4 |" in text


@pytest.mark.slow
def test_a_picture_shows_every_condition_that_shares_seeds_with_kabsch():
    pytest.importorskip("matplotlib")
    from training_grid.picture import picture

    errors = {"kabsch": [2.0, 4.0], "matches-1": [1.0, 1.0]}
    runs = [
        {
            "model": "dcp",
            "condition": condition,
            "seed": seed,
            "tests": {"clean": {"items": {"rotation_degrees": found}}},
        }
        for condition, found in errors.items()
        for seed in (0, 1)
    ]
    found = difference(runs, "matches-1", "clean")
    assert found is not None
    assert found.mean == pytest.approx(-2.0)
    assert difference(runs, "source", "clean") is None
    assert picture(runs).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no results"):
        picture([])
