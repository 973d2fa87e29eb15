"""From a configuration to the things it names: the model, the protocol's card, the data."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from spoonful.data import protocols
from spoonful.data.protocols import Protocol
from spoonful.geometry import SpoonfulLayer
from spoonful.models import DCP, RegistrationModel, RPMNet
from spoonful.training.config import Config, Refine


def model(config: Config) -> RegistrationModel:
    """The untrained network; its weights are drawn from torch's global generator.

    >>> from spoonful.training.config import override
    >>> small = override(Config(), ["dcp.emb_dims=32", "dcp.ff_dims=64", "refine=source"])
    >>> model(small).refine
    SpoonfulLayer(iterations=5, form='source', start='kabsch')
    """
    shared: dict[str, Any] = {"refine": layer(config.refine), "loss_on": config.refine.loss_on}
    if config.model == "dcp":
        return DCP(**asdict(config.dcp), **shared)
    return RPMNet(**asdict(config.rpmnet), **shared)


def layer(settings: Refine) -> SpoonfulLayer | None:
    """The refinement layer, or None for Kabsch alone."""
    match settings.mode:
        case "none":
            return None
        case "source" | "target":
            return SpoonfulLayer(settings.iterations, settings.mode)
        case "detached":
            return SpoonfulLayer(settings.iterations, settings.form, "detached")
        case "perturbed":
            return SpoonfulLayer(
                settings.iterations,
                settings.form,
                "perturbed",
                max_degrees=settings.max_degrees,
                starts=settings.starts,
            )


def protocol(config: Config) -> Protocol:
    """The card by which pairs are made; other points are another card, with another hash.

    >>> from spoonful.training.config import override
    >>> protocol(override(Config(), ["data.points=128"])).sizes
    (128, 128)
    """
    card = protocols.get(config.data.protocol)
    return card if config.data.points is None else replace(card, points=config.data.points)
