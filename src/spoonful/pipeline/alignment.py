"""The answer to "where does this scan go?", with what one needs to believe or doubt it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose
from spoonful.registration import Registration

# Results at least this likely to be right are called confident.
CONFIDENT = 0.5


class Candidate(NamedTuple):
    """One answer that was considered.

    Attributes:
        name: what proposed it.
        score: how well it fits, between 0 and 1; comparable within one registration only.
        seconds: what proposing it took.
        pose: the pose, polished as far as the candidate got.
    """

    name: str
    score: float
    seconds: float
    pose: Pose


class Matches(NamedTuple):
    """Pairs of points that support the pose, for drawing.

    Attributes:
        source: (K, 3) points of the source, in its own frame.
        target: (K, 3) the target's points they were matched to.
        weights: (K,) between 0 and 1.
    """

    source: Tensor
    target: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Alignment:
    """A pose that maps source to target, how it was chosen and how far it can be trusted.

    Attributes:
        pose: `target ~ R source + t`, float64.
        method: what proposed the pose that won.
        reason: the choice explained in a sentence or two.
        candidates: the answers considered, best first.
        poses: named stops on the way: "start", "global", "refined", "final".
        inlier_ratio: share of source points within `radius` of the target under `pose`.
        rmse: root mean square distance of those points to the target's points.
        radius: what counts as near, in the clouds' units.
        overlap: share of the smaller cloud's surface that the two have in common, estimated.
        confidence: estimated probability that the pose is right, between 0 and 1.
        warnings: what may be wrong, one sentence each.
        seconds: wall-clock time of the registration.
        units_hint: what the sizes of the clouds suggest about their units; may be empty.
        matches: pairs of points that support the pose.
        source: the source as it was registered, finite points only.
        target: the target, likewise.
        voxel: edge of the grid the search worked on.
    """

    pose: Pose
    method: str
    reason: str
    candidates: tuple[Candidate, ...]
    poses: dict[str, Pose]
    inlier_ratio: float
    rmse: float
    radius: float
    overlap: float
    confidence: float
    warnings: tuple[str, ...]
    seconds: float
    units_hint: str
    matches: Matches
    source: Cloud = field(repr=False)
    target: Cloud = field(repr=False)
    voxel: float = 0.0

    @property
    def transform(self) -> Tensor:
        """`T_target_source`, (4, 4) float64."""
        return self.pose.matrix()

    @property
    def confident(self) -> bool:
        """Whether the result is more likely right than wrong."""
        return self.confidence >= CONFIDENT

    @property
    def registration(self) -> Registration:
        """The same result in the form every method of the package returns."""
        stops = tuple(self.poses.values())
        return Registration(
            pose=self.pose,
            poses=Pose(
                torch.stack([pose.rotation for pose in stops]),
                torch.stack([pose.translation for pose in stops]),
            ),
            inlier_ratio=torch.tensor(self.inlier_ratio, dtype=torch.float64),
            status=("ok" if self.confident else "doubtful",),
        )

    def apply(self, points: Any) -> Any:
        """Move (N, 3) points of the source to the target's frame.

        Tensors give tensors and arrays arrays, in their own dtype; the sum is done in float64.
        """
        if isinstance(points, Tensor):
            moved = self.pose.apply(points.detach().to("cpu", torch.float64))
            return moved.to(points.device, points.dtype)
        from spoonful.extras import require

        np = require("numpy", extra="data", why="Moving arrays")
        array = np.asarray(points)
        moved = self.pose.apply(torch.from_numpy(array.astype(np.float64))).numpy()
        return moved.astype(array.dtype) if array.dtype.kind == "f" else moved

    def summary(self) -> dict[str, Any]:
        """All that fits into JSON: the pose, its measures, the warnings and the candidates."""
        return {
            "T_target_source": self.transform.tolist(),
            "method": self.method,
            "reason": self.reason,
            "inlier_ratio": self.inlier_ratio,
            "rmse": self.rmse,
            "radius": self.radius,
            "overlap": self.overlap,
            "confidence": self.confidence,
            "confident": self.confident,
            "warnings": list(self.warnings),
            "seconds": self.seconds,
            "units_hint": self.units_hint,
            "voxel": self.voxel,
            "poses": {name: pose.matrix().tolist() for name, pose in self.poses.items()},
            "candidates": [
                {"name": c.name, "score": c.score, "seconds": c.seconds} for c in self.candidates
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `summary()` to a JSON file, which `read_pose` and `--init` read."""
        Path(path).write_text(json.dumps(self.summary(), indent=1) + "\n", encoding="utf-8")


def read_pose(path: str | os.PathLike[str]) -> Pose:
    """The pose in a JSON file: what `Alignment.save` wrote, or a 4x4 matrix.

    Raises:
        ValueError: the file holds no pose; the message opens with its name.
    """
    try:
        loaded = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = loaded["T_target_source"] if isinstance(loaded, dict) else loaded
        matrix = torch.tensor(rows, dtype=torch.float64)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path}: not a pose: a 4x4 matrix, or an object with one as T_target_source ({error})"
        ) from None
    return check_pose(matrix, str(path))


def check_pose(pose: Pose | Tensor, name: str) -> Pose:
    """`pose` in float64, refused unless it is one rigid motion."""
    if isinstance(pose, Tensor):
        if tuple(pose.shape) != (4, 4):
            raise ValueError(f"{name} must be a 4x4 matrix, got shape {tuple(pose.shape)}")
        pose = Pose.from_matrix(pose)
    elif not isinstance(pose, Pose):
        raise TypeError(f"{name} must be a Pose or a 4x4 tensor, got {type(pose).__name__}")
    pose = Pose(*(part.detach().to("cpu", torch.float64) for part in pose))
    R = pose.rotation
    if tuple(R.shape) != (3, 3) or tuple(pose.translation.shape) != (3,):
        raise ValueError(f"{name} must be one pose, got rotation {tuple(R.shape)}")
    eye = torch.eye(3, dtype=torch.float64)
    if not bool((R @ R.mT - eye).abs().max() < 1e-3) or not bool(torch.linalg.det(R) > 0):
        raise ValueError(f"{name} must be a rigid motion: its rotation part is not a rotation")
    if not bool(pose.translation.isfinite().all()):
        raise ValueError(f"{name} must be finite, got {pose.translation.tolist()}")
    return pose
