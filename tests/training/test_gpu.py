"""Training on a GPU: recorded steps learn what usual ones do."""

from __future__ import annotations

import math

import pytest
import torch

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.training import build, train
from spoonful.training.distributed import Group
from spoonful.training.graphed import GraphedForward, GraphedSteps
from spoonful.training.pairs import TrainingPairs
from spoonful.training.progress import Display
from spoonful.training.step import Stepper
from spoonful.training.validation import validate
from training.small import blobs, small

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

STEPS = ("runtime.device=cuda", "runtime.precision=float32", "budget.steps=12")


RUNS = [
    *(
        f"model={model} refine={mode}"
        for model in ("dcp", "rpmnet")
        for mode in ("none", "source", "target", "detached")
    ),
    "model=dcp optimizer.ema=0.9",
    "model=pointnetlk pointnetlk.dim=16 pointnetlk.iterations=2",
]


@pytest.mark.filterwarnings("error:not recorded", "error:The AccumulateGrad node's stream")
@pytest.mark.parametrize("run", RUNS)
def test_replayed_steps_are_usual_steps(tmp_path, run):
    settings = (*STEPS, "rpmnet.feat_dim=8", "rpmnet.neighbors=4", *run.split())
    usual = train(small(*settings), corpus=blobs(), out=tmp_path / "usual", quiet=True)
    graph = train(
        small(*settings, "runtime.graph=true"), corpus=blobs(), out=tmp_path / "graph", quiet=True
    )
    for name in ("rotation_degrees", "translation"):
        assert graph.last[name] == pytest.approx(usual.last[name], rel=1e-2), name


def test_progress_shows_losses_that_are_read(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(Display, "step", lambda self, done, total, loss, *pace: shown.append(loss))
    config = small("runtime.device=cuda", "budget.steps=120")
    train(config, corpus=blobs(400), out=tmp_path / "run")
    assert shown
    assert not any(map(math.isnan, shown))


def test_perturbed_starts_differ_from_replay_to_replay():
    config = small("refine=perturbed", "optimizer.lr=0", "dcp.emb_dims=16")
    torch.manual_seed(0)
    take = GraphedSteps(Stepper(build.model(config).cuda().train(), config.optimizer))
    source = torch.randn(4, 32, 3, device="cuda")
    batch = Batch(source, source + 1, pose=Pose.identity(4, device=torch.device("cuda")))
    losses = [float(take(batch, 0.0).loss) for _ in range(8)]
    assert len(set(losses)) == 8


@pytest.mark.parametrize("model", ["model=dcp", "model=rpmnet"])
def test_a_replayed_validation_is_a_usual_one_of_the_weights_as_they_are(model):
    config = small(model, "refine=source", "rpmnet.feat_dim=8", "rpmnet.neighbors=4")
    torch.manual_seed(0)
    stepper = Stepper(build.model(config).cuda().train(), config.optimizer)
    pairs = TrainingPairs(
        build.protocol(config),
        blobs(),
        device=torch.device("cuda"),
        batch_size=3,
        validation=0.5,
        normals=stepper.model.needs_normals,
    )
    forward = GraphedForward(stepper)
    for _ in range(3):  # 4 batches each, the last of a single pair
        for batch in pairs.epoch():
            stepper(batch, 1e-3)
        usual = validate(stepper, pairs.validation, config.refine, Group())
        found = validate(stepper, pairs.validation, config.refine, Group(), forward)
        for name in ("rotation_degrees", "translation", "rho_source"):
            assert found.errors[name] == pytest.approx(usual.errors[name], rel=1e-3), name


def test_a_bad_batch_is_skipped_in_a_replay_too(tmp_path):
    shapes = blobs()
    shapes.points[3] = torch.nan
    settings = (*STEPS, "runtime.graph=true", "budget.steps=30")
    result = train(small(*settings), corpus=shapes, out=tmp_path, quiet=True)
    assert result.finished
    assert result.last["rotation_degrees"] == result.last["rotation_degrees"]
