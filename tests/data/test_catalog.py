"""`spoonful data list` and `spoonful data fetch`."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from spoonful.cli.data import app
from spoonful.data import catalog, synthetic
from spoonful.data.fetch import Archive, FetchError


def run(*arguments):
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}, catch_exceptions=True)
    return done, " ".join(done.output.split())


def test_the_list_says_where_and_how_many_and_under_which_terms(hdf5_folder, monkeypatch):
    monkeypatch.setenv("SPOONFUL_DATA", str(hdf5_folder.parent))
    done, text = run("list")
    assert done.exit_code == 0
    assert "synthetic built in 1280 320 32 Apache-2.0" in text
    assert "spoonful data fetch modelnet40 (435 MB) 9840 2468 40 research only" in text
    assert f"little {hdf5_folder} 9 3 3 not known" in text
    assert f"looked in {hdf5_folder.parent}" in text


def test_known_datasets_are_recognised_by_their_contents(hdf5_folder, scene, monkeypatch):
    root = hdf5_folder.parent
    hdf5_folder.rename(root / "modelnet40")
    (root / "empty").mkdir()
    monkeypatch.setenv("SPOONFUL_DATA", str(root))
    found = {entry.name: entry for entry in catalog.survey()}
    assert set(found) == {"synthetic", "modelnet40", "modelnet40-off", "3dmatch"}
    assert (found["modelnet40"].train, found["modelnet40"].test) == (9, 3)
    assert found["modelnet40"].place == root / "modelnet40"
    assert found["3dmatch"].test == 6


def test_a_damaged_dataset_is_shown_as_such(hdf5_folder, monkeypatch):
    (hdf5_folder / "ply_data_test0.h5").write_bytes(b"rubbish")
    monkeypatch.setenv("SPOONFUL_DATA", str(hdf5_folder.parent))
    done, text = run("list")
    assert done.exit_code == 0
    assert "not a whole HDF5 file" in text


def test_counts_of_the_synthetic_corpus_are_right():
    found = next(entry for entry in catalog.survey() if entry.name == "synthetic")
    corpus = synthetic.load("test", per_category=synthetic.PER_CATEGORY["test"] // 10, points=2)
    assert (found.test, found.categories) == (10 * len(corpus), len(corpus.categories))


def test_published_checksums_are_checksums():
    for dataset in catalog.DATASETS:
        if dataset.archive is not None:
            assert len(bytes.fromhex(dataset.archive.sha256)) == 32
            assert dataset.archive.url.startswith("https://")


@pytest.fixture
def little(hdf5_folder, tmp_path, monkeypatch):
    """modelnet40, but little."""
    file = tmp_path / "little.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for path in hdf5_folder.iterdir():
            archive.write(path, f"modelnet40_ply_hdf5_2048/{path.name}")
    content = file.read_bytes()
    small = Archive(
        "https://127.0.0.1:1/x",
        hashlib.sha256(content).hexdigest(),
        len(content),
        "modelnet40_ply_hdf5_2048",
    )
    changed = tuple(
        replace(dataset, archive=small) if dataset.name == "modelnet40" else dataset
        for dataset in catalog.DATASETS
    )
    monkeypatch.setattr(catalog, "DATASETS", changed)
    return file


def test_a_file_is_fetched_into_the_folder_of_datasets(little, own_home):
    done, text = run("fetch", "modelnet40", "--from-file", str(little))
    assert done.exit_code == 0, text
    place = own_home / ".cache" / "spoonful" / "modelnet40_ply_hdf5_2048"
    assert str(place) in text.replace(" ", "")
    found = {entry.name: entry for entry in catalog.survey()}
    assert found["modelnet40"].place == place
    # Once more: it is there.
    done, text = run("fetch", "modelnet40", "--from-file", str(little))
    assert done.exit_code == 0


def test_fetching_goes_where_it_is_told(little, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOONFUL_DATA", str(tmp_path / "one"))
    assert run("fetch", "modelnet40", "--from-file", str(little))[0].exit_code == 0
    assert (tmp_path / "one" / "modelnet40_ply_hdf5_2048").is_dir()
    options = ["--to", str(tmp_path / "two"), "--from-file", str(little)]
    assert run("fetch", "modelnet40", *options)[0].exit_code == 0
    assert (tmp_path / "two" / "modelnet40_ply_hdf5_2048").is_dir()


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["modelnet41"], ValueError, "no dataset named 'modelnet41'"),
        (["synthetic"], ValueError, "nothing to fetch for synthetic: it is built in"),
        (["3dmatch"], ValueError, "nothing to fetch for 3dmatch: see https://3dmatch"),
        (["modelnet40", "--url", "https://x", "--from-file", "y"], ValueError, "not both"),
        (["modelnet40", "--from-file", "none.zip"], FetchError, "none.zip: No such file"),
        (["modelnet40", "--sha256", "5"], ValueError, "64 hexadecimal digits"),
    ],
)
def test_mistakes_are_named(arguments, kind, message):
    done, _ = run("fetch", *arguments)
    assert isinstance(done.exception, kind)
    assert message in str(done.exception)
