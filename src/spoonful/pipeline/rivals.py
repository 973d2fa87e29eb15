"""Compare the best pose with its rivals, and put another one first where finer evidence says so.

A score counts matches and coarse surfaces, which fit at many poses of rooms and of symmetric
objects. Between clearly different places the relief decides; between poses of one place, how
exactly the surfaces coincide.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.pipeline.field import settle
from spoonful.pipeline.lookalikes import SYMMETRY, slid_or_turned
from spoonful.pipeline.prepare import Pair
from spoonful.pipeline.relief import ENOUGH, Relief, relief_of
from spoonful.pipeline.search import Judged, Search, different

# Another pose with this much of the best one's score fits as well.
AS_GOOD = 0.7
# So does one with this much of its common surface, at most this much less agreement,
_SAME_SURFACE, _SAME_AGREEMENT = 0.9, 0.02
# this much of its score,
_SOME_MATCHES = 0.2
# and with at most this much less agreement of the relief.
_SAME_RELIEF = 0.1
# A look-alike needs no matches, only this much of the common surface, and at most this much less
# agreement, if no less of the relief agrees: the sensors may have seen opposite sides of things.
_ALIKE_SURFACE, _ALIKE_AGREEMENT = 0.85, 0.1
# A pose with this much of the best score goes first if its relief agrees by this much more.
_HALF, _MORE_RELIEF = 0.5, 0.2
# Steps of ICP after which equal poses are compared once more.
_ROUNDS = 16
# If sensors look through less than this at the first pose, and at a rival through that much more,
# the rival is wrong.
_CLEAR, _LESS_CLEAR = 0.03, 0.02
# A pose at which they look through less by this goes first.
_MORE_CLEAR = 0.05
# Points this near the other scan, in voxels, touch it; those this near lie beside it at least.
_TOUCHING, _BESIDE = 0.5, 1.5


def best_relief_first(search: Search, judged: Judged) -> Judged:
    """Put the pose with the best relief first, among those with half of the best score.

    Look-alikes need no score, see `_look_alike`. A pose goes first if its relief agrees much better
    than that of the pose with the best score. The latter then is an equal rival, so the result is
    doubtful. In `align` doubtful pairs vote, so it does not do this: doors fit other doors.
    """
    good = _contenders(search, judged)
    if not len(good):
        return judged
    relief = {k: _relief(search, judged, k) for k in [0, *good.tolist()]}
    best = max(relief, key=lambda k: relief[k])
    return _first(judged, best) if relief[best] > relief[0] + _MORE_RELIEF else judged


def clear_first(search: Search, judged: Judged) -> Judged:
    """Put the pose first at which the sensors look through the scans least, if they are known.

    It must have half of the best score, or be a look-alike, and bring as much surface together:
    scans that hardly meet are not looked through. The pose that was first stays a rival.
    """
    if not search.views:
        return judged
    good = _contenders(search, judged)
    good = good[judged.common[good] > _ALIKE_SURFACE * judged.common[0]]
    if not len(good):
        return judged
    through = search.looked_through(_settled(search, judged.pose, good)).tolist()
    best = min(range(len(through)), key=lambda k: through[k])
    clear = through[best] < through[0] - _MORE_CLEAR
    return _first(judged, int(good[best - 1])) if clear else judged


def _contenders(search: Search, judged: Judged) -> Tensor:
    """Indices of the poses of other places that have half of the best score, or look alike."""
    good = judged.score >= _HALF * judged.score[0]
    good |= _look_alike(judged)
    good &= different(search.pair, judged.pose, judged.pose.at(0))
    return good.nonzero().flatten()


def _relief(search: Search, judged: Judged, k: int) -> float:
    """The agreement of the relief at a pose, and 0 if there is too little of it."""
    found = relief_of(search, judged.pose.at(k))
    return found.agreement if len(found.points) >= ENOUGH else 0.0


def _first(judged: Judged, best: int) -> Judged:
    """The same poses with one of them moved to the front."""
    rest = [k for k in range(len(judged.score)) if k != best]
    return judged.select(torch.tensor([best, *rest], device=judged.score.device))


def start_first(search: Search, judged: Judged, given: Pose | None) -> Judged:
    """Put a pose near the start first, if it fits as well as the best one.

    The start is `given`, the user's initial pose between the clouds, or else the clouds as they
    are. A user knows more than matches do: near `given` a pose needs no matches. The pose that was
    first then is an equal rival, so the result is doubtful.
    """
    start = Pose.identity(dtype=torch.float64) if given is None else given
    home = ~different(search.pair, judged.pose, search.pair.frame.pose_in(start))
    if bool(home[0]) or not bool(home.any()):
        return judged
    alike = rivals_of(search, judged) >= AS_GOOD
    if given is not None:
        least = _relief(search, judged, 0) - _SAME_RELIEF
        for k in (home & _fit_nearly(judged) & ~alike).nonzero().flatten().tolist():
            alike[k] = _relief(search, judged, k) >= least
    found = (alike & home).nonzero().flatten().tolist()
    return _first(judged, found[0]) if found else judged


def most_exact_first(pair: Pair, judged: Judged) -> Judged:
    """Put the most exact pose first, among those close to the best one that fit as well.

    The grid of the search cannot distinguish poses that differ by a few of its voxels; the fine
    grid can. For example, two depth images almost fit if both cameras are put in one place.
    """
    alike = judged.score >= AS_GOOD * judged.score[0]
    alike &= ~different(pair, judged.pose, judged.pose.at(0))
    some = alike.nonzero().squeeze(-1).tolist()
    if len(some) < 2:
        return judged
    best = max(some, key=lambda k: exactness_of(pair, judged.pose.at(k)))
    return _first(judged, best)


def exactness_of(pair: Pair, pose: Pose) -> float:
    """The share of points within half a voxel of the other scan, of those within 1.5 voxels.

    It is the mean of both scans' shares, on the fine grid. Surfaces of one object coincide; those
    of objects that only look alike partly do not.
    """
    shares = []
    for scan, other, way in (
        (pair.source.fine, pair.target.fine, pose),
        (pair.target.fine, pair.source.fine, pose.inverse()),
    ):
        square = other.nearest(way.apply(scan.points), reach=_BESIDE).squared_distance
        near = int((square < _BESIDE**2).sum())
        shares.append(int((square < _TOUCHING**2).sum()) / max(1, near))
    return sum(shares) / 2


def rivals_of(search: Search, judged: Judged, relief: Relief | None = None) -> Tensor:
    """(H,) the score of each pose over that of the first, and 0 for poses close to the first.

    A rival whose surfaces fit as well counts as equal, even if fewer matches agree with it: on a
    symmetric object chance decides which matches are found. The relief must fit as well, too: walls
    and floors fit at many poses. That of a symmetric object has been compared already, with itself.
    `relief` is that of the first pose, if it is known.
    """
    best = judged.score[0].clamp_min(torch.finfo(judged.score.dtype).tiny)
    ratio = judged.score / best
    apart = different(search.pair, judged.pose, judged.pose.at(0))
    equal = (judged.agreement > judged.agreement[0] - _SAME_AGREEMENT) & (ratio > _SOME_MATCHES)
    equal &= judged.common > _SAME_SURFACE * judged.common[0]
    symmetric = _symmetric(judged)
    alike = _look_alike(judged) & ~equal
    equal = (equal | alike) & ~symmetric & apart & (ratio < 1)
    if bool(equal.any()):
        first = relief or relief_of(search, judged.pose.at(0))
        known = len(first.points) >= ENOUGH
        equal = equal if known else equal & ~alike
        for k in equal.nonzero().flatten().tolist():
            less = 0.0 if alike[k] else _SAME_RELIEF
            least = first.agreement - less if known else -1.0
            equal[k] = relief_of(search, judged.pose.at(k)).agreement > least
    equal |= symmetric & (ratio < 1)
    ratio = ratio.where(~equal, 1.0).where(apart, 0.0)
    near = (ratio >= AS_GOOD).nonzero().flatten()
    if len(near):
        ratio[near] = ratio[near].where(_remain(search, judged, near), 0.0)
    return ratio


def _look_alike(judged: Judged) -> Tensor:
    """(H,) bool, which slides, half turns and symmetries fit nearly as well as the first."""
    alike = slid_or_turned(judged.pose, judged.pose.at(0)) & _fit_nearly(judged)
    return alike | _symmetric(judged)


def _symmetric(judged: Judged) -> Tensor:
    """(H,) bool, which fit nearly as well after a motion that maps the scans onto themselves."""
    made = [name == SYMMETRY for name in judged.name]
    return torch.tensor(made, device=judged.score.device) & _fit_nearly(judged)


def _fit_nearly(judged: Judged) -> Tensor:
    """(H,) bool, at which poses the surfaces fit nearly as well as at the first."""
    found = judged.agreement > judged.agreement[0] - _ALIKE_AGREEMENT
    return found & (judged.common > _ALIKE_SURFACE * judged.common[0])


def _remain(search: Search, judged: Judged, some: Tensor) -> Tensor:
    """(K,) bool, which of some poses are rivals of the first after further ICP steps.

    Large planes hold a pose loosely, so poses of one place may still be apart after `judge`. Others
    are contradicted by what the sensors saw. If one of these has a higher score than the first, the
    evidence is divided, and it stays a rival.
    """
    found = _settled(search, judged.pose, some)
    remain = different(search.pair, found, found.at(0))[1:]
    through = search.looked_through(found)
    if float(through[0]) < _CLEAR:
        remain &= (through[1:] <= through[0] + _LESS_CLEAR) | (judged.score[some] > judged.score[0])
    return remain


def _settled(search: Search, pose: Pose, some: Tensor) -> Pose:
    """The first pose and some others, after further ICP steps."""
    source = search.pair.source
    return settle(
        search.target_field,
        source.points,
        source.normals,
        pose.at(torch.cat([some.new_zeros(1), some])),
        rounds=_ROUNDS,
        signed=source.given,
    )
