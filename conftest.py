"""For tests and for the examples in docstrings: one thread each, and repeatable randomness."""

from __future__ import annotations

import pytest
import torch

torch.set_num_threads(1)  # two run side by side


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
