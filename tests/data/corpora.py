"""Small corpora for the tests of protocols."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from spoonful.data.corpus import Corpus
from spoonful.data.scans import ScanPair
from spoonful.frame import Frame
from spoonful.geometry import Pose


def blobs(count: int = 64, *, points: int = 2048, normals: bool = True, seed: int = 0) -> Corpus:
    """Surfaces of lopsided ellipsoids: no two shapes alike, no symmetry, categories a to d."""
    generator = torch.Generator().manual_seed(seed)
    direction = F.normalize(torch.randn(count, points, 3, generator=generator), dim=-1)
    axes = 0.3 + 0.7 * torch.rand(count, 1, 3, generator=generator)
    bump = F.normalize(torch.randn(count, 1, 3, generator=generator), dim=-1)
    surface = direction * axes * (1 + 0.4 * (direction * bump).sum(-1, keepdim=True).relu())
    return Corpus(
        name="blobs/train",
        points=surface / surface.norm(dim=-1).amax(dim=1)[:, None, None],
        normals=F.normalize(direction / axes, dim=-1) if normals else None,
        labels=torch.arange(count) * 4 // count,
        categories=("a", "b", "c", "d"),
    )


def scans(count: int = 4) -> list[ScanPair]:
    """Pairs of 300 points, 200 of which are the same; half a turn and a shift apart."""
    zero = torch.zeros(3, dtype=torch.float64)
    pose = Pose(torch.diag(torch.tensor([-1.0, -1.0, 1.0])), torch.tensor([0.1, 0.2, 0.3]))
    pairs = []
    for number, shape in enumerate(blobs(count, points=400).points):
        source, target = shape[:300] / 2, pose.apply(shape[100:] / 2)
        frame = Frame(zero, zero, zero[0] + 1)
        pairs.append(ScanPair(f"blob/{number}", source, target, pose, 2 / 3, frame))
    return pairs
