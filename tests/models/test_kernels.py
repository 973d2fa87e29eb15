"""The networks' faster paths: stacks on edges, and the Triton kernels in the interpreter."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from models.helpers import gradients, make_batch, small_dcp, small_rpmnet, with_layer
from spoonful.models import dgcnn, features


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


def triton_version() -> tuple[int, ...]:
    if importlib.util.find_spec("triton") is None:
        return (0,)
    return tuple(int(part) for part in version("triton").split(".")[:2])


# (Older interpreters do not get along with numpy 2.4.)
@pytest.mark.skipif(triton_version() < (3, 7), reason="needs Triton 3.7")
def test_in_the_interpreter_the_kernels_give_torchs_numbers():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            str(Path(__file__).with_name("interpreted_kernels.py")),
        ],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TRITON_INTERPRET": "1", "SPOONFUL_KERNELS": "on"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
