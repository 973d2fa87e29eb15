from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import DataLoader

from data.corpora import blobs, scans
from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.items import ProtocolDataset, test_items
from spoonful.data.protocols import Split


@pytest.fixture(scope="module")
def published(golden_folder: Path) -> Corpus:
    """The shapes the published loaders were run on, at their numbers; zeros between them.

    The loader of `jitter` hands its input through, so that file holds the shapes.
    """
    golden = load_file(golden_folder / "rpm_protocol_jitter.safetensors")
    index = golden["index"]
    shapes = torch.zeros(int(index.max()) + 1, 2048, 6)
    shapes[index] = golden["points_raw"]
    # All in the second half of the categories, which is the one for test.
    labels = torch.ones(len(shapes), dtype=torch.int64)
    return Corpus("golden/test", shapes[..., :3], shapes[..., 3:], labels, ("seen", "unseen"))


def same_bits(seen: Tensor | None, wanted: Tensor) -> bool:
    return seen is not None and seen.dtype == wanted.dtype and torch.equal(seen, wanted)


@pytest.mark.parametrize("name", ["dcp-clean", "dcp-unseen"])
def test_dcp_items_are_the_published_ones_bit_for_bit(
    name: str, published: Corpus, golden_folder: Path
) -> None:
    golden = load_file(golden_folder / "dcp_protocol.safetensors")
    items = test_items(protocols.get(name), published)
    for row, index in enumerate(golden["index"].tolist()):
        item = items[index]
        assert same_bits(item.source[0], golden["source"][row].mT)
        assert same_bits(item.target[0], golden["target"][row].mT)
        assert item.pose is not None
        assert same_bits(item.pose.rotation[0], golden["rotation"][row])
        assert same_bits(item.pose.translation[0], golden["translation"][row])


@pytest.mark.parametrize("kind", ["clean", "jitter", "crop"])
def test_rpmnet_items_are_the_published_ones_bit_for_bit(
    kind: str, published: Corpus, golden_folder: Path
) -> None:
    golden = load_file(golden_folder / f"rpm_protocol_{kind}.safetensors")
    items = test_items(protocols.get(f"rpm-{kind}"), published)
    for row, index in enumerate(golden["index"].tolist()):
        item = items[index]
        source, target = golden["points_src"][row], golden["points_ref"][row]
        assert same_bits(item.source[0], source[:, :3])
        assert same_bits(item.source_normals, source[None, :, 3:])
        assert same_bits(item.target[0], target[:, :3])
        assert same_bits(item.target_normals, target[None, :, 3:])
        assert same_bits(item.clean, golden["points_raw"][row : row + 1, :, :3])
        assert item.pose is not None
        assert same_bits(item.pose.rotation[0], golden["transform_gt"][row, :, :3])
        assert same_bits(item.pose.translation[0], golden["transform_gt"][row, :, 3])


def exact_matches(item: Batch) -> int:
    """How many source points land on a target point."""
    assert item.pose is not None
    gap = torch.cdist(item.pose.apply(item.source).double(), item.target.double()).amin(-1)
    return int((gap < 1e-5).sum())


@pytest.mark.parametrize("name", [n for n in protocols.names() if n != "3dmatch-30"])
def test_the_pose_takes_the_source_onto_the_target(name: str) -> None:
    card = protocols.get(name)
    item = test_items(replace(card, noise=None), blobs())[5]
    exact = exact_matches(item)
    if card.sampling == "disjoint":
        assert exact == 0
    elif card.sampling == "independent":
        assert 100 < exact < item.source.shape[1] * 3 // 4
    elif card.crop is None:
        assert exact == item.source.shape[1]
    else:
        assert exact > 300
    # and normals turn along
    assert item.pose is not None
    assert item.source_normals is not None
    assert item.target_normals is not None
    moved = item.source_normals @ item.pose.rotation.mT
    nearest = torch.cdist(item.pose.apply(item.source), item.target).argmin(-1)
    agreement = (moved * item.target_normals.gather(1, nearest[..., None].expand_as(moved))).sum(-1)
    assert agreement.median() > 0.98


def test_noise_of_dcp_noise_is_on_the_source_alone() -> None:
    corpus = blobs()
    clean = test_items(protocols.get("dcp-clean"), corpus)[9]
    noisy = test_items(protocols.get("dcp-noise"), corpus)[9]
    assert torch.equal(noisy.target, clean.target)
    assert torch.equal(noisy.pose.matrix(), clean.pose.matrix())  # type: ignore[union-attr]
    noise = noisy.source - clean.source
    assert noise.abs().max() <= 0.05 + 1e-6
    assert noise.std().item() == pytest.approx(0.01, rel=0.05)
    # Reading an item twice must not add noise twice, as in the published loader.
    items = test_items(protocols.get("dcp-noise"), corpus)
    assert torch.equal(items[9].source, items[9].source)


def test_once_sampled_views_keep_exact_matches_in_spite_of_noise() -> None:
    corpus = blobs()
    once = [test_items(protocols.get("rpm-crop-once-sampled"), corpus)[i] for i in range(8)]
    twice = [test_items(protocols.get("rpm-crop"), corpus)[i] for i in range(8)]
    assert min(exact_matches(item) for item in once) > 250
    assert max(exact_matches(item) for item in twice) == 0


def test_training_items_of_dcp_noise_are_clean() -> None:
    item = ProtocolDataset(protocols.get("dcp-noise"), blobs(), split="train")[2]
    assert exact_matches(item) == 1024


def test_test_items_depend_on_their_number_alone() -> None:
    items = test_items(protocols.get("rpm-crop"), blobs())
    forwards = [items[i].source for i in range(4)]
    backwards = [items[i].source for i in reversed(range(4))]
    assert all(map(torch.equal, forwards, reversed(backwards)))
    assert torch.equal(items[-1].source, items[len(items) - 1].source)


def test_training_items_change_with_epoch_and_seed() -> None:
    corpus, card = blobs(), protocols.get("rpm-crop")
    items = ProtocolDataset(card, corpus, split="train", seed=1)
    first = items[0].source
    assert torch.equal(items[0].source, first)
    items.set_epoch(1)
    assert not torch.equal(items[0].source, first)
    other = ProtocolDataset(card, corpus, split="train", seed=2)
    assert not torch.equal(other[0].source, first)


def test_training_and_test_items_are_of_different_categories() -> None:
    corpus, card = blobs(), protocols.get("rpm-jitter")
    assert {int(b.label) for b in ProtocolDataset(card, corpus, split="train")} == {0, 1}  # type: ignore[arg-type]
    assert {int(b.label) for b in test_items(card, corpus)} == {2, 3}  # type: ignore[arg-type]


def test_validation_items_are_fixed_and_of_training_categories() -> None:
    items = ProtocolDataset(protocols.get("rpm-crop"), blobs(), split="validation")
    assert torch.equal(items[0].source, items[0].source)
    assert items[0].label is not None
    assert items[0].label.item() == 0


def test_training_samples_of_rpm_clean_are_random() -> None:
    items = ProtocolDataset(protocols.get("rpm-clean"), blobs(), split="train")
    first = {tuple(p) for p in items[0].target[0].tolist()}
    items.set_epoch(1)
    assert {tuple(p) for p in items[0].target[0].tolist()} != first


def test_a_corpus_without_normals_gives_items_without() -> None:
    item = test_items(protocols.get("rpm-crop"), blobs(normals=False))[0]
    assert item.source_normals is None
    assert item.target_normals is None


def test_reading_items_leaves_the_corpus_alone() -> None:
    corpus = blobs(8)
    before = corpus.points.clone()
    for name in ("dcp-noise", "rpm-crop", "rpm-crop-once-sampled"):
        for item in test_items(protocols.get(name), corpus):
            item.source.zero_()
            item.target.zero_()
            if item.clean is not None:
                item.clean.zero_()
    assert torch.equal(corpus.points, before)


@pytest.mark.parametrize("split", ["test", "train"])
def test_scans_are_parted_by_a_drawn_pose(split: Split) -> None:
    items = ProtocolDataset(protocols.get("3dmatch-30"), scans(), split=split)
    assert len(items) == 4
    for item in items:
        assert item.source.shape == item.target.shape == (1, 300, 3)
        assert exact_matches(item) == 200
        assert item.label is None
        assert item.clean is None
    first = items[0].pose
    clean = ProtocolDataset(protocols.get("dcp-clean"), blobs(), split=split)[0].pose
    # Poses are those of dcp-clean, which has the same recipe and seed.
    assert torch.equal(first.matrix(), clean.matrix())  # type: ignore[union-attr]


def test_a_plain_loader_reads_the_items() -> None:
    items = test_items(protocols.get("rpm-crop"), blobs())
    loaded = list(DataLoader(items, batch_size=5, collate_fn=collate))
    own = list(items.batches(5))
    assert [len(b) for b in own] == [5, 5, 5, 5, 5, 5, 2]
    assert len(loaded) == len(own)
    for ours, theirs in zip(own, loaded, strict=True):
        assert torch.equal(ours.source, theirs.source)
        assert torch.equal(ours.index, theirs.index)  # type: ignore[arg-type]


def test_mistakes_are_named() -> None:
    corpus = blobs(8, points=1100)
    with pytest.raises(ValueError, match="dcp-twice-sampled needs shapes of at least 2048 points"):
        test_items(protocols.get("dcp-twice-sampled"), corpus)
    with pytest.raises(ValueError, match="3dmatch-30 takes pairs of scans"):
        test_items(protocols.get("3dmatch-30"), corpus)
    with pytest.raises(ValueError, match="takes a Corpus of shapes, got a list"):
        test_items(protocols.get("dcp-clean"), [])
    items = test_items(protocols.get("dcp-clean"), corpus)
    with pytest.raises(IndexError, match="no item 8: there are 8"):
        items[8]
    with pytest.raises(ValueError, match="size must be at least 1"):
        next(items.batches(0))
