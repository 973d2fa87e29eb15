"""What several tests of the pipeline register."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pipeline.lumps import lumpy, view
from spoonful.geometry import Pose, random_rotation


@pytest.fixture(scope="session")
def scans() -> tuple[Tensor, Tensor, Pose]:
    """Two views that share about half of what they see, the source moved, and the true pose."""
    source = view(lumpy(5000, 1), (1, 0, 0))
    target = view(lumpy(4500, 2), (0.6, 0.8, 0))
    generator = torch.Generator().manual_seed(3)
    rotation = random_rotation(generator=generator, dtype=torch.float64)
    motion = Pose(rotation, torch.tensor([3.0, -2.0, 5.0], dtype=torch.float64))
    return motion.apply(source), target, motion.inverse()
