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

from spoonful.files import json_ready, write_whole
from spoonful.geometry import Pose, Similarity
from spoonful.inputs import rigid_pose, scaled_pose
from spoonful.pipeline.posetext import WRITERS, seven

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
        ValueError: it is no pose, or the format cannot hold its scale.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = write_pose(f"{folder}/pose.json", Pose.identity(), source="a.ply")
    >>> read_pose(path).translation
    tensor([0., 0., 0.], dtype=torch.float64)
    """
    check = rigid_pose if isinstance(pose, Pose) else scaled_pose
    check(pose.matrix(), "pose")
    if text := WRITERS.get(Path(path).suffix.lower()):
        try:
            return write_whole(path, text(pose))
        except ValueError as error:  # no place for a scale
            raise ValueError(f"{path}: {error}") from None
    entries = {
        "format": FORMAT,
        "version": 1,
        "T_target_source": pose.matrix().double().tolist(),
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
    return _read(path, scaled_pose)


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


def _numbers(data: bytes) -> Any:
    """The matrix in a file's bytes, not yet checked."""
    text = data.decode("utf-8-sig", "replace").strip()
    if not text:
        raise ValueError("it is empty")
    if text[0] not in "{[":
        pose = seven(text)
        return _table(text) if pose is None else pose
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        # A NumPy array as printed opens with a bracket as well.
        if text[0] == "[":
            return _table(re.sub(r"[\[\],]", " ", text))
        raise ValueError(f"it is not JSON: {error}") from None
    if isinstance(value, Mapping):
        key = next((name for name in _NAMES if name in value), None)
        if key is None:
            have = ", ".join(map(str, value))[:200] or "nothing"
            raise ValueError(f'it has no "T_target_source", only {have}')
        value = value[key]
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
