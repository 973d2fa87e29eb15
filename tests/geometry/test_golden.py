"""The published function's numbers, in float64: poses and gradients to 1e-10."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spoonful import spoonful
from spoonful.compat import spoonful as published
from spoonful.geometry import refine, vee

TOLERANCE = 1e-10


@pytest.fixture(scope="module")
def golden(golden_folder: Path) -> dict[str, torch.Tensor]:
    safetensors = pytest.importorskip("safetensors.torch")
    return safetensors.load_file(golden_folder / "layer.safetensors")


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return bool((ours - theirs).abs().max() <= TOLERANCE * max(1.0, theirs.abs().max()))


@pytest.mark.parametrize("form", ["source", "target"])
@pytest.mark.parametrize("call", ["refine", "spoonful"])
def test_poses_and_gradients_equal_the_published_ones(golden, form, call):
    names = ("source", "target", "weights", "start_rotation")
    leaves = {name: golden[name].clone().requires_grad_() for name in names}
    source, target, weights, start = leaves.values()
    if call == "refine":
        rotations, translations = refine(source, target, start, weights=weights, form=form)
    else:
        rotations, translations = spoonful(
            start, source, target, weights=weights, use_target=form == "target", eps=0.0
        )
    loss = (rotations * golden["loss_weight_rotation"]).sum()
    loss = loss + (translations * golden["loss_weight_translation"]).sum()
    loss.backward()

    assert close(rotations, golden[f"{form}_rotations"])
    assert close(translations, golden[f"{form}_translations"])
    for name in ("source", "target", "weights"):
        assert close(leaves[name].grad, golden[f"{form}_grad_{name}"]), name
    # The published residual of the constraints reads the wrong entries (harmless at rotations),
    # which shows only in the gradient's part normal to SO(3); the part along it is meaningful.
    along = vee(golden["start_rotation"].mT @ golden[f"{form}_grad_start_rotation"])
    assert close(vee(start.detach().mT @ start.grad), along)


def test_the_published_name_is_importable_from_the_package():
    assert spoonful is published
