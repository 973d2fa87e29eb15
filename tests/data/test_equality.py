"""Pairs made in batches on a device are distributed like the items made one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from data.corpora import blobs
from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.data.items import ProtocolDataset
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import Noise, Protocol
from spoonful.geometry.euler import euler_from_rotation
from spoonful.metrics import rotation_error_degrees

COUNT = 320
REACH = 0.08  # a few times the distance between neighbours on a shape


@cache
def corpus() -> Corpus:
    return blobs(COUNT, seed=1)


@cache
def of_items(card: Protocol) -> dict[str, Tensor]:
    """The statistics of training items that are made one at a time."""
    items = ProtocolDataset(card, corpus(), split="train", seed=3)
    return statistics(card, items.batches(COUNT // 4))


def of_pairs(card: Protocol) -> dict[str, Tensor]:
    """The statistics of pairs that are made in batches."""
    generator = torch.Generator().manual_seed(4)
    batches = PairGenerator(
        card, corpus(), batch_size=COUNT // 4, generator=generator, normals=False
    )
    return statistics(card, batches)


def statistics(card: Protocol, batches: Iterable[Batch]) -> dict[str, Tensor]:
    """Numbers that describe each pair, (COUNT,) each."""
    rows = [describe(card, batch) for batch in batches]
    return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}


def describe(card: Protocol, batch: Batch) -> dict[str, Tensor]:
    assert batch.pose is not None
    assert batch.index is not None
    motion = batch.pose.inverse() if card.pose.moves == "source" else batch.pose
    angles = euler_from_rotation(motion.rotation, "zyx", degrees=True)
    aligned = batch.pose.apply(batch.source)
    if card.pose.moves == "target":
        aligned, target = batch.source, batch.pose.inverse().apply(batch.target)
    else:
        target = batch.target
    shape = corpus().points[batch.index]
    few = slice(None, None, 32)  # one point in 32 says enough
    across = gaps(aligned[:, few], target)
    return {
        "rotation": rotation_error_degrees(motion.rotation, torch.eye(3).expand(len(batch), 3, 3)),
        "about z": angles[:, 0],
        "about y": angles[:, 1],
        "about x": angles[:, 2],
        "translation": motion.translation.norm(dim=-1),
        "translation x": motion.translation[:, 0],
        # how much of the source the target shows too, and how many points are the very same
        "overlap": share(across < REACH),
        "exact matches": share(across < 1e-4),
        # how much of the whole shape each cloud shows
        "source kept": share(gaps(shape[:, few], aligned) < REACH),
        "target kept": share(gaps(shape[:, few], target) < REACH),
        "order": (aligned[:, 0] - target[:, 0]).norm(dim=-1),
    }


def gaps(points: Tensor, others: Tensor) -> Tensor:
    """The distance of each point to the nearest of the others."""
    return torch.cdist(points, others, compute_mode="donot_use_mm_for_euclid_dist").amin(-1)


def share(true: Tensor) -> Tensor:
    return true.float().mean(-1)


def worst(seen: dict[str, Tensor], wanted: dict[str, Tensor]) -> tuple[float, str]:
    """The smallest p-value of the Kolmogorov-Smirnov tests, and of what."""
    return min((p_value(seen[name], wanted[name]), name) for name in wanted)


def p_value(seen: Tensor, wanted: Tensor) -> float:
    from scipy.stats import ks_2samp  # takes half a second

    return float(ks_2samp(seen, wanted, method="asymp").pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "rpm-crop",
        "rpm-crop without noise",  # so that points in both clouds can be counted
        "rpm-jitter without noise",
        "rpm-crop-once-sampled",
        "rpm-clean",
        "dcp-clean",
        "dcp-twice-sampled",
    ],
)
def test_pairs_are_distributed_like_the_items(name: str) -> None:
    card = replace(protocols.get(name.split()[0]), categories="all")
    if "without noise" in name:
        card = replace(card, noise=None)
    p, what = worst(of_pairs(card), of_items(card))
    assert p > 1e-3, what


@pytest.mark.slow
def test_the_comparison_sees_small_differences() -> None:
    card = replace(protocols.get("rpm-crop"), categories="all")
    for other, tell in (
        (replace(card, crop=(0.67, 0.7)), "source kept"),
        (replace(card, noise=Noise(on="both", sigma=0.06, clip=0.3)), "overlap"),
        (replace(card, pose=replace(card.pose, max_degrees=60.0)), "about x"),
        (replace(card, points=900, noise=None), "exact matches"),
    ):
        wanted = of_items(replace(card, noise=None) if other.noise is None else card)
        assert p_value(of_pairs(other)[tell], wanted[tell]) < 1e-3, tell
