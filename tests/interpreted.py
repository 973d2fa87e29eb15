"""Running a file of tests in Triton's interpreter, which needs a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def _triton_version() -> tuple[int, ...]:
    if importlib.util.find_spec("triton") is None:
        return (0,)
    return tuple(int(part) for part in version("triton").split(".")[:2])


# Older interpreters do not get along with numpy 2.4.
needs_interpreter = pytest.mark.skipif(_triton_version() < (3, 7), reason="needs Triton 3.7")


def assert_passes_interpreted(*paths: Path) -> None:
    """Triton decides to interpret when it is imported, so the tests in `paths` run elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, paths)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "TRITON_INTERPRET": "1", "SPOONFUL_KERNELS": "on"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
