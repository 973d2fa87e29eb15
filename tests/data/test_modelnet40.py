"""ModelNet40's layouts: read as published, refused with the file's name when damaged."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from data.files import write_h5
from spoonful.data import modelnet40, synthetic
from spoonful.data.clouds import Mesh, write_mesh


def test_files_are_read_in_the_order_of_their_names(hdf5_folder):
    corpus = modelnet40.load("train", root=hdf5_folder)
    assert corpus.name == "little/train"
    assert corpus.categories == ("bowl", "cup", "vase")
    assert corpus.labels.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]
    with h5py.File(hdf5_folder / "ply_data_train0.h5") as first:
        np.testing.assert_array_equal(corpus.points[:4].numpy(), first["data"][()])


def test_normals_are_made_unit(hdf5_folder):
    normals = modelnet40.load("test", root=hdf5_folder).normals
    torch.testing.assert_close(normals.norm(dim=-1), torch.ones(3, 16))


def test_a_normal_without_direction_becomes_zero(hdf5_folder):
    normal = np.ones((3, 16, 3), "f4")
    normal[0, 0], normal[1, 2] = 0, np.nan
    write_h5(hdf5_folder / "ply_data_test0.h5", 3, normal=normal)
    normals = modelnet40.load("test", root=hdf5_folder).normals
    assert normals[0, 0].tolist() == normals[1, 2].tolist() == [0, 0, 0]
    assert normals.isfinite().all()


def test_the_first_points_are_kept_as_in_the_published_loaders(hdf5_folder):
    all_points = modelnet40.load("test", root=hdf5_folder)
    few = modelnet40.load("test", root=hdf5_folder, points=5)
    assert torch.equal(few.points, all_points.points[:, :5])
    assert torch.equal(few.normals, all_points.normals[:, :5])


def test_files_without_normals_give_none(hdf5_folder):
    write_h5(hdf5_folder / "ply_data_test0.h5", 3, normal=None)
    assert modelnet40.load("test", root=hdf5_folder).normals is None


def test_labels_may_be_flat(hdf5_folder):
    write_h5(hdf5_folder / "ply_data_test0.h5", 3, label=np.array([2, 0, 1], "i8"))
    assert modelnet40.load("test", root=hdf5_folder).labels.tolist() == [2, 0, 1]


def test_it_is_found_where_datasets_are_kept(hdf5_folder, monkeypatch, own_home):
    with pytest.raises(FileNotFoundError, match="spoonful data fetch modelnet40"):
        modelnet40.load("test")
    cached = own_home / ".cache" / "spoonful" / "modelnet40_ply_hdf5_2048"
    cached.parent.mkdir(parents=True)
    hdf5_folder.rename(cached)
    assert modelnet40.load("test").name == "modelnet40/test"
    named = own_home / "mine"
    named.mkdir()
    cached.rename(named / "modelnet40")
    monkeypatch.setenv("SPOONFUL_DATA", str(named))
    assert modelnet40.load("test").name == "modelnet40/test"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": None}, "it has no 'data', only label, normal"),
        ({"label": None}, "it has no 'label'"),
        ({"data": np.zeros((3, 16, 2), "f4")}, r"'data' must have shape \(n, n, 3\), got"),
        ({"normal": np.zeros((3, 15, 3), "f4")}, r"'normal' must have shape \(3, 16, 3\)"),
        ({"label": np.zeros((2, 1), "u1")}, r"'label' must have shape \(3, 1\)"),
        ({"label": np.full((3, 1), 3, "u1")}, "labels go from 3 to 3, but shape_names.txt has 3"),
        ({"label": np.zeros((3, 1), "f4")}, "'label' must hold whole numbers"),
        ({"data": np.zeros((3, 16, 3), "i4")}, "'data' must hold floats"),
        ({"data": np.full((3, 16, 3), np.inf, "f4")}, "shape 0 has points that are not finite"),
        ({"data": np.zeros((3, 16, 3), "S3")}, "'data' is not an array of numbers"),
        ({"data": np.zeros((0, 16, 3), "f4")}, r"'label' must have shape \(0, 1\)"),
    ],
)
def test_files_that_are_not_in_the_layout_are_named(hdf5_folder, changes, message):
    file = hdf5_folder / "ply_data_test0.h5"
    write_h5(file, 3, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        modelnet40.load("test", root=hdf5_folder)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("keep", [0, 10, 600, 0.5, 0.99])
def test_truncated_files_are_named(hdf5_folder, keep):
    file = hdf5_folder / "ply_data_test0.h5"
    whole = file.read_bytes()
    file.write_bytes(whole[: keep if keep > 1 else int(keep * len(whole))])
    with pytest.raises(ValueError, match="not a whole HDF5 file") as caught:
        modelnet40.load("test", root=hdf5_folder)
    assert str(file) in str(caught.value)


def test_damaged_contents_are_named(hdf5_folder):
    file = hdf5_folder / "ply_data_test0.h5"
    content = bytearray(file.read_bytes())
    with h5py.File(file) as opened:
        info = opened["data"].id.get_chunk_info(0)
    content[info.byte_offset : info.byte_offset + info.size] = b"\xff" * info.size
    file.write_bytes(content)
    with pytest.raises(ValueError, match="'data' is damaged") as caught:
        modelnet40.load("test", root=hdf5_folder)
    assert str(file) in str(caught.value)


def test_a_file_that_declares_far_more_than_it_holds_is_refused(hdf5_folder):
    file = hdf5_folder / "ply_data_test0.h5"
    with h5py.File(file, "w") as opened:
        opened.create_dataset("data", (10**8, 2048, 3), "f4", chunks=(1, 2048, 3))
        opened.create_dataset("label", (10**8, 1), "u1", chunks=(1024, 1))
    with pytest.raises(ValueError, match="would unpack to") as caught:
        modelnet40.load("test", root=hdf5_folder)
    assert str(file) in str(caught.value)


def test_missing_parts_are_named(hdf5_folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such folder"):
        modelnet40.load("test", root=tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError, match="not a folder"):
        modelnet40.load("test", root=hdf5_folder / "shape_names.txt")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match="neither ply_data_train"):
        modelnet40.load("test", root=empty)
    (hdf5_folder / "ply_data_test0.h5").unlink()
    with pytest.raises(FileNotFoundError, match=r"no ply_data_test\*\.h5 files here"):
        modelnet40.load("test", root=hdf5_folder)
    (hdf5_folder / "shape_names.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"shape_names\.txt: missing"):
        modelnet40.load("train", root=hdf5_folder)


def test_files_of_different_sizes_are_refused(hdf5_folder):
    write_h5(hdf5_folder / "ply_data_train2.h5", 3, size=8)
    with pytest.raises(ValueError, match=r"differ in their number of points: \[8, 16\]"):
        modelnet40.load("train", root=hdf5_folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "validation"}, "split must be"),
        ({"points": 1}, "points must be"),
        ({"points": 17}, "points must be at most 16"),
    ],
)
def test_mistakes_are_named(hdf5_folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        modelnet40.load(**{"split": "test", "root": hdf5_folder, **arguments})


# ModelNet's own tree of meshes.


@pytest.fixture
def off_tree(tmp_path):
    root = tmp_path / "ModelNet40"
    for category, stretch in (("box", 1.0), ("plank", 5.0)):
        for split, count in (("train", 2), ("test", 1)):
            place = root / category / split
            place.mkdir(parents=True)
            for k in range(count):
                corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 3)
                corners = corners * torch.tensor([stretch, 1.0 + k, 1.0]) + 100
                write_mesh(place / f"{category}_{k:04}.off", Mesh(corners, FACES))
    # The published files often lack the line break after OFF.
    glued = root / "box" / "train" / "box_0000.off"
    glued.write_text(glued.read_text().replace("OFF\n", "OFF", 1))
    return root


# Of a unit box whose corner 4 x + 2 y + z is (x, y, z).
FACES = torch.tensor(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def test_meshes_are_sampled_and_scaled_to_the_unit_sphere(off_tree):
    corpus = modelnet40.load("train", root=off_tree, points=256)
    assert corpus.name == "modelnet40/train"
    assert corpus.categories == ("box", "plank")
    assert corpus.labels.tolist() == [0, 0, 1, 1]
    assert corpus.points.shape == (4, 256, 3)
    torch.testing.assert_close(corpus.points.norm(dim=-1).amax(-1), torch.ones(4))
    assert corpus.points.mean(1).abs().max() < 1e-6
    # Normals of boxes are along the axes.
    torch.testing.assert_close(corpus.normals.abs().amax(-1), torch.ones(4, 256))


def test_meshes_are_sampled_alike_every_time(off_tree):
    first = modelnet40.load("test", root=off_tree, points=64)
    again = modelnet40.load("test", root=off_tree, points=64)
    other = modelnet40.load("test", root=off_tree, points=64, seed=1)
    assert torch.equal(first.points, again.points)
    assert not torch.equal(first.points, other.points)


# The real thing, where it is.


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("modelnet40_ply_hdf5_2048", (9840, 2468, 40)),
        ("modelnet40_subset", (849, 178, 40)),
        ("shapes", (1809, 476, 69)),
        ("furniture", (666, 140, 12)),
    ],
)
def test_real_corpora(name, counts, real_data):
    root = real_data / name
    if not root.is_dir():
        pytest.skip(f"no {name} in $SPOONFUL_DATA")
    test = modelnet40.load("test", root=root)
    assert (modelnet40.count(root, "train"), len(test), len(test.categories)) == counts
    assert test.points.shape[1:] == (2048, 3)
    assert test.points.norm(dim=-1).max() < 1.001
    assert (test.normals.norm(dim=-1) - 1).abs().max() < 1e-5


def test_points_and_normals_agree_with_the_published_loader(real_data, golden_folder):
    if not (real_data / "shapes").is_dir():
        pytest.skip("no shapes in $SPOONFUL_DATA")
    golden = load_file(golden_folder / "rpm_protocol_jitter.safetensors")
    corpus = modelnet40.load("test", root=real_data / "shapes")
    made = torch.cat([corpus.points, corpus.normals], dim=-1)[golden["index"]]
    assert torch.equal(made, golden["points_raw"])


@pytest.fixture
def real_data():
    if DATA is None:
        pytest.skip("SPOONFUL_DATA is not set")
    return Path(DATA)


DATA = os.environ.get("SPOONFUL_DATA")


def test_the_synthetic_corpus_has_the_same_form(hdf5_folder):
    ours, theirs = (
        synthetic.load("test", per_category=1, points=16),
        modelnet40.load("test", root=hdf5_folder),
    )
    for one, other in (
        (ours.points, theirs.points),
        (ours.normals, theirs.normals),
        (ours.labels, theirs.labels),
    ):
        assert one.dtype == other.dtype
        assert one.ndim == other.ndim


@pytest.mark.parametrize("way", ["link", "storage", "virtual"])
def test_numbers_in_another_file_are_refused(hdf5_folder, tmp_path, way):
    h5py = pytest.importorskip("h5py")
    file, other = hdf5_folder / "ply_data_test0.h5", tmp_path / "other.h5"
    with h5py.File(other, "w") as content:
        content["data"] = torch.zeros(3, 8, 3).numpy()
    with h5py.File(file, "a") as content:
        del content["data"]
        if way == "link":
            content["data"] = h5py.ExternalLink(str(other), "data")
        elif way == "storage":
            content.create_dataset("data", (3, 8, 3), "f4", external=[(str(other), 0, 288)])
        else:
            layout = h5py.VirtualLayout((3, 8, 3), "f4")
            layout[:] = h5py.VirtualSource(str(other), "data", (3, 8, 3))
            content.create_virtual_dataset("data", layout)
    with pytest.raises(ValueError, match=r"test0\.h5: 'data' is in another file"):
        modelnet40.load("test", root=hdf5_folder)
