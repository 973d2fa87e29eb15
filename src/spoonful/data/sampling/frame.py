"""A common size for the two clouds of a pair, and the way back to their own units."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.geometry.exact import matmul3, rotate


class PairFrame(NamedTuple):
    """A pair of clouds in the unit ball, and the way back to the user's own units.

    `source = (original source - source_center) / scale`, and likewise the target.

    Attributes:
        source: (..., N, 3) within the unit ball.
        target: (..., M, 3) within the unit ball.
        source_center: (..., 3) float64, in the original units.
        target_center: (..., 3) float64, in the original units.
        scale: (...) float64, original units for one unit here.
    """

    source: Tensor
    target: Tensor
    source_center: Tensor
    target_center: Tensor
    scale: Tensor

    def to_original(self, pose: Pose) -> Pose:
        """The pose between the original clouds, from one between `source` and `target`.

        `R` stays, `t = scale t' + target_center - R source_center`. All in float64, where `R` is
        first made orthogonal to that precision: a float32 rotation moves a point a thousand
        kilometres from the origin by centimetres.

        Returns:
            A float64 pose.
        """
        rotation = _polished(pose.rotation.double())
        moved = rotate(rotation, self.source_center.unsqueeze(-2)).squeeze(-2)
        scaled = self.scale.unsqueeze(-1) * pose.translation.double()
        return Pose(rotation, scaled + self.target_center - moved)

    def from_original(self, pose: Pose) -> Pose:
        """The pose between `source` and `target`, from one between the original clouds.

        Returns:
            A pose in the dtype of `source`: `t' = (R source_center + t - target_center) / scale`.
        """
        rotation = _polished(pose.rotation.double())
        moved = rotate(rotation, self.source_center.unsqueeze(-2)).squeeze(-2)
        offset = moved + pose.translation.double() - self.target_center
        return Pose(rotation, offset / self.scale.unsqueeze(-1)).to(self.source.dtype)


def normalize_pair(
    source: Tensor,
    target: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    shared_center: bool = False,
) -> PairFrame:
    """Bring both clouds of a pair into the unit ball by one common scale.

    Each cloud is centred on its own centroid, so that clouds in unrelated frames (a scan near
    its sensor, a map in UTM) come together; the scale is the largest distance from a centroid.

    Args:
        source: (..., N, 3).
        target: (..., M, 3), with the same leading dimensions.
        source_mask: (..., N) bool, False for padding (which is centred, but decides nothing).
        target_mask: (..., M) bool.
        shared_center: centre both on the target's centroid instead; the poses then differ from
            the original ones by the scale alone when that centroid is the origin.

    >>> source, target = 1000 * torch.rand(50, 3), 1000 * torch.rand(60, 3) + 5000
    >>> pair = normalize_pair(source, target)
    >>> bool(pair.source.norm(dim=-1).max() <= 1), bool(pair.target.norm(dim=-1).max() <= 1)
    (True, True)
    >>> pose = pair.to_original(Pose.identity())
    >>> moved = (pose.apply(source.double()) - pair.target_center) / pair.scale
    >>> bool(torch.allclose(moved, pair.source.double(), atol=1e-5))
    True
    """
    target_center = _centroid(target, target_mask, "target")
    source_center = target_center if shared_center else _centroid(source, source_mask, "source")
    if source.shape[:-2] != target.shape[:-2]:
        raise ValueError(
            "source and target must have the same leading dimensions, "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    moved_source = source.double() - source_center.unsqueeze(-2)
    moved_target = target.double() - target_center.unsqueeze(-2)
    scale = torch.maximum(_radius(moved_source, source_mask), _radius(moved_target, target_mask))
    if not bool(((scale > 0) & scale.isfinite()).all()):
        raise ValueError("source and target must be finite and hold more than one distinct point")
    # A hair above the radius, so that rounding to float32 leaves no point outside the ball.
    scale = scale * (1 + 4 * torch.finfo(source.dtype).eps)
    divisor = scale[..., None, None]
    return PairFrame(
        (moved_source / divisor).to(source.dtype),
        (moved_target / divisor).to(target.dtype),
        source_center,
        target_center,
        scale,
    )


def _centroid(points: Tensor, mask: Tensor | None, name: str) -> Tensor:
    if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] == 0:
        raise ValueError(f"{name} must have shape (..., N, 3), got {tuple(points.shape)}")
    double = points.double()
    if mask is None:
        return double.mean(-2)
    kept = mask.unsqueeze(-1)
    return double.where(kept, 0.0).sum(-2) / kept.sum(-2).clamp_min(1)


def _radius(centred: Tensor, mask: Tensor | None) -> Tensor:
    distance = torch.linalg.vector_norm(centred, dim=-1)
    if mask is not None:
        distance = distance.where(mask, 0.0)
    return distance.amax(-1)


def _polished(rotation: Tensor) -> Tensor:
    """One Newton step towards the nearest orthogonal matrix: float32 error in, float64 out."""
    gram = matmul3(rotation.mT, rotation)
    correction = 1.5 * torch.eye(3, dtype=rotation.dtype, device=rotation.device) - 0.5 * gram
    return matmul3(rotation, correction)
