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

# Matches compared in all pairs: the time grows with the cube of their number.
_MOST_MATCHES = 1200
# Groups that are formed, and the matches of each besides its seed.
_SEEDS, _MEMBERS = 256, 12
# Rows of a symmetric product that are computed at once on the CPU.
_BLOCK = 200
# How far cosines of angles between normals, and of normals with lines, may differ.
_COSINES = 0.25


class Hypotheses(NamedTuple):
    """Poses proposed by matches, best supported first.

    Attributes:
        pose: rotation (H, 3, 3), translation (H, 3).
        support: (H,) how many matches agree with each pose, see `support_of`.
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
) -> Hypotheses:
    """Poses that groups of compatible matches agree on.

    The best connected matches are seeds. Each seed and the matches that share most of its
    compatible ones make a group, whose Kabsch pose is refined once with all matches near it.

    Args:
        source: (K, 3), matched points; best first: of very many the first 1,200 are used.
        target: (K, 3), the match of each source point.
        tolerance: how far two distances may differ, in the clouds' unit.
        source_normals: (K, 3), with the same inside as the target's.
        target_normals: (K, 3).

    Returns:
        `Hypotheses`, one for each seed; none for fewer than three matches.

    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.rand(100, 3, generator=generator)
    >>> target = source + torch.tensor([1.0, 2.0, 3.0])
    >>> target[20:] = torch.rand(80, 3, generator=generator)  # four of five matches are wrong
    >>> consensus(source, target, 0.05).pose.translation[0].round(decimals=2)
    tensor([1., 2., 3.])
    """
    if source.shape != target.shape or source.ndim != 2 or source.shape[1] != 3:
        raise ValueError(
            "source and target must both have shape (K, 3), "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}")
    source, target = source[:_MOST_MATCHES], target[:_MOST_MATCHES]
    if len(source) < 3:
        empty = Pose.identity(0, dtype=source.dtype, device=source.device)
        return Hypotheses(empty, source.new_zeros(0))
    agree = compatible(
        source,
        target,
        tolerance,
        source_normals=None if source_normals is None else source_normals[:_MOST_MATCHES],
        target_normals=None if target_normals is None else target_normals[:_MOST_MATCHES],
    )
    common = _common(agree)
    seed = common.sum(1).topk(min(_SEEDS, len(source))).indices
    ranked = common[seed].topk(min(_MEMBERS, len(source) - 1))
    weight = ranked.values / ranked.values[:, :1].clamp_min(1e-9)
    index = torch.cat([seed[:, None], ranked.indices], 1)
    weight = torch.cat([torch.ones_like(weight[:, :1]), weight], 1)
    pose = kabsch(source[index], target[index], weight)
    near = _closeness(pose, source, target, tolerance)
    pose = kabsch(source.expand(len(seed), -1, -1), target.expand(len(seed), -1, -1), near)
    support = support_of(pose, source, target, tolerance)
    order = support.argsort(descending=True)
    return Hypotheses(pose.at(order), support[order])


def compatible(
    source: Tensor,
    target: Tensor,
    tolerance: float,
    *,
    source_normals: Tensor | None = None,
    target_normals: Tensor | None = None,
    slack: float = 0.0,
) -> Tensor:
    """(K, K) 1 for pairs of matches that can both be right, else 0; arguments as `consensus`.

    Matches of one place with one place say nothing about a rotation and count as incompatible.
    Distances may also differ by the share `slack` of the shorter one: the scales may differ.
    """
    a, b = torch.cdist(source, source), torch.cdist(target, target)
    shorter = torch.minimum(a, b)
    agree = ((a - b).abs() < (slack * shorter).clamp_min(tolerance)) & (shorter > tolerance)
    if source_normals is not None and target_normals is not None:
        n, m = source_normals, target_normals
        agree &= (n @ n.mT - m @ m.mT).abs() < _COSINES
        # The slope of the line from i to j against the normal at i, in the one and the other.
        p = ((n * source).sum(-1, keepdim=True) - n @ source.mT) / a.clamp_min(1e-9)
        q = ((m * target).sum(-1, keepdim=True) - m @ target.mT) / b.clamp_min(1e-9)
        alike = (p - q).abs() < _COSINES
        agree &= alike & alike.mT
    return agree.to(source.dtype)


def _common(agree: Tensor) -> Tensor:
    """(K, K) how many matches are compatible with both of two compatible matches.

    The result is symmetric: blocks below the diagonal are copied from those above it.
    """
    common = torch.empty_like(agree)
    size = _BLOCK if agree.device.type == "cpu" else len(agree)
    for start in range(0, len(agree), size):
        rows, rest = slice(start, start + size), slice(start, None)
        block = agree[rows] @ agree[:, rest]
        common[rows, rest], common[rest, rows] = block, block.mT
    return common.mul_(agree)


def support_of(pose: Pose, source: Tensor, target: Tensor, tolerance: float) -> Tensor:
    """The number of matches that agree with each pose; each counts less the further it is off.

    Args:
        pose: rotation (H, 3, 3).
        source: (K, 3).
        target: (K, 3).
        tolerance: beyond it a match counts nothing.

    Returns:
        (H,)

    >>> eye = Pose.identity(1)
    >>> support_of(eye, torch.zeros(2, 3), torch.tensor([[0.0, 0, 0], [0, 0, 9]]), 1.0)
    tensor([1.])
    """
    return _closeness(pose, source, target, tolerance).sum(-1)


def _closeness(pose: Pose, source: Tensor, target: Tensor, tolerance: float) -> Tensor:
    # Coordinates in rows: sums over them are then sums of long vectors.
    moved = pose.rotation @ source.mT + pose.translation.unsqueeze(-1)
    return (1 - (moved - target.mT.contiguous()).square().sum(-2) / tolerance**2).clamp_min(0)
