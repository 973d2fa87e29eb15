"""A folder of clouds and meshes as a corpus."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from spoonful.data import places
from spoonful.data.clouds import FORMATS, CloudFileError, read_cloud
from spoonful.data.corpus import Corpus
from spoonful.files import replacing
from spoonful.frame import centroid, radius
from spoonful.geometry.checks import check_choice, check_count

SPLITS = ("train", "test", "all")
# Of files that no folder names as training or test, this share is for test.
TEST_SHARE = 0.2
# Part of a cached corpus' name: a new way to make corpora does not meet old ones.
_MAKER = 1


def load(
    root: str | os.PathLike[str],
    split: str = "train",
    *,
    points: int = 2048,
    seed: int = 0,
    cache: bool = True,
) -> Corpus:
    """Make a corpus of all clouds and meshes in a folder tree; a category is a folder.

    Three layouts are supported: `CATEGORY/train/FILE` (ModelNet's), `train/CATEGORY/FILE`, and
    `CATEGORY/FILE`. In the last, a fifth of the files is for test, chosen by a hash of their names,
    so that adding a file moves no other. Files in the root itself are one category.

    Meshes are sampled uniformly by area; clouds with more points than asked for are subsampled.
    Normals come from the file or are estimated. Every shape is centred and scaled to have its
    farthest point at distance 1.

    Args:
        root: the folder.
        split: "train", "test" or "all".
        points: of each shape; a cloud with fewer is an error.
        seed: of the random choices, which depend on it and on the file's name alone.
        cache: keep the corpus in `~/.cache/spoonful`, and read it from there until a file changes.

    Raises:
        CloudFileError: a file is damaged or too small; the message begins with its name.
        FileNotFoundError: there is no such folder, or nothing in it.
    """
    check_choice("split", split, SPLITS)
    check_count("points", points, least=2)
    folder = places.existing(root)
    everything = list(find_shapes(folder))
    categories = tuple(sorted({category for category, _, _ in everything}))
    chosen = [(c, path) for c, part, path in everything if split in (part, "all")]
    if not chosen:
        kinds = ", ".join(suffix.removeprefix(".") for suffix in FORMATS)
        where = f" for split {split!r}" if everything else ""
        raise FileNotFoundError(f"{folder}: no clouds or meshes here{where} (looked for {kinds})")

    kept = _cache_file(folder, [path for _, path in chosen], points, seed) if cache else None
    made = _from_cache(kept, (len(chosen), points, 3)) if kept is not None else None
    if made is None:
        shapes = []
        for _, path in chosen:
            shapes.append(_shape(path, points, seed, path.relative_to(folder).as_posix()))
        made = torch.stack([p for p, _ in shapes]), torch.stack([n for _, n in shapes])
        if kept is not None:
            _to_cache(kept, made)
    return Corpus(
        name=f"{folder.resolve().name}/{split}",
        points=made[0],
        normals=made[1],
        labels=torch.tensor([categories.index(category) for category, _ in chosen]),
        categories=categories,
    )


def find_shapes(root: Path) -> Iterator[tuple[str, str, Path]]:
    """The files of a tree as (category, "train" or "test", path), in the order of their paths."""
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() not in FORMATS or not path.is_file():
            continue
        above = path.relative_to(root).parts[:-1]
        split = next((part for part in above[:2] if part in ("train", "test")), None)
        names = [part for part in above if part not in ("train", "test")]
        if any(part.startswith(".") for part in above):
            continue
        category = names[0] if names else root.resolve().name
        if split is None:
            digest = hashlib.sha256(path.relative_to(root).as_posix().encode()).digest()
            share = int.from_bytes(digest[:4], "big") / 2**32
            split = "test" if share < TEST_SHARE else "train"
        yield category, split, path


def _shape(path: Path, points: int, seed: int, key: str) -> tuple[Tensor, Tensor]:
    digest = hashlib.sha256(f"{seed}/{key}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
    cloud = read_cloud(path, points=points, generator=generator)
    if len(cloud) < points:
        raise CloudFileError(f"{path}: it has {len(cloud)} points, but {points} are asked for")
    center = centroid(cloud.points)
    size = radius(cloud.points, center)
    if not size > 0:
        raise CloudFileError(f"{path}: all its points are in one place")
    positions = (cloud.points.double() - center) / size
    normals = cloud.with_normals().normals
    assert normals is not None
    return positions.to(torch.float32), normals.to(torch.float32)


def _cache_file(folder: Path, files: Iterable[Path], points: int, seed: int) -> Path:
    """The file of a cached corpus, named by a hash of everything that the corpus depends on."""
    facts = [_MAKER, str(folder.resolve()), points, seed]
    for path in files:
        stat = path.stat()
        facts.append([path.relative_to(folder).as_posix(), stat.st_size, stat.st_mtime_ns])
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    return places.cache() / "sampled" / f"{folder.resolve().name}-{digest}.pt"


def _from_cache(file: Path, shape: tuple[int, ...]) -> tuple[Tensor, Tensor] | None:
    if not file.is_file():
        return None
    try:
        kept = torch.load(file, weights_only=True)
        points, normals = kept["points"], kept["normals"]
        if points.shape == normals.shape == shape:
            return points, normals
    except Exception as error:  # any damage: the corpus can be made again
        warnings.warn(f"{file} cannot be read and is made again ({error})", stacklevel=3)
    return None


def _to_cache(file: Path, made: tuple[Tensor, Tensor]) -> None:
    try:
        with replacing(file) as kept:
            torch.save({"points": made[0], "normals": made[1]}, kept)
    except OSError as error:
        warnings.warn(f"the shapes could not be cached: {error}", stacklevel=3)
