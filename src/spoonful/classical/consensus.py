"""Poses that many doubtful matches agree on, however few of the matches are right.

A rigid motion keeps distances and angles, so two matches p_i -> q_i and p_j -> q_j can both be
right only if

    | |p_i - p_j| - |q_i - q_j| | < tolerance

and their normals stand alike to each other and to the line between them. Right matches are all
compatible with each other, wrong ones by chance with a few. The number of matches that are
compatible with both ends of a compatible pair (second order spatial compatibility, Chen et al.
2022, "SC2-PCR") tells them apart even where only one match in a hundred is right.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose, kabsch


class Hypotheses(NamedTuple):
    """Poses proposed by matches, best supported first.

    Attributes:
        pose: rotation (H, 3, 3), translation (H, 3).
        support: (H,) the summed weight of the matches that agree with each pose.
    """

    pose: Pose
    support: Tensor


def consensus(
    source: Tensor,
    target: Tensor,
    tolerance: float,
    *,
    source_normals: Tensor | None = None,
    target_normals: Tensor | None = None,
    seeds: int = 256,
    members: int = 12,
    normal_tolerance: float = 0.35,
) -> Hypotheses:
    """Poses that groups of compatible matches agree on.

    Args:
        source: (M, 3).
        target: (M, 3), the match of each source point.
        tolerance: how far two distances may differ, in the clouds' unit.
        source_normals: (M, 3), with the same inside as the target's.
        target_normals: (M, 3).
        seeds: matches around which groups are formed, the best connected ones.
        members: matches of a group.
        normal_tolerance: how far cosines of angles may differ.

    Returns:
        `Hypotheses`, at most one for each seed.
    """
    agree = compatible(
        source,
        target,
        tolerance,
        source_normals=source_normals,
        target_normals=target_normals,
        normal_tolerance=normal_tolerance,
    )
    second = agree * (agree @ agree)
    strength = second.sum(1)
    seed = strength.topk(min(seeds, len(strength))).indices
    ranked = second[seed].topk(min(members, len(strength)))
    weight = ranked.values / ranked.values[:, :1].clamp_min(1e-9)
    # The seed itself is no neighbour of its own.
    index = torch.cat([seed[:, None], ranked.indices], 1)
    weight = torch.cat([torch.ones_like(weight[:, :1]), weight], 1)
    pose = kabsch(source[index], target[index], weight)
    for _ in range(2):
        residual = (_moved(pose, source) - target).square().sum(-1)
        close = (1 - residual / tolerance**2).clamp_min(0)
        support = close.sum(-1)
        pose = kabsch(source.expand(len(seed), -1, -1), target.expand(len(seed), -1, -1), close)
    order = support.argsort(descending=True)
    return Hypotheses(Pose(pose.rotation[order], pose.translation[order]), support[order])


def compatible(
    source: Tensor,
    target: Tensor,
    tolerance: float,
    *,
    source_normals: Tensor | None = None,
    target_normals: Tensor | None = None,
    normal_tolerance: float = 0.35,
) -> Tensor:
    """Which pairs of matches can both be right, (M, M) with ones and zeros, zero diagonal."""
    a, b = torch.cdist(source, source), torch.cdist(target, target)
    # Matches of one place with one place say nothing about the rotation.
    agree = ((a - b).abs() < tolerance) & (torch.minimum(a, b) > tolerance)
    if source_normals is not None and target_normals is not None:
        n, m = source_normals, target_normals
        agree &= (n @ n.mT - m @ m.mT).abs() < normal_tolerance
        slope_p = ((n * source).sum(-1, keepdim=True) - n @ source.mT) / a.clamp_min(1e-9)
        slope_q = ((m * target).sum(-1, keepdim=True) - m @ target.mT) / b.clamp_min(1e-9)
        straight = (slope_p - slope_q).abs() < normal_tolerance
        agree &= straight & straight.mT
    return agree.to(source.dtype)


def _moved(pose: Pose, points: Tensor) -> Tensor:
    return points @ pose.rotation.mT + pose.translation.unsqueeze(-2)
