"""A frame in which both clouds of a pair are centred and have a size of about one.

Coordinates of a survey are millions of metres, those of a coin thousandths of a metre. With

    p' = (p - source_center) / scale,      q' = (q - target_center) / scale

thresholds do not depend on units, and float32 has digits to spare.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose, hat, nearest_rotation
from spoonful.geometry.exact import matmul3, matvec3


class Frame(NamedTuple):
    """The centres and the common scale of a pair of clouds. Everything is in float64.

    Points may be on another device than the frame, and stay there. Poses come to the frame's.

    Attributes:
        source_center: (..., 3), in the clouds' own unit.
        target_center: (..., 3).
        scale: (...), the length that is 1 in the frame.
    """

    source_center: Tensor
    target_center: Tensor
    scale: Tensor

    @classmethod
    def of(
        cls,
        source: Tensor,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Frame:
        """The frame with the centroids at zero and the larger cloud's radius for scale.

        Args:
            source: (..., N, 3).
            target: (..., M, 3), with the same leading dimensions.
            source_mask: (..., N) bool, False for padding.
            target_mask: (..., M) bool.

        Returns:
            A `Frame`; `scale` is 0 if all points of both clouds coincide.

        >>> square = torch.tensor([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
        >>> frame = Frame.of(square, square + 5)
        >>> frame.target_center.tolist(), round(frame.scale.item(), 4)
        ([6.0, 6.0, 5.0], 1.4142)
        """
        source_center, target_center = centroid(source, source_mask), centroid(target, target_mask)
        radii = (
            radius(source, source_center, source_mask),
            radius(target, target_center, target_mask),
        )
        return cls(source_center, target_center, torch.maximum(*radii))

    def source_in(self, points: Tensor) -> Tensor:
        """Source points (..., N, 3) in the frame, in their own dtype."""
        return _scaled(points, self.source_center, self.scale)

    def target_in(self, points: Tensor) -> Tensor:
        """Target points (..., M, 3) in the frame, in their own dtype."""
        return _scaled(points, self.target_center, self.scale)

    def target_out(self, points: Tensor) -> Tensor:
        """Points of the target's frame (..., M, 3) in the clouds' unit, in their own dtype."""
        moved = points.double() * self.scale[..., None, None] + self.target_center.unsqueeze(-2)
        return moved.to(points.dtype)

    def pose_in(self, pose: Pose) -> Pose:
        """The pose in the frame, from one between the clouds.

        Returns:
            A float64 pose: `t' = (R source_center + t - target_center) / scale`.
        """
        rotation = nearest_rotation(pose.rotation.double())
        moved = matvec3(rotation, self.source_center) + pose.translation.double()
        return Pose(rotation, (moved - self.target_center) / self.scale.unsqueeze(-1))

    def pose_out(self, pose: Pose) -> Pose:
        """The pose between the clouds, from one in the frame.

        The rotation is first made orthogonal in float64: a float32 rotation moves a point a
        thousand kilometres from the origin by centimetres.

        Returns:
            A float64 pose: `t = scale t' + target_center - R source_center`.
        """
        pose = pose.to(self.scale.device, torch.float64)
        rotation = nearest_rotation(pose.rotation)
        shift = pose.translation * self.scale.unsqueeze(-1) + self.target_center
        return Pose(rotation, shift - matvec3(rotation, self.source_center))

    def covariance_out(self, covariance: Tensor) -> Tensor:
        """The covariance (..., 6, 6) of `pose_out(pose)`, from that of a pose in the frame.

        Both as `geometry.covariance` has them. A shift in the frame is one of the source's centre.
        """
        eye = torch.eye(3, dtype=torch.float64, device=self.scale.device)
        turn = torch.cat([eye.expand(*self.scale.shape, 3, 3), 0 * hat(self.source_center)], -1)
        shift = torch.cat([hat(self.source_center), self.scale[..., None, None] * eye], -1)
        change = torch.cat([turn, shift], -2)
        return matmul3(matmul3(change, covariance.to(change)), change.mT)


def centroid(
    points: Tensor, mask: Tensor | None = None, *, dtype: torch.dtype = torch.float64
) -> Tensor:
    """The mean of each cloud's points, (..., N, 3) to (..., 3); zero if there are none.

    Args:
        points: (..., N, 3).
        mask: (..., N) bool, False for padding.
        dtype: of the sum and the result.
    """
    if mask is None:
        return points.mean(-2, dtype=dtype)
    kept = mask.unsqueeze(-1)
    return points.where(kept, 0.0).sum(-2, dtype=dtype) / kept.sum(-2).clamp_min(1)


def radius(points: Tensor, center: Tensor, mask: Tensor | None = None) -> Tensor:
    """The largest distance of a cloud's points (..., N, 3) from `center` (..., 3), in float64."""
    distance = torch.linalg.vector_norm(points.double() - center.unsqueeze(-2), dim=-1)
    return (distance if mask is None else distance.where(mask, 0.0)).amax(-1)


def _scaled(points: Tensor, center: Tensor, scale: Tensor) -> Tensor:
    center, scale = center.to(points.device), scale.to(points.device)
    moved = (points.double() - center.unsqueeze(-2)) / scale[..., None, None]
    return moved.to(points.dtype)
