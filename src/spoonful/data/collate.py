"""Join small batches into one, padded if clouds differ in size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from spoonful.batch import Batch
from spoonful.geometry import Pose

_CLOUDS = ("source", "target", "source_normals", "target_normals", "clean")


def collate(batches: Sequence[Batch]) -> Batch:
    """Join batches into one, in their order; a `collate_fn` for `torch.utils.data.DataLoader`.

    Clouds of unequal sizes are padded with zeros and get masks. Normals, poses, labels and the
    like must be in all batches or in none.

    Args:
        batches: at least one batch, of one pair or of many.

    >>> small, large = torch.ones(1, 2, 3), torch.ones(1, 4, 3)
    >>> both = collate([Batch(small, large), Batch(large, large)])
    >>> both.source.shape, both.source_mask.sum(-1), both.target_mask
    (torch.Size([2, 4, 3]), tensor([2, 4]), None)
    """
    if len(batches) == 0:
        raise ValueError("batches must hold at least one batch")
    joined: dict[str, Any] = {}
    if poses := _values(batches, "pose"):
        joined["pose"] = Pose(*(torch.cat(part) for part in zip(*poses, strict=True)))
    for name in _CLOUDS:
        if clouds := _values(batches, name):
            masks = [getattr(batch, f"{name}_mask", None) for batch in batches]
            joined[name], mask = _padded(clouds, masks)
            if name in ("source", "target"):
                joined[f"{name}_mask"] = mask
            elif name == "clean" and mask is not None:
                raise ValueError(
                    "batches must have clean shapes of one size: a Batch has no mask for them"
                )
    for name in ("label", "index"):
        if values := _values(batches, name):
            joined[name] = torch.cat(values)
    return Batch(**joined)


def _padded(clouds: list[Tensor], masks: Sequence[Tensor | None]) -> tuple[Tensor, Tensor | None]:
    """The clouds as one tensor, and a mask if any of them is padded."""
    if all(mask is None for mask in masks) and len({cloud.shape[1] for cloud in clouds}) == 1:
        return torch.cat(clouds), None
    kept = [
        row
        for cloud, mask in zip(clouds, masks, strict=True)
        for row in (torch.ones_like(cloud[..., 0], dtype=torch.bool) if mask is None else mask)
    ]
    each = [cloud for several in clouds for cloud in several]
    return pad_sequence(each, batch_first=True), pad_sequence(kept, batch_first=True)


def _values(batches: Sequence[Batch], name: str) -> list[Any]:
    """`name` of each batch, or nothing if no batch has it."""
    values = [getattr(batch, name) for batch in batches]
    missing = sum(value is None for value in values)
    if 0 < missing < len(values):
        raise ValueError(
            f"batches must all have `{name}` or none of them, but it is None in {missing} of "
            f"{len(values)}"
        )
    return [] if missing else values
