"""Point-to-plane ICP with exact nearest points, from a pose that is nearly right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.pipeline.field import advance
from spoonful.pipeline.prepare import Pair, chosen, tree_of

# Source points used in a round.
_POINTS = 8000
# Target points among which partners are sought.
_TARGET_POINTS = 200_000


def polish(
    pair: Pair,
    source: Tensor,
    target: Tensor,
    pose: Pose,
    *,
    generator: torch.Generator,
    rounds: int = 6,
) -> tuple[Pose, Pose]:
    """Refine on the fine grid, then on the clouds themselves.

    Args:
        pair: the scans, whose fine grid has the target's normals.
        source: (N, 3) the whole source cloud in its own unit.
        target: (M, 3) the whole target.
        pose: rotation (3, 3), between the scans.
        generator: chooses points where there are very many.
        rounds: on each of the two levels, at most.

    Returns:
        The pose after the fine grid, and after the clouds; in voxels, float64.
    """
    normals = pair.target.fine_normals.double()
    fine_target = pair.target.fine.double()
    fine_tree = tree_of(fine_target)
    fine_source = some_of(pair.source.fine.double(), _POINTS, generator)
    refined = _icp(fine_source, fine_target, fine_tree, normals, pose, (1.5, 0.75), rounds)
    full_source = some_of(source, _POINTS, generator) - pair.source.centre
    full_target = some_of(target, _TARGET_POINTS, generator) - pair.target.centre
    full_source, full_target = full_source / pair.voxel, full_target / pair.voxel
    _, owner = fine_tree.query(full_target.numpy())
    facing = normals[torch.from_numpy(owner)]
    final = _icp(
        full_source, full_target, tree_of(full_target), facing, refined, (0.5,), rounds // 2
    )
    return refined, final


def some_of(points: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """All points, or `most` of them at random."""
    if len(points) <= most:
        return points
    return points[chosen(len(points), most, generator)]


def _icp(
    source: Tensor,
    target: Tensor,
    tree: Any,
    normals: Tensor,
    pose: Pose,
    reaches: tuple[float, ...],
    rounds: int,
) -> Pose:
    """Rounds of point-to-plane ICP with Tukey's weights, the reach shrinking level by level."""
    pose = Pose(pose.rotation.double().unsqueeze(0), pose.translation.double().unsqueeze(0))
    for reach in reaches:
        for _ in range(rounds):
            moved = pose.apply(source)
            distance, near = tree.query(moved[0].numpy(), distance_upper_bound=reach)
            found = torch.from_numpy(distance) < reach
            if int(found.sum()) < 6:
                break
            partner = torch.from_numpy(near)[found]
            n = normals[partner].unsqueeze(0)
            moved = moved[:, found]
            gap = ((moved - target[partner]) * n).sum(-1)
            weight = (1 - (gap / reach).square()).clamp_min(0).square()
            before = pose
            pose = advance(pose, moved, n, gap, weight)
            step = (pose.apply(source[:64]) - before.apply(source[:64])).abs().amax()
            if float(step) < 1e-3:
                break
    return pose.at(0)
