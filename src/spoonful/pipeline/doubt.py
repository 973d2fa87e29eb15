"""What may be wrong with a pose: how likely it is right, and which motions it leaves open."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.pipeline.field import meet
from spoonful.pipeline.search import Judged, Search


class Signs(NamedTuple):
    """What confidence is computed from; all are free of units.

    Attributes:
        support: matches that agree with the pose, as a number of matches.
        rival: the largest support of a pose that is clearly another one.
        share: the part of the smaller scan that lies on the other one.
        gap: mean distance of the surfaces where they meet, in voxels.
    """

    support: float
    rival: float
    share: float
    gap: float


def signs_of(search: Search, judged: Judged) -> Signs:
    """The signs of the best of the judged poses."""
    sizes = [len(scan.points) for scan in (search.pair.source, search.pair.target)]
    rivals = judged.support[1:]
    return Signs(
        support=float(judged.support[0]),
        rival=float(rivals.max()) if len(rivals) else 0.0,
        share=float(judged.common[0]) / min(sizes),
        gap=float(judged.gap[0]),
    )


def confidence_of(signs: Signs) -> float:
    """The estimated probability that a pose with these signs is right, between 0 and 1."""
    value = 2.0 * math.log((signs.support + 1) / 8) + math.log((signs.support + 1) / (signs.rival + 1))
    return 1 / (1 + math.exp(-value))


class Freedom(NamedTuple):
    """Small motions of the source along its surfaces, which the surfaces hardly resist.

    Attributes:
        turns: unit axes, in the target's frame, about which the source can turn.
        slides: unit directions in which it can slide.
    """

    turns: tuple[tuple[float, float, float], ...]
    slides: tuple[tuple[float, float, float], ...]


def freedom_of(search: Search, pose: Pose, side: int, weak: float = 0.02) -> Freedom:
    """The motions that leave the common surface on itself, to first order.

    The information matrix of point-to-plane distances has rows (arm x n, n), with arms in units of
    their root mean square length. A motion whose eigenvalue is below `weak` of a fully determined
    one's moves no surface away from the other: turns of a sphere, slides of a plane.
    """
    source = search.pair.source
    batch = Pose(pose.rotation.float().unsqueeze(0), pose.translation.float().unsqueeze(0))
    fit = meet(
        search.target_field, source.points, source.normals, batch, side=torch.tensor([side])
    )
    on = fit.near[0]
    if int(on.sum()) < 6:
        return Freedom((), ())
    n = search.target_field.normals[fit.partner[0, on]].double()
    moved = batch.apply(source.points)[0, on].double()
    arm = moved - moved.mean(0)
    size = arm.square().sum(-1).mean().sqrt().clamp_min(1e-9)
    rows = torch.cat([torch.linalg.cross(arm / size, n), n], -1)
    values, vectors = torch.linalg.eigh(rows.mT @ rows / len(rows))
    free = vectors[:, values < weak * 1 / 3]
    turns, slides = [], []
    for motion in free.unbind(1):
        turn, slide = motion[:3], motion[3:]
        part = turn if turn.norm() >= slide.norm() else slide
        found = turns if turn.norm() >= slide.norm() else slides
        found.append(_axis(part))
    return Freedom(tuple(turns), tuple(slides))


def _axis(direction: Tensor) -> tuple[float, float, float]:
    unit = direction / direction.norm()
    unit = unit * (1 if float(unit[unit.abs().argmax()]) > 0 else -1)
    x, y, z = unit.tolist()
    return x, y, z
