"""The networks' faster paths: stacks on edges."""

from __future__ import annotations

import pytest
import torch

from models.helpers import gradients, make_batch, small_dcp, small_rpmnet, with_layer
from spoonful.models import dgcnn, features


@pytest.mark.slow
@pytest.mark.parametrize("target_points", [40, 30])  # equal sizes, and padding
@pytest.mark.parametrize("build", [small_rpmnet, small_dcp])
def test_a_stack_on_edges_is_its_layers_one_by_one(build, target_points, monkeypatch):
    model = with_layer(build).train()
    with torch.no_grad():  # norms with negative weights take the smallest value, not the largest
        for part in model.modules():
            if isinstance(part, torch.nn.BatchNorm2d | torch.nn.GroupNorm):
                part.weight[::3] *= -1
    state = {name: value.clone() for name, value in model.state_dict().items()}
    batch = make_batch(2, 40, target_points)
    one_by_one = gradients(model, batch)
    running = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    for module in (features, dgcnn):  # which in float32 they do not use of themselves
        monkeypatch.setattr(module, "stackable", lambda *layers: True)
    at_once = gradients(model, batch)
    for name, expected in one_by_one.items():
        torch.testing.assert_close(at_once[name], expected, rtol=1e-3, atol=2e-5, msg=name)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, running[name], rtol=1e-5, atol=1e-6, msg=name)
