"""KISS-Matcher (Lim et al., ICRA 2025): global registration that stands many wrong matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from spoonful.classical.contract import spacing
from spoonful.classical.library import LibraryMethod

# The size of a voxel, in metres, that the library's other defaults were made for.
_VOXEL = 0.3
# Points that are worth thinning: below, all of them take a fraction of a second.
_MANY = 2048


@dataclass(frozen=True, kw_only=True)
class KISSMatcher(LibraryMethod):
    """KISS-Matcher: matches features, and prunes matches that contradict others.

    It is global: where clouds start does not matter, and `init` is disregarded. Its settings are
    for scans of vehicles in metres, and some of its bounds are fixed lengths. So clouds are scaled
    for the call to the voxel size that these expect. The status is "failed" where the library calls
    its answer invalid.

    Attributes:
        voxel: size of a voxel, in the clouds' own unit: points are thinned to one a voxel, and all
            other lengths are multiples of it. None for twice the distance of neighbouring points
            of the target.
        thin: whether points are thinned. It is quick, and inexact: matches are of voxels. None to
            thin clouds of more than 2048 points only.
        normal_gain: the radius from which normals are estimated, in voxels.
        feature_gain: the radius that features describe, in voxels.
        pruning_gain: the noise that pruning allows for, in voxels.
        solver_gain: the noise that the solver allows for, in voxels.
    """

    name: ClassVar[str] = "kiss-matcher"
    library: ClassVar[str] = "kiss_matcher"
    extra: ClassVar[str] = "classical"
    script: ClassVar[str] = "kiss_matcher_calls.py:estimate"
    centred: ClassVar[bool] = True  # distant clouds keep their digits in its float32
    only_on: ClassVar[tuple[str, str] | None] = ("linux", "x86_64")

    voxel: float | None = None
    thin: bool | None = None
    normal_gain: float = 3.0
    feature_gain: float = 5.0
    pruning_gain: float = 1.0
    solver_gain: float = 0.75

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.voxel is not None and not self.voxel > 0:
            raise ValueError(f"voxel must be above 0, got {self.voxel}")
        if self.feature_gain < self.normal_gain:
            raise ValueError(
                f"feature_gain must be at least normal_gain, {self.normal_gain:g}, "
                f"got {self.feature_gain:g}"
            )

    @classmethod
    def published(cls) -> Self:
        """The library's defaults, with voxels that fit the cloud."""
        return cls(settings="published", thin=True)

    def _options(self, source: Tensor, target: Tensor) -> dict[str, Any]:
        voxel = self.voxel
        if voxel is None:
            voxel = max(2 * float(spacing(target.unsqueeze(0))), torch.finfo(target.dtype).tiny)
        return {
            "scale": _VOXEL / voxel,
            "voxel": _VOXEL,
            "thin": max(len(source), len(target)) > _MANY if self.thin is None else self.thin,
            "normal_gain": self.normal_gain,
            "feature_gain": self.feature_gain,
            "pruning_gain": self.pruning_gain,
            "solver_gain": self.solver_gain,
        }
