"""A batch of registration problems, made by datasets and read by models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from spoonful.geometry import Pose


@dataclass(frozen=True)
class Batch:
    """B pairs of clouds, padded to common sizes, with the true poses if they are known.

    Attributes:
        source: (B, N, 3) points to be moved.
        target: (B, M, 3) points to move them onto.
        source_normals: (B, N, 3) unit normals of `source`, or None.
        target_normals: (B, M, 3) unit normals of `target`, or None.
        source_mask: (B, N) bool, False where a point is padding; None when nothing is padded.
        target_mask: (B, M) bool, likewise.
        pose: the true pose, `target ~ R source + t`, with rotation (B, 3, 3); None when unknown.
        clean: (B, L, 3) the whole clean shape in the target's frame, for RPM-Net's Chamfer
            distance; None if the protocol has none.
        label: (B,) category numbers, or None.
        index: (B,) the items' numbers in their dataset, or None.

    >>> source = torch.rand(8, 100, 3)
    >>> batch = Batch(source, source + 1, pose=Pose(torch.eye(3).expand(8, 3, 3), torch.ones(8, 3)))
    >>> len(batch), bool((batch.pose.apply(batch.source) == batch.target).all())
    (8, True)
    """

    source: Tensor
    target: Tensor
    source_normals: Tensor | None = None
    target_normals: Tensor | None = None
    source_mask: Tensor | None = None
    target_mask: Tensor | None = None
    pose: Pose | None = None
    clean: Tensor | None = None
    label: Tensor | None = None
    index: Tensor | None = None

    def __len__(self) -> int:
        return self.source.shape[0]

    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the batch by name; the pose's are "pose.rotation", "pose.translation"."""
        found: dict[str, Tensor] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Pose):
                found |= {f"pose.{name}": part for name, part in value._asdict().items()}
            elif value is not None:
                found[field.name] = value
        return found

    def apply(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with every tensor replaced by the function's result."""
        changed: dict[str, Any] = {name: function(part) for name, part in self.tensors().items()}
        if self.pose is not None:
            changed["pose"] = Pose(changed.pop("pose.rotation"), changed.pop("pose.translation"))
        return replace(self, **changed)

    def check(self, called: str = "batch.{}") -> None:
        """Raise a ValueError or TypeError if shapes or types do not fit together.

        Values are not looked at. `called` makes the names in messages, "batch.source"; with "{}"
        they speak of a single pair, without the batch dimension.
        """
        one = called == "{}"
        for name in ("source", "target"):
            points, mask, normals = (
                getattr(self, name + part) for part in ("", "_mask", "_normals")
            )
            label = called.format(name)
            if points.ndim != 3 or points.shape[-1] != 3 or points.shape[1] == 0:
                wanted = "(N, 3)" if one else "(B, N, 3)"
                shape = tuple(points.shape[one:])
                raise ValueError(f"{label} must be {wanted} with at least one point, got {shape}")
            if not points.is_floating_point():
                raise TypeError(f"{label} must be floating point, got {points.dtype}")
            if points.device != self.source.device:
                raise ValueError(
                    f"{label} must be on the device of the source, {self.source.device}, "
                    f"got {points.device}"
                )
            if mask is not None and (mask.shape != points.shape[:2] or mask.dtype != torch.bool):
                raise ValueError(
                    f"{label}_mask must be bool of shape {tuple(points.shape[:2])}, "
                    f"got {mask.dtype} {tuple(mask.shape)}"
                )
            if normals is not None and normals.shape != points.shape:
                raise ValueError(
                    f"{label}_normals must be {tuple(points.shape)} like {label}, "
                    f"got {tuple(normals.shape)}"
                )
        if len(self.source) != len(self.target):
            raise ValueError(
                f"{called.format('source')} and {called.format('target')} must hold the same "
                f"number of clouds, got {len(self.source)} and {len(self.target)}"
            )

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return self.apply(lambda tensor: tensor.to(device))

    def pair(self, row: int) -> tuple[Tensor, Tensor]:
        """The source (N, 3) and the target (M, 3) of one item, without padding.

        >>> mask = torch.tensor([[True, True, False]])
        >>> source, target = Batch(
        ...     torch.zeros(1, 3, 3), torch.ones(1, 4, 3), source_mask=mask
        ... ).pair(0)
        >>> source.shape, target.shape
        (torch.Size([2, 3]), torch.Size([4, 3]))
        """
        source, target = self.source[row], self.target[row]
        if self.source_mask is not None:
            source = source[self.source_mask[row]]
        if self.target_mask is not None:
            target = target[self.target_mask[row]]
        return source, target

    def part(self, rows: slice | Tensor) -> Self:
        """Some of the pairs.

        >>> len(Batch(torch.rand(8, 100, 3), torch.rand(8, 100, 3)).part(slice(2, 5)))
        3
        """
        return self.apply(lambda tensor: tensor[rows])
