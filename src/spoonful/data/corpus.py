"""A corpus: many shapes as one block of tensors, ready to live on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, repr=False)
class Corpus:
    """S shapes of P points each, with their categories.

    Attributes:
        name: which dataset and split this is, as printed beside results ("synthetic/train").
        points: (S, P, 3) float32.
        normals: (S, P, 3) float32 unit normals, or None.
        labels: (S,) int64, positions in `categories`.
        categories: the names of all categories of the dataset, whether they occur here or not.
    """

    name: str
    points: Tensor
    normals: Tensor | None
    labels: Tensor
    categories: tuple[str, ...]

    def __repr__(self) -> str:
        """The name and the sizes, without the tensors.

        >>> Corpus("tiny", torch.zeros(2, 8, 3), None, torch.zeros(2).long(), ("chair",))
        Corpus('tiny', 2 shapes of 8 points, no normals, 1 category, cpu)
        """
        shapes, points = self.points.shape[:2]
        normals = "no normals" if self.normals is None else "with normals"
        kinds = f"{len(self.categories)} categor{'y' if len(self.categories) == 1 else 'ies'}"
        return (
            f"Corpus({self.name!r}, {shapes} shapes of {points} points, {normals}, {kinds}, "
            f"{self.points.device})"
        )

    def __len__(self) -> int:
        return self.points.shape[0]

    def select(self, index: Tensor) -> Self:
        """The shapes at `index`, an integer or bool tensor (S,)."""
        return replace(
            self,
            points=self.points[index],
            normals=None if self.normals is None else self.normals[index],
            labels=self.labels[index],
        )

    def to(self, device: torch.device | str) -> Self:
        """The same corpus on another device."""
        return replace(
            self,
            points=self.points.to(device),
            normals=None if self.normals is None else self.normals.to(device),
            labels=self.labels.to(device),
        )
