"""A step copies nothing from the host, and waits for no number.

Otherwise it could not be recorded as a CUDA graph. The device "meta" shows it without a GPU: its
tensors have no numbers to wait for, and whatever comes from the CPU comes from another device.
"""

from __future__ import annotations

import contextlib

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from models.helpers import SMALL, item, make_batch, padded
from spoonful.geometry import SpoonfulLayer
from spoonful.models import PointNetLK

LAYER = SpoonfulLayer(1, start="perturbed")
MODELS = {
    "dcp": lambda: SMALL["dcp-v2"](refine=LAYER),
    "rpmnet": lambda: SMALL["rpmnet"](refine=LAYER, train_iterations=1, test_iterations=1),
    "pointnetlk": lambda: PointNetLK(dim=16, iterations=1),
}


class Made(TorchFunctionMode):
    """Tensors made of Python's numbers, which happens on the CPU, wherever they go."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        index = args[1] if function is Tensor.__getitem__ else ()
        lists = any(isinstance(one, list) for one in (index if type(index) is tuple else [index]))
        if lists or function in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
            self.seen.append(function.__name__)
        return function(*args, **(kwargs or {}))


class Copied(TorchDispatchMode):
    """Operations that see tensors on the CPU. (A single number is an argument, and no copy.)"""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [x for x in tree_leaves((args, kwargs, result)) if isinstance(x, Tensor)]
        if any(x.device.type == "cpu" and x.dim() for x in tensors):
            self.seen.append(str(function))
        return result


@pytest.fixture(autouse=True)
def without_autocast(monkeypatch):
    """The device has none."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: False)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_step_asks_nothing_of_the_host(name):
    batch = make_batch(2, 24, 24)
    mixed = padded([item(batch, 0), make_batch(1, 20, 22)]).to("meta")
    model, batch = MODELS[name]().to("meta"), batch.to("meta")
    with Made() as made, Copied() as copied:
        model.train().loss(model(batch), batch).backward()
        model.eval().loss(model(mixed), mixed)
    assert made.seen == []
    assert copied.seen == []


def test_copies_would_be_seen():
    there = torch.ones(3, 3, device="meta")
    with Made() as made, Copied() as copied:
        there * torch.tensor(2.0)
        there[:, [0, 1]]
        torch.eye(3).to(there)
    assert made.seen == ["tensor", "__getitem__"]
    assert copied.seen == ["aten.eye.default", "aten._to_copy.default"]
    with pytest.raises(RuntimeError, match="meta"):
        there.sum().item()
