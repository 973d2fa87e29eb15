"""Anyone's files as a dataset: folders of shapes, and lists of scan pairs."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.data import places
from spoonful.data.clouds import FORMATS, CloudFileError, read_cloud
from spoonful.data.corpus import Corpus
from spoonful.data.scans import PairMaker, ScanPair, rigid
from spoonful.files import replacing
from spoonful.geometry import Pose

SPLITS = ("train", "test", "all")
# Of files that no folder names as training or test, this share is for test.
TEST_SHARE = 0.2
# Part of a cached corpus' name: a new way to make corpora does not meet old ones.
_MAKER = 1

Progress = Callable[[int, int], None]


def load(
    root: str | os.PathLike[str],
    split: str = "train",
    *,
    points: int = 2048,
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> Corpus:
    """Make a corpus of all clouds and meshes in a folder tree; a category is a folder.

    Three layouts are understood: `CATEGORY/train/FILE` (ModelNet's), `train/CATEGORY/FILE`, and
    `CATEGORY/FILE`, where a fifth of the files is set aside for test by a hash of their names, so
    that adding a file moves no other. Files that lie in the root itself are one category.

    Meshes are sampled uniformly by area; of clouds with more points than asked for, a random
    subset is kept. Normals come from the file or are estimated. Every shape is centred and
    scaled to have its farthest point at distance 1.

    Args:
        root: the folder.
        split: "train", "test" or "all".
        points: of each shape; a cloud with fewer is an error.
        seed: of the random choices, which depend on it and on the file's name alone.
        cache: keep the corpus in `~/.cache/spoonful`, and take it from there as long as no file
            has changed.
        progress: is told (files read, files in all) after each file.

    Raises:
        CloudFileError: a file is not what it should be; the message opens with its name.
        FileNotFoundError: there is no such folder, or nothing in it.
    """
    if split not in SPLITS:
        raise ValueError(f'split must be "train", "test" or "all", got {split!r}')
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
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
        for number, (_, path) in enumerate(chosen, 1):
            shapes.append(_shape(path, points, seed, path.relative_to(folder).as_posix()))
            if progress is not None:
                progress(number, len(chosen))
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


def load_pairs(
    path: str | os.PathLike[str],
    *,
    points: int = 1024,
    radius: float | None = None,
    min_overlap: float = 0.0,
) -> list[ScanPair]:
    """Read a list of pairs of scans with their true poses, from CSV or JSON.

    CSV: a head line, with the columns `source` and `target`, and the 16 numbers of a 4x4 matrix,
    row by row, in all other columns. JSON: a list of objects with `source`, `target` and `pose`,
    4 lists of 4 numbers. The matrix maps the source into the target's frame; files are named
    relative to the list.

    Args:
        path: the list, `.csv` or `.json`.
        points: of each cloud, after voxel averaging.
        radius: for the overlap, in the scans' units; None takes one that fits each pair.
        min_overlap: pairs that overlap by less are left out.

    Raises:
        ValueError: a row is not what it should be; the message names the list and the row.
    """
    file = Path(path).expanduser()
    readers = {".csv": _csv_rows, ".json": _json_rows}
    if file.suffix.lower() not in readers:
        raise ValueError(f"{file}: a list of pairs is a .csv or a .json file")
    maker = PairMaker(lambda name: read_cloud(name).points, points=points, radius=radius)
    pairs = []
    for row, entry in readers[file.suffix.lower()](file):
        try:
            source, target = (_scan_path(entry, key, file) for key in ("source", "target"))
            pose = rigid(_matrix(entry.get("pose")))
            name = f"{file.stem}/{row}"
            pair = maker.make(str(source), str(target), pose, name=name)
        except (ValueError, OSError) as error:
            raise ValueError(f"{file}, {row}: {error}") from error
        if pair.overlap >= min_overlap:
            pairs.append(pair)
    return pairs


def load_posed(
    path: str | os.PathLike[str],
    *,
    points: int = 1024,
    radius: float | None = None,
    min_overlap: float = 0.3,
) -> list[ScanPair]:
    """Read scans that all have a pose in one common frame, and pair those that overlap.

    Args:
        path: a JSON file, an object with a 4x4 matrix (scan to common frame) for each scan's
            name, or a folder with such a `poses.json`. The scans lie beside it.
        points: of each cloud, after voxel averaging.
        radius: for the overlap, in the scans' units; None takes one that fits each pair.
        min_overlap: pairs that overlap by less are left out.

    Returns:
        Each pair of scans once, the later in the file as the source.
    """
    file = Path(path).expanduser()
    file = file / "poses.json" if file.is_dir() else file
    poses = _read_json(file)
    if not isinstance(poses, dict) or not poses:
        raise ValueError(f"{file}: expected an object with a 4x4 matrix for each scan's name")
    scans: dict[str, tuple[Path, Pose]] = {}
    for name, matrix in poses.items():
        try:
            beside = [p for p in file.parent.glob(f"{name}.*") if p.suffix.lower() in FORMATS]
            if not beside:
                raise FileNotFoundError(f"there is no scan of this name beside {file.name}")
            scans[name] = (beside[0], rigid(_matrix(matrix)))
        except (ValueError, OSError) as error:
            raise ValueError(f"{file}, {name!r}: {error}") from None
    maker = PairMaker(lambda name: read_cloud(scans[name][0]).points, points=points, radius=radius)
    pairs = []
    names = list(scans)
    for i, target in enumerate(names):
        for source in names[i + 1 :]:
            pose = scans[target][1].inverse().compose(scans[source][1])
            name = f"{file.parent.resolve().name}/{target}-{source}"
            pair = maker.make(source, target, pose, name=name)
            if pair.overlap >= min_overlap:
                pairs.append(pair)
    return pairs


def unit_sphere(points: Tensor) -> Tensor:
    """Points (N, 3), centred on their mean, with the farthest at distance 1.

    >>> unit_sphere(torch.tensor([[0.0, 0, 0], [4, 0, 0]]))
    tensor([[-1.,  0.,  0.],
            [ 1.,  0.,  0.]])
    """
    centred = points - points.mean(0)
    radius = torch.linalg.vector_norm(centred, dim=-1).max()
    if not radius > 0:
        raise ValueError("all its points are in one place")
    return centred / radius


def _shape(path: Path, points: int, seed: int, key: str) -> tuple[Tensor, Tensor]:
    digest = hashlib.sha256(f"{seed}/{key}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
    cloud = read_cloud(path, points=points, generator=generator)
    if len(cloud) < points:
        raise CloudFileError(f"{path}: it has {len(cloud)} points, but {points} are asked for")
    try:
        positions = unit_sphere(cloud.points.double())
    except ValueError as error:
        raise CloudFileError(f"{path}: {error}") from None
    normals = cloud.with_normals().normals
    assert normals is not None
    return positions.to(torch.float32), normals.to(torch.float32)


def _cache_file(folder: Path, files: Iterable[Path], points: int, seed: int) -> Path:
    """Named for all that decides the corpus: another file, or another time of one, is another."""
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
    except Exception as error:  # whatever is wrong with it, it can be made again
        warnings.warn(f"{file}: made again, it cannot be read ({error})", stacklevel=3)
    return None


def _to_cache(file: Path, made: tuple[Tensor, Tensor]) -> None:
    try:
        with replacing(file) as kept:
            torch.save({"points": made[0], "normals": made[1]}, kept)
    except OSError as error:
        warnings.warn(f"the corpus is not kept for next time: {error}", stacklevel=3)


def _scan_path(entry: dict[str, Any], key: str, file: Path) -> Path:
    name = entry.get(key)
    if not isinstance(name, str) or not name:
        raise ValueError(f"it has no {key!r}")
    return file.parent / name


def _matrix(values: Any) -> Tensor:
    try:
        matrix = torch.tensor(values, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("the pose must be 4 rows of 4 numbers") from None
    if matrix.numel() != 16:
        raise ValueError(f"the pose must be 4 rows of 4 numbers, got {matrix.numel()} numbers")
    return matrix.reshape(4, 4)


def _csv_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream, strict=True)
        try:
            columns = reader.fieldnames or []
            if not {"source", "target"} <= set(columns):
                raise ValueError(f"{file}: the head line must name the columns source and target")
            numbers = [name for name in columns if name not in ("source", "target")]
            for row in reader:
                where = f"line {reader.line_num}"
                try:
                    if None in row:
                        raise ValueError("more fields than the head line names")
                    pose = [float(row[name]) for name in numbers]
                except (TypeError, ValueError):
                    raise ValueError(f"{file}, {where}: the pose must be 16 numbers") from None
                yield where, {"source": row["source"], "target": row["target"], "pose": pose}
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{file}, line {reader.line_num}: not CSV: {error}") from None


def _json_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _read_json(file)
    if not isinstance(rows, list):
        raise ValueError(f"{file}: expected a list of pairs")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ValueError(f"{file}, entry {number}: expected an object, got {row!r:.60}")
        yield f"entry {number}", row


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: not JSON: {error}") from None
