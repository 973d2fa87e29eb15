"""A common size for the two clouds of a pair, and the way back to their own units."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.frame import Frame, radius
from spoonful.geometry import Pose


class PairFrame(NamedTuple):
    """A pair of clouds in the unit ball, and the way back to their own units.

    Attributes:
        source: (..., N, 3) within the unit ball.
        target: (..., M, 3) within the unit ball.
        source_center: (..., 3) float64; `source = (original - source_center) / scale`.
        target_center: (..., 3) float64.
        scale: (...) float64.
    """

    source: Tensor
    target: Tensor
    source_center: Tensor
    target_center: Tensor
    scale: Tensor

    @property
    def frame(self) -> Frame:
        """The centres and the scale."""
        return Frame(self.source_center, self.target_center, self.scale)

    def to_original(self, pose: Pose) -> Pose:
        """The float64 pose between the original clouds, from one between `source` and `target`."""
        return self.frame.pose_out(pose)

    def from_original(self, pose: Pose) -> Pose:
        """The pose between `source` and `target` in their dtype, from one between the originals."""
        return self.frame.pose_in(pose).to(self.source.dtype)


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
    >>> moved = pair.frame.target_in(pose.apply(source.double()))
    >>> bool(torch.allclose(moved, pair.source.double(), atol=1e-5))
    True
    """
    for name, points in (("source", source), ("target", target)):
        if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] == 0:
            raise ValueError(f"{name} must have shape (..., N, 3), got {tuple(points.shape)}")
    if source.shape[:-2] != target.shape[:-2]:
        raise ValueError(
            "source and target must have the same leading dimensions, "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    frame = Frame.of(source, target, source_mask=source_mask, target_mask=target_mask)
    if shared_center:
        both = (
            radius(source, frame.target_center, source_mask),
            radius(target, frame.target_center, target_mask),
        )
        frame = Frame(frame.target_center, frame.target_center, torch.maximum(*both))
    if not bool(((frame.scale > 0) & frame.scale.isfinite()).all()):
        raise ValueError("source and target must be finite and hold more than one distinct point")
    # Slightly above the radius, so that rounding to float32 leaves no point outside the ball.
    frame = frame._replace(scale=frame.scale * (1 + 4 * torch.finfo(source.dtype).eps))
    return PairFrame(frame.source_in(source), frame.target_in(target), *frame)
