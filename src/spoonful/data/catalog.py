"""The datasets that have a name, where they are on this machine, and how to get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spoonful.data import folder, modelnet40, places, synthetic, threedmatch
from spoonful.data.fetch import Archive
from spoonful.names import named


@dataclass(frozen=True)
class Dataset:
    """A dataset that has a name.

    Attributes:
        name: what commands call it.
        about: one line on what it is.
        licence: under which terms it may be used.
        folders: what its folder may be called.
        is_here: whether a folder of such a name holds it.
        published: shapes for training and for test, and categories, as published.
        archive: what `spoonful data fetch` downloads, if anything.
        how: how to get it, if there is nothing to fetch.
    """

    name: str
    about: str
    licence: str
    folders: tuple[str, ...] = ()
    is_here: Callable[[Path], bool] = lambda path: True
    published: tuple[int, int, int] | None = None
    archive: Archive | None = None
    how: str = ""


@dataclass(frozen=True)
class DatasetStatus:
    """The status of a dataset on this machine.

    Attributes:
        name: of the dataset.
        licence: under which terms it may be used.
        place: its folder; None if it needs none, or is not here.
        note: text that says where it is or how to get it.
        train: shapes (or pairs of scans) for training; None if there are none, or not known.
        test: likewise for test.
        categories: their number.
        problem: why it cannot be read, or empty.
    """

    name: str
    licence: str
    place: Path | None
    note: str
    train: int | None = None
    test: int | None = None
    categories: int | None = None
    problem: str = ""


# Their authors keep their rights in the models and scans.
_RESEARCH = "research only"

DATASETS: tuple[Dataset, ...] = (
    Dataset(
        name="synthetic",
        about="CAD-like solids made from a seed; needs no files",
        licence="Apache-2.0",
        published=(
            len(synthetic.CATEGORIES) * synthetic.PER_CATEGORY["train"],
            len(synthetic.CATEGORIES) * synthetic.PER_CATEGORY["test"],
            len(synthetic.CATEGORIES),
        ),
    ),
    Dataset(
        name="modelnet40",
        about="2048 points with normals of each ModelNet40 mesh; the paper's dataset",
        licence=_RESEARCH,
        folders=("modelnet40_ply_hdf5_2048", "modelnet40"),
        is_here=modelnet40.is_hdf5,
        published=(9840, 2468, 40),
        # Size and checksum as recorded by TensorFlow Graphics
        # (tensorflow_graphics/datasets/modelnet40/checksums.tsv).
        archive=Archive(
            url="https://shapenet.cs.stanford.edu/media/modelnet40_ply_hdf5_2048.zip",
            sha256="07670e237db72ece0f723b9abb571534c9ad655a6456b389646587dc72bb8bae",
            size=435_212_151,
            folder="modelnet40_ply_hdf5_2048",
        ),
    ),
    Dataset(
        name="modelnet40-off",
        about="ModelNet40's own meshes (OFF), sampled when they are first used",
        licence=_RESEARCH,
        folders=("ModelNet40",),
        is_here=modelnet40.is_off_tree,
        published=(9843, 2468, 40),
        # As recorded by TensorFlow Graphics, Kaolin and others.
        archive=Archive(
            url="https://modelnet.cs.princeton.edu/ModelNet40.zip",
            sha256="42dc3e656932e387f554e25a4eb2cc0e1a1bd3ab54606e2a9eae444c60e536ac",
            size=2_039_180_837,
            folder="ModelNet40",
        ),
    ),
    Dataset(
        name="3dmatch",
        about="fragments of indoor scenes with true poses",
        licence=_RESEARCH,
        folders=("3dmatch", "3DMatch"),
        how="see https://3dmatch.cs.princeton.edu",
    ),
)


def get(name: str) -> Dataset:
    """The dataset of this name.

    >>> get("modelnet40").published
    (9840, 2468, 40)
    >>> get("modelnet41")
    Traceback (most recent call last):
    ValueError: no dataset named 'modelnet41'; did you mean 'modelnet40'? There are: synthetic, ...
    """
    return named(name, {dataset.name: dataset for dataset in DATASETS}, what="dataset")


def survey() -> list[DatasetStatus]:
    """All named datasets, here or not, and the other datasets in the folders of datasets.

    >>> [found.train for found in survey() if found.name == "synthetic"]
    [1280]
    """
    known = [_known(dataset) for dataset in DATASETS]
    claimed = {found.place for found in known}
    return known + [found for found in _others() if found.place not in claimed]


def _known(dataset: Dataset) -> DatasetStatus:
    place = next(
        (
            parent / name
            for parent in places.folders()
            for name in dataset.folders
            if (parent / name).is_dir() and dataset.is_here(parent / name)
        ),
        None,
    )
    if place is not None:
        return _counted(dataset.name, dataset.licence, place)
    if not dataset.folders:
        note = "built in"
    elif dataset.archive is not None:
        note = f"spoonful data fetch {dataset.name} ({dataset.archive.size / 1e6:.0f} MB)"
    else:
        note = dataset.how
    counts = dataset.published or (None, None, None)
    return DatasetStatus(dataset.name, dataset.licence, None, note, *counts)


def _others() -> Iterator[DatasetStatus]:
    """Datasets in a supported layout, in folders of other names."""
    for parent in places.folders():
        if not parent.is_dir():
            continue
        for place in sorted(path for path in parent.iterdir() if path.is_dir()):
            if modelnet40.is_hdf5(place) or modelnet40.is_off_tree(place) or _logs(place):
                yield _counted(place.name, "not known", place)


def _logs(place: Path) -> list[Path]:
    """The logs of 3DMatch scenes in a folder, or in sub-folders for training and test."""
    patterns = ("gt.log", "*/gt.log", "*/*/gt.log")
    return sorted(log for pattern in patterns for log in place.glob(pattern))


def _counted(name: str, licence: str, place: Path) -> DatasetStatus:
    try:
        if modelnet40.is_hdf5(place):
            counts: tuple[int | None, int | None, int | None] = (
                modelnet40.count(place, "train"),
                modelnet40.count(place, "test"),
                len(modelnet40.categories(place)),
            )
        elif modelnet40.is_off_tree(place):
            shapes = [(category, split) for category, split, _ in folder.find_shapes(place)]
            counts = (
                sum(split == "train" for _, split in shapes),
                sum(split == "test" for _, split in shapes),
                len({category for category, _ in shapes}),
            )
        else:
            lists = [path for at in ("", "*/") for path in place.glob(at + threedmatch.LISTS)]
            listed = sum(len(threedmatch.read_list(path)) for path in lists)
            logged = sum(len(threedmatch.read_log(log)) for log in _logs(place))
            counts = (listed or None, logged, None)
    except (ValueError, OSError, ImportError) as error:
        return DatasetStatus(name, licence, place, str(place), problem=str(error))
    return DatasetStatus(name, licence, place, str(place), *counts)
