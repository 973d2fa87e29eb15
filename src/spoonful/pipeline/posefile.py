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

from spoonful.files import json_ready, write_whole
from spoonful.geometry import Pose, Similarity
from spoonful.inputs import rigid_matrix, rigid_pose
from spoonful.pipeline.posetext import WRITERS, matrix_text, seven

FORMAT = "spoonful-pose"
# No pose file is longer; a cloud given by mistake is.
_LONGEST = 1 << 20
_NAMES = ("T_target_source", "transform", "transformation", "matrix", "pose")
_Made = TypeVar("_Made")


def write_pose(path: str | os.PathLike[str], pose: Pose | Similarity, **about: Any) -> Path:
    """Write one pose, atomically: as JSON, or as the text that `posetext` has for the extension.

    Args:
        path: the file.
        pose: `T_target_source`, rotation (3, 3) and translation (3,). A `Similarity` is written as
            the 4x4 with its scale, which `read_similarity` reads and `read_pose` refuses.
        about: further entries of JSON, such as `source="a.ply"`; anything JSON can hold.

    Raises:
        ValueError: the pose is not rigid, or has a scale and the format no place for it.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = write_pose(f"{folder}/pose.json", Pose.identity(), source="a.ply")
    >>> read_pose(path).translation
    tensor([0., 0., 0.], dtype=torch.float64)
    """
    matrix = pose.matrix()
    if isinstance(pose, Similarity):
        similarity_from_matrix(matrix, "pose")
    else:
        rigid_matrix(matrix, "pose")
    if text := WRITERS.get(Path(path).suffix.lower()):
        if isinstance(pose, Similarity):
            if float(pose.scale) != 1 and text is not matrix_text:
                raise ValueError(f"{path}: the format has no place for a scale; use .json or .txt")
            pose = Pose(matrix[:3, :3], matrix[:3, 3])
        return write_whole(path, text(pose))
    entries = {
        "format": FORMAT,
        "version": 1,
        "T_target_source": matrix.double().tolist(),
        **json_ready(about),
    }
    # One row of the matrix on a line: the file is read by people as well.
    lines = [f"  {json.dumps(name)}: {_entry(value)}" for name, value in entries.items()]
    return write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_pose(path: str | os.PathLike[str]) -> Pose:
    """Read one pose without a scale, in float64.

    It reads all that `write_pose` writes; JSON with a 4x4 or 3x4 matrix as nested lists, bare or
    under "T_target_source", "transform", "transformation", "matrix" or "pose"; and text with 16 or
    12 numbers, row after row, as `numpy.savetxt` and CloudCompare write it.

    Raises:
        ValueError: it holds no rigid motion; the message says what it holds instead.
        OSError: the file cannot be read.
    """
    return _read(path, rigid_pose)


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
    scale = torch.ones((), dtype=torch.float64)
    try:
        value = torch.as_tensor(matrix, dtype=torch.float64).clone()
        size = torch.linalg.det(value[:3, :3]).pow(1 / 3)
    except (TypeError, ValueError, RuntimeError, IndexError):
        value = matrix
    else:
        if bool(size.isfinite()) and float(size) > 0:
            scale = size
            value[:3, :3] /= scale
    # It names all that is wrong with the matrix.
    return Similarity(*rigid_pose(value, name), scale)


def _numbers(data: bytes) -> Any:
    """The matrix in a file's bytes, not yet checked."""
    text = data.decode("utf-8-sig", "replace").strip()
    if not text:
        raise ValueError("it is empty")
    if text[0] not in "{[":
        found = seven(text)
        return _table(text) if found is None else found
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


def _entry(value: Any) -> str:
    nested = isinstance(value, list) and value and all(isinstance(row, list) for row in value)
    if not nested:
        return json.dumps(value, allow_nan=False)
    rows = ",\n".join(f"    {json.dumps(row, allow_nan=False)}" for row in value)
    return f"[\n{rows}\n  ]"
