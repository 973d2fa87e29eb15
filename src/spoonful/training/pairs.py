"""The pairs of a run: training shapes to fit, and others that pick the best epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import Protocol, split_validation
from spoonful.data.threedmatch import VALIDATION_SCENES

if TYPE_CHECKING:
    from spoonful.data.scans import ScanPair


class TrainingPairs:
    """Training batches and fixed validation batches, made on the device.

    Args:
        protocol: the card.
        data: the training shapes, or pairs of scans; never the test set.
        device: where pairs are made.
        batch_size: pairs in a training batch.
        validation: the share of the shapes kept for validation, or the shapes for validation: those
            in training categories are used.
        seed: of the training pairs. The validation pairs are the same for every seed.
        normals: whether pairs bring normals.
        stretch: of the training shapes, see `PairGenerator`.

    Attributes:
        generator: the random numbers of the training pairs.
        validation: the validation batches.
        numbers: (S,) for each shape to fit, its number in `data`.
    """

    def __init__(
        self,
        protocol: Protocol,
        data: Corpus | Sequence[ScanPair],
        *,
        device: torch.device,
        batch_size: int,
        validation: float | Corpus = 0.1,
        seed: int = 0,
        normals: bool = True,
        stretch: float = 1.0,
    ) -> None:
        if normals and (not isinstance(data, Corpus) or data.normals is None):
            name = repr(data.name) if isinstance(data, Corpus) else "of scans"
            raise ValueError(
                f"this model reads normals, and corpus {name} has none; "
                "set rpmnet.features=xyz,dxyz or use a corpus with normals"
            )
        protocol.check(data)
        if isinstance(data, Corpus):
            numbers = protocol.members(data, "train").cpu()
            if isinstance(validation, Corpus):
                held = protocol.select(validation, "train")
            else:
                first, second = split_validation(len(numbers), validation)
                numbers, held = numbers[first], data.select(numbers[second])
            self.numbers = numbers
            fit: Any = data.select(self.numbers).to(device)
            kept: Any = held.to(device)
            made_on = device
        elif isinstance(validation, Corpus):
            raise ValueError("validation must be a share for pairs of scans, got a Corpus")
        else:
            first, second = split_scenes(data, validation)
            self.numbers = torch.tensor(first)
            fit, kept = ([data[i] for i in part] for part in (first, second))
            made_on = torch.device("cpu")  # the device of scans
        if batch_size > len(fit):
            raise ValueError(
                f"data.batch_size must be at most {len(fit)}, the number of shapes to train on, "
                f"got {batch_size}"
            )
        self._device = device
        self.generator = torch.Generator(made_on).manual_seed(seed)
        self._pairs = PairGenerator(
            protocol,
            fit,
            batch_size=batch_size,
            generator=self.generator,
            normals=normals,
            stretch=stretch,
        )
        fixed = PairGenerator(
            protocol,
            kept,
            batch_size=1,
            generator=torch.Generator(made_on).manual_seed(0),
            normals=normals,
        )
        every = torch.arange(len(kept), device=made_on)
        self.validation = [fixed.pairs(some).to(device) for some in every.split(batch_size)]

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._pairs)

    def epoch(self, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch without the first `skip`."""
        batches = iter(self._pairs)
        for _ in range(skip):
            next(batches)
        return (batch.to(self._device) for batch in batches)


def split_scenes(pairs: Sequence[ScanPair], fraction: float) -> tuple[list[int], list[int]]:
    """The numbers of the pairs to fit and of those for validation; they share no scene.

    3DMatch's own scenes for validation are taken if there are some, otherwise a share of the
    scenes. Pairs of a single scene are split by pair.
    """
    scenes = [pair.name.rpartition("/")[0] for pair in pairs]
    names = sorted(set(scenes))
    if len(names) < 2:
        return split_validation(len(pairs), fraction)
    fit = {names[i] for i in split_validation(len(names), fraction)[0]}
    if 0 < len(VALIDATION_SCENES & set(names)) < len(names):
        fit = set(names) - VALIDATION_SCENES
    numbers = range(len(pairs))
    return [i for i in numbers if scenes[i] in fit], [i for i in numbers if scenes[i] not in fit]
