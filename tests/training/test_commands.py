"""The commands: `spoonful train`, `spoonful sweep`, and their twin without typer."""

import json
import os
import re
import signal

import pytest

from spoonful.training import corpora
from spoonful.training.__main__ import main
from spoonful.training.step import Stepper
from training.small import SMALL, blobs


@pytest.fixture
def flags(tmp_path) -> list[str]:
    corpora.save(blobs(), tmp_path / "blobs.pt")
    settings = [part for setting in SMALL for part in ("--set", setting)]
    return [*settings, "--data", str(tmp_path / "blobs.pt"), "--quiet"]


@pytest.mark.slow
def test_a_run_stops_and_goes_on_from_the_command_line(tmp_path, flags, capsys):
    command = ["quick", *flags, "--out", str(tmp_path / "run")]
    assert main([*command, "--seconds", "0"]) == 0
    assert "stopped; run the same command to resume; step 1 of 9" in capsys.readouterr().out
    assert main(command) == 0
    assert "finished; step 9 of 9" in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "result.json").read_text())["finished"]


def test_mistakes_are_one_line(tmp_path, flags, capsys):
    assert main(["quikc"]) == 2
    assert capsys.readouterr().err.startswith("error: no preset named 'quikc'; did you mean")
    assert main(["quick", *flags, "--set", "optimizer.rate=1"]) == 2
    assert "did you mean" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["quick", *flags, "--out", str(tmp_path / "file")]) == 2
    assert (
        capsys.readouterr().err == f"error: out must be a folder, and {tmp_path}/file is a file\n"
    )


def test_ctrl_c_before_the_first_step_is_one_line(tmp_path, flags, monkeypatch, capsys):
    pytest.importorskip("typer")
    from spoonful.cli.app import run

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(corpora, "load", interrupted)
    command = ["quick", *flags, "--out", str(tmp_path / "run")]
    for call in (main, lambda words: run(["train", *words])):
        assert call(command) == 130
        assert capsys.readouterr().err == "stopped; run the same command to resume\n"


@pytest.mark.slow
def test_who_waits_for_a_training_hears_that_a_signal_stopped_it(tmp_path, flags, monkeypatch):
    pytest.importorskip("typer")
    from spoonful.cli.app import run

    take = Stepper.__call__

    def interrupted(self, *arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return take(self, *arguments)

    command = ["train", "quick", *flags, "--out", str(tmp_path / "run")]
    assert run([*command, "--seconds", "0"]) == 0
    with monkeypatch.context() as during:
        during.setattr(Stepper, "__call__", interrupted)
        assert run(command) == 130
    assert run(command) == 0


@pytest.mark.slow
def test_spoonful_train_shows_what_was_learned(tmp_path, flags, capsys):
    typer = pytest.importorskip("typer")
    from spoonful.cli.sweep import sweep
    from spoonful.cli.train import train

    app = typer.Typer()
    app.command()(train)
    app.command()(sweep)
    folder = tmp_path / "run"
    command = ["train", "quick", *flags, "--out", str(folder)]
    app([*command, "--seconds", "0"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "stopped; run the same command to resume; step 1 of 9" in out
    assert re.search(r"rotation +[\d.]+° +-", out)
    assert f"checkpoints in {folder}" in out
    app(command, standalone_mode=False)
    out = capsys.readouterr().out
    assert "finished; step 9 of 9" in out
    assert re.search(r"start +best", out)
    assert (folder / "best.safetensors").is_file()
    help_text = app(["sweep", "--help"], standalone_mode=False)
    assert help_text is None or "refine.iterations" in capsys.readouterr().out
