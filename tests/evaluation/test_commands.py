"""The commands, from what is typed to what is printed in 100 columns."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
import torch

from evaluation.small import shapes
from spoonful.evaluation import Result
from spoonful.evaluation import compare as compared
from spoonful.training import corpora

typer = pytest.importorskip("typer")
from rich.console import Console  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from spoonful.cli import compare, evaluate  # noqa: E402


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command on toy shapes; returns what it prints."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("SPOONFUL_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    corpora.save(shapes(2048), tmp_path / "data" / "toys.pt")
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("evaluate")(evaluate.evaluate_command)
    app.command("compare")(compare.compare_command)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert max(map(len, done.output.splitlines())) <= 100
        return done.output

    return run


@pytest.mark.slow
def test_evaluate_prints_a_row_a_method_and_writes_files(run, tmp_path):
    methods = ("identity", "best=true-matches")
    text = run("evaluate", *methods, "--data", "toys.pt", "--out", "results", "--full")
    assert "rpm-crop" in text
    for word in ("identity", "best", "aniso. R", "Chamfer", "pairs/s", "95th percentile"):
        assert word in text
    written = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert written == ["best-rpm-crop.json", "identity-rpm-crop.json", "rpm-crop.csv"]

    text = run("compare", "results/identity-rpm-crop.json", "results/best-rpm-crop.json")
    assert "A = identity" in text
    assert "B = best" in text
    assert "100 %" in text


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "lines"), [(None, 2), ("80", 3)])
def test_a_pipe_is_wide_and_a_name_whole(run, monkeypatch, columns, lines):
    run("evaluate", "long-name=identity", "--data", "toys.pt", "--out", "r")
    result = Result.load("r/long-name-rpm-crop.json")
    monkeypatch.delenv("COLUMNS")
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    console = evaluate.wide(Console(file=StringIO()))
    evaluate.show(console, [replace(result, settings="published")])
    text = console.file.getvalue()
    beside = "^long-name +" if columns else "^long-name +published +"
    assert re.search(rf"{beside}\d", text, re.MULTILINE)
    assert "published" in text  # under the name if there is no room beside it
    row = text[text.index("long-name") : text.index("Intervals")].splitlines()
    assert len(row) >= lines
    assert columns or (len(row) == lines and " – " in row[1])  # noqa: RUF001


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_compare_breaks_no_words(run, columns):
    run("evaluate", "identity", "best=truth", "--data", "toys.pt", "--out", "r", "--limit", "4")
    found = compared(*(Result.load(f"r/{name}-rpm-crop.json") for name in ("identity", "best")))
    for metrics in (None, ["rotation_dcp_degrees"]):
        console = Console(file=StringIO(), width=columns)
        compare.show(console, found, metrics)
        text = console.file.getvalue()
        for name in metrics or found.differences:
            assert re.search(rf"^{name}\b", text, re.MULTILINE)
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= columns


def test_settings_are_checked_before_data_is_opened(run):
    for option in ("--limit", "--batch-size"):
        with pytest.raises(ValueError, match=f"{option} must be an int >= 1, got 0"):
            run("evaluate", "identity", "--data", "missing.pt", option, "0")


def test_compare_refuses_results_of_different_protocols(run):
    run("evaluate", "identity", "--data", "toys.pt", "--out", "r", "--limit", "2")
    run("evaluate", "identity", "--data", "toys.pt", "--out", "r", "--protocol", "rpm-jitter")
    with pytest.raises(ValueError, match=r"different protocols.*rpm-crop.*rpm-jitter"):
        run("compare", "r/identity-rpm-crop.json", "r/identity-rpm-jitter.json")


def test_results_with_another_noise_are_kept_beside_the_first(run, tmp_path):
    for noise in ((), ("--noise", "0"), ("--noise", "0.02")):
        options = ("--data", "toys.pt", "--limit", "2", "--no-chamfer", "--out", "r", *noise)
        text = run("evaluate", "identity", *options)
        assert ("noise 0.02" in text) == (noise[-1:] == ("0.02",))
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        "identity-rpm-crop-noise-0.02.json",
        "identity-rpm-crop-noise-0.json",
        "identity-rpm-crop.json",
        "rpm-crop-noise-0.02.csv",
        "rpm-crop-noise-0.csv",
        "rpm-crop.csv",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["dcp-clean", "rpm-clean", "rpm-crop"])
def test_more_test_noise_makes_larger_errors_and_is_another_protocol(run, protocol):
    found = []
    for noise in ("0", "0.1"):
        options = ("--data", "toys.pt", "--protocol", protocol, "--noise", noise, "--no-chamfer")
        run("evaluate", "true-matches", *options, "--out", "r")
        found.append(Result.load(f"r/true-matches-{protocol}-noise-{noise}.json"))
    without, noisy = (one["rotation_degrees"].summary.mean for one in found)
    assert without < noisy
    assert found[0].protocol_hash != found[1].protocol_hash
    with pytest.raises(ValueError, match="noise must be a standard deviation >= 0, got -1"):
        run("evaluate", "identity", "--noise", "-1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "evaluate dcp-v3",
            "no method named 'dcp-v3'; did you mean 'dcp-v2'? There are: identity,",
        ),
        ("evaluate icp --device tpu", "--device must be cpu, cuda or auto, got 'tpu'"),
        ("evaluate icp --out data/toys.pt", "--out must be a folder, and data/toys.pt is a file"),
        ("evaluate icp icp --out r", "two methods would write the same file"),
        ("evaluate a/b=icp a:b=truth --out r", "two methods would write the same file"),
    ],
)
def test_what_cannot_work_is_said_before_the_work(run, words, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run(*words.split(), "--data", "toys.pt")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_the_users_mistake():
    with pytest.raises(ValueError, match="--device cuda:1: torch finds no CUDA device here"):
        evaluate.pick_device("cuda:1")
