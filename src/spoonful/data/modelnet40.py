"""ModelNet40, as published: clouds in HDF5 files, or ModelNet's own tree of meshes.

The folder `modelnet40_ply_hdf5_2048` holds `ply_data_train*.h5`, `ply_data_test*.h5` and
`shape_names.txt`. Each HDF5 file has `data` (n, 2048, 3), `normal` (n, 2048, 3) and `label`
(n, 1). Any other dataset in that layout loads as well, with any categories.

ModelNet's own download is a tree `CATEGORY/{train,test}/*.off`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.data import folder, places
from spoonful.data.clouds.limits import expect_expansion
from spoonful.data.corpus import Corpus
from spoonful.extras import require
from spoonful.geometry.checks import check_choice, check_count

SPLITS = ("train", "test")
NAMES = ("modelnet40_ply_hdf5_2048", "modelnet40", "ModelNet40")


def load(
    split: str = "train",
    *,
    root: str | os.PathLike[str] | None = None,
    points: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Load a split of ModelNet40, or of a dataset in its layout.

    Files are read in the order of their names, so that a shape has the same number on every
    machine. Normals are made unit again (the published ones are rounded); a normal without a
    direction becomes zero.

    Args:
        split: "train" or "test".
        root: the folder with the HDF5 files or with the categories' folders; None looks for
            `modelnet40_ply_hdf5_2048` where datasets are kept.
        points: how many of each shape; None takes all there are, or 2048 of a mesh. Of the HDF5
            files these are the first ones, as in the published loaders.
        seed: for sampling meshes.

    Raises:
        FileNotFoundError: nothing is there; the message says how to get it.
        ValueError: a file is damaged or not in the layout; the message opens with its name.
    """
    check_choice("split", split, SPLITS)
    if points is not None:
        check_count("points", points, least=2)
    where = places.find(*NAMES) if root is None else places.existing(root)
    if where is None:
        raise FileNotFoundError(
            "modelnet40 was not found; `spoonful data fetch modelnet40` downloads it, "
            f"or put it under ${places.VARIABLE}/{NAMES[0]}"
        )
    if is_hdf5(where):
        return _load_hdf5(where, split, points)
    if is_off_tree(where):
        corpus = folder.load(where, split, points=points or 2048, seed=seed)
        return replace(corpus, name=f"{name_of(where)}/{split}")
    raise FileNotFoundError(
        f"{where}: neither ply_data_train*.h5 files nor CATEGORY/train/*.off folders are here"
    )


def is_hdf5(root: Path) -> bool:
    """True if a folder holds clouds in the published layout."""
    return any(root.glob("ply_data_*.h5"))


def is_off_tree(root: Path) -> bool:
    """True if a folder holds ModelNet's own tree of meshes."""
    return any(root.glob("*/train/*.off")) or any(root.glob("*/test/*.off"))


def name_of(root: Path) -> str:
    """The name of a dataset in a folder: the folder's name, or modelnet40."""
    name = root.resolve().name
    return "modelnet40" if name in NAMES else name


def categories(root: Path) -> tuple[str, ...]:
    """The names in `shape_names.txt`."""
    file = root / "shape_names.txt"
    try:
        names = file.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise FileNotFoundError(f"{file}: missing; it names the categories") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not a text file") from None
    found = tuple(name.strip() for name in names if name.strip())
    if not found:
        raise ValueError(f"{file}: names no category")
    return found


def count(root: Path, split: str) -> int:
    """The number of shapes in a split, from the headers of its files."""
    total = 0
    for file in _files(root, split):
        with _opened(file) as content:
            total += len(_array(content, "data"))
    return total


def _files(root: Path, split: str) -> list[Path]:
    return sorted(root.glob(f"ply_data_{split}*.h5"))


def _load_hdf5(root: Path, split: str, points: int | None) -> Corpus:
    names = categories(root)
    files = _files(root, split)
    if not files:
        raise FileNotFoundError(f"{root}: no ply_data_{split}*.h5 files here")
    parts = [_read(file, len(names)) for file in files]
    sizes = {positions.shape[1] for positions, _, _ in parts}
    if len(sizes) > 1:
        raise ValueError(f"{root}: its files differ in their number of points: {sorted(sizes)}")
    (size,) = sizes
    if points is not None and points > size:
        raise ValueError(f"points must be at most {size}, the number in {root}; got {points}")
    with_normals = [normals for _, normals, _ in parts if normals is not None]
    if with_normals and len(with_normals) < len(parts):
        raise ValueError(f"{root}: some of its files have normals, others do not")
    return Corpus(
        name=f"{name_of(root)}/{split}",
        points=torch.cat([positions for positions, _, _ in parts])[:, :points],
        normals=torch.cat(with_normals)[:, :points] if with_normals else None,
        labels=torch.cat([labels for _, _, labels in parts]),
        categories=names,
    )


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """An open HDF5 file, whose failures become a `ValueError` with the file's name."""
    h5py = require("h5py", extra="data", why="Reading HDF5 files")
    try:
        with h5py.File(file, "r") as content:
            yield content
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError, KeyError) as error:
        raise ValueError(f"{file}: not a whole HDF5 file ({error})") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _array(content: Any, key: str) -> Any:
    """The array of this name, not yet read, in the file itself and of a plausible size."""
    if key not in content:
        raise ValueError(f"it has no {key!r}, only {', '.join(sorted(content)) or 'nothing'}")
    link = content.get(key, getlink=True)
    array = content[key]
    if getattr(array, "dtype", None) is None or array.dtype.kind not in "fiu":
        raise ValueError(f"{key!r} is not an array of numbers")
    if type(link).__name__ != "HardLink" or array.external or array.is_virtual:
        raise ValueError(f"{key!r} is in another file, which is not opened")
    expect_expansion(array.nbytes, Path(content.filename).stat().st_size, repr(key))
    return array


def _values(content: Any, key: str, shape: tuple[int | None, ...], *, floats: bool) -> Tensor:
    """The numbers of an array, once its kind and shape are known to be right; None is any size."""
    array = _array(content, key)
    if (array.dtype.kind == "f") != floats:
        raise ValueError(f"{key!r} must hold {'floats' if floats else 'whole numbers'}")
    if len(array.shape) != len(shape) or any(
        wanted not in (None, got) for wanted, got in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("n" if size is None else str(size) for size in shape)
        raise ValueError(f"{key!r} must have shape ({wanted}), got {array.shape}")
    try:
        values = array[()]
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{key!r} is damaged ({error})") from None
    return torch.from_numpy(values.astype("<f4" if floats else "<i8"))


def _read(file: Path, count_of_names: int) -> tuple[Tensor, Tensor | None, Tensor]:
    """Points, unit normals and labels of a file."""
    with _opened(file) as content:
        points = _values(content, "data", (None, None, 3), floats=True)
        number, size, _ = points.shape
        flat = len(_array(content, "label").shape) == 1
        shape = (number,) if flat else (number, 1)
        labels = _values(content, "label", shape, floats=False).reshape(-1)
        normals = None
        if "normal" in content:
            normals = _unit(_values(content, "normal", (number, size, 3), floats=True))
        if number == 0 or size == 0:
            raise ValueError("it holds no shapes")
        bad = ~points.isfinite().flatten(1).all(-1)
        if bool(bad.any()):
            raise ValueError(f"shape {int(bad.int().argmax())} has points that are not finite")
        if int(labels.min()) < 0 or int(labels.max()) >= count_of_names:
            raise ValueError(
                f"its labels go from {int(labels.min())} to {int(labels.max())}, "
                f"but shape_names.txt has {count_of_names} names"
            )
    return points, normals, labels


def _unit(normals: Tensor) -> Tensor:
    # Summed in this order in float32, which gives the published loaders' values to the last bit.
    x, y, z = normals.unbind(-1)
    # (The root by float64: in float32 torch's may be off by a bit, on some processors.)
    length = (x * x + y * y + z * z).double().sqrt().float().unsqueeze(-1)
    unit = normals / length
    return unit.where((length > 0) & unit.isfinite().all(-1, keepdim=True), torch.zeros(()))
