from __future__ import annotations

import json
import math
import os
import re
import signal
import time
from dataclasses import replace
from functools import partial
from io import StringIO
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console
from torch import nn

from evaluation.small import shapes
from scripts import load_benchmark
from spoonful.batch import Batch
from spoonful.cli.app import run
from spoonful.data import protocols
from spoonful.evaluation import Interval, Method, methods, open_method, sources
from spoonful.extras import MissingExtra
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.models import RegistrationModel
from spoonful.registration import Registration
from spoonful.training import corpora, shipped

script = load_benchmark("reproduce")
from paper import jobs, tables  # noqa: E402
from paper import reproduce as MODULE  # noqa: E402
from paper.jobs import Job, Trained, train_job  # noqa: E402
from paper.reproduce import (  # noqa: E402
    Cell,
    ReproducedRow,
    Reproduction,
    reproduce,
    to_json,
)
from paper.tables import Recipe  # noqa: E402

TINY = (
    *("dcp.embedding=pointnet", "dcp.emb_dims=16", "dcp.ff_dims=32", "dcp.n_heads=2"),
    *("data.points=32", "data.batch_size=4"),
)


class Still(RegistrationModel):
    """Moves nothing but by its one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.randn(3))

    def forward(self, batch: Batch) -> Registration:
        rotation = torch.eye(3).expand(len(batch), 3, 3)
        pose = Pose(
            rotation_from_vector(0.1 * self.shift) @ rotation, self.shift.expand(len(batch), 3)
        )
        return Registration(pose, matches=batch.source)

    def loss(self, output: Registration, batch: Batch) -> torch.Tensor:
        raise NotImplementedError


class FakeTrainer:
    """Trains nothing, and remembers what it was asked for."""

    model: type[Still] = Still

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Trained | None:
        if not job.train:
            return None
        self.jobs.append(job)
        torch.manual_seed(job.seed)
        return Trained(self.model(), {"steps": 40, "epochs": 2.0, "of_epochs": 250.0})


WEIGHTS_FOR = MODULE._weights_for


@pytest.fixture
def make(tmp_path, monkeypatch):
    """`reproduce` on toy shapes, without a real trainer and without the package's weights."""
    monkeypatch.setattr(MODULE, "_weights_for", lambda rows: ())

    def make(table, trainer, **options):
        common = {"test": shapes(name="synthetic/test"), "runs": tmp_path / "runs", "limit": 2}
        return reproduce(table, trainer=trainer, **{**common, **options})

    return make


@pytest.mark.slow
def test_a_table_is_trained_measured_and_set_beside_the_papers(tmp_path, capsys):
    """All of it, with the real trainer and a tiny network."""
    corpora.save(shapes(1024, 24), tmp_path / "shapes-train.pt")
    corpora.save(shapes(1024, 8), tmp_path / "shapes-test.pt")
    found = reproduce(
        "dcp-noise",
        data=str(tmp_path / "shapes-{split}.pt"),
        runs=tmp_path / "runs",
        seeds=1,
        limit=2,
        settings=(*TINY, "budget.steps=3", "runtime.tensorboard=false"),
    )
    assert [row.label for row in found.rows] == ["DCP-v2", "DCP-v2 + ours"]
    for row in found.rows:
        for cell in row.cells:
            assert math.isfinite(cell.ours)
            assert cell.difference == cell.ours - cell.paper
            assert cell.interval.low <= cell.ours <= cell.interval.high
        assert "shapes/test" in row.ours_from
        assert "of 250 epochs" in row.ours_from
        (result,) = row.results
        assert len(result.weights) == 64
        assert result.training["config"]["dcp"]["emb_dims"] == 16
        assert result.training["steps"] == 3
    base, ours = (row.results[0].training["config"]["refine"] for row in found.rows)
    assert base["mode"] == "none"
    assert (ours["mode"], ours["iterations"], ours["loss_on"]) == ("source", 5, "all")
    assert any("other settings than the paper's" in remark for remark in found.remarks)
    assert any("the paper's is on ModelNet40" in remark for remark in found.remarks)

    folder = next((tmp_path / "runs").glob("dcp-clean/*/seed-0"))
    shown = capsys.readouterr().err
    assert f"DCP-v2, seed 0: training in {folder}\n" in shown
    assert re.search(r"^dcp/clean  epoch 1  step 3/3 ", shown, re.MULTILINE)
    again = open_method(str(folder))
    assert again.weights == found.rows[0].results[0].weights
    assert again.seed == 0


def test_what_is_there_is_not_made_again(make):
    trainer = FakeTrainer()
    first = make("dcp-noise", trainer)
    assert len(trainer.jobs) == 2
    second = make("dcp-noise", trainer)
    assert len(trainer.jobs) == 2
    assert first.rows[0].cells == second.rows[0].cells
    make("correspondence", trainer, train=False)
    assert len(trainer.jobs) == 2


def test_a_budget_is_shared_by_all_runs_and_said(make):
    trainer = FakeTrainer()
    rows = ["DCP-v2", "DCP-v2 + ours"]
    found = make("dcp-unseen", trainer, budget=600, rows=rows)
    assert [job.budget for job in trainer.jobs] == [300, 300]
    assert all("for-300s" in str(job.folder) for job in trainer.jobs)
    assert any("cut to 10 min for the whole table" in remark for remark in found.remarks)
    assert "2 of 250 epochs" in found.rows[-1].ours_from


def test_rows_that_are_hardly_trained_are_named(make):
    assert not any("steps" in text for text in make("dcp-noise", None, train=False).remarks)
    found = make("dcp-noise", FakeTrainer(), rows=["DCP-v2"])
    assert "Fewer than 100 training steps" in found.remarks[-1]
    assert found.remarks[-1].endswith("the method: DCP-v2.")


@pytest.mark.parametrize(
    ("device", "precision", "said"),
    [("cpu", "auto", False), ("cuda", "auto", True), ("cuda:1", "float32", False)],
)
def test_a_network_trained_in_bf16_is_said(make, device, precision, said):
    class OnADevice(FakeTrainer):
        def __call__(self, job: Job) -> Trained | None:
            model, facts = super().__call__(job)
            runtime = {"device": device, "precision": precision}
            return Trained(model, {**facts, "config": {"runtime": runtime}})

    found = make("dcp-noise", OnADevice(), rows=["DCP-v2"])
    assert any("bf16" in remark for remark in found.remarks) == said


def test_a_run_trained_in_full_is_preferred_to_a_short_one(make):
    full, short = FakeTrainer(), FakeTrainer()
    make("dcp-noise", full)
    found = make("dcp-noise", short, budget=60)
    assert short.jobs == []
    assert not any("cut to" in remark for remark in found.remarks)


@pytest.mark.slow
def test_several_seeds_give_a_mean_and_a_spread(make):
    trainer = FakeTrainer()
    found = make("initialization", trainer, seeds=3)
    assert sorted({job.seed for job in trainer.jobs}) == [0, 1, 2]
    cell, row = found.rows[0].cells[1], found.rows[0]
    runs = [result["rotation_dcp_degrees"].summary.rmse for result in row.results]
    assert cell.ours == pytest.approx(sum(runs) / 3)
    assert cell.spread == pytest.approx(torch.tensor(runs).double().std().item())
    assert (cell.paper, cell.paper_spread) == (4.264873, 1.667)
    assert any("3 training runs a row; the paper has 26" in remark for remark in found.remarks)


def test_what_is_measured_is_shown_unless_quiet(make, capsys):
    make("dcp-noise", trainer := FakeTrainer())
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "DCP-v2 (1 of 2)  2/2 items measured",
        "DCP-v2 + ours (2 of 2)  2/2 items measured",
    ]
    assert trainer.jobs[1].label == "DCP-v2 + ours, seed 0"
    make("dcp-noise", trainer, seeds=2, quiet=True)
    assert capsys.readouterr().err == ""
    assert [job.quiet for job in trainer.jobs] == [False, False, True, True]


def test_embedded_data_is_said_plainly(make):
    found = make("dcp-noise", FakeTrainer())
    assert "embedded synthetic shapes" in found.remarks[0]
    assert "not on ModelNet40" in found.remarks[0]


def test_other_data_than_the_papers_is_said_and_its_own_is_not(make):
    other = make("dcp-noise", FakeTrainer(), test=shapes(name="toys/test"))
    assert "the paper's is on ModelNet40" in other.remarks[0]
    own = shapes(name="modelnet40/test")
    whole = replace(tables.get("dcp-noise"), items=len(own))
    same = make(whole, FakeTrainer(), test=own)
    assert not any("ModelNet40" in remark for remark in same.remarks)
    part = make("dcp-noise", FakeTrainer(), test=own)
    assert f"Only a part of ModelNet40 is here: {len(own)} test items of 2468." in part.remarks


def test_scans_are_never_trained_and_tested_on_alike(make, tmp_path):
    cloud = torch.rand(1024, 3)
    pair = SimpleNamespace(source=cloud, target=cloud, pose=Pose.identity())
    options = {"data": str(tmp_path), "test": [pair, pair]}
    with pytest.raises(ValueError, match=r"which must not be the same: put \{split\} in data"):
        make("3dmatch", FakeTrainer(), **options)
    found = make("3dmatch", FakeTrainer(), **options, train=False)
    assert found.rows[0].ours_from == "not trained yet"


@pytest.mark.slow
def test_baselines_are_measured_or_say_why_they_are_not(make, monkeypatch):
    found = make("dcp-unseen", FakeTrainer(), rows=["icp"])
    assert found.rows[0].cells[0].ours is not None
    assert found.rows[-1].ours_from == "not asked for"

    class Missing(Method):
        def check(self) -> None:
            raise MissingExtra("fgr needs scipy: pip install 'spoonful[classical]'")

    monkeypatch.setattr(MODULE, "open_method", lambda name: Missing(name, methods.identity))
    rows = {row.label: row for row in make("dcp-unseen", FakeTrainer(), train=False).rows}
    assert rows["FGR"].ours_from.startswith("fgr needs scipy")
    assert rows["FGR"].cells[0].ours is None
    assert "ask for it by --row" in rows["Go-ICP"].ours_from


def test_without_training_what_is_missing_stays_empty(make):
    found = make("dcp-noise", FakeTrainer(), train=False)
    assert [row.ours_from for row in found.rows] == ["not trained yet"] * 2
    assert found.rows[0].cells[0].difference is None


@pytest.mark.slow
def test_without_training_the_packages_weights_have_rows_of_their_own(make, monkeypatch):
    def still(name):
        return methods.of_model(name, Still().eval(), settings=name)

    monkeypatch.setattr(MODULE, "_weights_for", WEIGHTS_FOR)
    monkeypatch.setattr(MODULE, "open_method", still)
    found = make("rpm-crop", FakeTrainer(), train=False)
    labels = [row.label for row in found.rows]
    assert labels[: len(found.table.rows)] == [row.label for row in found.table.rows]
    assert labels[len(found.table.rows) :] == ["dcp-v2-shapes", "rpmnet-shapes"]
    row = found.rows[-1]
    assert all(cell.ours is not None and cell.difference is None for cell in row.cells)
    about = shipped.card("rpmnet-shapes")
    assert row.ours_from.endswith(f"; trained on {about.data}, rpm-crop, {about.steps} steps")
    assert json.loads(to_json(found))["rows"][-1]["label"] == "rpmnet-shapes"
    # Nor where a network is trained, or rows are named.
    for options in ({}, {"train": False, "rows": ["RPM-Net"]}):
        found = make("rpm-crop", FakeTrainer(), **options)
        assert len(found.rows) == len(found.table.rows)


@pytest.mark.slow
def test_other_layers_and_settings_are_other_runs(make):
    trainer = FakeTrainer()
    make("dcp-noise", trainer)
    make("dcp-noise", trainer, layer="perturbed")
    make("dcp-noise", trainer, settings=["dcp.emb_dims=64"])
    # the plain network is the same with every layer, and is not trained again for another one
    assert len(trainer.jobs) == 2 + 1 + 2
    assert len({job.folder for job in trainer.jobs}) == 5


def test_the_table_is_strict_json(make):
    content = json.loads(to_json(make("dcp-noise", FakeTrainer())), parse_constant=pytest.fail)
    assert content["rows"][0]["numbers"]["RMSE(R)"]["paper"] == 12.974750
    assert content["our_data"] == "synthetic"


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("dcp-noize", {}, "did you mean 'dcp-noise'"),
        ("dcp-noise", {"rows": ["ICP"]}, "has no row 'ICP'"),
        ("dcp-noise", {"budget": 0.0}, "budget must be positive"),
        ("dcp-noise", {"seeds": 0}, "seeds must be at least 1"),
        ("dcp-noise", {"layer": "sorce", "train": False}, "layer must be 'source', 'target'"),
        ("dcp-noise", {"settings": ["dcp.emb_dim=8"]}, "did you mean 'dcp.emb_dims'"),
        ("3dmatch", {"test": None}, "protocol 3dmatch-30 needs scans"),
        ("dcp-noise", {"data": "no-such-data", "test": None}, "no data named 'no-such-data'"),
    ],
)
def test_mistakes_are_named(make, table, options, message):
    with pytest.raises(ValueError, match=message):
        make(table, FakeTrainer(), **options)


def test_a_job_that_must_not_train_is_left_alone(tmp_path):
    job = Job(Recipe("dcp/clean"), 0, "synthetic", tmp_path, train=False)
    assert train_job(job) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_training_that_a_signal_stopped_is_no_row_of_a_table(tmp_path, monkeypatch):
    from spoonful.training.step import Stepper

    for split in ("train", "test"):
        corpora.save(shapes(1024, 12), tmp_path / f"shapes-{split}.pt")
    runs = tmp_path / "runs"
    make = partial(
        reproduce,
        "dcp-noise",
        data=str(tmp_path / "shapes-{split}.pt"),
        runs=runs,
        rows=["DCP-v2"],
        settings=(*TINY, "budget.steps=2"),
        limit=2,
    )
    take = Stepper.__call__

    def interrupted(self, *arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return take(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make()
    assert not list(runs.rglob("results"))
    assert len(list(runs.rglob("step-*.safetensors"))) == 1
    assert make().rows[0].results[0].training["steps"] == 2


@pytest.mark.slow
def test_a_budgets_run_goes_on_though_the_machine_is_slower_now(tmp_path, monkeypatch):
    corpora.save(shapes(64, 120), tmp_path / "shapes-train.pt")
    data = str(tmp_path / "shapes-{split}.pt")
    settings = (*TINY, "budget.steps=2", "runtime.tensorboard=false")
    job = Job(Recipe("dcp/clean"), 0, data, tmp_path / "run", 30.0, settings=settings, quiet=True)

    def run(pair, steps):
        monkeypatch.setattr(jobs, "_timed", lambda network: pair)
        with monkeypatch.context() as patch:
            patch.setattr(jobs, "_PATIENCE", 1.5 if steps == 2 else 1e-6)
            facts = train_job(job).facts
        assert facts["steps"] == steps
        return facts["config"]["data"]["validation"]

    assert run(0.001, 1) == pytest.approx(8 / 120)
    assert run(1e3, 2) == pytest.approx(8 / 120)


def test_a_run_stopped_in_its_second_epoch_has_had_one(tmp_path, monkeypatch):
    from spoonful.training.journal import Journal

    Journal(tmp_path).add({"epoch": 0, "step": 10})
    progress = SimpleNamespace(step=15, seconds=1.0, best_epoch=0)
    config = SimpleNamespace(as_dict=dict)
    found = SimpleNamespace(progress=progress, metrics={}, protocol={}, config=config)
    monkeypatch.setattr(sources.checkpoint, "load", lambda path: found)
    assert sources.training_facts(tmp_path)["epochs"] == 1.5
    progress.step = 10  # whole, or all there was: who can tell
    assert "epochs" not in sources.training_facts(tmp_path)


@pytest.mark.slow
def test_a_network_that_cannot_take_a_step_in_its_share_is_left_out_with_the_reason(
    make, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(jobs, "_timed", lambda network: 1.0)
    found = make("dcp-unseen", None, budget=20.0, rows=["ICP", "DCP-v2"])
    rows = {row.label: row for row in found.rows}
    reason = "one step takes about 128 s on this CPU, and its share of the budget is 20 s"
    assert rows["DCP-v2"].ours_from == f"not trained: {reason}"
    assert f"DCP-v2, seed 0: not trained: {reason}" in (said := capsys.readouterr().err)
    assert "training in" not in said
    assert rows["DCP-v2"].results == ()
    assert rows["ICP"].cells[0].ours is not None
    assert not list(tmp_path.rglob("*.safetensors"))


def test_the_time_of_a_step_is_measured_on_the_network_itself(monkeypatch):
    from spoonful.training import override, presets

    sizes = []

    class Clouds(Still):
        def forward(self, batch: Batch) -> Registration:
            assert not self.training
            if not sizes:
                time.sleep(0.2)
            sizes.append((batch.source.shape, batch.source_normals is None))
            return super().forward(batch)

    monkeypatch.setattr(jobs.build, "model", lambda config: Clouds())
    config = override(presets.get("dcp/clean"), ["data.points=33", "runtime.device=cpu"])
    jobs._timed.cache_clear()
    before = torch.get_rng_state()
    assert 0 < jobs._pair_seconds(config) < 0.2  # the first call, which builds, does not count
    assert jobs._pair_seconds(override(config, ["seed=3", "refine=source"])) > 0
    assert torch.equal(torch.get_rng_state(), before)
    assert sizes == 2 * [((1, 33, 3), True)]  # for all runs of a network
    assert jobs._pair_seconds(override(config, ["runtime.device=cuda"])) == 0
    jobs._timed.cache_clear()


@pytest.mark.slow
def test_measuring_keeps_to_its_part_of_a_budget_and_says_what_it_left_out(make):
    class Slow(Still):
        def forward(self, batch: Batch) -> Registration:
            time.sleep(0.02 * len(batch))
            return super().forward(batch)

    trainer = FakeTrainer()
    trainer.model = Slow
    options = {"rows": ["DCP-v2"], "test": shapes(count=24, name="toys/test"), "limit": None}
    short = make("dcp-noise", trainer, budget=0.3, **options)
    (result,) = short.rows[0].results
    assert 4 <= len(result) < 24
    assert len(set(result.index.tolist())) == len(result)
    assert f"{len(result)} of 24 items" in short.rows[0].ours_from
    assert any("a row is of some, drawn from all categories" in word for word in short.remarks)
    again = make("dcp-noise", trainer, budget=0.3, **options)
    assert again.rows[0].cells == short.rows[0].cells
    # Half a measurement is not taken for a whole one.
    whole = make("dcp-noise", trainer, **options)
    assert len(whole.rows[0].results[0]) == 24
    assert not any("a row is of some" in word for word in whole.remarks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "pair", "pairs"),
    [(20.0, 0.1, 8), (100.0, 0.1, 10), (100.0, 2.0, 5), (100.0, 3.0, 3), (None, 0.1, 13)],
)
def test_a_short_budget_is_not_spent_on_validation(tmp_path, monkeypatch, budget, pair, pairs):
    class Asked(Exception):
        pass

    def ask(config, *, corpus, **_):
        there = len(protocols.get(config.data.protocol).select(corpus, "train"))
        assert round(config.data.validation * there) == pairs
        raise Asked

    monkeypatch.setattr(jobs, "train", ask)
    monkeypatch.setattr(jobs, "_timed", lambda network: pair)
    few = ("data.per_category=8",)
    job = Job(Recipe("rpmnet/crop"), 0, "synthetic", tmp_path, budget=budget, settings=few)
    with pytest.raises(Asked):
        train_job(job)
    pairs = 64
    with pytest.raises(Asked):  # what is asked for stays
        train_job(replace(job, settings=(*few, "data.validation=0.5")))
    # Of very many shapes no smaller share than can be configured.
    pairs = 13
    monkeypatch.setattr(jobs, "_LEAST", 0.1)
    with pytest.raises(Asked):
        train_job(job)


@pytest.mark.slow
def test_reproduce_shows_the_papers_numbers_with_nothing_trained(tmp_path, monkeypatch, capsys):
    corpora.save(shapes(2048), tmp_path / "toys.pt")
    monkeypatch.chdir(tmp_path)
    few = ("--row", "ICP", "--row", "DCP-v2", "--no-train", "--limit", "1", "--quiet")
    assert run(["reproduce", "dcp-unseen", "--data", "toys.pt", *few, "--out", "table.json"]) == 0
    text = capsys.readouterr().out
    assert "2.052" in text
    assert "not trained yet" in text
    assert (tmp_path / "table.json").is_file()


def test_a_narrow_terminal_breaks_no_words_of_a_row():
    row = ReproducedRow("ICP", 4 * (Cell(1.0),), "icp needs what is not here, in many words")
    found = Reproduction(tables.get("dcp-clean"), (row,), "toys")
    for width, line in ((80, "ICP: icp needs what is not here, in many words"), (120, "made from")):
        console = Console(file=StringIO(), width=width)
        script.show(console, found)
        assert line in console.file.getvalue()


def test_reproduce_without_a_table_lists_them(capsys):
    assert run(["reproduce"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in tables.names())
    assert re.search(r"^initialization .*26 training runs +52 ", text, re.MULTILINE)


def test_a_table_says_which_rows_have_a_spread_and_which_an_interval():
    def shown(*rows: ReproducedRow) -> str:
        console = Console(file=StringIO(), width=120)
        script.show(console, Reproduction(tables.get("dcp-clean"), rows, "toys"))
        return console.file.getvalue()

    one = ReproducedRow("ICP", 4 * (Cell(1.0, ours=2.0, interval=Interval(1, 3)),), "toys")
    many = ReproducedRow("DCP-v2", 4 * (Cell(1.0, ours=2.0, spread=0.5),), "toys")
    # The paper calls its own rows "ours", so ours are "here".
    assert re.search(r"^method +paper +here +95 % interval +here - paper ", shown(one), re.M)
    assert "spread or 95 %" not in shown(one)
    assert " spread " in shown(many)
    assert "spread or 95 % interval" in shown(one, many)
