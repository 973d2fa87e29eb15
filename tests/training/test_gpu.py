"""Training on a GPU: recorded steps learn what usual ones do."""

from __future__ import annotations

import pytest
import torch

from spoonful.training import train
from training.small import blobs, small

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

STEPS = ("runtime.device=cuda", "runtime.precision=float32", "budget.steps=12")


@pytest.mark.parametrize("model", ["model=dcp", "model=rpmnet"])
@pytest.mark.parametrize("mode", ["none", "source", "target", "detached"])
def test_replayed_steps_are_usual_steps(tmp_path, model, mode):
    settings = (*STEPS, model, f"refine={mode}", "rpmnet.feat_dim=8", "rpmnet.neighbors=4")
    usual = train(small(*settings), corpus=blobs(), out=tmp_path / "usual", quiet=True)
    graph = train(
        small(*settings, "runtime.graph=true"), corpus=blobs(), out=tmp_path / "graph", quiet=True
    )
    for name in ("rotation_degrees", "translation"):
        assert graph.last[name] == pytest.approx(usual.last[name], rel=1e-2), name


def test_perturbed_starts_differ_from_replay_to_replay(tmp_path):
    settings = (*STEPS, "refine=perturbed", "runtime.graph=true", "optimizer.lr=0")
    settings = (*settings, "budget.steps=40", "data.validation=0.5")
    train(small(*settings), corpus=blobs(), out=tmp_path, quiet=True)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert len(set(lines)) == len(lines) > 1


def test_a_bad_batch_is_skipped_in_a_replay_too(tmp_path):
    shapes = blobs()
    shapes.points[3] = torch.nan
    settings = (*STEPS, "runtime.graph=true", "budget.steps=30")
    result = train(small(*settings), corpus=shapes, out=tmp_path, quiet=True)
    assert result.finished
    assert result.last["rotation_degrees"] == result.last["rotation_degrees"]
