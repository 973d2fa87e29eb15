"""Fast global registration (Zhou, Park & Koltun, ECCV 2016) on FPFH features, by Open3D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from torch import Tensor

from spoonful.classical.library import LibraryMethod, radius


@dataclass(frozen=True, kw_only=True)
class FGR(LibraryMethod):
    """Points are matched once, by FPFH features; a robust cost then sorts out the wrong matches.

    It is global: where clouds start does not matter, and `init` is disregarded. The features need
    normals. The status is "no-overlap" where too few features match. Lengths are in the clouds' own
    unit, or None for the same share of the larger cloud's radius as in `published`.

    Attributes:
        feature_radius: of the neighbourhoods that features describe.
        neighbors: points in them, at most.
        max_distance: at which a match counts little in the end.
        normals: "given" uses those of the batch where it has any; "estimated" never does. Normals
            are estimated from `normal_neighbors` points, and point away from the centroid.
        normal_neighbors: see `normals`.
        division_factor: by which the robust cost narrows, every few iterations.
        absolute_scale: whether `max_distance` is a length as it stands; else it is relative to the
            clouds' extent.
        narrow: whether the cost narrows at all ("decrease_mu").
        iterations: of the optimisation.
        tuple_scale: how much the sides of triangles of matches may differ to pass.
        tuples: triangles tested, at most; 0 for no test.
        seed: of the random triangles.
    """

    name: ClassVar[str] = "fgr"
    library: ClassVar[str] = "open3d"
    extra: ClassVar[str] = "open3d"
    script: ClassVar[str] = "open3d_calls.py:fgr"

    feature_radius: float | None = None
    neighbors: int = 128
    max_distance: float | None = None
    normals: Literal["given", "estimated"] = "given"
    normal_neighbors: int = 30
    division_factor: float = 1.4
    absolute_scale: bool = False
    narrow: bool = False
    iterations: int = 64
    tuple_scale: float = 0.95
    tuples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normals not in ("given", "estimated"):
            raise ValueError(f"normals must be 'given' or 'estimated', got {self.normals!r}")
        for name in ("feature_radius", "max_distance"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        for name in ("neighbors", "normal_neighbors", "iterations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @classmethod
    def published(cls) -> Self:
        """As reported with RPM-Net: features of radius 0.3 and 128 neighbours, distance 0.01.

        All else is Open3D's default.
        """
        return cls(settings="published", feature_radius=0.3, neighbors=128, max_distance=0.01)

    def _options(self, source: Tensor, target: Tensor) -> dict[str, Any]:
        length = radius(source, target)
        feature, distance = self.feature_radius, self.max_distance
        return {
            "feature_radius": 0.3 * length if feature is None else feature,
            "neighbors": self.neighbors,
            "max_distance": 0.01 * length if distance is None else distance,
            "estimate": self.normals == "estimated",
            "normal_neighbors": self.normal_neighbors,
            "division_factor": self.division_factor,
            "absolute_scale": self.absolute_scale,
            "narrow": self.narrow,
            "iterations": self.iterations,
            "tuple_scale": self.tuple_scale,
            "tuples": self.tuples,
            "seed": self.seed,
        }
