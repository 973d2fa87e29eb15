"""Propose poses: one small function per method, and the list that `auto` uses.

A proposer takes a `Search` and answers with poses between its two scans, in voxels. They need not
be good: all are settled and judged alike. To add a method, write such a function and name it in
`PROPOSERS`; name it in `AUTO` if `auto` should ask it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from spoonful.classical.consensus import consensus
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate
from spoonful.models import RegistrationModel
from spoonful.pipeline.alignment import AS_GIVEN
from spoonful.pipeline.search import TOLERANCE, Proposal, Search
from spoonful.training import shipped

# Points of a cloud that a network sees: fewer than in training, since time goes with their square.
_SEEN = 448
# Fewer points than this are too few for a network.
_FEWEST = 16

Proposer = Callable[[Search, Pose | None], list[Proposal]]


def from_matches(search: Search, init: Pose | None) -> list[Proposal]:
    """Poses from groups of consistent matches."""
    found = search.evidence
    agreed = consensus(
        found.source,
        found.target,
        TOLERANCE,
        source_normals=found.source_normals,
        target_normals=found.target_normals,
    )
    return [Proposal("consensus", agreed.pose)]


def from_start(search: Search, init: Pose | None) -> list[Proposal]:
    """The pose of the clouds as given, or the user's initial pose."""
    name = AS_GIVEN if init is None else "init"
    start = search.pair.frame.pose_in(Pose.identity(dtype=torch.float64) if init is None else init)
    return [Proposal(name, _one(start, search))]


def _library(name: str, **settings: Any) -> Proposer:
    """A method of `spoonful.classical`, on the search's grid; lengths are in voxels."""

    def propose(search: Search, init: Pose | None) -> list[Proposal]:
        from spoonful.classical import presets

        method = presets.kind(name)(**settings)
        source, target = search.pair.source, search.pair.target
        start = from_start(search, init)[0].pose
        found = method.register(
            source.points.cpu(),
            target.points.cpu(),
            source_normals=source.normals.cpu(),
            target_normals=target.normals.cpu(),
            init=start.at(0).to("cpu"),
        )
        return [Proposal(name, _one(found.pose, search))]

    return propose


def _learned(name: str, weights: str) -> Proposer:
    """A shipped model, on the search's grid, from the clouds as given or from `init`."""

    def propose(search: Search, init: Pose | None) -> list[Proposal]:
        source, target = search.pair.source, search.pair.target
        if min(len(source.points), len(target.points)) < _FEWEST:
            return []
        start = from_start(search, init)[0].pose
        first = start.at(0).to("cpu")
        found = _model(weights).register(
            first.apply(source.points.cpu()),
            target.points.cpu(),
            source_normals=rotate(first.rotation, source.normals.cpu()),
            target_normals=target.normals.cpu(),
            max_points=_SEEN,
            polish=0,
        )
        return [Proposal(name, _one(found.pose.compose(first), search))]

    return propose


@functools.lru_cache(maxsize=2)
def _model(weights: str) -> RegistrationModel:
    return shipped.load(weights)


PROPOSERS: dict[str, Proposer] = {
    "consensus": from_matches,
    "icp": _library("icp", metric="plane", max_distance=5.0),
    "fgr": _library("fgr", feature_radius=5.0, max_distance=TOLERANCE, absolute_scale=True),
    "small_gicp": _library("small_gicp", max_distance=5.0),
    "kiss-matcher": _library("kiss-matcher", voxel=1.0, thin=False),
    "rpmnet": _learned("rpmnet", shipped.DEFAULTS["rpmnet"]),
    # Two scans share no points, so not the weights that were trained on exact copies.
    "dcp-v2": _learned("dcp-v2", "dcp-v2-resampled"),
}
"""Functions that propose poses, by the name users type."""

LOCAL: tuple[str, ...] = ("icp", "small_gicp", "rpmnet", "dcp-v2")
"""Local methods: they start from `init` or the clouds as given, and do not search globally."""

AUTO: tuple[str, ...] = ("consensus",)
"""The proposers of `auto`, besides the clouds as they are given."""


def gather(
    search: Search, names: Sequence[str], init: Pose | None
) -> tuple[list[Proposal], dict[str, float]]:
    """The poses that the named methods propose, and the time of each in seconds."""
    proposals = []
    seconds = {}
    for name in names:
        start = time.perf_counter()
        proposals += PROPOSERS[name](search, init)
        seconds[name] = time.perf_counter() - start
    return proposals, seconds


def _one(pose: Pose, search: Search) -> Pose:
    """A single pose as a batch of one, in float32, on the device of the search."""
    pose = pose.to(search.pair.source.points.device, torch.float32)
    return Pose(pose.rotation.unsqueeze(0), pose.translation.unsqueeze(0))
