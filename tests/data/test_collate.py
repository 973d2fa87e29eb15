from __future__ import annotations

import pytest
import torch

from spoonful.batch import Batch
from spoonful.data.collate import collate
from spoonful.geometry import Pose


def pair(n: int, m: int, *, count: int = 1, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    source, normals = torch.rand(2, count, n, 3, generator=generator)
    return Batch(
        source=source,
        target=torch.rand(count, m, 3, generator=generator),
        source_normals=normals,
        pose=Pose(torch.rand(count, 3, 3, generator=generator), torch.rand(count, 3)),
        index=torch.full((count,), seed),
    )


def test_equal_sizes_need_no_mask() -> None:
    parts = [pair(5, 4, seed=1), pair(5, 4, count=2, seed=2)]
    both = collate(parts)
    assert both.source_mask is None
    assert both.target_mask is None
    assert torch.equal(both.source, torch.cat([p.source for p in parts]))
    assert both.index is not None
    assert both.index.tolist() == [1, 2, 2]
    assert both.pose is not None
    assert both.pose.rotation.shape == (3, 3, 3)
    assert both.label is None


def test_unequal_sizes_are_padded_and_masked() -> None:
    parts = [pair(5, 4, seed=1), pair(3, 4, seed=2)]
    both = collate(parts)
    assert both.target_mask is None
    assert both.source_mask is not None
    assert both.source_mask.sum(-1).tolist() == [5, 3]
    assert both.source_normals is not None
    for row, part in enumerate(parts):
        mask = both.source_mask[row]
        assert torch.equal(both.source[row, mask], part.source[0])
        assert torch.equal(both.source_normals[row, mask], part.source_normals[0])  # type: ignore[index]


def test_masks_of_the_parts_are_kept() -> None:
    padded = collate([pair(5, 4), pair(3, 4)])
    again = collate([padded, pair(6, 4)])
    assert again.source_mask is not None
    assert again.source_mask.sum(-1).tolist() == [5, 3, 6]


def test_what_only_some_have_is_refused() -> None:
    bare = Batch(torch.zeros(1, 5, 3), torch.zeros(1, 4, 3))
    with pytest.raises(ValueError, match="must all have `pose` or none of them"):
        collate([pair(5, 4), bare])
    with pytest.raises(ValueError, match="at least one batch"):
        collate([])
