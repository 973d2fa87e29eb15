"""The package's names: those at the top, and which module imports which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import spoonful
from spoonful import geometry
from spoonful.geometry.plan import FORMS, LAYER_STARTS, MODES, form_and_start

# Each module may import those before it.
LINE = ["checks", "exact", "autodiff", "pose", "so3", "spread", "plan", "moments", "packed"]
LINE += ["rotation", "refinement", "head", "kernels", "kabsch", "refine", "layer", "stability"]


def test_the_top_has_few_names_and_shows_no_others():
    assert len(spoonful.__all__) <= 10
    shown = {name for name in dir(spoonful) if not name.startswith("_")}
    assert shown == {*spoonful.__all__, "geometry", "register", "spoonful"}


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'kabsh'"):
        _ = spoonful.kabsh


@pytest.mark.parametrize("module", LINE)
def test_the_geometry_imports_in_a_line(module):
    path = Path(geometry.__file__).parent / f"{module}.py"
    files = [path] if path.is_file() else sorted(path.with_suffix("").glob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            parts = node.module.split(".")
            if parts[:2] != ["spoonful", "geometry"]:
                continue
            found = parts[2:3] or [alias.name for alias in node.names]
            for name in found:
                if name in LINE and name != module:
                    assert LINE.index(name) < LINE.index(module), (file.name, name)


def test_every_mode_is_a_form_and_a_start_of_the_layer():
    for mode in MODES:
        found = form_and_start(mode, "target")
        assert (found is None) == (mode == "none")
        if found is not None:
            form, start = found
            assert form in FORMS
            assert start in LAYER_STARTS
            assert geometry.SpoonfulLayer(5, form, start).start == start
    with pytest.raises(ValueError, match=r"mode must be .*'both'"):
        form_and_start("both")
