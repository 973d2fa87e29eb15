"""Small things to measure, shared by the tests of evaluation."""

from __future__ import annotations

from functools import cache

import torch

from spoonful.data.corpus import Corpus
from spoonful.evaluation.result import Data, Result


@cache
def shapes(points: int = 1024, count: int = 8, name: str = "toy/test") -> Corpus:
    """Random shapes, one of each of 4 categories in turn; made in no time."""
    generator = torch.Generator().manual_seed(5)
    clouds = torch.rand(count, points, 3, generator=generator) - 0.5
    normals = torch.nn.functional.normalize(clouds, dim=-1)
    labels = torch.arange(count) % 4
    return Corpus(name, clouds, normals, labels, ("anvil", "bell", "cup", "drum"))


def result(error: torch.Tensor, name: str = "a", **changes: object) -> Result:
    """A result with the metric "error", of items 0, 1, ..."""
    known: dict[str, object] = {
        "method": name,
        "protocol": "dcp-clean",
        "protocol_hash": "0123456789",
        "data": Data("toy/test", "fedcba", len(error)),
        "index": torch.arange(len(error)),
        "errors": {"error": error.double()},
    }
    return Result(**{**known, **changes})  # type: ignore[arg-type]
