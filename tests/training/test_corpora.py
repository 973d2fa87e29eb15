"""Corpora from files: the same shapes whatever the format, clear errors."""

import re

import pytest
import torch

from spoonful.models.checkpoints import write_tensors
from spoonful.training import corpora
from training.small import blobs


def same(found, wanted) -> None:
    assert torch.equal(found.points, wanted.points)
    assert torch.equal(found.labels, wanted.labels)
    assert torch.allclose(found.normals, wanted.normals)


def test_every_format_gives_the_same_shapes(tmp_path):
    numpy = pytest.importorskip("numpy")
    corpus = blobs(5)
    parts = {"points": corpus.points, "normals": corpus.normals, "labels": corpus.labels}
    corpora.save(corpus, tmp_path / "a.pt")
    write_tensors(tmp_path / "b.safetensors", parts, {})
    numpy.savez(tmp_path / "c-train.npz", **{name: part.numpy() for name, part in parts.items()})
    for name in ("a.pt", "b.safetensors", "c-{split}.npz"):
        same(corpora.load(str(tmp_path / name)), corpus)
    assert corpora.load(str(tmp_path / "a.pt")).categories == ("even", "odd")
    both = torch.cat([corpus.points, corpus.normals], dim=-1)
    numpy.save(tmp_path / "d.npy", both.numpy())
    assert torch.equal(corpora.load(str(tmp_path / "d.npy")).points, corpus.points)


def test_a_corpus_is_found_by_name_where_datasets_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOONFUL_DATA", str(tmp_path))
    corpus = blobs(5)
    for split in ("train", "test"):
        corpora.save(corpus, tmp_path / f"mine-{split}.pt")
    found = corpora.load("mine-{split}.pt", "test")
    same(found, corpus)
    assert found.name == "mine/test"
    with pytest.raises(ValueError, match=rf"no data named 'yours'.*{re.escape(str(tmp_path))}"):
        corpora.load("yours")


def test_a_folder_of_clouds_is_a_corpus_with_a_category_for_each_folder(tmp_path, monkeypatch):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("scipy")
    monkeypatch.setattr(corpora.places, "cache", lambda: tmp_path / "cache")
    for split in ("train", "test"):
        for category in ("cups", "lamps"):
            folder = tmp_path / "mine" / split / category
            folder.mkdir(parents=True)
            numpy.save(folder / "a.npy", 50 * torch.randn(2100, 3).numpy() + 100)
    found = corpora.load(str(tmp_path / "mine"), "test")
    assert found.name == "mine/test"
    assert found.categories == ("cups", "lamps")
    assert found.points.shape == (2, 2048, 3)
    torch.testing.assert_close(found.points.norm(dim=-1).amax(1), torch.ones(2))


def test_whole_numbers_are_ten_thousandths(tmp_path):
    points = torch.randint(-10_000, 10_000, (3, 8, 3), dtype=torch.int16)
    normals = torch.randint(1, 127, (3, 8, 3), dtype=torch.int8)
    torch.save({"points": points, "normals": normals}, tmp_path / "a.pt")
    found = corpora.load(str(tmp_path / "a.pt"))
    assert torch.equal(found.points, points.float() / 10_000)
    torch.testing.assert_close(found.normals.norm(dim=-1), torch.ones(3, 8))


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no data named '.*none\.pt'"):
        corpora.load(str(tmp_path / "none.pt"))
    with pytest.raises(ValueError, match="no data named 'modelnet'"):
        corpora.load("modelnet")
    (tmp_path / "a.zip").touch()
    with pytest.raises(ValueError, match=r"a\.zip must be .*\.safetensors"):
        corpora.load(str(tmp_path / "a.zip"))
    torch.save({"clouds": torch.zeros(2, 3)}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"'points' of shape \(S, P, 3\), got \['clouds'\]"):
        corpora.load(str(tmp_path / "a.pt"))
    torch.save({"points": torch.zeros(2, 8, 3), "labels": torch.zeros(3)}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match="2 shapes, but 3 labels"):
        corpora.load(str(tmp_path / "a.pt"))
    torch.save({"points": torch.zeros(2, 8, 3), "normals": [0.0, 0.0, 1.0]}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"'normals' must be \(2, 8, 3\) like 'points', got list"):
        corpora.load(str(tmp_path / "a.pt"))


def test_shapes_and_labels_that_cannot_be_used_are_named(tmp_path):
    numpy = pytest.importorskip("numpy")
    points = blobs(5).points.numpy()
    holes = points.copy()
    holes[3, 2, 1] = numpy.nan
    mistakes = [
        ("has no shapes", {"points": points[:0]}),
        (r"1 of 5 shapes have NaN .* points\[3\]", {"points": holes}),
        (r"NaN .* normals\[3\]", {"points": points, "normals": holes}),
        ("whole numbers from 0", {"points": points, "labels": numpy.array(list("aabbc"))}),
        ("whole numbers from 0", {"points": points, "labels": numpy.arange(5) - 2}),
        ("whole numbers from 0", {"points": points, "labels": numpy.arange(5) + 0.5}),
        (
            "label 4, but only 2",
            {"points": points, "labels": numpy.arange(5), "categories": ["a", "b"]},
        ),
    ]
    for message, content in mistakes:
        numpy.savez(tmp_path / "a.npz", **content)
        with pytest.raises(ValueError, match=rf"a\.npz.*{message}"):
            corpora.load(str(tmp_path / "a.npz"))


def test_text_beside_the_shapes_does_not_matter(tmp_path):
    numpy = pytest.importorskip("numpy")
    points = blobs(5).points
    numpy.savez(tmp_path / "a.npz", points=points.numpy(), files=numpy.array(list("abcde")))
    assert torch.equal(corpora.load(str(tmp_path / "a.npz")).points, points)


def test_a_damaged_file_raises_one_error_with_its_name(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.savez(tmp_path / "a.npz", points=blobs(5).points.numpy())
    numpy.save(tmp_path / "a.npy", blobs(5).points.numpy())
    corpora.save(blobs(5), tmp_path / "a.pt")
    for path in [*tmp_path.iterdir()]:
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], whole[:60] + b"\xff" * 40 + whole[100:], b"x"):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=path.name):
                corpora.load(str(path))
