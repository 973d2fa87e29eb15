"""The command: help by example, one-line errors, honest exit codes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

from spoonful.cli import data, main, models
from spoonful.cli.app import app, as_typed, run
from spoonful.data import synthetic
from spoonful.training import shipped


def commands() -> list[list[str]]:
    """All there are, as they are typed."""
    groups = {"": app, "data": data.app, "models": models.app}
    return [
        [*([group] if group else []), command.name or command.callback.__name__]
        for group, there in groups.items()
        for command in there.registered_commands
    ]


@pytest.mark.slow
@pytest.mark.parametrize("command", [[], *commands()], ids=" ".join)
def test_help_has_examples_and_fills_its_lines(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*command, "--help"]) == 0
    text, _, _ = capsys.readouterr().out.partition("╭")
    assert "\n Examples" in text
    assert f"\n   spoonful {' '.join(command)}".rstrip() in text
    lines = [line.strip() for line in text.splitlines()]
    for line, after in pairwise(lines):
        if line and after:
            assert len(line) + 1 + len(after.split()[0]) > 74, line


def test_a_terminal_without_degree_signs_gets_the_rest(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "argv", ["spoonful", "models", "list"])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    with pytest.raises(SystemExit, match="0"):
        main()
    terminal.flush()
    assert "validation ?" in terminal.buffer.getvalue().decode()


def test_version_is_the_packages(capsys):
    import spoonful

    assert run(["--version"]) == 0
    # A second line says so if the CPU kernel is not built.
    assert capsys.readouterr().out.splitlines()[0] == f"spoonful {spoonful.__version__}"


def test_a_users_mistake_is_one_line_and_exit_code_2(capsys):
    assert run(["bench", "nonsense"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert error.startswith("error: no benchmark named 'nonsense'; there are: ")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("out must be a folder", "--out must be a folder"),
        ("batch_size must be at least 1", "--batch-size must be at least 1"),
        ("init and scale='auto' cannot be used", "--init and --scale='auto' cannot be used"),
        ("voxel 0.1 is too small", "voxel 0.1 is too small"),  # chosen, not typed
        ("a.ply: the file is empty", "a.ply: the file is empty"),
    ],
)
def test_errors_name_options_as_they_were_typed(message, shown):
    words = ["a.ply", "--out", "a", "--batch-size=0", "--init", "p.txt", "--scale", "auto"]
    assert as_typed(message, words) == shown


@pytest.mark.parametrize("terminal", [False, True])
def test_a_models_card_shows_the_whole_hash(terminal, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    (name, *_) = shipped.names()
    assert run(["models", "show", name]) == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert shipped.card(name).sha256 in re.sub(r"\s", "", text)
    assert ("|---|" in text) is not terminal


def test_without_a_name_the_benchmarks_are_listed(capsys):
    assert run(["bench"]) == 0
    assert "layer       Time the pose layer" in capsys.readouterr().out


def test_a_benchmark_answers_for_its_own_options(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["spoonful"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit, match="0"):
        run(["bench", "layer", "--help"])
    assert "--sizes" in capsys.readouterr().out


def test_a_missing_file_is_named_first(tmp_path, capsys):
    missing = tmp_path / "a.json"
    assert run(["compare", str(missing), str(missing)]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error == f"error: {missing}: no such file or directory"


def test_debug_shows_the_traceback(capsys):
    assert run(["--debug", "bench", "nonsense"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "shown"), [(OSError, False), (KeyError, True)])
def test_a_thread_that_cannot_write_prints_no_traceback(error, shown, capsys, monkeypatch):
    def fail() -> None:
        raise error("in a thread")

    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(sys, "argv", ["spoonful", "--version"])
    with pytest.raises(SystemExit):
        main()
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    said = capsys.readouterr().err
    assert ("Traceback" in said) == shown
    assert "in a thread" in said


@pytest.mark.parametrize(
    "arguments", [["fly"], ["demo", "--altitude", "3"], ["demo", "--seed", "x"]]
)
def test_bad_usage_exits_with_2_and_no_traceback(arguments, capsys):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert error


MISSING = {
    "": (["typer"], "spoonful needs typer: pip install 'spoonful[cli]'"),
    "train": (
        ["typer", "numpy"],
        "spoonful train needs typer and numpy: pip install 'spoonful[cli]'",
    ),
    "register": (
        ["typer", "scipy", "trimesh"],
        "spoonful register needs typer, scipy and trimesh: pip install 'spoonful[register]'",
    ),
    "demo": (["scipy"], "spoonful demo needs scipy: pip install 'spoonful[register]'"),
    "serve": (["uvicorn"], "spoonful serve needs uvicorn: pip install 'spoonful[register,serve]'"),
}
"""For each command packages that are not installed, and what it prints then."""


@pytest.mark.slow
def test_one_message_names_all_that_is_missing():
    # torch and the package, which needs only torch, are imported once: each command runs in a fork.
    code = f"""
import os, runpy, sys, spoonful
for command, (missing, _) in {MISSING}.items():
    if os.fork() == 0:
        sys.modules.update(dict.fromkeys(missing))
        sys.argv[1:] = command.split()
        try:
            runpy.run_module("spoonful", run_name="__main__")  # python -m spoonful
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code)  # at once: an orderly end takes as long as the command
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2"] * len(MISSING), done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert said == [f"error: {words}" for _, words in MISSING.values()]


@pytest.mark.parametrize("name", sorted(shipped.DEFAULTS))
def test_a_models_card_is_found_by_its_method(name, capsys):
    assert run(["models", "show", name]) == 0
    assert shipped.DEFAULTS[name] in capsys.readouterr().out


@pytest.mark.slow
def test_demo_registers_two_real_scans(tmp_path: Path, capsys):
    assert run(["demo", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "$ spoonful register" in text
    assert float(re.search(r"rotation +([\d.]+)°", text)[1]) == pytest.approx(40.8, abs=0.3)
    assert "confident" in text
    assert "<html" in (tmp_path / "demo.html").read_text()[:500].lower()
    sizes = [(tmp_path / name).stat().st_size for name in ("room-1.ply", "room-2.ply")]
    assert sum(sizes) < 500_000


@pytest.mark.slow
def test_demo_registers_a_shape_with_a_network(tmp_path: Path, capsys):
    assert run(["demo", "--learned", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    before, found, after = map(float, re.findall(r"([\d.]+)°", text))
    assert before > 25
    assert after < found < 1
    assert (tmp_path / "demo.html").exists()


def test_addresses_of_datasets_are_not_broken_in_two(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("SPOONFUL_DATA", "SPOONFUL_CACHE", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert run(["data", "list"]) == 0
    assert "3dmatch: see https://3dmatch.cs.princeton.edu\n" in capsys.readouterr().out


def test_a_dataset_is_not_fetched_into_a_file(tmp_path: Path, capsys):
    (tmp_path / "notes.txt").touch()
    assert run(["data", "fetch", "modelnet40", "--to", str(tmp_path / "notes.txt")]) == 2
    assert "--to must be a folder, and" in capsys.readouterr().err


def test_a_model_is_not_published_into_a_file(tmp_path: Path, capsys):
    (tmp_path / "notes.txt").touch()
    folder = ["--folder", str(tmp_path / "notes.txt")]
    assert run(["models", "publish", "runs/mine", "mine", "--summary", "Mine.", *folder]) == 2
    assert "--folder must be a folder, and" in capsys.readouterr().err


def test_a_shown_item_replaces_nothing_but_pages(tmp_path: Path, capsys):
    scan = tmp_path / "scan.ply"
    scan.write_text("points")
    assert run(["data", "show", "rpm-crop", "--out", str(scan)]) == 2
    assert f"--out must end in .html, got {scan}" in " ".join(capsys.readouterr().err.split())
    assert scan.read_text() == "points"


def test_demo_refuses_a_file_for_a_folder_before_any_work(tmp_path: Path, capsys):
    (tmp_path / "notes.txt").touch()
    assert run(["demo", "--out", str(tmp_path / "notes.txt")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "notes.txt is a file" in err
    assert run(["demo", "--method", "magic"]) == 2
    assert "--method must be one of auto" in capsys.readouterr().err


@pytest.mark.slow
def test_data_show_writes_a_page_only_if_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(synthetic.PER_CATEGORY, "test", 1)
    assert run(["data", "show", "rpm-crop"]) == 0
    assert "--out" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert run(["data", "show", "rpm-crop", "--out", "pair.html"]) == 0
    assert (tmp_path / "pair.html").is_file()
