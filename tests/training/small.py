"""A run so small that it takes a moment: 20 blobs, clouds of 16 points, a few hundred weights."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from spoonful.data.corpus import Corpus
from spoonful.training import Config, override

SMALL = (
    "name=small",
    "model=dcp",
    "dcp.embedding=pointnet",
    "dcp.emb_dims=8",
    "dcp.ff_dims=8",
    "dcp.n_heads=2",
    "data.points=16",
    "data.batch_size=6",
    "budget.steps=9",
    "runtime.device=cpu",
    "runtime.tensorboard=false",
    "runtime.checkpoint_seconds=0",
    "runtime.compile=off",
    "runtime.graph=off",
)


def blobs(count: int = 20) -> Corpus:
    """Stretched spheres with a bump, in two categories."""
    generator = torch.Generator().manual_seed(5)
    points = F.normalize(torch.randn(count, 64, 3, generator=generator), dim=-1)
    normals = points.clone()
    stretch = 0.3 + 0.7 * torch.rand(count, 1, 3, generator=generator)
    points = points * stretch + 0.1 * torch.rand(count, 64, 3, generator=generator)
    return Corpus("blobs/train", points, normals, torch.arange(count) % 2, ("even", "odd"))


def small(*settings: str) -> Config:
    return override(Config(), [*SMALL, *settings])
