"""The result of a registration: a pose, its measures and how far it can be trusted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud
from spoonful.files import json_ready
from spoonful.geometry import Pose, Similarity, hat
from spoonful.pipeline.apply import apply_pose
from spoonful.pipeline.measures import SurfaceDistance, surface_distance
from spoonful.pipeline.posefile import write_pose
from spoonful.pipeline.posetext import quaternion
from spoonful.view.markup import escaped

AS_GIVEN = "as given"
"""The name of the pose that leaves the clouds where they lie."""

# If the clouds as given are the best pose and less likely right than this, nothing was found.
NOTHING = 0.05

# Results at least this likely to be right are called confident.
CONFIDENT = 0.7


class Candidate(NamedTuple):
    """One pose that was considered.

    Attributes:
        name: the method that proposed it.
        score: how well it fits, between 0 and 1; comparable within one registration only.
        seconds: the time that the proposal took.
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


class Deviation(NamedTuple):
    """Standard deviations of a pose along its least certain axes, if the pose is right.

    Axes along which the source can turn or slide freely are left out.

    Attributes:
        degrees: of the rotation; 0 if all turns are free.
        length: of the place of the source's middle, in the clouds' unit.
    """

    degrees: float
    length: float


@dataclass(frozen=True, repr=False)
class Alignment:
    """A pose that maps source to target, with its evidence and confidence.

    Attributes:
        pose: `target ~ R source + t`, float64.
        method: the method that proposed the pose.
        reason: the choice explained in a sentence or two.
        candidates: the poses that were considered, best first.
        poses: named stops on the way: "start", "global", "refined", "final".
        inlier_ratio: share of source points within `radius` of the target under `pose`.
        rmse: root mean square distance of those points to the target's points.
        radius: the distance of inliers, in the clouds' units: the edge of the search's grid.
        overlap: share of the smaller cloud's surface that the two have in common, estimated.
        confidence: estimated probability that the pose is right, between 0 and 1.
        warnings: reasons to doubt the result, one sentence each.
        seconds: wall-clock time of the registration.
        units_hint: a guess at the units from the sizes of the clouds; may be empty.
        matches: pairs of points that support the pose.
        source: the source as it was registered, finite points only.
        target: the target, likewise.
        voxel: edge of the grid the search worked on.
        notes: further remarks, one sentence each, such as points that were left out.
        covariance: (6, 6) of the last fit: turn in radians, then shift, in the source's frame; see
            `spoonful.geometry.covariance`. It holds for a right pose, and is zero along the turns
            and slides that the surfaces leave free. None if it was not estimated.
        free_axes: the number of turns and slides that the surfaces leave free.
        scale: the factor that was found for the source, `target ~ s R source + t`; 1 if it was not
            searched for. `source` and `matches` are those of the scaled source.
        scale_deviation: standard deviation of the scale as a share of it, for scans that are bent
            as those of depth cameras are; None if the scale was not searched for.
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
    covariance: Tensor | None = None
    free_axes: int = 0
    scale: float = 1.0
    scale_deviation: float | None = None

    def __repr__(self) -> str:
        """The main numbers and the pose, without the long matches, candidates and clouds."""
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

    def _repr_html_(self) -> str:
        """The result as a notebook shows it: the numbers, and the report to turn with the mouse."""
        numbers = {
            "confidence": share_text(self.confidence),
            "overlap": f"{self.overlap:.0%}",
            "inliers": f"{self.inlier_ratio:.1%} within {self.radius:.4g}, RMSE {self.rmse:.4g}",
            "points": f"{len(self.source):,} onto {len(self.target):,}",
            "method": self.method,
        }
        numbers |= {f"warning {i}": text for i, text in enumerate(self.warnings, 1)}
        rows = "".join(
            f"<tr><th>{escaped(name)}</th><td>{escaped(text)}</td></tr>"
            for name, text in numbers.items()
        )
        matrix = "\n".join(
            "  ".join(f"{value:10.6f}" for value in row) for row in self.transform.tolist()
        )
        if not answered(self):
            return f"<b>No alignment found</b><table>{rows}</table>"
        word = "Confident" if self.confident else "Doubtful"
        # By name, because the report imports this module.
        frame = resolve_name("spoonful.pipeline.report:frame")(self)
        return f"<b>{word}</b><pre>{matrix}</pre><table>{rows}</table>{frame}"

    @property
    def transform(self) -> Tensor:
        """`T_target_source`, (4, 4) float64; its upper left part is `s R`."""
        return self.matrix_of(self.pose)

    def matrix_of(self, pose: Pose) -> Tensor:
        """The 4x4 that scales the source as it was given, then moves it by `pose`."""
        return self._with_scale(pose).matrix()

    def _with_scale(self, pose: Pose) -> Similarity:
        scale = torch.tensor(self.scale, dtype=torch.float64)
        return Similarity(pose.rotation, pose.translation, scale)

    @property
    def confident(self) -> bool:
        """True if the confidence is at least `CONFIDENT`."""
        return self.confidence >= CONFIDENT

    @cached_property
    def deviation(self) -> Deviation | None:
        """The covariance as two numbers; None if there is none, or it says nothing about turns."""
        if self.covariance is None or not bool(self.covariance.isfinite().all()):
            return None
        # The shift of the source's middle: that of a far origin is mostly turn.
        middle = self.source.points.double().mean(0)
        eye = torch.eye(6, dtype=torch.float64)
        change = torch.cat([eye[:3], torch.cat([-hat(middle), eye[:3, :3]], -1)])
        about = change @ self.covariance @ change.mT
        turn, shift = (torch.linalg.eigvalsh(part)[-1] for part in (about[:3, :3], about[3:, 3:]))
        turn, shift = (part.clamp_min(0).sqrt() for part in (turn, shift))
        degrees = float(torch.rad2deg(turn))
        # Points on one line hold turns about it by their rounding errors.
        return Deviation(degrees, float(shift)) if degrees < 180 else None

    @cached_property
    def surface(self) -> SurfaceDistance:
        """Point-to-plane distances of the inliers, computed at the first access."""
        return surface_distance(self.source.points, self.target.points, self.pose, self.radius)

    def apply(self, cloud: Any) -> Any:
        """Scale and move (N, 3) points, a cloud or a mesh of the source to the target's frame.

        Tensors, arrays, this package's `Cloud` and `Mesh` and objects of Open3D, trimesh and
        PyVista come back as the same type; see `spoonful.pipeline.apply`.
        """
        return apply_pose(self.pose, cloud, scale=self.scale)

    def summary(self, **about: Any) -> dict[str, Any]:
        """The one record of a result that is written, printed or sent, all of it valid JSON.

        The pose file, `--json`, the server's answer and the rows of a batch are views of it.

        Args:
            about: entries to put first, such as `source="a.ply"`.
        """
        turn = turn_of(self.pose.rotation)
        whole = {
            **about,
            "T_target_source": self.transform.tolist(),
            "scale": self.scale,
            "scale_deviation": self.scale_deviation,
            "method": self.method,
            "reason": self.reason,
            "inlier_ratio": self.inlier_ratio,
            "rmse": self.rmse,
            "surface_rmse": self.surface.rmse,
            "surface_median": self.surface.median,
            "radius": self.radius,
            "overlap": self.overlap,
            "confidence": self.confidence,
            "confident": self.confident,
            "warnings": self.warnings,
            "notes": self.notes,
            "seconds": self.seconds,
            "units_hint": self.units_hint,
            "voxel": self.voxel,
            "covariance": None if self.covariance is None else self.covariance.tolist(),
            "deviation_degrees": self.deviation.degrees if self.deviation else None,
            "deviation": self.deviation.length if self.deviation else None,
            "poses": {name: self.matrix_of(pose).tolist() for name, pose in self.poses.items()},
            "candidates": [
                {"name": c.name, "score": c.score, "seconds": c.seconds} for c in self.candidates
            ],
            "rotation_degrees": turn.degrees,
            "rotation_axis": turn.axis,
            "translation": self.pose.translation.tolist(),
        }
        record: dict[str, Any] = json_ready(whole)
        return record

    def save(self, path: str | os.PathLike[str], **about: Any) -> Path:
        """Write the pose; as JSON, the default, with `summary(**about)`.

        The extensions .txt, .yaml and .g2o write the pose alone, see `spoonful.pipeline.posetext`.
        `read_pose` and `--init` read all of them.
        """
        rest = self.summary(**about)
        del rest["T_target_source"]
        return write_pose(path, self._with_scale(self.pose), **rest)


def answered(alignment: Alignment) -> bool:
    """False if no pose fitted: the source was not moved, or no point of it is near the target."""
    moved = alignment.method != AS_GIVEN or alignment.confidence >= NOTHING
    return moved and alignment.inlier_ratio > 0


def share_text(share: float) -> str:
    """A probability for reading, never surer than it is.

    >>> share_text(0.9999), share_text(0.42), share_text(0.0)
    ('over 99%', '42%', 'under 1%')
    """
    if share > 0.99:
        return "over 99%"
    return "under 1%" if share < 0.01 else f"{share:.0%}"


class Turn(NamedTuple):
    """A rotation by an angle about an axis, by the right-hand rule.

    Attributes:
        degrees: from 0 to 180.
        axis: a unit vector; None for a rotation by nothing.
    """

    degrees: float
    axis: tuple[float, float, float] | None


def turn_of(rotation: Tensor) -> Turn:
    """The angle and axis of a rotation (3, 3), exact for small angles and for half turns alike.

    >>> turn = turn_of(torch.tensor([[-1.0, 0, 0], [0, -1, 0], [0, 0, 1]]))
    >>> turn.degrees, turn.axis
    (180.0, (0.0, 0.0, 1.0))
    >>> turn_of(torch.eye(3))
    Turn(degrees=0.0, axis=None)
    """
    found = quaternion(rotation)
    vector, w = found[:3], found[3]
    length = vector.norm()
    if float(length) < 1e-12:
        return Turn(0.0, None)
    degrees = float(torch.rad2deg(2 * torch.atan2(length, w.clamp_min(0.0))))
    x, y, z = (round(value, 12) + 0.0 for value in (vector / length).tolist())
    return Turn(degrees, (x, y, z))
