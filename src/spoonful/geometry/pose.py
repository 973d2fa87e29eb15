"""A rigid motion: `target ~ R source + t`."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry.checks import check_is_tensor, check_shape
from spoonful.geometry.exact import matmul3, rotate


class Pose(NamedTuple):
    """Poses (R, t) that map source points to the target's frame, `target ~ R source + t`.

    A pose is a plain pair, so `rotation, translation = pose` works, with any leading batch
    dimensions. In names, `T_target_source` reads "target from source".

    Attributes:
        rotation: (..., 3, 3) proper rotation matrices; (..., 2, 2) in the plane.
        translation: (..., 3); (..., 2) in the plane.

    >>> quarter_turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> pose = Pose(quarter_turn, torch.tensor([0.0, 0, 5]))
    >>> pose.apply(torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
    tensor([[ 0.,  1.,  5.],
            [-1.,  0.,  5.]])
    >>> bool((pose.compose(pose.inverse()).matrix() == torch.eye(4)).all())
    True
    """

    rotation: Tensor
    translation: Tensor

    @classmethod
    def identity(
        cls,
        *batch: int,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> Pose:
        """The pose that moves nothing, with leading dimensions `batch`."""
        rotation = torch.eye(3, dtype=dtype, device=device).expand(*batch, 3, 3)
        return cls(rotation, torch.zeros(*batch, 3, dtype=dtype, device=device))

    @classmethod
    def from_matrix(cls, matrix: Tensor) -> Pose:
        """Read (..., 3, 4) or (..., 4, 4) homogeneous matrices."""
        check_is_tensor("matrix", matrix)
        if matrix.ndim < 2 or matrix.shape[-1] != 4 or matrix.shape[-2] not in (3, 4):
            raise ValueError(
                f"matrix must have shape (..., 4, 4) or (..., 3, 4), got {tuple(matrix.shape)}"
            )
        return cls(matrix[..., :3, :3], matrix[..., :3, 3])

    def matrix(self) -> Tensor:
        """The homogeneous matrices, (..., 4, 4); (..., 3, 3) in the plane."""
        top = torch.cat([self.rotation, self.translation.unsqueeze(-1)], dim=-1)
        size = top.shape[-1]
        bottom = top.new_tensor([0.0] * (size - 1) + [1.0]).expand(*top.shape[:-2], 1, size)
        return torch.cat([top, bottom], dim=-2)

    def apply(self, points: Tensor) -> Tensor:
        """Move points (..., N, 3): `R p + t`.

        Leading dimensions broadcast: one cloud (N, 3) is moved by each of B poses to (B, N, 3).
        """
        check_shape("points", points, "N", self.rotation.shape[-1])
        return rotate(self.rotation, points, self.translation)

    def inverse(self) -> Pose:
        """The pose that undoes this one."""
        back = self.rotation.mT
        return Pose(back, -rotate(back, self.translation.unsqueeze(-2)).squeeze(-2))

    def compose(self, first: Pose) -> Pose:
        """`self` after `first`: applying the result equals `self.apply(first.apply(points))`."""
        moved = rotate(self.rotation, first.translation.unsqueeze(-2)).squeeze(-2)
        return Pose(matmul3(self.rotation, first.rotation), moved + self.translation)

    def at(self, *index: int | slice | EllipsisType | Tensor) -> Pose:
        """The poses at an index of the leading dimensions, as a tensor's own brackets take it.

        (`pose[0]` is the rotation: a pose is a pair.)

        >>> poses = Pose.identity(8, 6)
        >>> [found.rotation.shape[:-2] for found in (poses.at(0), poses.at(..., -1))]
        [torch.Size([6]), torch.Size([8])]
        >>> poses.at(torch.arange(8) % 2 == 0, 0).translation.shape
        torch.Size([4, 3])
        """
        all_of_it = slice(None)
        return Pose(
            self.rotation[(*index, all_of_it, all_of_it)], self.translation[(*index, all_of_it)]
        )

    def detach(self) -> Pose:
        """The same numbers, cut from the graph."""
        return Pose(self.rotation.detach(), self.translation.detach())

    def to(self, *args: torch.device | torch.dtype | str) -> Pose:
        """The same pose on another device or in another dtype, as `Tensor.to`."""
        return Pose(self.rotation.to(*args), self.translation.to(*args))  # type: ignore[call-overload]
