"""A frame in which both clouds are centred and of size one, so that methods are free of units.

Coordinates of a survey are millions of metres, those of a coin are thousandths of one. In

    p' = (p - source_centre) / length,      q' = (q - target_centre) / length

thresholds have one meaning and float32 has digits to spare.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.geometry.exact import matvec3
from spoonful.models.clouds import centroid


class Frame(NamedTuple):
    """Where a batch's clouds are, and how large.

    Attributes:
        source_centre: (B, 3), the centroids of the sources.
        target_centre: (B, 3), those of the targets.
        length: (B,), the radius of the larger cloud about its centroid.
    """

    source_centre: Tensor
    target_centre: Tensor
    length: Tensor

    @classmethod
    def of(cls, batch: Batch) -> Frame:
        """The frame of a batch whose padding is zero.

        >>> square = torch.tensor([[[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]]])
        >>> frame = Frame.of(Batch(square, square + 5))
        >>> frame.target_centre, frame.length
        (tensor([[6., 6., 5.]]), tensor([1.4142]))
        """
        centres, radii = [], []
        for points, mask in (
            (batch.source, batch.source_mask),
            (batch.target, batch.target_mask),
        ):
            centre = centroid(points, mask)
            distance = (points - centre.unsqueeze(1)).norm(dim=-1)
            if mask is not None:
                distance = distance.masked_fill(~mask, 0.0)
            centres.append(centre)
            radii.append(distance.amax(-1))
        return cls(centres[0], centres[1], torch.maximum(*radii))

    def enter(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The sources and targets in the frame; padding is zero again."""
        scaled = []
        for points, mask, centre in (
            (batch.source, batch.source_mask, self.source_centre),
            (batch.target, batch.target_mask, self.target_centre),
        ):
            inside = (points - centre.unsqueeze(1)) / self.length[:, None, None]
            scaled.append(inside if mask is None else inside.masked_fill(~mask[..., None], 0.0))
        return scaled[0], scaled[1]

    def pose_in(self, pose: Pose) -> Pose:
        """A pose between the clouds as one between the frames."""
        shift = pose.translation + matvec3(pose.rotation, self.source_centre) - self.target_centre
        return Pose(pose.rotation, shift / self.length.unsqueeze(-1))

    def pose_out(self, pose: Pose) -> Pose:
        """A pose between the frames as one between the clouds."""
        shift = pose.translation * self.length.unsqueeze(-1) + self.target_centre
        return Pose(pose.rotation, shift - matvec3(pose.rotation, self.source_centre))
