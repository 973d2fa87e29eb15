"""The pairs of a run: one part of the training shapes to fit, another to pick the best epoch by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import Protocol, split_validation


class TrainingPairs:
    """Training batches and fixed validation batches, made on the device.

    Args:
        protocol: the card.
        corpus: the training shapes; the test set never comes here.
        device: where pairs are made.
        batch_size: pairs in a training batch.
        validation: the share of the shapes kept for validation.
        seed: of the training pairs. The validation pairs are the same for every seed.
        normals: whether pairs bring normals.

    Attributes:
        generator: the random numbers of the training pairs.
        validation: the validation batches.
        numbers: (S,) for each shape to fit, its number in `corpus`.
    """

    def __init__(
        self,
        protocol: Protocol,
        corpus: Corpus,
        *,
        device: torch.device,
        batch_size: int,
        validation: float = 0.1,
        seed: int = 0,
        normals: bool = True,
    ) -> None:
        if normals and corpus.normals is None:
            raise ValueError(
                f"this model reads normals, and corpus {corpus.name!r} has none; "
                "set rpmnet.features=xyz,dxyz or bring normals"
            )
        protocol.check(corpus)
        # Another corpus, of the shapes' numbers, goes through the same cuts.
        numbered = replace(
            corpus, points=torch.arange(len(corpus)).view(-1, 1, 1).double(), normals=None
        )
        fit, kept = split_validation(protocol.select(corpus, "train"), validation)
        numbers = split_validation(protocol.select(numbered, "train"), validation)[0]
        self.numbers: Tensor = numbers.points.flatten().long()
        if batch_size > len(fit):
            raise ValueError(
                f"data.batch_size must be at most {len(fit)}, the number of shapes to train on, "
                f"got {batch_size}"
            )
        self.generator = torch.Generator(device).manual_seed(seed)
        self._pairs = PairGenerator(
            protocol,
            fit.to(device),
            batch_size=batch_size,
            generator=self.generator,
            normals=normals,
        )
        fixed = PairGenerator(
            protocol,
            kept.to(device),
            batch_size=1,
            generator=torch.Generator(device).manual_seed(0),
            normals=normals,
            reuse=False,
        )
        every = torch.arange(len(kept), device=device)
        self.validation: list[Batch] = [fixed.pairs(some) for some in every.split(batch_size)]

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._pairs)

    def epoch(self, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch but for the first `skip`."""
        batches = iter(self._pairs)
        for _ in range(skip):
            next(batches)
        return batches
