"""The house rules: what may import what, what a bare install can do, what files may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import spoonful

PACKAGE = Path(spoonful.__file__).parent
ROOT = Path(__file__).parents[1]
# Each layer may import those before it, and its own modules.
LAYERS = [
    {"extras", "files", "names", "version", "workers"},
    {"locking"},
    {"geometry"},
    {"frame", "icp", "neighbors"},
    {"compat", "batch", "inputs", "registration"},
    {"losses", "metrics", "view"},
    {"data"},
    {"models"},
    {"classical"},
    {"training"},
    {"evaluation"},
    {"pipeline"},
    {"align"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


@cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.walk(ast.parse(path.read_text()))
    return [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module)
            if node.module == "spoonful":
                found |= {f"spoonful.{alias.name}" for alias in node.names}
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def import_graph() -> dict[str, set[str]]:
    """The modules of this package that each of its modules imports, anywhere in its text.

    `from spoonful.geometry import Pose` is an import of `spoonful.geometry`, and `from
    spoonful.geometry import so3` one of `spoonful.geometry.so3`.
    """
    modules = {name_of(path): path for path in [PACKAGE / "__init__.py", *MODULES]}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        found: set[str] = set()
        for node in import_statements(path):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= names & modules.keys()
                if not names <= modules.keys():
                    found.add(node.module)
        graph[module] = found & modules.keys()
    return graph


def circles(graph: dict[str, set[str]]) -> list[str]:
    """One text for each circle that a walk along the imports meets."""
    found, done, trail = [], set(), []

    def walk(module: str) -> None:
        if module in trail:
            found.append(" -> ".join([*trail[trail.index(module) :], module]))
        elif module not in done:
            trail.append(module)
            for name in sorted(graph[module]):
                walk(name)
            done.add(trail.pop())

    for module in sorted(graph):
        walk(module)
    return found


@pytest.mark.slow
def test_no_module_imports_itself_through_others():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a -> b -> c -> a"]
    assert circles(import_graph()) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_layers_import_downwards_only(path):
    own = layer_of(path)
    assert own in RANK, f"{own} has no place among the layers"
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "spoonful" and len(parts) > 1 and parts[1] in RANK and parts[1] != own:
            assert RANK[parts[1]] < RANK[own], f"{path.name} imports {name} from above"


@pytest.mark.parametrize("path", sorted((PACKAGE / "geometry").glob("*.py")), ids=lambda p: p.stem)
def test_the_geometry_core_imports_torch_and_nothing_else(path):
    allowed = {"torch", "spoonful", *sys.stdlib_module_names}
    assert {name.split(".")[0] for name in imports_of(path)} <= allowed
    for name in imports_of(path):
        assert not name.startswith("spoonful") or name.startswith("spoonful.geometry")


BARE = """
import sys
import torch

before = set(sys.modules)

def loaded(names):
    print([name for name in names.split() if name in sys.modules and name not in before])

import spoonful
loaded("numpy h5py trimesh matplotlib typer rich open3d scipy triton torch._dynamo")
import spoonful.training.__main__
loaded("typer rich yaml tensorboard h5py safetensors ray pooch")

sys.modules.update(typer=None, rich=None, h5py=None, safetensors=None)
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.evaluation import evaluate, methods
toys = Corpus("toys", torch.rand(2, 1024, 3), None, torch.zeros(2).long(), ("toy",))
print(len(evaluate(methods.get("truth"), protocols.get("dcp-clean"), toys)))
"""
"""Imports the package, then training, then evaluates: in one process, which imports torch once."""


@pytest.mark.slow
def test_importing_training_and_evaluating_load_no_extra():
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["[]", "[]", "2"], done.stderr


def test_custom_operations_have_types_that_torch_2_4_can_read():
    for path in MODULES:
        if "library.custom_op(" in path.read_text():
            assert "__future__" not in imports_of(path), f"torch 2.4 cannot import {path}"


@pytest.fixture(scope="module")
def tracked() -> dict[str, str]:
    """The text of every tracked file, by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text("utf-8", errors="replace") for name in paths}


def test_no_file_names_a_folder_of_one_machine(tracked):
    # Where people and build machines keep their files; /home/you and the like are examples.
    private = re.compile(
        r"/(?:work|root|home/(?!you\b|me\b|user\b)\w+|Users/(?!you\b)\w+)/\w[\w./-]*"
    )
    found = {
        (name, match.group())
        for name, text in tracked.items()
        for match in private.finditer(text)
        if name != "tests/test_house.py"
    }
    assert found == set()


def test_the_citation_has_the_packages_version(tracked):
    assert f"\nversion: {spoonful.__version__}\n" in tracked["CITATION.cff"]


def test_pre_commit_runs_the_ruff_that_make_lint_runs(tracked):
    (pinned,) = re.findall(r"^ruff==(.*)$", tracked["constraints.txt"], re.MULTILINE)
    assert f"rev: v{pinned}\n" in tracked[".pre-commit-config.yaml"]


def test_every_public_name_is_documented():
    for name in spoonful.__all__:
        assert getattr(spoonful, name).__doc__, name
