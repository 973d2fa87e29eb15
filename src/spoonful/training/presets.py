"""A configuration for each experiment of the paper, and one for a quick try.

The schedules are the published ones: Deep Closest Point's `main.py` (Adam, rate 1e-3, weight
decay 1e-4, 250 epochs of batches of 32, a tenth of the rate after 75, 150 and 200) and RPM-Net's
`train.py` (Adam, rate 1e-4, 1000 epochs of batches of 8, validated every 4). Neither clips
gradients. PointNetLK's `train_pointlk.py` has Adam at 1e-3, 200 epochs of batches of 32 and no
schedule. It starts from the features of a classifier. Ours are learned from scratch, with clipped
gradients, because Gauss-Newton steps on untrained features can be very large.

A "+" after a name adds a mode of the layer, as in "dcp/unseen+perturbed". "+matches" adds a loss on
the matches, which helped far more in our experiments (docs/analysis.md). PointNetLK has no matches
and takes neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from spoonful.geometry.plan import Mode
from spoonful.names import named
from spoonful.training.config import (
    Budget,
    Config,
    Data,
    Optimizer,
    RPMNet,
    Runtime,
    override,
)

_MODES: tuple[str, ...] = get_args(Mode)
_ADDITIONS = {"matches": "loss.matches=1", **{mode: f"refine.mode={mode}" for mode in _MODES}}

_DCP = Config(model="dcp")
_RPMNET = Config(
    model="rpmnet",
    data=Data(protocol="rpm-crop", batch_size=8),
    optimizer=Optimizer(lr=1e-4, weight_decay=0.0, milestones=()),
    budget=Budget(epochs=1000.0),
    runtime=Runtime(validate_every=4),
)
_POINTNETLK = Config(
    model="pointnetlk",
    optimizer=Optimizer(lr=1e-3, weight_decay=0.0, milestones=(0.6, 0.85), clip=1.0),
    budget=Budget(epochs=200.0),
)

_PRESETS = {
    "dcp/clean": replace(_DCP, data=Data(protocol="dcp-clean")),
    "dcp/unseen": replace(_DCP, data=Data(protocol="dcp-unseen")),
    "dcp/3dmatch": replace(_DCP, data=Data(corpus="3dmatch", protocol="3dmatch-30")),
    "rpmnet/jitter": replace(_RPMNET, data=replace(_RPMNET.data, protocol="rpm-jitter")),
    "rpmnet/crop": _RPMNET,
    "rpmnet/crop-no-inlier": replace(_RPMNET, rpmnet=RPMNet(inlier_weight=0.0)),
    "pointnetlk/clean": replace(_POINTNETLK, data=Data(protocol="dcp-clean")),
    "pointnetlk/unseen": replace(_POINTNETLK, data=Data(protocol="dcp-unseen")),
    "pointnetlk/crop": replace(_POINTNETLK, data=Data(protocol="rpm-crop")),
    # Small enough for two CPU cores: point-pair features need little training.
    "quick": Config(
        model="rpmnet",
        data=Data(protocol="dcp-clean", per_category=10, points=128, batch_size=8),
        rpmnet=RPMNet(feat_dim=32, neighbors=16, test_iterations=3),
        optimizer=Optimizer(lr=1e-3, weight_decay=0.0, milestones=(0.6, 0.85), clip=1.0),
        budget=Budget(steps=144),
        # The run takes less time than compilation.
        runtime=Runtime(checkpoint_seconds=20.0, compile="off", graph="off"),
    ),
}


def names() -> tuple[str, ...]:
    """The names of all presets.

    >>> names()[0]
    'dcp/clean'
    """
    return tuple(_PRESETS)


def get(name: str) -> Config:
    """The preset called `name`, with a mode of the layer or "matches" after each "+".

    >>> get("dcp/unseen+target").refine.mode
    'target'
    >>> get("rpmnet/crop+matches").loss.matches
    1.0
    >>> get("dcp/unsen")
    Traceback (most recent call last):
    ValueError: no preset named 'dcp/unsen'; did you mean 'dcp/unseen'? There are: dcp/clean, ...
    """
    base, *additions = name.split("+")
    preset = named(base, _PRESETS, what="preset")
    settings = [named(each, _ADDITIONS, what="addition") for each in additions]
    if sum(each in _MODES for each in additions) > 1:
        raise ValueError(f"a preset takes one mode of the layer, got {name!r}")
    return override(replace(preset, name=name), settings)
