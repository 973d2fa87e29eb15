"""The house rules: what may import what, and what a bare install can do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import spoonful

PACKAGE = Path(spoonful.__file__).parent
# Each layer may import those before it, and its own modules.
LAYERS = [
    {"extras", "files", "names", "workers"},
    {"geometry"},
    {"frame", "icp", "neighbors"},
    {"compat", "batch", "inputs", "registration"},
    {"losses", "metrics", "view"},
    {"data"},
    {"models"},
    {"classical"},
    {"training"},
    {"evaluation"},
    {"pipeline", "analysis"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
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


def test_importing_the_package_loads_no_extra():
    extras = ["numpy", "h5py", "trimesh", "matplotlib", "typer", "rich", "open3d", "scipy"]
    code = (
        "import sys, torch; before = set(sys.modules); import spoonful; "
        f"print([m for m in {extras} if m in sys.modules and m not in before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_documented():
    for name in spoonful.__all__:
        assert getattr(spoonful, name).__doc__, name
