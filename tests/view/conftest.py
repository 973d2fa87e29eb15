from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.view import CloudLayer, PoseStop
from view.helpers import box, turn


@pytest.fixture
def target() -> Tensor:
    return box()


@pytest.fixture
def pair(target: Tensor) -> dict[str, Any]:
    """The arguments of a page with a source that moves onto its target in two steps."""
    final = turn(70, "z", (1.5, -0.5, 0.25))
    return {
        "title": "A pair",
        "layers": [
            CloudLayer("source", final.inverse().apply(target), moves=True),
            CloudLayer("target", target),
        ],
        "poses": [
            PoseStop("before", Pose.identity(), "error 70°"),
            PoseStop("half-way", turn(35, "z", (0.75, -0.25, 0.1)), "error 35°"),
            PoseStop("final", final, "error 0°"),
        ],
    }
