"""The result of a registration, which every learned or classical method returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from spoonful.geometry import Pose


@dataclass(frozen=True)
class Registration:
    """A pose, how it was reached, and what it rests on.

    Attributes:
        pose: the answer, `target ~ R source + t`, rotation (..., 3, 3), translation (..., 3).
        poses: every pose a loss may look at, in the order they were found: rotation
            (..., P, 3, 3). For each outer iteration the Kabsch pose, then its refinements.
            None if a method has only one.
        matches: (..., N, 3) the point of the target's frame that each source point was matched to.
        weights: (..., N) the weight of each match in the pose; None means all equal.
        inlier_ratio: (...) the share of source points that lie near the target under `pose`; each
            method says how near. None if a method does not measure it.
        status: one word for each item of the batch: "ok" or a problem, such as "degenerate",
            "no-convergence", "time-limit". There is a pose in every case. Empty if a method
            cannot fail.
        extras: further tensors by name, for a method's own loss or report.

    >>> found = Registration(Pose.identity(2), status=("ok", "degenerate"))
    >>> found.pose.rotation.shape, found.poses is None
    (torch.Size([2, 3, 3]), True)
    """

    pose: Pose
    poses: Pose | None = None
    matches: Tensor | None = None
    weights: Tensor | None = None
    inlier_ratio: Tensor | None = None
    status: tuple[str, ...] = ()
    extras: dict[str, Tensor] = field(default_factory=dict)
