"""Poses as text of other programs; the file's extension chooses the program.

| extension | program | content |
|---|---|---|
| `.txt` | CloudCompare, NumPy | the 4x4 matrix, one row per line |
| `.yaml` | ROS | a `geometry_msgs/TransformStamped` from the frame "source" to "target" |
| `.g2o` | GTSAM, g2o | vertex 0, the target, and vertex 1, the source |
"""

from __future__ import annotations

import math
import re

import torch
from torch import Tensor

from spoonful.geometry import Pose, Similarity
from spoonful.models.heads import rotation_from_xyzw


def matrix_text(pose: Pose | Similarity) -> str:
    """The 4x4 matrix, one row per line, as CloudCompare and `numpy.loadtxt` read it."""
    return "".join(" ".join(map(_text, row)) + "\n" for row in pose.matrix().tolist())


def ros_text(pose: Pose | Similarity) -> str:
    """A `geometry_msgs/TransformStamped` in YAML.

    >>> print(ros_text(Pose.identity()))
    header: {frame_id: target}
    child_frame_id: source
    transform:
      translation: {x: 0, y: 0, z: 0}
      rotation: {x: 0, y: 0, z: 0, w: 1}
    <BLANKLINE>
    """
    x, y, z = map(_text, _rigid(pose).translation.tolist())
    qx, qy, qz, qw = map(_text, quaternion(pose.rotation).tolist())
    return (
        "header: {frame_id: target}\nchild_frame_id: source\ntransform:\n"
        f"  translation: {{x: {x}, y: {y}, z: {z}}}\n"
        f"  rotation: {{x: {qx}, y: {qy}, z: {qz}, w: {qw}}}\n"
    )


def g2o_text(pose: Pose | Similarity) -> str:
    """Two vertices, as `gtsam.readG2o(file, is3D=True)` reads them."""
    return f"VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nVERTEX_SE3:QUAT 1 {seven_text(pose)}\n"


def seven_text(pose: Pose | Similarity) -> str:
    """Translation and unit quaternion, "x y z qx qy qz qw"."""
    pose = _rigid(pose)
    return " ".join(map(_text, [*pose.translation.tolist(), *quaternion(pose.rotation).tolist()]))


def _rigid(pose: Pose | Similarity) -> Pose:
    if isinstance(pose, Pose):
        return pose
    if float(pose.scale) != 1:
        raise ValueError(
            f"this format cannot hold a scale ({float(pose.scale):g}): use .json or .txt"
        )
    return pose.rigid()


WRITERS = {".txt": matrix_text, ".yaml": ros_text, ".yml": ros_text, ".g2o": g2o_text}


def seven(text: str) -> Tensor | None:
    """The pose in text that `ros_text` or `g2o_text` wrote, (3, 4); None if it is other text."""
    vertex = re.search(r"^VERTEX_SE3:QUAT 1 (.*)$", text, re.MULTILINE)
    if vertex is None and "rotation:" not in text:
        return None
    words = vertex[1].split() if vertex else re.findall(r"\b[xyzw]:\s*([^\s,}]+)", text)
    try:
        values = torch.tensor([float(word) for word in words], dtype=torch.float64)
    except ValueError:
        values = torch.empty(0)
    if len(values) != 7 or not abs(float(values[3:].norm()) - 1) < 1e-3:
        raise ValueError("it needs a translation x, y, z and a unit quaternion x, y, z, w")
    return torch.cat([rotation_from_xyzw(values[3:]), values[:3, None]], 1)


def quaternion(rotation: Tensor) -> Tensor:
    """The unit quaternion (x, y, z, w) of a rotation (3, 3), w >= 0, in float64 on the CPU.

    >>> quaternion(torch.tensor([[-1.0, 0, 0], [0, -1, 0], [0, 0, 1]])).abs()
    tensor([0., 0., 1., 0.], dtype=torch.float64)
    """
    R = rotation.detach().to("cpu", torch.float64)
    # The quaternion (w, v) is the eigenvector of this matrix's largest eigenvalue, 1 for a rotation
    # (Bar-Itzhack 2000), which has no bad angles.
    K = R.new_zeros(4, 4)
    K[0, 0] = R.trace()
    K[0, 1:] = K[1:, 0] = torch.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    K[1:, 1:] = R + R.T - R.trace() * torch.eye(3, dtype=torch.float64)
    found = torch.linalg.eigh(K / 3).eigenvectors[:, -1].roll(-1)
    # One of the two signs: a turn of at most 180 degrees, and a half turn about the upper axis.
    leading = found[3] if abs(float(found[3])) > 1e-12 else found[found[:3].abs().argmax()]
    return found * math.copysign(1.0, float(leading))


def _text(value: float) -> str:
    return f"{value + 0.0:.17g}"  # no negative zero
