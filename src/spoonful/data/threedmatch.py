"""3DMatch: fragments of indoor scenes and the poses between them.

The published test set has, for each scene, fragments `cloud_bin_K.ply` and, beside them or in
`SCENE-evaluation/`, a text file `gt.log`: head lines `i j count`, each followed by the 4x4 matrix
that maps fragment j into fragment i.

The training set that FCGF distributes has fragments `SCENE@SEQUENCE_NUMBER.npz`, those of a
sequence in one frame. A list `SCENE@SEQUENCE-0.30.txt` has a line `a.npz b.npz overlap` for each
pair.

Training and test have no scene in common. If the folder has sub-folders `train` and `test`, they
hold the scenes of each. Otherwise the eight scenes of the published test set are for test, and
all others for training.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.data import places
from spoonful.data.clouds import FORMATS, read_cloud
from spoonful.data.scans import PairMaker, ScanPair
from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice
from spoonful.inputs import rigid_matrix

__all__ = ["LogEntry", "MissingFragments", "ScanPair", "load_pairs", "read_list", "read_log"]

# Partners are sought within this many metres: one and a half of the usual 25 mm voxels.
RADIUS = 0.0375
LISTS = "*@*-0.30.txt"
"""The names of lists of pairs that overlap by 0.3 and more."""

TEST_SCENES = frozenset(
    {
        "7-scenes-redkitchen",
        "sun3d-home_at-home_at_scan1_2013_jan_1",
        "sun3d-home_md-home_md_scan9_2012_sep_30",
        "sun3d-hotel_uc-scan3",
        "sun3d-hotel_umd-maryland_hotel1",
        "sun3d-hotel_umd-maryland_hotel3",
        "sun3d-mit_76_studyroom-76-1studyroom2",
        "sun3d-mit_lab_hj-lab_hj_tea_nov_2_2012_scan1_erika",
    }
)


VALIDATION_SCENES = frozenset(
    {
        "7-scenes-heads",
        "analysis-by-synthesis-apt2-kitchen",
        "bundlefusion-office0",
        "rgbd-scenes-v2-scene_10",
        "sun3d-brown_bm_4-brown_bm_4",
        "sun3d-harvard_c11-hv_c11_2",
    }
)
"""The training scenes that are published for validation."""


class MissingFragments(UserWarning):
    """A log names fragments that are not there; their pairs are left out."""


class LogEntry(NamedTuple):
    """One entry of a `gt.log`.

    Attributes:
        target: the fragment i, whose frame the matrix maps to.
        source: the fragment j.
        matrix: (4, 4), float64.
        line: where in the file it begins, from 1.
    """

    target: int
    source: int
    matrix: Tensor
    line: int


def load_pairs(
    root: str | os.PathLike[str] | None = None,
    *,
    split: str = "all",
    min_overlap: float = 0.3,
    points: int = 1024,
    radius: float = RADIUS,
) -> list[ScanPair]:
    """The pairs of one scene or of many scenes in a folder, with the source mapped to the target.

    Each fragment is averaged on the grid that leaves `points` points, and each pair is brought into
    the unit ball by one scale. The overlap is computed from the whole fragments at the true pose
    (`spoonful.data.scans.overlap`). Both fragments are averaged to 25 mm first, and a point has a
    partner within 37.5 mm. Overlap lists have their own overlaps, which are taken as they are.

    Args:
        root: a scene's folder, or a folder of scenes; None looks for `3dmatch` where datasets
            are kept.
        split: "train", "test" or "all" scenes. A folder without scenes of the published test set
            is all test for "test", but overlap lists are never for test.
        min_overlap: pairs that overlap by less are left out; the paper takes 0.3.
        points: of each cloud.
        radius: in metres, for the overlap.

    Returns:
        A list of `ScanPair`, in the order of the logs. Pairs whose fragments are not there are
        left out, with one `MissingFragments` warning for each log.
    """
    if not 0 <= min_overlap <= 1:
        raise ValueError(f"min_overlap must be between 0 and 1, got {min_overlap}")
    folder = places.find("3dmatch", "3DMatch") if root is None else places.existing(root)
    if folder is None:
        raise FileNotFoundError(
            "3dmatch was not found; give its folder, or put it under $SPOONFUL_DATA/3dmatch"
        )
    scenes = _scenes(folder, split)
    if not scenes:
        raise FileNotFoundError(
            f"{folder}: no scene here has a gt.log and cloud_bin_*.ply fragments, or a list "
            "SCENE@SEQUENCE-0.30.txt of .npz fragments"
        )
    pairs: list[ScanPair] = []
    for scene, log in scenes:
        pairs += _pairs_of(scene, log, points, radius, min_overlap)
    return pairs


def read_log(path: str | os.PathLike[str]) -> list[LogEntry]:
    """Read the entries of a `gt.log`.

    Raises:
        ValueError: a line is not what it should be; the message names the file and the line.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    filled = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    entries = []
    for start in range(0, len(filled), 5):
        number, head = filled[start]
        rows = filled[start + 1 : start + 5]
        try:
            if len(head) != 3:
                raise ValueError(f"expected `i j count`, got {' '.join(head)[:60]!r}")
            target, source, _ = (int(word) for word in head)
            if len(rows) < 4 or any(len(row) != 4 for _, row in rows):
                raise ValueError("expected 4 rows of 4 numbers after it")
            matrix = torch.tensor(
                [[float(word) for word in row] for _, row in rows], dtype=torch.float64
            )
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        entries.append(LogEntry(target, source, matrix, number))
    return entries


def read_list(path: str | os.PathLike[str]) -> list[tuple[str, str, float]]:
    """Read the names of two fragments and their overlap from each line of an overlap list.

    Raises:
        ValueError: a line is not what it should be; the message names the file and the line.
    """
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            source, target, overlap = words
            found.append((source, target, float(overlap)))
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: expected `a.npz b.npz overlap`, got {line[:60]!r}"
            ) from None
    return found


def _scenes(folder: Path, split: str) -> list[tuple[Path, Path]]:
    """The scenes of a split in a folder, each with its log or with one of its lists."""
    check_choice("split", split, ("train", "test", "all"))
    if split != "all" and (folder / split).is_dir():
        return _scenes(folder / split, "all")
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    found = []
    for scene in (folder, *inside):
        logs = (scene / "gt.log", scene.parent / f"{scene.name}-evaluation" / "gt.log")
        log = next((log for log in logs if log.is_file()), None)
        if log is not None and any(scene.glob("cloud_bin_*")):
            found.append((scene, log))
    if split == "test":
        lists = []
    else:
        lists = [path for at in (folder, *inside) for path in sorted(at.glob(LISTS))]
    found += [(path.with_name(path.name.partition("@")[0]), path) for path in lists]
    for_test = [each for each in found if each[0].name in TEST_SCENES]
    if split == "test":
        return for_test or found
    if split == "train" and for_test:
        found = [each for each in found if each not in for_test]
        if not found:
            raise ValueError(
                f"{folder} has only scenes of 3DMatch's test set; training needs other scenes, "
                "here or in a sub-folder named train"
            )
    return found


class _Wanted(NamedTuple):
    """Two fragments, whose files may not be there, and the pose between them.

    The overlap is None where a log does not say it.
    """

    name: str
    source: Path
    target: Path
    pose: Pose
    overlap: float | None = None


def _pairs_of(
    scene: Path, log: Path, points: int, radius: float, min_overlap: float
) -> list[ScanPair]:
    wanted = _listed(scene, log) if log.suffix == ".txt" else _logged(scene, log)
    maker = PairMaker(lambda path: read_cloud(path).points, points=points, radius=radius)
    pairs: list[ScanPair] = []
    absent: set[str] = set()
    left_out = 0
    for each in wanted:
        lacking = {path.stem for path in (each.source, each.target) if not path.is_file()}
        if lacking:
            absent |= lacking
            left_out += 1
        elif each.overlap is None or each.overlap >= min_overlap:
            files = str(each.source), str(each.target)
            pair = maker.make(*files, each.pose, name=each.name, share=each.overlap)
            if pair.overlap >= min_overlap:
                pairs.append(pair)
    if left_out:
        first = min(absent, key=lambda name: (len(name), name))
        warnings.warn(
            f"{log}: {left_out} of {len(wanted)} pairs are left out, because "
            f"{len(absent)} fragments are not there ({first} the first)",
            MissingFragments,
            stacklevel=3,
        )
    return pairs


def _logged(scene: Path, log: Path) -> list[_Wanted]:
    """The pairs of a `gt.log`."""
    files = {
        path.stem: path for path in scene.glob("cloud_bin_*") if path.suffix.lower() in FORMATS
    }
    found = []
    for entry in read_log(log):
        try:
            pose = Pose.from_matrix(rigid_matrix(entry.matrix))
        except ValueError as error:
            raise ValueError(f"{log}, line {entry.line}: {error}") from None
        stems = (f"cloud_bin_{k}" for k in (entry.source, entry.target))
        source, target = (files.get(stem, scene / stem) for stem in stems)
        name = f"{scene.name}/{entry.target}-{entry.source}"
        found.append(_Wanted(name, source, target, pose))
    return found


def _listed(scene: Path, path: Path) -> list[_Wanted]:
    """The pairs of an overlap list, whose fragments are in one frame."""
    here = Pose.identity(dtype=torch.float64)
    found = []
    for *names, overlap in read_list(path):
        source, target = (path.with_name(Path(name).name) for name in names)
        ends = (file.stem.partition("@")[2] for file in (target, source))
        found.append(_Wanted(f"{scene.name}/{'-'.join(ends)}", source, target, here, overlap))
    return found
