from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from data.corpora import blobs
from spoonful.data import protocols
from spoonful.data.protocols import PoseDistribution, split_validation

HASHES = {
    "dcp-clean": "0d21f951dd",
    "dcp-noise": "5f506cb506",
    "dcp-unseen": "3288f863f0",
    "rpm-clean": "f95412a36d",
    "rpm-jitter": "78cd997d99",
    "rpm-crop": "e2421037da",
    "3dmatch-30": "35ba03ed30",
    "dcp-twice-sampled": "2ea8e3ad9d",
    "dcp-unseen-twice-sampled": "aec2cebeb0",
    "rpm-crop-once-sampled": "6114d0d90f",
}


def test_no_card_changes_silently() -> None:
    """A new hash means that results can no longer be compared: change it here on purpose alone."""
    assert {name: protocols.get(name).hash for name in protocols.names()} == HASHES


def test_hash_follows_the_numbers_and_not_the_prose() -> None:
    card = protocols.get("rpm-crop")
    trap = card.traps[0]
    same = replace(card, summary="other words", traps=(replace(trap, why="x"), *card.traps[1:]))
    assert same.hash == card.hash
    others = [
        replace(card, points=1023),
        replace(card, noise=replace(card.noise, sigma=0.02)),
        replace(card, pose=PoseDistribution(moves="source", max_degrees=44.0)),
        replace(card, crop=(0.7, 0.6)),
        replace(card, traps=(replace(trap, kept=not trap.kept), *card.traps[1:])),
        replace(card, revision=2),
    ]
    assert len({card.hash, *(other.hash for other in others)}) == len(others) + 1


def test_cards_cannot_be_edited() -> None:
    with pytest.raises(FrozenInstanceError):
        protocols.get("dcp-clean").points = 512  # type: ignore[misc]


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'dcp-unseen'"):
        protocols.get("dcp_unseen")
    with pytest.raises(ValueError, match=r"no protocol named 'x'; there are: dcp-clean, "):
        protocols.get("x")


@pytest.mark.parametrize("name", protocols.names())
def test_a_card_reads_well(name: str) -> None:
    text = protocols.get(name).describe()
    assert text.startswith(f"{name} (")
    assert max(map(len, text.splitlines())) < 240
    for trap in protocols.get(name).traps:
        assert trap.what in text
        assert trap.why in text


def test_sizes_after_the_crop() -> None:
    assert protocols.get("rpm-crop").sizes == (717, 717)
    assert protocols.get("dcp-clean").sizes == (1024, 1024)


def test_seen_and_unseen_categories_are_apart() -> None:
    corpus = blobs(20, points=8)
    card = protocols.get("dcp-unseen")
    train, test = card.select(corpus, "train"), card.select(corpus, "test")
    assert train.labels.unique().tolist() == [0, 1]
    assert test.labels.unique().tolist() == [2, 3]
    assert torch.equal(card.select(corpus, "validation").points, train.points)
    assert card.select(corpus, "train").categories == corpus.categories


def test_the_larger_half_of_an_odd_number_of_categories_is_for_training() -> None:
    corpus = replace(blobs(20, points=8), categories=("a", "b", "c", "d", "e"))
    assert protocols.get("rpm-crop").select(corpus, "train").labels.max() == 2


def test_a_corpus_without_the_needed_half_is_refused() -> None:
    corpus = blobs(8, points=8)
    corpus = corpus.select(corpus.labels == 0)
    with pytest.raises(ValueError, match="rpm-crop takes the last half of the categories for test"):
        protocols.get("rpm-crop").select(corpus, "test")


def test_test_noise_is_in_neither_training_nor_validation() -> None:
    card = protocols.get("dcp-noise")
    assert card.noise_for("test") == card.noise
    assert card.noise_for("train") is None
    assert card.noise_for("validation") is None
    assert protocols.get("rpm-jitter").noise_for("train") is not None


def test_validation_is_a_part_of_the_training_set() -> None:
    fit, validation = split_validation(50, fraction=0.2, seed=3)
    assert (len(fit), len(validation)) == (40, 10)
    assert sorted(fit + validation) == list(range(50))
    assert split_validation(50, fraction=0.2, seed=3) == (fit, validation)
    assert split_validation(50, 0.2, seed=4) != (fit, validation)
    assert len(split_validation(3, fraction=0.01)[1]) == 1


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5])
def test_validation_needs_a_proper_fraction(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction must lie between 0 and 1"):
        split_validation(3, fraction)
