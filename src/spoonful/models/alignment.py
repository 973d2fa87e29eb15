"""From matches to poses: Kabsch, and in training the refinement layer after it."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor

from spoonful.geometry import LayerOutput, Pose, SpoonfulLayer, kabsch
from spoonful.geometry.plan import Form
from spoonful.models.precision import full_precision


def align(
    layer: SpoonfulLayer | None,
    source: Tensor,
    matches: Tensor,
    *,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
) -> Pose:
    """The Kabsch pose of matched points and its refinements, along a new dimension P.

    Args:
        layer: a `SpoonfulLayer`, or None for Kabsch alone.
        source: (B, N, 3).
        matches: (B, N, 3).
        weights: (B, N), or None for equal weights.
        mask: (B, N) bool, False for padding, or None.

    Returns:
        Pose with rotation (B, P, 3, 3). The first is Kabsch's, the answer at test time; the
        refinements follow it in training mode.
    """
    with full_precision(source):
        if layer is None:
            return repeated(kabsch(source, matches, weights, mask))
        output: LayerOutput = layer(source, matches, weights, mask)
        return output.poses


def check_layer(refine: object) -> None:
    """Raise unless `refine` is a layer or None: the names of forms are for settings of trainings.

    >>> check_layer("target")
    Traceback (most recent call last):
    TypeError: refine must be a SpoonfulLayer or None, got 'target'; SpoonfulLayer(form='target')?
    """
    if refine is not None and not isinstance(refine, SpoonfulLayer):
        hint = f"; SpoonfulLayer(form={refine!r})?" if refine in get_args(Form) else ""
        raise TypeError(f"refine must be a SpoonfulLayer or None, got {refine!r}{hint}")


def repeated(pose: Pose, count: int = 1) -> Pose:
    """The pose of each pair, `count` times along a new dimension P.

    >>> repeated(Pose.identity(4), 6).rotation.shape
    torch.Size([4, 6, 3, 3])
    """
    return Pose(*(part.unsqueeze(1).expand(-1, count, *part.shape[1:]) for part in pose))


def join(poses: list[Pose]) -> Pose:
    """Poses of several outer iterations, one after the other along P."""
    return Pose(*(torch.cat(parts, dim=1) for parts in zip(*poses, strict=True)))
