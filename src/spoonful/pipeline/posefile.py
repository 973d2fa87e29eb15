"""Read and write poses as `pose.json`.

    {"format": "spoonful-pose", "version": 1,
     "T_target_source": [[r, r, r, t], [r, r, r, t], [r, r, r, t], [0, 0, 0, 1]],
     "source": "a.ply", "target": "b.ply", ...}

The matrix is row-major and maps points of the source, as columns, to the target's frame:
`target ~ R source + t`, in the files' units; with a scale its 3x3 part is `s R`. All other entries
are information for people. `read_pose` also reads files of other programs. Formats that hold a
quaternion, such as TUM's, have no place for a scale, and KITTI's readers expect none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from spoonful.files import json_ready, write_whole
from spoonful.geometry import Pose, Similarity, kabsch

FORMAT = "spoonful-pose"
# No pose file is longer; a cloud given by mistake is.
_LONGEST = 1 << 20
_NAMES = ("T_target_source", "transform", "transformation", "matrix", "pose")
_OFF = 1e-3
_Made = TypeVar("_Made")


def write_pose(path: str | os.PathLike[str], pose: Pose | Similarity, **about: Any) -> Path:
    """Write one pose as JSON, atomically.

    Args:
        path: the file.
        pose: `T_target_source`, rotation (3, 3) and translation (3,). A `Similarity` is written as
            the 4x4 with its scale, which `read_similarity` reads and `read_pose` refuses.
        about: further entries, such as `source="a.ply"`; anything JSON can hold.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = write_pose(f"{folder}/pose.json", Pose.identity(), source="a.ply")
    >>> read_pose(path).translation
    tensor([0., 0., 0.], dtype=torch.float64)
    """
    check = check_matrix if isinstance(pose, Pose) else similarity_from_matrix
    check(pose.matrix(), "pose")
    entries = {
        "format": FORMAT,
        "version": 1,
        "T_target_source": pose.matrix().double().tolist(),
        **json_ready(about),
    }
    # One row of the matrix on a line: the file is read by people as well.
    lines = [f"  {json.dumps(name)}: {_entry(value)}" for name, value in entries.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    return write_whole(path, text.encode())


def read_pose(path: str | os.PathLike[str]) -> Pose:
    """Read one pose without a scale, in float64.

    It reads what `write_pose` writes; JSON with a 4x4 or 3x4 matrix as nested lists, bare or
    under "T_target_source", "transform", "transformation", "matrix" or "pose"; and text with 16 or
    12 numbers, row after row, as `numpy.savetxt` and CloudCompare write it.

    Raises:
        ValueError: it holds no rigid motion; the message says what it holds instead.
        OSError: the file cannot be read.
    """
    return _read(path, pose_from_matrix)


def read_similarity(path: str | os.PathLike[str]) -> Similarity:
    """Read one pose with its scale, which is 1 for a rigid motion; otherwise as `read_pose`."""
    return _read(path, similarity_from_matrix)


def _read(path: str | os.PathLike[str], convert: Callable[[Any, str], _Made]) -> _Made:
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(_LONGEST + 1)
    try:
        if len(data) > _LONGEST:
            raise ValueError("it is too long for a pose")
        return convert(_numbers(data), "it")
    except ValueError as error:
        raise ValueError(f"{path}: not a pose: {error}") from None


def similarity_from_matrix(matrix: Any, name: str = "pose") -> Similarity:
    """Check a 4x4 or 3x4 matrix and take it apart into rotation, translation and scale, float64.

    >>> similarity_from_matrix([[2, 0, 0, 5], [0, 2, 0, 0], [0, 0, 2, 0]]).scale
    tensor(2., dtype=torch.float64)
    """
    value = _homogeneous(matrix, name).clone()
    determinant = torch.linalg.det(value[:3, :3])
    # A reflection has no scale: the check of the pose names it.
    scale = determinant.where(determinant > 0, 1.0).pow(1 / 3)
    value[:3, :3] /= scale
    return Similarity(*pose_from_matrix(value, name), scale)


def pose_from_matrix(matrix: Any, name: str = "pose") -> Pose:
    """Check a 4x4 or 3x4 matrix and make its 3x3 part a rotation to the last digit, float64.

    >>> pose_from_matrix([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]]).translation
    tensor([5., 0., 0.], dtype=torch.float64)
    >>> pose_from_matrix([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
    Traceback (most recent call last):
    ValueError: pose must be a rigid motion: its 3x3 part is a reflection (determinant -1)
    """
    checked = check_matrix(matrix, name)
    # The nearest rotation: what was rounded for a text file is a rotation again.
    axes = torch.eye(3, dtype=torch.float64)
    rotation = kabsch(axes, checked[:3, :3].T.contiguous()).rotation
    return Pose(rotation, checked[:3, 3].clone())


def check_matrix(matrix: Any, name: str = "pose") -> Tensor:
    """Raise unless `matrix` is a rigid motion; (4, 4) in float64."""
    value = _homogeneous(matrix, name)
    rotation = value[:3, :3]
    determinant = float(torch.linalg.det(rotation))
    off = float((rotation @ rotation.T - torch.eye(3, dtype=torch.float64)).abs().max())
    if off > _OFF or determinant < 0:
        scale = abs(determinant) ** (1 / 3)
        gram = rotation @ rotation.T / max(scale, 1e-300) ** 2
        if float((gram - torch.eye(3, dtype=torch.float64)).abs().max()) > _OFF or scale < 1e-12:
            what = f"is not a rotation (R R^T differs from the identity by {off:.2g})"
        elif abs(scale - 1) > _OFF:
            what = f"scales by {scale:.4g}: use --scale auto, or bring the clouds to one unit first"
        else:
            what = f"is a reflection (determinant {determinant:.3g})"
        raise ValueError(f"{name} must be a rigid motion: its 3x3 part {what}")
    return value


def _homogeneous(matrix: Any, name: str) -> Tensor:
    """Raise unless `matrix` has the shape, finite entries and last row of a pose; (4, 4)."""
    try:
        # At once in float64: a list of floats would be made float32.
        value = torch.as_tensor(matrix, dtype=torch.float64, device="cpu").detach()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} must be a matrix of numbers, 4 rows of 4") from None
    if value.shape not in ((4, 4), (3, 4)):
        raise ValueError(f"{name} must be a 4x4 matrix, got shape {tuple(value.shape)}")
    if not bool(value.isfinite().all()):
        raise ValueError(f"{name} has entries that are NaN or infinite")
    last = torch.tensor([0.0, 0, 0, 1], dtype=torch.float64)
    if len(value) == 3:
        value = torch.cat([value, last[None]])
    elif float((value[3] - last).abs().max()) > 1e-6:
        turned = float((value[:, 3] - last).abs().max()) <= 1e-6
        why = "; it looks column-major: transpose it" if turned else ""
        raise ValueError(f"{name} must have 0 0 0 1 as its last row, got {_row(value[3])}{why}")
    return value


def _numbers(data: bytes) -> Any:
    """The matrix in a file's bytes, not yet checked."""
    text = data.decode("utf-8-sig", "replace").strip()
    if not text:
        raise ValueError("it is empty")
    if text[0] not in "{[":
        return _table(text)
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        # A NumPy array as printed opens with a bracket as well.
        if text[0] == "[":
            return _table(re.sub(r"[\[\],]", " ", text))
        raise ValueError(f"it is not JSON: {error}") from None
    if isinstance(value, Mapping):
        found = next((name for name in _NAMES if name in value), None)
        if found is None:
            have = ", ".join(map(str, value))[:200] or "nothing"
            raise ValueError(f'it has no "T_target_source", only {have}')
        value = value[found]
    if isinstance(value, list) and len(value) in (12, 16):
        return _shaped(value)
    return value


def _table(text: str) -> Any:
    words = re.sub(r"#[^\n]*", "", text).replace(",", " ").replace(";", " ").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise ValueError("it is neither JSON nor a table of numbers") from None
    if len(values) not in (12, 16):
        raise ValueError(f"it has {len(values)} numbers, not 16")
    return _shaped(values)


def _shaped(values: list[Any]) -> list[list[Any]]:
    return [values[i : i + 4] for i in range(0, len(values), 4)]


def _row(values: Tensor) -> str:
    return " ".join(f"{value:.4g}" for value in values.tolist())


def _entry(value: Any) -> str:
    nested = isinstance(value, list) and value and all(isinstance(row, list) for row in value)
    if not nested:
        return json.dumps(value, allow_nan=False)
    rows = ",\n".join(f"    {json.dumps(row, allow_nan=False)}" for row in value)
    return f"[\n{rows}\n  ]"
