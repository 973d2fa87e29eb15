"""Anyone's files: a folder tree becomes a corpus, a list becomes pairs, mistakes are named."""

from __future__ import annotations

import json

import pytest
import torch

from spoonful.data import folder, synthetic
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.geometry import Pose, nearest, rotation_from_vector


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


def test_progress_is_told(tree):
    told = []
    folder.load(tree, "all", points=10, progress=lambda done, total: told.append((done, total)))
    assert told == [(k, 12) for k in range(1, 13)]


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
    with pytest.raises(ValueError, match="points must be at least 2"):
        folder.load(tree, points=0)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no clouds or meshes here \(looked for ply, pcd"):
        folder.load(empty)


# Lists of pairs.

TRUTH = Pose(rotation_from_vector(torch.tensor([0.2, -0.4, 0.3])), torch.tensor([20.0, -3, 1]))


@pytest.fixture
def scans(tmp_path):
    points, _ = synthetic.cloud("castle", 0, points=4000)
    points = points * 10
    write_cloud(tmp_path / "a.ply", Cloud(points[points[:, 0] > -5]))
    write_cloud(tmp_path / "b.ply", Cloud(TRUTH.apply(points[points[:, 0] < 5])))
    return tmp_path


def rows(pose=TRUTH):
    return pose.matrix().tolist()


def write_csv(place, lines):
    file = place / "pairs.csv"
    head = ",".join(["source", "target", *(f"m{k}" for k in range(16))])
    file.write_text("\n".join([head, *lines]) + "\n")
    return file


def write_json(place, entries):
    file = place / "pairs.json"
    file.write_text(json.dumps(entries))
    return file


def flat(pose=TRUTH):
    return ",".join(repr(value) for row in rows(pose) for value in row)


def test_lists_of_pairs_are_read(scans):
    listed = [
        write_csv(scans, [f"a.ply,b.ply,{flat()}"]),
        write_json(scans, [{"source": "a.ply", "target": "b.ply", "pose": rows()}]),
    ]
    for (pair,) in (folder.load_pairs(file, points=512) for file in listed):
        assert pair.source.shape == pair.target.shape == (512, 3)
        assert 0.4 < pair.overlap < 0.9
        # The pose holds in the unit ball, and comes back in the scans' own units.
        apart = nearest(pair.pose.apply(pair.source), pair.target).squared_distance.sqrt()
        assert apart.median() < 0.1
        back = pair.frame.to_original(pair.pose)
        torch.testing.assert_close(back.translation.float(), TRUTH.translation, atol=1e-4, rtol=0)
    assert folder.load_pairs(listed[0], points=512, min_overlap=0.95) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.ply,b.ply,1,2,3", "line 3: the pose must be 16 numbers"),
        (f"a.ply,b.ply,{flat()},5", "line 3: the pose must be 16 numbers"),
        (f"a.ply,b.ply,{flat().replace('20.0', 'x')}", "line 3: the pose must be 16 numbers"),
        (f"a.ply,,{flat()}", "line 3: it has no 'target'"),
        (f"a.ply,c.ply,{flat()}", r"line 3: .*c\.ply"),
        ("a.ply,b.ply," + ",".join(["2", *["0"] * 15]), "line 3: the last row of the pose"),
    ],
)
def test_bad_lines_are_named(scans, line, message):
    file = write_csv(scans, [f"a.ply,b.ply,{flat()}", line])
    with pytest.raises(ValueError, match=message) as caught:
        folder.load_pairs(file, points=256)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a.ply", "entry 1: expected an object"),
        ({"source": "a.ply", "target": 5, "pose": rows()}, "entry 1: it has no 'target'"),
        ({"source": "a.ply", "target": "b.ply"}, "entry 1: the pose must be 4 rows"),
        ({"source": "a.ply", "target": "b.ply", "pose": [[1, 2], [3]]}, "entry 1: the pose must"),
        (
            {"source": "a.ply", "target": "b.ply", "pose": torch.eye(4).mul(2).tolist()},
            "entry 1: the last row",
        ),
        (
            {
                "source": "a.ply",
                "target": "b.ply",
                "pose": torch.diag(torch.tensor([2.0, 2, 2, 1])).tolist(),
            },
            "entry 1: the pose does not hold a rotation",
        ),
        (
            {
                "source": "a.ply",
                "target": "b.ply",
                "pose": torch.diag(torch.tensor([1.0, 1, -1, 1])).tolist(),
            },
            "entry 1: the pose mirrors",
        ),
    ],
)
def test_bad_entries_are_named(scans, entry, message):
    good = {"source": "a.ply", "target": "b.ply", "pose": rows()}
    with pytest.raises(ValueError, match=message):
        folder.load_pairs(write_json(scans, [good, entry]), points=256)


def test_lists_that_are_none_are_named(scans):
    for name, content, message in (
        ("pairs.txt", "", r"a list of pairs is a \.csv or a \.json"),
        ("pairs.json", "{", "not JSON"),
        ("pairs.json", "{}", "expected a list"),
        ("pairs.csv", "a,b\n", "must name the columns source and target"),
        ("pairs.csv", b"\xff\xfe\x00", "not CSV"),
    ):
        file = scans / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=message) as caught:
            folder.load_pairs(file)
        assert str(file) in str(caught.value)


def test_posed_scans_are_paired(scans):
    poses = {"a": torch.eye(4).tolist(), "b": TRUTH.inverse().matrix().tolist()}
    (scans / "poses.json").write_text(json.dumps(poses))
    (pair,) = folder.load_posed(scans, points=512)
    assert pair.name.endswith("a-b")
    back = pair.frame.to_original(pair.pose).inverse()
    torch.testing.assert_close(back.translation.float(), TRUTH.translation, atol=1e-3, rtol=0)
    (scans / "poses.json").write_text(json.dumps({**poses, "c": poses["a"]}))
    with pytest.raises(ValueError, match="'c': there is no scan of this name"):
        folder.load_posed(scans)
