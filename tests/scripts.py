"""Loading a benchmark's script as a module, and running a script of the tests elsewhere."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parent


def load_benchmark(name: str) -> ModuleType:
    """benchmarks/NAME.py, which puts folders on the path that must not stay there.

    (A file like benchmarks/training.py would hide the folder tests/training from later tests.)
    """
    spec = importlib.util.spec_from_file_location(
        f"benchmark_{name}", TESTS.parent / "benchmarks" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.modules[spec.name] = module  # where dataclasses look for their module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def paths() -> str:
    """PYTHONPATH for a script that imports from this folder."""
    return os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
