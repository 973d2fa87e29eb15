"""The examples in the docstrings of the packages in benchmarks/."""

import doctest
import importlib

import pytest

from scripts import load_benchmark

pytest.importorskip("matplotlib")
for script in ("analyze", "tune"):
    load_benchmark(script)

MODULES = ("analysis.cases", "analysis.report", "analysis.subject", "paper.reproduce")


SEARCH = pytest.param("paper.tuning", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [*MODULES, "paper.tables", SEARCH])
def test_examples_print_what_they_say(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert found.failed == 0
    assert found.attempted > 0
