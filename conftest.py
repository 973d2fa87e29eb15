"""For all tests and docstring examples: one thread per process, and a fixed seed."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Use one thread per process, since several share the cores; also in those that tests start.

    With `-n`, the process that only starts the others does not import torch.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        import torch

        torch.set_num_threads(1)
        gc.set_threshold(50_000, 20, 50)  # tracing makes millions of objects: a twentieth faster


def pytest_collection_finish() -> None:
    """Leave the imported modules out of later garbage collections: each takes 0.2 s with them."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _seed() -> None:
    import torch

    torch.manual_seed(0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, let idle workers steal tests: the slowest are not spread evenly."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None
