"""small_gicp (Koide, JOSS 2024): generalised ICP, fast, with few dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from torch import Tensor

from spoonful.classical.library import LibraryMethod
from spoonful.frame import Frame
from spoonful.geometry.checks import check_choice, check_count


@dataclass(frozen=True, kw_only=True)
class SmallGICP(LibraryMethod):
    """Generalised ICP, which matches local planes; a local method.

    The status is "no-overlap" where nothing is within `max_distance`, and "no-convergence" where
    iterations ran out. Lengths are in the clouds' own unit.

    Attributes:
        kind: "GICP", "PLANE_ICP" or "ICP".
        voxel: points are first thinned to one a cube of this size; None for no thinning.
        neighbors: from which each point's plane is estimated.
        max_distance: matches farther than this are not used; None for the radius of the larger
            cloud.
        iterations: at most.
        turn_tolerance: stop when a step turns by less, in degrees,
        shift_tolerance: and shifts by less.
    """

    name: ClassVar[str] = "small_gicp"
    library: ClassVar[str] = "small_gicp"
    extra: ClassVar[str] = "classical"
    script: ClassVar[str] = "small_gicp_calls.py:align"

    kind: Literal["GICP", "PLANE_ICP", "ICP"] = "GICP"
    voxel: float | None = None
    neighbors: int = 20
    max_distance: float | None = None
    iterations: int = 20
    turn_tolerance: float = 0.1
    shift_tolerance: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kind", self.kind, ("GICP", "PLANE_ICP", "ICP"))
        for name in ("voxel", "max_distance"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        for name in ("neighbors", "iterations"):
            check_count(name, getattr(self, name))

    @classmethod
    def published(cls) -> Self:
        """The library's defaults, less its thinning: 20 neighbours, 20 iterations, distance 1.

        Its default voxels of 0.25 m are for the scans of vehicles; a shape of radius 1 would be
        left with some fifty points.
        """
        return cls(settings="published", max_distance=1.0)

    def _options(self, source: Tensor, target: Tensor) -> dict[str, Any]:
        length = float(Frame.of(source, target).scale)
        return {
            "kind": self.kind,
            "voxel": self.voxel,
            "neighbors": min(self.neighbors, len(source), len(target)),
            "max_distance": length if self.max_distance is None else self.max_distance,
            "iterations": self.iterations,
            "turn_tolerance": self.turn_tolerance,
            "shift_tolerance": self.shift_tolerance,
        }
