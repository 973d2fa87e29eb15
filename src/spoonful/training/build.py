"""The model, the layer and the protocol's card that a configuration names."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor

from spoonful.data import protocols
from spoonful.data.protocols import Protocol
from spoonful.geometry import LayerOutput, SpoonfulLayer
from spoonful.geometry.plan import form_and_start
from spoonful.models import DCP, PointNetLK, RegistrationModel, RPMNet
from spoonful.training.config import Config, Refine


def model(config: Config) -> RegistrationModel:
    """The untrained network; its weights are drawn from torch's global generator.

    >>> from spoonful.training.config import override
    >>> small = override(Config(), ["dcp.emb_dims=32", "dcp.ff_dims=64", "refine=source"])
    >>> model(small).refine
    SpoonfulLayer(iterations=5, form='source', start='kabsch')
    """
    if config.model == "pointnetlk":
        return PointNetLK(**asdict(config.pointnetlk))
    shared: dict[str, Any] = {"refine": layer(config.refine), "loss_on": config.refine.loss_on}
    if config.model == "dcp":
        return DCP(**asdict(config.dcp), **shared)
    return RPMNet(**asdict(config.rpmnet), **shared)


def layer(settings: Refine) -> SpoonfulLayer | None:
    """The refinement layer, or None for Kabsch alone."""
    kind = Float64Layer if settings.precision == "float64" else SpoonfulLayer
    found = form_and_start(settings.mode, settings.form)
    if found is None:
        return None
    if found[1] != "perturbed":
        return kind(settings.iterations, *found)
    return kind(
        settings.iterations, *found, max_degrees=settings.max_degrees, starts=settings.starts
    )


class Float64Layer(SpoonfulLayer):
    """The layer and its gradient computed in float64, between float32 matches and poses.

    It shows what the layer does with 2^29 times less rounding.

    >>> layer = Float64Layer(form="target")
    >>> cloud = torch.randn(4, 50, 3)
    >>> layer(cloud, 0.1 * cloud).refined.rotation.dtype
    torch.float32
    """

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> LayerOutput:
        """Fit as `SpoonfulLayer` does, and return poses in the precision of `target`."""
        output = super().forward(
            source.double(),
            target.double(),
            None if weights is None else weights.double(),
            mask,
            generator=generator,
        )
        dtype = torch.promote_types(target.dtype, torch.float32)
        return LayerOutput(*(None if part is None else part.to(dtype) for part in output))


def protocol(config: Config) -> Protocol:
    """The card by which pairs are made. `data.points` changes the card and its hash.

    >>> from spoonful.training.config import override
    >>> protocol(override(Config(), ["data.points=128"])).sizes
    (128, 128)
    """
    card = protocols.get(config.data.protocol)
    return card if config.data.points is None else replace(card, points=config.data.points)
