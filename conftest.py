"""For tests and for the examples in docstrings: one thread each, and repeatable randomness."""

from __future__ import annotations

from typing import Any

import pytest
import torch

torch.set_num_threads(1)  # two run side by side


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, who is done takes tests from who is not: the longest are not spread evenly."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None
