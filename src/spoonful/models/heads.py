"""DCP's heads: from two sets of embeddings to soft matches, or straight to a pose."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from spoonful.geometry import Pose
from spoonful.models.norms import masked_max
from spoonful.models.precision import at_least_float32, full_precision, mix


class SVDHead(nn.Module):
    """The point that each embedding points to: softmax of inner products, times the points.

    Kabsch does the rest, outside. The head's one tensor, `reflect`, is the constant
    diag(1, 1, -1) that published checkpoints hold; nothing reads it, as `kabsch` mends
    reflections itself.
    """

    def __init__(self) -> None:
        super().__init__()
        reflect = torch.diag(torch.tensor([1.0, 1.0, -1.0]))
        self.reflect = nn.Parameter(reflect, requires_grad=False)

    def forward(
        self, embeddings: Tensor, other: Tensor, points: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """The matches, in float32: logits rounded to bfloat16 would blur them.

        (A product of bfloat16 numbers is exact in TF32, so that switch costs nothing here.)

        Args:
            embeddings: (B, N, C), of any dtype.
            other: (B, M, C).
            points: (B, M, 3), what `other` embeds.
            mask: (B, M) bool, False for points that must not be matched.

        Returns:
            (B, N, 3), each in the convex hull of the points.
        """
        with full_precision(points):
            scaled = at_least_float32(embeddings) / math.sqrt(embeddings.shape[-1])
            scores = scaled @ at_least_float32(other).mT
            if mask is not None:
                scores = scores.masked_fill(~mask.unsqueeze(-2), -torch.inf)
            return mix(torch.softmax(scores, dim=-1), points)


class MLPHead(nn.Module):
    """Regresses a quaternion and a translation from the pooled embeddings of both clouds.

    Args:
        emb_dims: size of the embeddings, a multiple of 8.
    """

    def __init__(self, emb_dims: int) -> None:
        super().__init__()
        sizes = (emb_dims * 2, emb_dims // 2, emb_dims // 4, emb_dims // 8)
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
        self.nn = nn.Sequential(*layers)
        self.proj_rot = nn.Linear(emb_dims // 8, 4)
        self.proj_trans = nn.Linear(emb_dims // 8, 3)

    def forward(
        self,
        embeddings: Tensor,
        other: Tensor,
        *,
        mask: Tensor | None = None,
        other_mask: Tensor | None = None,
    ) -> Pose:
        """The pose from two sets of embeddings, (B, N, C) and (B, M, C)."""
        pooled = torch.cat([masked_max(embeddings, mask), masked_max(other, other_mask)], dim=-1)
        with full_precision(pooled):
            x = self.nn(at_least_float32(pooled))
            return Pose(rotation_from_xyzw(self.proj_rot(x)), self.proj_trans(x))


def rotation_from_xyzw(quaternion: Tensor) -> Tensor:
    """Rotation matrices from quaternions (..., 4) with the real part last, of any length but 0.

    >>> rotation_from_xyzw(torch.tensor([0.0, 0.0, 2.0, 2.0])).round()  # a quarter turn about z
    tensor([[ 0., -1.,  0.],
            [ 1.,  0.,  0.],
            [ 0.,  0.,  1.]])
    """
    x, y, z, w = nn.functional.normalize(quaternion, dim=-1).unbind(-1)
    rows = [
        torch.stack([w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        torch.stack([2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)], -1),
        torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], -1),
    ]
    return torch.stack(rows, dim=-2)
