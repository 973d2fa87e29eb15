"""The loop: what is learned, what is skipped, what is picked, what is written."""

import json
import math
import os
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from data.corpora import scans
from spoonful.training import TrainingFailed, build, corpora, load_model, presets, train
from spoonful.training import trainer as trainer_module
from spoonful.training.config import Optimizer
from spoonful.training.distributed import Group
from spoonful.training.pairs import TrainingPairs, split_scenes
from spoonful.training.step import Stepper
from spoonful.training.stopping import Stop
from spoonful.training.tensorboard_log import TensorBoardLog
from spoonful.training.trainer import Trainer
from training.small import blobs, small


def lines(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_training_lowers_the_error():
    config = small("budget.steps=60", "optimizer.lr=2e-2", "dcp.emb_dims=16", "dcp.ff_dims=16")
    result = train(config, corpus=blobs(40), quiet=True)
    assert result.finished
    assert result.best["rotation_degrees"] < 0.4 * result.untrained["rotation_degrees"]


@pytest.mark.slow
@pytest.mark.parametrize("saved", [False, True])
def test_a_run_can_go_on_from_the_weights_of_another(tmp_path, saved):
    first = train(small(), out=tmp_path / "first", corpus=blobs(), quiet=True)
    start = tmp_path / "first"
    if saved:
        start = tmp_path / "saved"
        load_model(tmp_path / "first").save_pretrained(start)
    again = small(f"init={start}", "data.stretch=1.5", "seed=1")
    second = train(again, out=tmp_path / "second", corpus=blobs(), quiet=True)
    assert second.untrained == pytest.approx(first.best, rel=1e-5)
    assert train(again, out=tmp_path / "second", corpus=blobs(), quiet=True).step == second.step
    for name in ("rpmnet-shapes", "rpmnet"):
        with pytest.raises(ValueError, match="not a checkpoint of this DCP"):
            train(small(f"init={name}"), corpus=blobs(), quiet=True)
    with pytest.raises(ValueError, match=r"no run.*'dcp-v2-shape'; did you mean 'dcp-v2-shapes'\?"):
        train(small("init=dcp-v2-shape"), corpus=blobs(), quiet=True)


@pytest.mark.slow
def test_a_run_is_a_function_of_its_seed(tmp_path):
    runs = [
        train(small(f"seed={seed}"), corpus=blobs(), quiet=True, out=tmp_path / str(i))
        for i, seed in enumerate((1, 1, 2))
    ]
    assert runs[0].best == runs[1].best
    assert runs[0].best != runs[2].best


@pytest.mark.slow
def test_there_is_a_line_for_every_epoch_and_a_result(tmp_path):
    result = train(small("budget.epochs=4", "budget.steps=none"), corpus=blobs(), out=tmp_path)
    assert [line["epoch"] for line in lines(tmp_path)] == [0, 1, 2, 3]
    assert {"loss", "lr", "pairs_per_second", "validation", "gradient_norm"} <= lines(tmp_path)[
        0
    ].keys()
    assert json.loads((tmp_path / "result.json").read_text())["step"] == result.step == 12
    best = min(lines(tmp_path), key=lambda line: line["validation"]["mean_point_distance"])
    assert result.best == best["validation"]
    assert result.best_epoch == best["epoch"]


@pytest.mark.slow
def test_the_model_that_is_kept_is_that_of_the_best_epoch(tmp_path):
    config = small("optimizer.lr=0.05")
    result = train(config, corpus=blobs(), out=tmp_path, quiet=True)
    model = load_model(tmp_path)
    assert not model.training
    pairs = TrainingPairs(
        build.protocol(config), blobs(), device=torch.device("cpu"), batch_size=6, normals=False
    )
    far = []
    for batch in pairs.validation:
        pose = model(batch).pose.detach()
        gap = pose.apply(batch.source) - batch.pose.apply(batch.source)
        far.append(gap.norm(dim=-1).mean(-1))
    assert float(torch.cat(far).mean()) == pytest.approx(
        result.best["mean_point_distance"], rel=1e-5
    )


def test_validation_shapes_are_never_trained_on_and_numbers_are_the_corpus_own():
    corpus = blobs()
    card = replace(build.protocol(small("data.protocol=dcp-unseen")), points=16)
    pairs = TrainingPairs(
        card, corpus, device=torch.device("cpu"), batch_size=3, validation=0.3, normals=False
    )
    assert all(label == 0 for label in corpus.labels[pairs.numbers])  # the first half
    seen = torch.cat([batch.index for batch in pairs.epoch()])
    sources = {tuple(point) for i in pairs.numbers[seen] for point in corpus.points[i].tolist()}
    kept = {tuple(point) for batch in pairs.validation for point in batch.source[:, 0].tolist()}
    assert len(kept) == 3
    assert not kept & sources


def test_test_files_of_the_training_categories_can_pick_the_best_epoch(tmp_path):
    for split, count in (("train", 20), ("test", 8)):
        corpora.save(blobs(count), tmp_path / f"mine-{split}.pt")
    settings = (f"data.corpus={tmp_path}/mine-{{split}}.pt", "data.validation_files=true")
    config = small(*settings, "data.protocol=dcp-unseen")
    pairs = Trainer(config, None, None, Group(0, 1), torch.device("cpu"), quiet=True).pairs
    # Half of the categories: even numbers are of category 0.
    assert pairs.numbers.tolist() == list(range(0, 20, 2))
    assert sum(len(batch.source) for batch in pairs.validation) == 4
    with pytest.raises(ValueError, match=r"data\.validation_files .* 'dcp-clean'"):
        train(small(*settings), quiet=True)


def test_validation_scenes_are_never_trained_on():
    several = [SimpleNamespace(name=f"scene{i % 4}/{i}") for i in range(20)]
    fit, kept = split_scenes(several, 0.3)
    assert sorted(fit + kept) == list(range(20))
    assert not {i % 4 for i in fit} & {i % 4 for i in kept}
    fit, kept = split_scenes([SimpleNamespace(name=f"scene/{i}") for i in range(20)], 0.3)
    assert (len(fit), len(kept)) == (14, 6)


def test_the_published_validation_scenes_of_3dmatch_are_taken():
    names = ["7-scenes-chess/0-1", "7-scenes-heads/0-1", "7-scenes-fire/0-1", "7-scenes-fire/1-2"]
    assert split_scenes([SimpleNamespace(name=name) for name in names], 0.5) == ([0, 2, 3], [1])


def test_pairs_of_scans_are_trained_on():
    config = small("data.protocol=3dmatch-30", "data.batch_size=2", "budget.steps=2")
    assert train(config, corpus=scans(6), quiet=True).finished


@pytest.mark.slow
def test_a_batch_without_a_finite_loss_is_skipped_counted_and_named(tmp_path):
    corpus = blobs()
    clean = train(small("budget.steps=1"), corpus=corpus, quiet=True)
    pairs = TrainingPairs(
        build.protocol(small()), corpus, device=torch.device("cpu"), batch_size=6, normals=False
    )
    bad = int(pairs.numbers[4])
    corpus.points[bad] = math.nan
    result = train(small("budget.epochs=2", "budget.steps=none"), corpus=corpus, out=tmp_path)
    assert result.skipped == 2  # once an epoch
    assert [line["skipped"]["shapes"] for line in lines(tmp_path) if "loss" not in line] == [
        [bad],
        [bad],
    ]
    model = load_model(tmp_path)
    assert all(value.isfinite().all() for value in model.state_dict().values())
    assert math.isfinite(result.best["rotation_degrees"])
    assert clean.skipped == 0


def test_a_skipped_batch_changes_nothing():
    model = build.model(small("optimizer.ema=0.5"))
    stepper = Stepper(model, Optimizer(ema=0.5))
    pairs = TrainingPairs(
        build.protocol(small()), blobs(), device=torch.device("cpu"), batch_size=6, normals=False
    )
    batch = next(pairs.epoch())
    stepper(batch, 1e-3)
    before = {name: value.clone() for name, value in stepper.state().items()}
    outcome = stepper(replace(batch, source=batch.source * math.inf), 1e-3)
    assert outcome.skipped == 1
    after = stepper.state()
    for name, value in before.items():
        if not name.startswith("average."):
            assert torch.equal(after[name], value), name


def test_an_average_remembers_no_steps():
    stepper = Stepper(build.model(small()), Optimizer(ema=0.5))
    pairs = TrainingPairs(
        build.protocol(small()), blobs(), device=torch.device("cpu"), batch_size=6, normals=False
    )
    stepper(next(pairs.epoch()), 1e-3)
    assert not any(average.requires_grad for average in stepper.average.values())


def test_a_run_without_finite_losses_stops_and_names_the_shapes():
    corpus = blobs()
    corpus.points[:] = math.inf
    with pytest.raises(TrainingFailed, match=r"4 batches in a row had no finite loss.*shapes \["):
        train(small("runtime.max_skipped=4"), corpus=corpus, quiet=True)


def test_gradients_are_clipped_before_the_step():
    # Adam's step does not depend on the gradient's size, but its moments do.
    stepper = Stepper(build.model(small()), Optimizer(clip=1e-3, weight_decay=0.0))
    pairs = TrainingPairs(
        build.protocol(small()), blobs(), device=torch.device("cpu"), batch_size=6, normals=False
    )
    outcome = stepper(next(pairs.epoch()), 1e-3)
    moments = [v.flatten() for n, v in stepper.state().items() if n.startswith("adam.exp_avg.")]
    assert outcome.norm > 1e-3
    assert torch.cat(moments).norm() == pytest.approx(1e-4, rel=1e-3)


@pytest.mark.slow
def test_the_average_follows_the_weights(tmp_path):
    result = train(small("optimizer.ema=0.9"), corpus=blobs(), out=tmp_path, quiet=True)
    kept = load_model(tmp_path / "best.safetensors").state_dict()
    last = load_model(sorted(tmp_path.glob("step-*"))[-1]).state_dict()
    assert kept.keys() == last.keys()
    assert result.finished


@pytest.mark.slow
def test_a_budget_that_is_over_before_it_is_planned_ends_the_run(monkeypatch):
    take = Stepper.__call__

    def slow(self, *arguments):
        time.sleep(0.3)
        return take(self, *arguments)

    monkeypatch.setattr(Stepper, "__call__", slow)
    result = train(small("budget.steps=none", "budget.seconds=1"), corpus=blobs(), quiet=True)
    assert result.finished
    assert 1 <= result.step == result.total <= 4
    assert result.best  # validated, as every run at its end


@pytest.mark.slow
def test_a_run_that_is_stopped_before_its_plan_is_planned_by_the_steps_after(tmp_path, monkeypatch):
    take, taken = Stepper.__call__, []

    def slow(self, *arguments):
        taken.append(time.sleep(0.02))
        if len(taken) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return take(self, *arguments)

    monkeypatch.setattr(Stepper, "__call__", slow)
    monkeypatch.setattr(trainer_module, "_TIMED", 3)
    config = small("budget.steps=none", "budget.seconds=4")
    assert train(config, corpus=blobs(), out=tmp_path, quiet=True).total is None
    result = train(config, corpus=blobs(), out=tmp_path, quiet=True)
    assert result.finished
    assert result.total <= 4 / 0.02


@pytest.mark.parametrize(("device", "why"), [("cpu", "the time limit"), ("cuda", None)])
def test_a_slow_step_stops_a_cpu_before_the_next_and_no_device_that_compiles(device, why):
    some = SimpleNamespace(
        device=torch.device(device), group=Group(), progress=SimpleNamespace(step=1)
    )
    assert Trainer._why_stop(some, time.monotonic() + 30, Stop(), 60.0) == why
    assert Trainer._why_stop(some, time.monotonic() + 90, Stop(), 60.0) is None
    assert Trainer._why_stop(some, time.monotonic() + 90, Stop(asked=True), 60.0) == "a signal"
    assert Trainer._why_stop(some, time.monotonic(), Stop(), 0.0) == "the time limit"


@pytest.mark.slow
def test_a_budget_in_seconds_becomes_steps():
    result = train(small("budget.steps=none", "budget.seconds=2"), corpus=blobs(), quiet=True)
    assert result.finished
    assert result.total is not None
    assert result.step == result.total > 0  # how many depends on the machine


def test_rpmnet_reads_normals_and_says_so_when_there_are_none():
    with pytest.raises(ValueError, match="reads normals, and corpus 'blobs/train' has none"):
        train(small("model=rpmnet"), corpus=replace(blobs(), normals=None), quiet=True)


def test_batches_larger_than_the_corpus_are_refused():
    with pytest.raises(ValueError, match=r"data\.batch_size must be at most 18"):
        train(small("data.batch_size=19"), corpus=blobs(), quiet=True)


def test_tensorboard_gets_scalars_histograms_and_a_preview(tmp_path):
    pytest.importorskip("tensorboard")
    train(small("runtime.tensorboard=true", "budget.steps=3"), corpus=blobs(), out=tmp_path)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    tags = events.Tags()
    assert {"train/loss", "validation/rotation_degrees"} <= set(tags["scalars"])
    assert {"layer/rho", "layer/divergence"} <= set(tags["histograms"])
    assert any("pair/after" in tag for tag in tags["tensors"])


def test_a_full_disk_is_reported_with_tensorboards_folder(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")

    class Full:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, *_):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("torch.utils.tensorboard.writer.SummaryWriter", Full)
    with pytest.raises(OSError, match=r"No space left.*tensorboard"):
        TensorBoardLog(tmp_path).scalars({"loss": 1.0}, 0)


def test_the_quick_preset_is_small():
    quick = presets.get("quick")
    assert sum(p.numel() for p in build.model(quick).parameters()) < 1_000_000
