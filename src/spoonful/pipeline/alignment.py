"""The answer to "where does this scan go?", with what one needs to believe or doubt it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.extras import require
from spoonful.geometry import Pose
from spoonful.pipeline.posefile import write_pose
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


@dataclass(frozen=True, repr=False)
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
        notes: what else there is to know, one sentence each: points that were left out.
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
    source: Cloud
    target: Cloud
    voxel: float = 0.0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """What to know at a glance; the matches, candidates and clouds would fill screens."""
        rows = "\n".join(
            "   ".join(f"{round(value, 6) + 0.0:10.6f}" for value in row)
            for row in self.transform.tolist()
        )
        return (
            f"Alignment({'confident' if self.confident else 'doubtful'}, "
            f"confidence={self.confidence:.3f}, overlap={self.overlap:.3f}, "
            f"inlier_ratio={self.inlier_ratio:.3f}, rmse={self.rmse:.4g}, "
            f"radius={self.radius:.4g}, method={self.method!r}, warnings={[*self.warnings]}, "
            f"T_target_source=\n{rows})"
        )

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
        np = require("numpy", extra="data", why="Moving arrays")
        array = np.asarray(points)
        placed = self.pose.apply(torch.from_numpy(array.astype(np.float64))).numpy()
        return placed.astype(array.dtype) if array.dtype.kind == "f" else placed

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
            "notes": list(self.notes),
            "seconds": self.seconds,
            "units_hint": self.units_hint,
            "voxel": self.voxel,
            "poses": {name: pose.matrix().tolist() for name, pose in self.poses.items()},
            "candidates": [
                {"name": c.name, "score": c.score, "seconds": c.seconds} for c in self.candidates
            ],
        }

    def save(self, path: str | os.PathLike[str], **about: Any) -> Path:
        """Write the pose, `about` and `summary()` as JSON, which `read_pose` and `--init` read."""
        rest = {name: value for name, value in self.summary().items() if name != "T_target_source"}
        return write_pose(path, self.pose, **about, **rest)

    def show(self, **options: Any) -> Path:
        """Open a page with both clouds in the browser; options as for `report.write_report`."""
        # The report reads alignments, so it comes after them.
        from spoonful.pipeline.report import show

        return show(self, **options)
