"""Anyone's files: a folder tree becomes a corpus, a list becomes pairs, mistakes are named."""

from __future__ import annotations

import pytest
import torch

from spoonful.data import folder, synthetic
from spoonful.data.clouds import Cloud, write_cloud


@pytest.fixture
def tree(tmp_path):
    """Clouds of two categories, in several formats, some with normals; and other files."""
    root = tmp_path / "things"
    for category in ("cup", "gear"):
        (root / category).mkdir(parents=True)
        for k, suffix in enumerate((".ply", ".xyz", ".npy", ".pcd", ".ply", ".ply")):
            points, normals = synthetic.cloud(category, k, points=300)
            place = root / category / f"thing{k}{suffix}"
            write_cloud(place, Cloud(points * 7 + 3, normals if suffix == ".ply" else None))
    (root / "README.md").write_text("not a cloud")
    (root / "cup" / "notes.json").write_text("{}")
    return root


def test_a_category_is_a_folder(tree):
    corpus = folder.load(tree, "all", points=256)
    assert corpus.name == "things/all"
    assert corpus.categories == ("cup", "gear")
    assert corpus.labels.tolist() == [0] * 6 + [1] * 6
    torch.testing.assert_close(corpus.points.norm(dim=-1).amax(-1), torch.ones(12))
    torch.testing.assert_close(corpus.normals.norm(dim=-1), torch.ones(12, 256))


def test_the_split_is_by_name_and_stays(tree):
    parts = {split: folder.load(tree, split, points=64) for split in ("train", "test")}
    assert len(parts["train"]) + len(parts["test"]) == 12
    assert len(parts["test"]) >= 1
    before = [path for _, split, path in folder.find_shapes(tree) if split == "test"]
    write_cloud(tree / "cup" / "new.ply", Cloud(torch.rand(300, 3)))
    after = [path for _, split, path in folder.find_shapes(tree) if split == "test"]
    assert set(before) <= set(after)


@pytest.mark.parametrize("layout", ["{split}/{category}", "{category}/{split}"])
def test_folders_that_name_the_split_decide_it(tmp_path, layout):
    for category in ("a", "b"):
        for split, count in (("train", 3), ("test", 2)):
            place = tmp_path / layout.format(category=category, split=split)
            place.mkdir(parents=True)
            for k in range(count):
                write_cloud(place / f"{k}.ply", Cloud(torch.rand(50, 3)))
    train, test = (folder.load(tmp_path, split, points=50) for split in ("train", "test"))
    assert train.categories == test.categories == ("a", "b")
    assert train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert test.labels.tolist() == [0, 0, 1, 1]


def test_files_in_the_root_are_one_category(tmp_path):
    write_cloud(tmp_path / "one.ply", Cloud(torch.rand(50, 3)))
    assert folder.load(tmp_path, "all", points=20).categories == (tmp_path.name,)


def test_a_shape_depends_on_its_file_and_the_seed_alone(tree):
    whole = folder.load(tree, "all", points=100)
    (tree / "cup" / "thing0.ply").unlink()
    less = folder.load(tree, "all", points=100)
    assert torch.equal(whole.points[1:], less.points)
    other = folder.load(tree, "all", points=100, seed=1)
    assert not torch.equal(other.points, less.points)


def test_the_second_time_comes_from_the_cache(tree, own_home, monkeypatch):
    first = folder.load(tree, "all", points=100)
    assert list((own_home / ".cache" / "spoonful" / "sampled").iterdir())

    def fail(*_, **__):
        raise AssertionError("a file was read")

    with monkeypatch.context() as patched:
        patched.setattr(folder, "read_cloud", fail)
        assert torch.equal(folder.load(tree, "all", points=100).points, first.points)
        with pytest.raises(AssertionError, match="was read"):
            folder.load(tree, "all", points=100, cache=False)
    # A file that changes makes another corpus.
    write_cloud(tree / "cup" / "thing0.ply", Cloud(torch.rand(400, 3)))
    assert not torch.equal(folder.load(tree, "all", points=100).points, first.points)


def test_a_damaged_cache_is_made_again(tree, own_home):
    first = folder.load(tree, "all", points=100)
    (kept,) = (own_home / ".cache" / "spoonful" / "sampled").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.warns(UserWarning, match="made again"):
        again = folder.load(tree, "all", points=100)
    assert torch.equal(first.points, again.points)


def test_bad_files_are_named(tree):
    bad = tree / "gear" / "thing0.ply"
    bad.write_bytes(bad.read_bytes()[:300])
    with pytest.raises(ValueError, match=r"thing0\.ply"):
        folder.load(tree, "all", points=100)
    write_cloud(bad, Cloud(torch.rand(20, 3)))
    with pytest.raises(ValueError, match=r"thing0\.ply: it has 20 points, but 100 are asked for"):
        folder.load(tree, "all", points=100)
    write_cloud(bad, Cloud(torch.ones(200, 3)))
    with pytest.raises(ValueError, match=r"thing0\.ply: all its points are in one place"):
        folder.load(tree, "all", points=100)


def test_mistakes_are_named(tree, tmp_path):
    with pytest.raises(ValueError, match="split must be"):
        folder.load(tree, "val")
    with pytest.raises(ValueError, match="points must be"):
        folder.load(tree, points=0)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no clouds or meshes here \(looked for ply, pcd"):
        folder.load(empty)
