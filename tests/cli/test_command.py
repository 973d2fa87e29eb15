"""The command: help by example, one-line errors, honest exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from spoonful.cli.app import run


def test_help_shows_examples_for_every_command(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert "spoonful demo --out demo" in text
    for command in ("demo", "bench"):
        assert run([command, "--help"]) == 0
        assert "Example" in capsys.readouterr().out


def test_version_is_the_packages(capsys):
    import spoonful

    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"spoonful {spoonful.__version__}"


def test_a_users_mistake_is_one_line_and_exit_code_2(capsys):
    assert run(["bench", "nonsense"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert error.startswith("error: no benchmark named 'nonsense'; there are: ")


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


@pytest.mark.parametrize(
    "arguments", [["fly"], ["demo", "--altitude", "3"], ["demo", "--seed", "x"]]
)
def test_bad_usage_exits_with_2_and_no_traceback(arguments, capsys):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert error


def test_without_the_cli_extra_the_command_says_what_to_install():
    code = (
        "import sys, runpy; sys.modules['typer'] = None; "
        "runpy.run_module('spoonful', run_name='__main__')"  # python -m spoonful
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "error: The spoonful command needs typer: pip install 'spoonful[cli]'"
    )


def test_demo_registers_the_pair_and_writes_picture_and_page(tmp_path: Path, capsys):
    assert run(["demo", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    before, after = map(float, re.search(r"rotation error\s+([\d.]+)°\s+([\d.]+)°", text).groups())
    assert before > 25
    assert after < 1
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "demo.html").read_text()[:500].lower()


def test_demo_refuses_a_file_for_a_folder_before_any_work(tmp_path: Path, capsys):
    (tmp_path / "notes.txt").touch()
    assert run(["demo", "--out", str(tmp_path / "notes.txt")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "notes.txt is a file" in err
    assert run(["demo", "--method", "magic"]) == 2
    assert "--method must be one of auto" in capsys.readouterr().err
