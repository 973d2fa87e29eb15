"""Many small batches as one, padded where clouds differ in size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from spoonful.batch import Batch
from spoonful.geometry import Pose


def collate(batches: Sequence[Batch]) -> Batch:
    """Join batches into one, in their order; a `collate_fn` for `torch.utils.data.DataLoader`.

    Clouds of unequal sizes are padded with zeros and get masks. What is known of some pairs must
    be known of all: a batch has normals, poses, labels for every pair or for none.

    Args:
        batches: at least one batch, of one pair or of many.

    >>> small, large = torch.ones(1, 2, 3), torch.ones(1, 4, 3)
    >>> both = collate([Batch(small, large), Batch(large, large)])
    >>> both.source.shape, both.source_mask.sum(-1), both.target_mask
    (torch.Size([2, 4, 3]), tensor([2, 4]), None)
    """
    if len(batches) == 0:
        raise ValueError("batches must hold at least one batch")
    source, source_mask = _clouds(batches, "source")
    target, target_mask = _clouds(batches, "target")
    clean, clean_mask = _clouds(batches, "clean")
    if clean_mask is not None:
        raise ValueError("batches must have clean shapes of one size: a Batch has no mask for them")
    poses = _known(batches, "pose")
    return Batch(
        source=_needed(source),
        target=_needed(target),
        source_normals=_clouds(batches, "source_normals")[0],
        target_normals=_clouds(batches, "target_normals")[0],
        source_mask=source_mask,
        target_mask=target_mask,
        pose=Pose(*(torch.cat(part) for part in zip(*poses, strict=True))) if poses else None,
        clean=clean,
        label=_joined(_known(batches, "label")),
        index=_joined(_known(batches, "index")),
    )


def _clouds(batches: Sequence[Batch], name: str) -> tuple[Tensor | None, Tensor | None]:
    """The clouds called `name` as one tensor, and a mask if any of them had to be padded."""
    clouds = _known(batches, name)
    if not clouds:
        return None, None
    masks = [getattr(batch, f"{name}_mask", None) for batch in batches]
    if all(mask is None for mask in masks) and len({cloud.shape[1] for cloud in clouds}) == 1:
        return torch.cat(clouds), None
    pairs = [cloud for several in clouds for cloud in several]
    kept = [
        row
        for cloud, mask in zip(clouds, masks, strict=True)
        for row in (torch.ones_like(cloud[..., 0], dtype=torch.bool) if mask is None else mask)
    ]
    return pad_sequence(pairs, batch_first=True), pad_sequence(kept, batch_first=True)


def _known(batches: Sequence[Batch], name: str) -> list[Tensor]:
    """`name` of each batch, or nothing if no batch has it."""
    values = [getattr(batch, name) for batch in batches]
    missing = sum(value is None for value in values)
    if 0 < missing < len(values):
        raise ValueError(
            f"batches must all have `{name}` or none of them, but it is None in {missing} of "
            f"{len(values)}"
        )
    return [] if missing else values


def _joined(parts: list[Tensor]) -> Tensor | None:
    return torch.cat(parts) if parts else None


def _needed(value: Tensor | None) -> Tensor:
    if value is None:
        raise ValueError("every batch must have a source and a target")
    return value
