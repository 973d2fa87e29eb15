"""Open3D's iterative closest point: the ICP of most papers' tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from torch import Tensor

from spoonful.classical.library import LibraryMethod, radius


@dataclass(frozen=True, kw_only=True)
class Open3DICP(LibraryMethod):
    """ICP of Open3D (`pipelines.registration.registration_icp`), a pair at a time.

    `spoonful.classical.ICP` does the same for whole batches, and on GPUs; this one is here so that
    it can be compared with. The status is "no-overlap" where nothing is within `max_distance`;
    Open3D does not say whether it converged. `weights` are 1 for matches within that distance.

    Attributes:
        metric: "point" to point, or point to "plane", with the target's normals, which are
            estimated from 30 neighbours where a batch has none.
        iterations: at most.
        tolerance: stop when the share of matched points and the root mean square distance of
            matches both change by less, relatively.
        max_distance: matches farther than this are not used, in the clouds' own unit; None for
            half the radius of the larger cloud.
    """

    name: ClassVar[str] = "icp-open3d"
    library: ClassVar[str] = "open3d"
    extra: ClassVar[str] = "open3d"
    script: ClassVar[str] = "open3d_calls.py:icp"

    metric: Literal["point", "plane"] = "point"
    iterations: int = 50
    tolerance: float = 1e-6
    max_distance: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric not in ("point", "plane"):
            raise ValueError(f"metric must be 'point' or 'plane', got {self.metric!r}")
        if self.iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {self.iterations}")
        if self.max_distance is not None and not self.max_distance > 0:
            raise ValueError(f"max_distance must be above 0, got {self.max_distance}")

    @classmethod
    def published(cls) -> Self:
        """As in the comparisons of DCP and RPM-Net: Open3D's criteria, from no motion.

        Its criteria are at most 30 iterations and 1e-6. The largest match distance has no default;
        RPM-Net's author names 0.5 (github.com/yewzijian/RPMNet/issues/9), in clouds of radius 1.
        """
        return cls(settings="published", iterations=30, tolerance=1e-6, max_distance=0.5)

    def _options(self, source: Tensor, target: Tensor) -> dict[str, Any]:
        reach = self.max_distance
        return {
            "metric": self.metric,
            "iterations": self.iterations,
            "tolerance": self.tolerance,
            "max_distance": 0.5 * radius(source, target) if reach is None else reach,
        }
