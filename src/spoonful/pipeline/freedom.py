"""Find the motions that the common surface of two scans leaves free.

A plane slides on itself, and a ball turns on itself. The small eigenvalues of the information
matrix of point-to-plane distances find such motions, to first order. A motion is free if the
surfaces still agree after a few voxels of it, unless the relief holds it: walls and floors agree
after any slide along them, so what stands out of them decides.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.relief import ENOUGH, FEWEST, Common, Relief
from spoonful.pipeline.search import Search

# Motions with less than this of a determined one's resistance may be free,
_WEAK = 0.1
# and are, if this many voxels along them, in one direction at least, the agreement falls by less
# than that,
_FAR, _HELD = 8.0, 0.05
# and the relief does not hold them, which it can if its agreement is at least that.
_AGREEING = 0.5
# If there is relief, a slide is not free either if sensors look through less of the scans than this
# at the pose, and through this much more that far along it, in both directions.
_CLEAR, _BLOCKED = 0.03, 0.03
# A common surface with less than this share outside three planes is bare.
_BARE = 0.01


class Freedom(NamedTuple):
    """The other poses that the common surface allows.

    Attributes:
        turns: unit axes, in the target's frame, about which the source can turn.
        slides: unit directions in which it can slide.
        bare: true if the common surface is hardly more than three planes, as in any corner.
    """

    turns: tuple[tuple[float, float, float], ...] = ()
    slides: tuple[tuple[float, float, float], ...] = ()
    bare: bool = False


def freedom_of(search: Search, pose: Pose, relief: Relief) -> Freedom:
    """Find the free motions of a pose with rotation (3, 3), and if the common surface is bare.

    The information matrix of point-to-plane distances has rows (arm x n, n), with arms in units of
    their root mean square length. Motions with a small eigenvalue leave the surface on itself, to
    first order.
    """
    common = relief.common
    if len(common.points) < FEWEST:
        return Freedom()
    center = common.points.mean(0)
    arm = common.points - center
    size = arm.square().sum(-1).mean().sqrt().clamp_min(1e-9)
    rows = torch.cat([torch.linalg.cross(arm / size, common.normals), common.normals], -1)
    values, vectors = torch.linalg.eigh(rows.mT @ rows / len(rows))
    turns: list[tuple[float, float, float]] = []
    slides: list[tuple[float, float, float]] = []
    # Normals of unit length resist all slides together by one, and a third of it each.
    for motion in vectors[:, values < _WEAK / 3].unbind(1):
        turn, slide = motion[:3] / size, motion[3:]
        path = torch.linalg.cross(turn.expand_as(arm), arm) + slide
        far = motion.new_tensor([[-_FAR], [0.0], [_FAR]]) / path.square().sum(-1).mean().sqrt()
        rotation = rotation_from_vector(far * turn)
        way = Pose(rotation, center - rotation @ center + far * slide)
        moved = way.compose(pose.to("cpu", torch.float64)).to(pose.rotation.device, torch.float32)
        back, still, forth = search.with_estimated_normals().measure(moved).agreement.tolist()
        if max(back, forth) <= still - _HELD:
            continue
        arms = relief.points - center
        if _holds(relief, torch.linalg.cross(turn.expand_as(arms), arms) + slide):
            continue
        turning = float(size * turn.norm()) >= float(slide.norm())
        known = search.views and relief.near >= ENOUGH
        if known and not turning and _blocked(search.looked_through(moved)):
            continue
        (turns if turning else slides).append(_axis(turn if turning else slide))
    return Freedom(tuple(turns), tuple(slides), _outside_three_planes(common) < _BARE)


def _blocked(through: Tensor) -> bool:
    """True if sensors look through the scans before and after a pose, (3,), but not there."""
    back, still, forth = through.tolist()
    return still < _CLEAR and min(back, forth) > still + _BLOCKED


def _holds(relief: Relief, path: Tensor) -> bool:
    """True if the relief agrees, and resists a motion that moves its points along `path` (N, 3)."""
    if len(path) < ENOUGH or relief.agreement < _AGREEING:
        return False
    against = (relief.normals * path).sum(-1).square().mean()
    return float(against) > _WEAK * float(path.square().sum(-1).mean())


def without_free(covariance: Tensor, rotation: Tensor, freedom: Freedom) -> Tensor:
    """The covariance (6, 6) of a pose whose free turns and slides are held; zero along them.

    Planes fitted to noise are tilted at random, and would give a free axis a precision.

    Args:
        covariance: of turn and shift, in the source's frame.
        rotation: (3, 3) of the pose.
        freedom: with axes in the target's frame.
    """
    none = (0.0, 0.0, 0.0)
    axes = [(turn, none) for turn in freedom.turns] + [(none, slide) for slide in freedom.slides]
    if not axes or not bool(covariance.isfinite().all()):
        return covariance
    held = (covariance.new_tensor(axes) @ rotation.to(covariance)).flatten(1)
    across = held @ covariance
    rest = covariance - across.mT @ torch.linalg.pinv(across @ held.mT, hermitian=True) @ across
    for count, part in ((len(freedom.turns), slice(0, 3)), (len(freedom.slides), slice(3, 6))):
        if count == 3:  # without the rounding
            rest[part] = rest[:, part] = 0.0
    return rest


def _outside_three_planes(common: Common) -> float:
    """The share of points that are a voxel or more away from the three largest planes.

    The planes are tangent planes of some of the points. Lengths are in voxels.
    """
    points, normals = common
    some = slice(None, None, max(1, len(points) // 64))
    offsets = (points[some] * normals[some]).sum(-1)
    on = (points @ normals[some].mT).sub_(offsets).abs_() < 1
    left = torch.ones(len(points), dtype=torch.bool)
    for _ in range(3):
        left &= ~on[:, on[left].sum(0).argmax()]
    return float(left.float().mean())


def _axis(direction: Tensor) -> tuple[float, float, float]:
    unit = direction / direction.norm()
    x, y, z = (unit * unit[unit.abs().argmax()].sign()).tolist()
    return x, y, z
