"""Sweeps: every run once, several at a time, what is finished is left alone."""

import json
import os
import signal
import sys
import threading
import time

import pytest

from spoonful.training import corpora, sweep
from spoonful.training.presets import get
from training.small import blobs, small


def test_an_ablation_is_a_grid_of_settings_and_seeds():
    grid = {"refine.iterations": ["1", "2", "5", "10"], "refine.loss_on": ["all", "last"]}
    made = sweep.runs([get("dcp/unseen+source")], seeds=range(3), grid=grid)
    assert len(made) == len({run.name for run in made}) == 24
    assert made[-1].config.refine.iterations == 10
    assert made[-1].config.refine.loss_on == "last"
    assert made[-1].config.seed == 2
    with pytest.raises(ValueError, match="share the folder"):
        sweep.runs([get("quick"), get("quick")])


# Stands in for training: writes a result, or fails, without importing anything.
PRETEND = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
if "seed1" in folder.name:
    sys.exit("error: no such luck")
(folder / "began").write_text(str(time.time()))
time.sleep(0.3)
(folder / "result.json").write_text(json.dumps({"step": 9, "ended": time.time()}))
"""


@pytest.fixture
def pretend(monkeypatch):
    def command(run, out, until):
        return [sys.executable, "-c", PRETEND, str(out / run.name)]

    monkeypatch.setattr(sweep, "_command", command)


def test_runs_go_side_by_side_and_a_failure_stops_no_other(tmp_path, pretend):
    todo = sweep.runs([small()], seeds=range(4))
    states = sweep.sweep(todo, tmp_path, at_once=4, quiet=True)
    assert [run.state for run in states] == ["finished", "failed", "finished", "finished"]
    assert states[1].message == "error: no such luck"
    assert "no such luck" in sweep.table(states)


@pytest.mark.slow
def test_what_is_finished_is_skipped_and_what_is_not_runs_again(tmp_path, pretend):
    todo = sweep.runs([small()], seeds=[0, 2])
    first = sweep.sweep(todo, tmp_path, quiet=True)
    again = sweep.sweep(todo, tmp_path, quiet=True)
    assert [run.state for run in again] == ["finished"] * 2
    assert [run.result["ended"] for run in again] == [run.result["ended"] for run in first]


def test_no_run_starts_after_the_time_limit(tmp_path, pretend):
    states = sweep.sweep(sweep.runs([small()], seeds=[0, 2]), tmp_path, seconds=0, quiet=True)
    assert [run.state for run in states] == ["waiting"] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_every_run_and_starts_no_other(tmp_path, monkeypatch, capfd, number):
    endless = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"

    def command(run, out, until):
        return [sys.executable, "-c", endless, str(out / run.name / "began")]

    def stop_when_two_run():
        while len(list(tmp_path.glob("*/began"))) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(sweep, "_command", command)
    thread = threading.Thread(target=stop_when_two_run)
    thread.start()
    states = sweep.sweep(sweep.runs([small()], seeds=range(3)), tmp_path, at_once=2)
    thread.join()
    assert [run.state for run in states] == ["waiting"] * 3
    assert len(list(tmp_path.glob("*/began"))) == 2
    assert "a signal stopped the sweep" in capfd.readouterr().err


def test_a_run_stopped_within_an_epoch_stands_where_its_checkpoint_is(tmp_path, pretend):
    (todo,) = sweep.runs([small()], seeds=[0])
    (tmp_path / todo.name).mkdir()
    (tmp_path / todo.name / "step-000000017.safetensors").touch()
    (run,) = sweep.sweep([todo], tmp_path, seconds=0, quiet=True)
    assert (run.state, run.result["step"]) == ("stopped", 17)


@pytest.mark.slow
def test_a_cluster_runs_the_same_jobs(tmp_path, pretend):
    pytest.importorskip("ray")
    todo = sweep.runs([small()], seeds=range(3))
    states = sweep.sweep(todo, tmp_path, cluster=True, quiet=True)
    assert [run.state for run in states] == ["finished", "failed", "finished"]
    assert states[1].message == "error: no such luck"


@pytest.mark.slow
def test_a_real_sweep_stops_and_goes_on(tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from spoonful.cli.app import run

    corpora.save(blobs(), tmp_path / "blobs.pt")
    config = small(f"data.corpus={tmp_path / 'blobs.pt'}", "budget.steps=4")
    (tmp_path / "small.json").write_text(json.dumps(config.as_dict()))
    command = ["sweep", "quick", "--config", str(tmp_path / "small.json")]
    command += ["--seeds", "1", "--jobs", "2"]
    command += ["--out", str(tmp_path / "runs"), "--quiet"]
    assert run(command) == 0
    assert capsys.readouterr().out.count("finished") == 1
    assert [p.name for p in (tmp_path / "runs").iterdir() if p.is_dir()] == ["small-seed0"]
    monkeypatch.setattr(sweep, "_command", None)  # a second process could not be started
    assert run(command) == 0
