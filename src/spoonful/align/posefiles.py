"""Read the poses of many scans from one file or folder of another program."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path

import torch

from spoonful.data.clouds.formats import FORMATS
from spoonful.geometry import Pose
from spoonful.inputs import rigid_pose
from spoonful.models.heads import rotation_from_xyzw
from spoonful.pipeline.posefile import read_pose

# The same pose written twice differs by rounding only, relative to its largest number.
_ROUNDED = 1e-4


def read_poses(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, Pose]:
    """Read a pose for each scan: it maps the scan into one common frame.

    It reads `poses.json` of `spoonful align`; a folder with a 4x4 text `NAME.txt` for each scan;
    the images.txt of COLMAP (whose poses are inverted); g2o (VERTEX_SE3:QUAT; comments `# 7 NAME`
    name the vertices); TUM (`time x y z qx qy qz qw`, or NAME instead of the time); KITTI (12
    numbers per line); and 4x4 matrices one after the other, as CloudCompare writes them. A file's
    name means its scan. Poses without names belong to the scans in their order.

    Args:
        path: the file or folder.
        names: of the scans, in order.

    Raises:
        ValueError: a scan has no pose, or two different ones; the format is unknown.
        OSError: the file cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        files = {name: path / f"{name}.txt" for name in names}
        _complete(path, {name: file for name, file in files.items() if file.is_file()}, names)
        return {name: read_pose(file) for name, file in files.items()}
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a file with poses: it is not text") from None
    if text.lstrip().startswith("{"):
        found = _by_name(path, text, names)
    else:
        found = _parsed(path, text, names)
    poses: dict[str, Pose] = {}
    for name, pose in found:
        if name in poses and not same(poses[name], pose):
            raise ValueError(f"{path}: it has two different poses for {name}")
        poses[name] = pose
    _complete(path, poses, names)
    return {name: poses[name] for name in names}


def same(one: Pose, other: Pose) -> bool:
    """True if two poses differ by rounding only."""
    a, b = one.matrix(), other.matrix()
    return bool(((a - b).abs() <= _ROUNDED * a.abs().max().clamp_min(1)).all())


def _complete(path: Path, poses: dict[str, Pose] | dict[str, Path], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in poses]
    if missing:
        raise ValueError(f"{path}: it has no pose for {_some(missing)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _by_name(path: Path, text: str, names: Sequence[str]) -> list[tuple[str, Pose]]:
    """The poses of the first group of a `poses.json`."""
    try:
        scans = json.loads(text)["scans"]
        rows = [(name, s["T_group_scan"]) for name, s in scans.items() if s["group"] == 1]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path}: not a poses.json of spoonful align") from None
    apart = [name for name in names if name in scans and scans[name]["group"] != 1]
    if apart:
        raise ValueError(
            f"{path}: each group has its own frame, and these scans are not in group 1: "
            f"{_some(apart)}"
        )
    return [(name, rigid_pose(matrix, f"{path}: {name}")) for name, matrix in rows]


def _parsed(path: Path, text: str, names: Sequence[str]) -> list[tuple[str, Pose]]:
    """The poses of a text, with the name of each."""
    lines = [line.split() for line in text.splitlines()]
    rows = [words for words in lines if words and not words[0].startswith("#")]
    if not rows:
        raise ValueError(f"{path}: it has no poses")
    images = [words for words in rows if len(words) > 9 and _numeric(words[:9])]
    images = [words for words in images if not _numeric(words[9:])]
    if images:  # ID QW QX QY QZ TX TY TZ CAMERA NAME; from the common frame to the image's
        poses = [_quaternion(path, words[5:8], [*words[2:5], words[1]]) for words in images]
        keys = [Path(" ".join(words[9:])).stem for words in images]
        return [(key, pose.inverse()) for key, pose in zip(keys, poses, strict=True)]
    vertices = [words for words in rows if words[0] == "VERTEX_SE3:QUAT"]
    if vertices:
        said = {
            words[1]: " ".join(words[2:]) for words in lines if len(words) > 2 and words[0] == "#"
        }
        poses = [_quaternion(path, words[2:5], words[5:9]) for words in vertices]
        keys = [said.get(words[1], words[1]) for words in vertices]
        return _named(path, keys, poses, names)
    widths = {len(words) for words in rows}
    timed = widths == {8}  # or named
    if len(widths) > 1 or not all(_numeric(words[timed:]) for words in rows):
        raise ValueError(f"{path}: its lines are not poses of KITTI, TUM, g2o, COLMAP or 4x4")
    width = widths.pop()
    if timed:
        poses = [_quaternion(path, words[1:4], words[4:8]) for words in rows]
        return _named(path, [words[0] for words in rows], poses, names)
    values = torch.tensor([[float(word) for word in words] for words in rows], dtype=torch.float64)
    if width == 12 or (width == 4 and len(rows) % 4 == 0):
        matrices = values.reshape(-1, 3 if width == 12 else 4, 4)
        poses = [rigid_pose(m, f"{path}: pose {k}") for k, m in enumerate(matrices, start=1)]
        return _named(path, [""] * len(poses), poses, names)
    raise ValueError(f"{path}: it has {width} numbers per line; KITTI has 12, TUM 8, a 4x4 has 4")


def _named(
    path: Path, keys: Sequence[str], poses: Sequence[Pose], names: Sequence[str]
) -> list[tuple[str, Pose]]:
    """The poses by name if any key, or all keys, are names, otherwise in the order of the scans."""
    files = {key for key in keys if Path(key).suffix.lower() in FORMATS} - {*names}
    keys = [Path(key).stem if key in files else key for key in keys]
    if {*keys} & {*names} or all(key and not _numeric([key]) for key in keys):
        return list(zip(keys, poses, strict=True))
    if len(poses) != len(names):
        raise ValueError(f"{path}: it has {len(poses)} poses, and there are {len(names)} scans")
    return list(zip(names, poses, strict=True))


def _quaternion(path: Path, shift: Sequence[str], turn: Sequence[str]) -> Pose:
    """The pose of a shift and a unit quaternion x, y, z, w."""
    if len(shift) != 3 or len(turn) != 4 or not _numeric([*shift, *turn]):
        raise ValueError(f"{path}: not three numbers and a quaternion: {' '.join([*shift, *turn])}")
    quaternion = torch.tensor([float(word) for word in turn], dtype=torch.float64)
    length = float(quaternion.norm())
    if not 0.99 < length < 1.01:
        raise ValueError(f"{path}: not a unit quaternion: {' '.join(turn)}")
    translation = torch.tensor([float(word) for word in shift], dtype=torch.float64)
    return Pose(rotation_from_xyzw(quaternion / length), translation)


def _numeric(words: Sequence[str]) -> bool:
    try:
        return all(math.isfinite(float(word)) for word in words)
    except ValueError:
        return False
