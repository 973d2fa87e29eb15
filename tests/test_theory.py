"""What docs/theory.md shows runs, what it names is there, and the code numbers equations alike."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theory.md").read_text()
ROWS = re.findall(r"^\| (\d[^|]*) \|[^|]*\| `([\w.]+)`", PAGE, re.MULTILINE)


def named(path: str):
    """What `losses.dcp_loss` or `kabsch` stands for."""
    module, _, name = f"spoonful.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_its_example_prints_what_it_says(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "theory.md", "exec"), {})
    printed = capsys.readouterr().out
    found = [float(x) for x in re.findall(r"tensor\(([\d.e+-]+)\)", printed)]
    assert found[0] == pytest.approx(0.9, abs=1e-3)
    assert found[1] < 1e-5
    assert found[2] == pytest.approx(9, abs=1e-2)
    assert 1e-4 < found[3] < 0.1


def test_the_files_it_names_are_there():
    files = re.findall(r"`((?:geometry|tests)/[\w/]+\.py)`", PAGE)
    assert len(files) > 10
    for name in files:
        place = ROOT if name.startswith("tests") else ROOT / "src" / "spoonful"
        assert (place / name).is_file(), name


@pytest.mark.parametrize(("equations", "path"), ROWS)
def test_functions_number_their_equations_as_the_table_does(equations, path):
    said = " ".join(re.findall(r"Eqs?\. ([\d]+(?:(?: to | and )\d+)?)", named(path).__doc__))
    assert re.findall(r"\d+", said) == re.findall(r"\d+", equations)


def test_all_numbered_equations_of_the_paper_are_in_the_table():
    covered = set()
    for equations, _ in ROWS:
        first, *_, last = [int(x) for x in re.findall(r"\d+", equations)] * 2
        covered |= set(range(first, last + 1))
    assert covered == set(range(1, 27))


def test_other_names_of_the_page_are_there():
    for path in set(re.findall(r"`(metrics\.\w+|losses\.\w+)`", PAGE)):
        assert named(path).__doc__, path
