"""Recorded steps and validations, with a stand-in for CUDA graphs; the real ones: test_gpu.py."""

import contextlib
import math
import sys
import weakref
from types import SimpleNamespace

import pytest
import torch

from spoonful.batch import Batch
from spoonful.models import RegistrationModel
from spoonful.training import build, train
from spoonful.training import trainer as trainer_module
from spoonful.training.distributed import Group
from spoonful.training.graphed import GraphedForward, GraphedSteps, Recorded
from spoonful.training.pairs import TrainingPairs
from spoonful.training.step import Stepper
from spoonful.training.trainer import Trainer
from spoonful.training.validation import validate
from training.small import blobs, small
from training.test_resume import same_runs


class PretendGraph:
    """Replays by calling what was recorded, and puts the results where the first ones were."""

    def __init__(self):
        self.recorded = sys._getframe(1).f_locals["self"]
        self.replays = 0

    def replay(self):
        self.replays += 1
        if self.replays > 1:  # the pretended recording was a first run
            new = self.recorded._function(self.recorded._batch)
            for place, value in zip(tensors(self.recorded._result), tensors(new), strict=True):
                place.copy_(value)


def tensors(result) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, tuple):
        return [one for part in result for one in tensors(part)]
    kept = (result.pose, result.matches, result.weights)
    return [one for part in kept if part is not None for one in tensors(part)]


@pytest.fixture
def pretend(monkeypatch):
    nothing = contextlib.nullcontext
    monkeypatch.setattr(torch.cuda, "CUDAGraph", PretendGraph)
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, stream: nothing())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nothing())
    for name in ("Stream", "current_stream"):
        stream = SimpleNamespace(wait_stream=lambda other: None)
        monkeypatch.setattr(torch.cuda, name, lambda stream=stream: stream)


def run(folder, config, *, graphed: bool) -> Trainer:
    trainer = Trainer(config, folder, blobs(60), Group(), torch.device("cpu"), quiet=True)
    if graphed:
        trainer._take = GraphedSteps(trainer.stepper)
        trainer._forward = GraphedForward(trainer.stepper)
    trainer.run()
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("net", ["model=dcp", "model=rpmnet"])
def test_a_recorded_run_is_a_usual_one(tmp_path, pretend, net):
    config = small(
        net,
        "refine=target",
        "rpmnet.feat_dim=8",
        "rpmnet.neighbors=4",
        "optimizer.ema=0.9",
        "budget.steps=9",
        "data.batch_size=4",
        "data.validation=0.25",
    )
    run(tmp_path / "usual", config, graphed=False)
    trainer = run(tmp_path / "graphed", config, graphed=True)
    assert trainer._take._step._graph.replays == 9 - 3
    assert trainer._forward._forward._graph.replays > 4
    same_runs(tmp_path / "usual", tmp_path / "graphed")


@pytest.mark.slow
def test_what_cannot_be_recorded_runs_as_usual(tmp_path, pretend, monkeypatch):
    def refuse(graph, stream):
        raise RuntimeError("operation not permitted when stream is capturing")

    config = small("budget.steps=12")
    usual = run(tmp_path / "usual", config, graphed=False)
    monkeypatch.setattr(torch.cuda, "graph", refuse)
    with pytest.warns(UserWarning, match="not recorded as a CUDA graph, and so slower: operation"):
        other = run(tmp_path / "other", config, graphed=True)
    same_runs(usual.folder, other.folder)


def test_a_recording_that_fails_leaves_nothing_behind(pretend):
    batch = Batch(torch.zeros(1, 4, 3), torch.zeros(1, 4, 3))
    made: list[weakref.ref[torch.Tensor]] = []

    def function(batch):
        assert not [one for one in made if one() is not None]  # of an earlier call
        result = batch.source + 1
        made.append(weakref.ref(result))
        if len(made) == 4:
            raise RuntimeError("operation not permitted when stream is capturing")
        return None

    recorded = Recorded(function)
    for _ in range(3):
        recorded(batch)
    with pytest.warns(UserWarning, match="not recorded") as warned:
        recorded(batch)
    recorded(batch)
    assert len(made) == 6
    assert warned[0].filename == __file__


def test_a_recording_is_made_where_the_calls_before_it_ran(monkeypatch, pretend):
    batch = Batch(torch.zeros(1, 4, 3), torch.zeros(1, 4, 3))
    used = []
    monkeypatch.setattr(torch.cuda, "Stream", lambda: SimpleNamespace(wait_stream=lambda _: None))
    monkeypatch.setattr(
        torch.cuda, "stream", lambda stream: used.append(stream) or contextlib.nullcontext()
    )
    monkeypatch.setattr(
        torch.cuda, "graph", lambda graph, stream: used.append(stream) or contextlib.nullcontext()
    )
    recorded = Recorded(lambda batch: batch.source + 1)
    for _ in range(5):
        recorded(batch)
    assert len(used) == 4
    assert len(set(map(id, used))) == 1


@pytest.mark.slow
def test_looking_later_changes_nothing(tmp_path, monkeypatch):
    config = small("budget.steps=33", "data.batch_size=2", "runtime.validate_every=9")
    run(tmp_path / "at once", config, graphed=False)
    fetch, waited = trainer_module._fetch, []
    monkeypatch.setattr(trainer_module, "_OFTEN", math.inf)  # a slow machine looks no more often

    def on_its_way(steps):
        numbers = SimpleNamespace(synchronize=lambda: waited.append(len(steps)))
        return fetch(steps)._replace(there=numbers)

    monkeypatch.setattr(trainer_module, "_fetch", on_its_way)
    run(tmp_path / "later", config, graphed=False)
    assert waited == [10, 10, 7, 6]
    same_runs(tmp_path / "at once", tmp_path / "later")


@pytest.mark.slow
@pytest.mark.parametrize("net", ["model=dcp", "model=rpmnet"])
def test_validation_does_not_depend_on_how_pairs_are_batched(net):
    config = small(net, "refine=source", "rpmnet.feat_dim=8", "rpmnet.neighbors=4")
    stepper = Stepper(build.model(config).train(), config.optimizer)
    pairs = TrainingPairs(
        build.protocol(config),
        blobs(),
        device=torch.device("cpu"),
        batch_size=7,
        validation=0.5,
        normals=stepper.model.needs_normals,
    )
    sizes: list[int] = []

    def forward(batch):
        sizes.append(len(batch))
        return stepper.forward(batch)

    found = validate(stepper, pairs.validation, config.refine, Group(), forward)
    assert sizes == [7, 7]  # the second has 3 pairs of its own
    singles = [
        batch.part(slice(row, row + 1)) for batch in pairs.validation for row in range(len(batch))
    ]
    alone = validate(stepper, singles, config.refine, Group())
    assert len(found.rho) == len(alone.rho) == 10
    assert found.errors == pytest.approx(alone.errors, rel=1e-3, abs=1e-5)
    torch.testing.assert_close(found.rho, alone.rho, rtol=1e-3, atol=1e-4)
    assert len(found.first[0]) == len(found.first[1].rotation) == 1
    assert stepper.model.training


@pytest.mark.slow
def test_nothing_is_compiled_after_the_first_epoch(monkeypatch):
    parts = RegistrationModel.compile_parts
    monkeypatch.setattr(
        RegistrationModel, "compile_parts", lambda self, **how: parts(self, backend="eager", **how)
    )
    compiled = torch._dynamo.utils.counters["frames"]
    seen: list[int] = []
    end_epoch = Trainer._end_epoch

    def counted(self, *arguments):
        end_epoch(self, *arguments)
        seen.append(compiled["total"])

    monkeypatch.setattr(Trainer, "_end_epoch", counted)
    torch.compiler.reset()
    compiled.clear()
    config = small(
        "dcp.pointer=identity", "runtime.compile=true", "budget.steps=6", "data.validation=0.4"
    )
    train(config, corpus=blobs(), quiet=True)  # in batches of 6, validated on 6 and 2
    torch.compiler.reset()
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert 0 < seen[0] <= 2 * 3  # three parts, in training and in validation
