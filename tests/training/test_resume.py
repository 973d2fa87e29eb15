"""A run that was stopped, however, ends bit for bit as one that was not."""

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
import torch

from disk import full_disk
from scripts import run_script
from spoonful.models.checkpoints import DamagedFile, fit, read_tensors, write_tensors
from spoonful.training import build, checkpoint, train
from spoonful.training.command import run_one
from spoonful.training.step import Stepper
from training.small import blobs, small


def same_runs(one: Path, other: Path) -> None:
    """The last checkpoints, the best weights and the logged losses are equal, bit for bit."""
    for pattern in ("step-*.safetensors", "best.safetensors"):
        a, b = (read_tensors(sorted(folder.glob(pattern))[-1])[0] for folder in (one, other))
        assert a.keys() == b.keys()
        assert all(torch.equal(a[name], b[name]) for name in a)
    logs = [
        [
            {k: v for k, v in json.loads(line).items() if k not in ("seconds", "pairs_per_second")}
            for line in (folder / "log.jsonl").read_text().splitlines()
        ]
        for folder in (one, other)
    ]
    assert logs[0] == logs[1]
    results = [json.loads((folder / "result.json").read_text()) for folder in (one, other)]
    for name in ("step", "epochs", "best", "best_epoch", "untrained", "last"):
        assert results[0][name] == results[1][name]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), ("refine=perturbed", "optimizer.ema=0.9")])
def test_stopping_after_every_step_changes_nothing(tmp_path, settings):
    config = small(*settings, "runtime.validate_every=2")
    train(config, corpus=blobs(), out=tmp_path / "whole", quiet=True)
    calls = 0
    while not train(config, corpus=blobs(), out=tmp_path / "parts", seconds=0, quiet=True).finished:
        torch.rand(3)  # whatever else happens between two calls
        calls += 1
    assert calls == 8
    same_runs(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.slow
def test_kills_at_random_moments_change_nothing(tmp_path):
    script = Path(__file__).with_name("kill_and_resume.py")
    kills, runs = map(int, run_script(script, tmp_path, 5, 0).split())
    assert kills == 5
    assert runs >= 1
    for number in range(runs):
        same_runs(tmp_path / "whole", tmp_path / f"killed-{number}")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_writes_a_checkpoint_and_changes_nothing(
    tmp_path, monkeypatch, number
):
    config = small("runtime.checkpoint_seconds=1000")
    train(config, corpus=blobs(), out=tmp_path / "whole", quiet=True)
    take, taken = Stepper.__call__, []

    def interrupted(self, *arguments):
        taken.append(1)
        if len(taken) == 4:
            os.kill(os.getpid(), number)
        return take(self, *arguments)

    monkeypatch.setattr(Stepper, "__call__", interrupted)
    result = train(config, corpus=blobs(), out=tmp_path / "parts", quiet=True)
    assert not result.finished
    assert result.step == 4
    assert train(config, corpus=blobs(), out=tmp_path / "parts", quiet=True).finished
    same_runs(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.slow
def test_a_finished_run_is_not_repeated(tmp_path):
    first = train(small(), corpus=blobs(), out=tmp_path, quiet=True)
    assert train(small(), corpus=None, out=tmp_path, quiet=True) == first


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that was not stopped."""
    folder = tmp_path_factory.mktemp("whole")
    train(small(), corpus=blobs(), out=folder, quiet=True)
    return folder


@pytest.fixture(scope="module")
def four_steps(tmp_path_factory):
    """The folder of a run that was stopped after each of four steps."""
    folder = tmp_path_factory.mktemp("stopped")
    for _ in range(4):
        train(small(), corpus=blobs(), out=folder, seconds=0, quiet=True)
    return folder


@pytest.fixture
def stopped(four_steps):
    """A function that puts a copy of the stopped run into a folder, and returns its checkpoints."""

    def copy(folder: Path) -> list[Path]:
        shutil.copytree(four_steps, folder, dirs_exist_ok=True)
        found = checkpoint.found(folder)
        assert len(found) == 2  # those that are kept
        return found

    return copy


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated", "tampered"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_goes_on(
    tmp_path, damage, stopped, whole
):
    older, newest = stopped(tmp_path / "run")
    content = bytearray(newest.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    else:
        content[-5] ^= 1
    newest.write_bytes(content)
    with pytest.raises(ValueError, match=f"delete it to resume from {older.name}"):
        train(small(), corpus=blobs(), out=tmp_path / "run", quiet=True)
    newest.unlink()
    train(small(), corpus=blobs(), out=tmp_path / "run", quiet=True)
    same_runs(whole, tmp_path / "run")


@pytest.mark.slow
def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, stopped):
    before = stopped(tmp_path)
    still = f"was not written.*{before[-1].name} is still there"
    with full_disk(), pytest.raises(OSError, match=still):
        train(small(), corpus=blobs(), out=tmp_path, seconds=0, quiet=True)
    assert checkpoint.found(tmp_path) == before
    assert not list(tmp_path.glob(".*.part"))
    assert train(small(), corpus=blobs(), out=tmp_path, quiet=True).finished


@pytest.mark.slow
def test_another_run_in_the_folder_is_refused_by_its_settings(tmp_path, stopped):
    stopped(tmp_path)
    with pytest.raises(ValueError, match=r"optimizer.lr was 0.001, is 0.01"):
        train(small("optimizer.lr=0.01"), corpus=blobs(), out=tmp_path, quiet=True)
    # How it runs may change.
    faster = small("runtime.validate_every=2", "runtime.keep=1")
    assert train(faster, corpus=blobs(), out=tmp_path, quiet=True).finished


@pytest.mark.slow
def test_weights_of_another_model_are_refused(tmp_path, stopped):
    found = checkpoint.load(stopped(tmp_path)[-1])
    model = build.model(small("dcp.emb_dims=16", "dcp.n_blocks=2"))
    with pytest.raises(ValueError, match=r"checkpoint of this DCP.*missing.*of another shape"):
        fit(model, found.weights(), found.path)


@pytest.mark.slow
def test_best_weights_load_anywhere_under_the_models_own_names(whole):
    from spoonful.models import load_published

    model = load_published(whole / "best.safetensors", build.model(small()))
    loaded = checkpoint.load(whole / "best.safetensors")
    assert torch.equal(
        model.state_dict()["emb_nn.conv1.weight"], loaded.weights()["emb_nn.conv1.weight"]
    )
    assert loaded.protocol["hash"] == build.protocol(small()).hash
    assert loaded.config == small()
    assert "rotation_degrees" in loaded.metrics


@pytest.mark.slow
def test_a_run_without_its_best_weights_resumes_and_keeps_the_best_epoch_from_there(
    tmp_path, capsys, stopped
):
    stopped(tmp_path)
    (tmp_path / "best.safetensors").unlink()
    result = train(small(), corpus=blobs(), out=tmp_path)
    assert "best.safetensors is missing: the best epoch from now on is" in capsys.readouterr().err
    assert result.finished
    assert result.best_epoch > 0  # the one before the stop is lost
    assert checkpoint.load(tmp_path / "best.safetensors").metrics == result.best


@pytest.mark.slow
def test_a_finished_run_without_its_best_weights_does_not_pass_off_others(tmp_path, capsys, whole):
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    (tmp_path / "best.safetensors").unlink()
    said = f"{tmp_path / 'best.safetensors'} is missing; {checkpoint.found(tmp_path)[-1]} has those"
    with pytest.raises(FileNotFoundError, match=re.escape(said)):
        checkpoint.load_model(tmp_path)
    assert run_one(small(), tmp_path, limit=None, quiet=True) == 0
    assert f"weights  {said} of the last step\n" in capsys.readouterr().out


@pytest.mark.slow
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, stopped):
    write_tensors(tmp_path / "x.safetensors", {"x": torch.zeros(1)}, {})
    with pytest.raises(ValueError, match="not a checkpoint of a training run"):
        checkpoint.load(tmp_path / "x.safetensors")
    good = checkpoint.load(stopped(tmp_path / "run")[-1])
    for name, value in (("config", "[1]"), ("progress", '{"steps": 1}'), ("metrics", "{")):
        text = {"config": "{}", "progress": "{}", "protocol": "{}", "metrics": "{}", name: value}
        write_tensors(tmp_path / "x.safetensors", good.tensors, text)
        with pytest.raises(DamagedFile, match=r"x\.safetensors"):
            checkpoint.load(tmp_path / "x.safetensors")
    with pytest.raises(FileNotFoundError, match="no checkpoint in"):
        checkpoint.load(tmp_path)


CRAFTED = small("optimizer.ema=0.9")


@pytest.fixture(scope="module")
def one_step(tmp_path_factory):
    """The folder of a run of one step, and the tensors and text of its checkpoint."""
    folder = tmp_path_factory.mktemp("stopped")
    train(CRAFTED, corpus=blobs(), out=folder, seconds=0, quiet=True)
    (path,) = checkpoint.found(folder)
    return path, *read_tensors(path)


@pytest.mark.parametrize("change", [None, torch.zeros(3)], ids=["missing", "shape"])
@pytest.mark.parametrize(
    "name",
    ["random.pairs", "random.cpu.0", "model.", "average.", "adam.step.", "adam.exp_avg."],
)
def test_a_crafted_checkpoint_raises_one_error_with_its_name(one_step, name, change):
    path, tensors, text = one_step
    name = next(other for other in tensors if other.startswith(name))
    kept = {other: tensor for other, tensor in tensors.items() if other != name}
    write_tensors(path, kept if change is None else {**kept, name: change}, text)
    with pytest.raises(ValueError, match=path.name):
        train(CRAFTED, corpus=blobs(), out=path.parent, quiet=True)


@pytest.mark.parametrize(
    ("part", "values"),
    [("progress", {"step": "x"}), ("progress", {"losses": [["a"]]}), ("progress", {"epoch": -5}),
     ("progress", {"seconds": None}), ("metrics", {"loss": None})],
)  # fmt: skip
def test_crafted_text_in_a_checkpoint_raises_one_error_with_its_name(one_step, part, values):
    path, tensors, text = one_step
    write_tensors(path, tensors, {**text, part: json.dumps(json.loads(text[part]) | values)})
    with pytest.raises(DamagedFile, match=path.name):
        checkpoint.load(path)


def test_crafted_sizes_of_a_model_are_refused_before_memory_is_allocated(one_step):
    path, tensors, text = one_step
    for settings in ({"emb_dims": 65536}, {"n_heads": 3}, {"n_blocks": 65536}):
        config = json.loads(text["config"])
        config["dcp"] |= settings
        write_tensors(path, tensors, {**text, "config": json.dumps(config)})
        with pytest.raises(ValueError, match=path.name):
            checkpoint.load_model(path)
