"""The result of a registration, which every learned or classical method returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import torch
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

    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the result by name, as "matches", "pose.rotation" or "extras.residual"."""
        parts: dict[str, Tensor | None] = {
            **{f"pose.{name}": part for name, part in self.pose._asdict().items()},
            "matches": self.matches,
            "weights": self.weights,
            "inlier_ratio": self.inlier_ratio,
            **{f"extras.{name}": values for name, values in self.extras.items()},
        }
        if self.poses is not None:
            parts |= {f"poses.{name}": part for name, part in self.poses._asdict().items()}
        return {name: values for name, values in parts.items() if values is not None}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], status: tuple[str, ...] = ()) -> Self:
        """The result with these tensors, named as in `tensors`."""
        poses = None
        if "poses.rotation" in tensors:
            poses = Pose(tensors["poses.rotation"], tensors["poses.translation"])
        extras = [name for name in tensors if name.startswith("extras.")]
        return cls(
            Pose(tensors["pose.rotation"], tensors["pose.translation"]),
            poses=poses,
            matches=tensors.get("matches"),
            weights=tensors.get("weights"),
            inlier_ratio=tensors.get("inlier_ratio"),
            status=status,
            extras={name.removeprefix("extras."): tensors[name] for name in extras},
        )

    @classmethod
    def joined(cls, parts: Sequence[Registration]) -> Self:
        """Results of several batches as one; tensors that not all of them have are left out."""
        every = [part.tensors() for part in parts]
        shared = [name for name in every[0] if all(name in some for some in every)]
        status = tuple(word for part in parts for word in part.status)
        return cls.of({name: torch.cat([some[name] for some in every]) for name in shared}, status)

    def apply(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The result with every tensor replaced by the function's result."""
        changed = {name: function(values) for name, values in self.tensors().items()}
        return self.of(changed, self.status)
