"""Corpora by name: the built-in one, tensors in a file, or a folder of clouds and meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.data import catalog, folder, modelnet40, places, synthetic
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.data.scans import ScanPair
from spoonful.data.threedmatch import load_pairs
from spoonful.extras import require
from spoonful.files import replacing
from spoonful.models.checkpoints import read_pickled, read_tensors

SYNTHETIC = "synthetic"
"""The built-in corpus, which needs no files."""

# Whole numbers in a file are coordinates in ten-thousandths.
_TICKS = 10_000
_KINDS = (".pt", ".pth", ".npz", ".npy", ".safetensors")


def load(
    name: str, split: str = "train", *, per_category: int | None = None, points: int = 2048
) -> Corpus:
    """Load a corpus.

    Args:
        name: "synthetic"; a folder of clouds and meshes (`spoonful.data.folder`) or of ModelNet40's
            HDF5 files; a file; or the name of one in a folder of datasets
            (`spoonful.data.places`), as "modelnet40". Files of type .pt, .npz and
            .safetensors hold "points" (S, P, 3) and optionally "normals" (S, P, 3) and "labels"
            (S,); .pt files may have "categories", a list of names. A .npy file is one array,
            (S, P, 3) or with normals (S, P, 6).
            "{split}" in a file's name stands for the split. Points that are whole numbers are
            ten-thousandths.
        split: "train" or "test".
        per_category: shapes of each category of the synthetic corpus.
        points: points of each of its shapes.

    >>> len(load("synthetic", "test", per_category=1, points=32))
    32
    """
    if name == SYNTHETIC:
        return synthetic.load(split, per_category=per_category, points=points)
    path = Path(find_data(name.replace("{split}", split)))
    if path.is_dir():
        published = modelnet40.is_hdf5(path) or modelnet40.is_off_tree(path)
        return modelnet40.load(split, root=path) if published else folder.load(path, split)
    if path.suffix not in _KINDS:
        raise ValueError(f"{path} must be a folder, or a file of type {', '.join(_KINDS)}")
    name = f"{path.stem.removesuffix(f'-{split}')}/{split}"
    return _corpus(name, _contents(path), path)


def load_scans(name: str, protocol: Protocol, split: str = "train") -> list[ScanPair]:
    """Load the pairs of scans in a folder of scenes; the protocol has their size and overlap."""
    folder = find_data(name.replace("{split}", split))
    overlap = protocol.min_overlap or 0.0
    return load_pairs(folder, split=split, min_overlap=overlap, points=protocol.points)


def find_data(name: str) -> str:
    """The place of the data called `name`: "synthetic", or the path of a folder or file."""
    path = Path(name).expanduser()
    if name == SYNTHETIC or path.exists() or "{split}" in name:
        return str(path)
    aliases = {"modelnet40": modelnet40.NAMES, "3dmatch": ("3DMatch",)}.get(name, ())
    found = places.find(name, *aliases, files=True)
    if found is None:
        looked = ", ".join(map(str, places.folders()))
        fetched = any(data.name == name and data.archive for data in catalog.DATASETS)
        hint = f"`spoonful data fetch {name}`" if fetched else "see `spoonful data list`"
        raise ValueError(
            f"no data named {name!r}: it is neither {SYNTHETIC!r}, nor a folder or file, nor in "
            f"{looked} (set {places.VARIABLE} to the folder that has your datasets, or download "
            f"it: {hint})"
        )
    return str(found)


def save(corpus: Corpus, path: str | Path) -> None:
    """Write a corpus to a .pt file that `load` reads with torch alone."""
    if Path(path).suffix not in (".pt", ".pth"):
        raise ValueError(f"path must end in .pt, got {str(path)!r}")
    content: dict[str, Any] = {"points": corpus.points.cpu(), "labels": corpus.labels.cpu()}
    if corpus.normals is not None:
        content["normals"] = corpus.normals.cpu()
    with replacing(path) as file:
        torch.save({**content, "categories": [*corpus.categories]}, file)


def _contents(path: Path) -> dict[str, Any]:
    match path.suffix:
        case ".npy" | ".npz":
            numpy = require("numpy", extra="data", why=f"Reading {path.suffix} files")
            try:
                loaded = numpy.load(path, allow_pickle=False)
                if path.suffix == ".npy":
                    array = torch.from_numpy(loaded)
                    normals = {"normals": array[..., 3:]} if array.shape[-1] == 6 else {}
                    return {"points": array[..., :3], **normals}
                arrays = {name: loaded[name] for name in loaded.files}
                names = arrays.pop("categories", None)
                content = {
                    name: torch.from_numpy(array) if array.dtype.kind in "biuf" else array
                    for name, array in arrays.items()
                }
            except Exception as error:  # damaged archives raise errors of many classes
                raise ValueError(f"{path} is not a readable {path.suffix} file: {error}") from error
            return content if names is None else {**content, "categories": names.tolist()}
        case ".safetensors":
            return {**read_tensors(path)[0]}
        case _:
            content = read_pickled(path)
            if not isinstance(content, dict):
                raise ValueError(f"{path} must hold tensors by name, got {type(content).__name__}")
            return content


def _corpus(name: str, content: dict[str, Any], path: Path) -> Corpus:
    points = content.get("points")
    if not isinstance(points, Tensor) or points.ndim != 3 or points.shape[-1] != 3:
        shape = tuple(points.shape) if isinstance(points, Tensor) else sorted(content)
        raise ValueError(f"{path} must hold 'points' of shape (S, P, 3), got {shape}")
    if not len(points):
        raise ValueError(f"{path} has no shapes: 'points' has shape {tuple(points.shape)}")
    _check_finite("points", points, path)
    labels = content.get("labels")
    labels = torch.zeros(len(points)) if labels is None else labels
    if not isinstance(labels, Tensor) or (labels < 0).any() or (labels != labels.long()).any():
        raise ValueError(
            f"{path}: 'labels' must be whole numbers from 0; 'categories' holds their names"
        )
    labels = labels.reshape(-1).long()
    if len(labels) != len(points):
        raise ValueError(f"{path} has {len(points)} shapes, but {len(labels)} labels")
    count = int(labels.max()) + 1
    categories = content.get("categories")
    if categories is None:
        categories = [str(label) for label in range(count)]
    if len(categories) < count:
        raise ValueError(f"{path} has a label {count - 1}, but only {len(categories)} 'categories'")
    normals = content.get("normals")
    if normals is not None:
        there = tuple(normals.shape) if isinstance(normals, Tensor) else type(normals).__name__
        if there != tuple(points.shape):
            raise ValueError(
                f"{path}: 'normals' must be {tuple(points.shape)} like 'points', got {there}"
            )
        _check_finite("normals", normals, path)
        normals = F.normalize(normals.float(), dim=-1)
    points = points.float() if points.is_floating_point() else points.float() / _TICKS
    return Corpus(name, points, normals, labels, tuple(str(c) for c in categories))


def _check_finite(name: str, values: Tensor, path: Path) -> None:
    """Raise if a shape has a NaN or an infinite number; the message names the first one."""
    bad = (~values.isfinite()).flatten(1).any(1)
    if bad.any():
        first = int(bad.nonzero()[0])
        raise ValueError(
            f"{path}: {int(bad.sum())} of {len(values)} shapes have NaN or infinite numbers in "
            f"{name!r}, the first is {name}[{first}]"
        )
