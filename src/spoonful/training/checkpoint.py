"""What a run leaves on disk, and how it is found again.

A run's folder holds

- `step-000001200.safetensors`: all that is needed to go on, for the last few checkpoints;
- `best.safetensors`: the weights of the best epoch, under the model's own names;
- `log.jsonl`, a line for each epoch, and `result.json` when the run is finished.

Every file carries the configuration, the protocol's hash and the metrics, and is written at once
or not at all; the checkpoint before it is removed only when it is safely there.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from spoonful.data.protocols import Protocol
from spoonful.models import RegistrationModel
from spoonful.training import build, tensorfile
from spoonful.training.config import Config, flat, from_dict
from spoonful.training.step import under

BEST = "best.safetensors"
RESULT = "result.json"


@dataclass
class Progress:
    """How far a run is.

    Attributes:
        step: steps taken.
        epoch: epochs finished.
        in_epoch: steps taken in the epoch that is under way.
        total: steps of the whole run; None while a budget in seconds is not yet turned into steps.
        seconds: time spent so far, over all sessions.
        losses: of the steps in the epoch under way; NaN for those that were skipped.
        norm: the last step's gradient norm.
        skipped: batches without a finite loss, over the whole run.
        skipped_in_row: how many of them came last, one after the other.
        best: the validation error of the best epoch.
        best_epoch: its number.
        untrained: the validation errors before the first step.
    """

    step: int = 0
    epoch: int = 0
    in_epoch: int = 0
    total: int | None = None
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    norm: float = 0.0
    skipped: int = 0
    skipped_in_row: int = 0
    best: float = float("inf")
    best_epoch: int = -1
    untrained: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """A file of `save` or `save_weights`, read.

    Attributes:
        path: where it was.
        config: of the run.
        protocol: name and hash of the protocol's card.
        progress: how far the run was.
        metrics: the last validation errors.
        tensors: all tensors, by name.
    """

    path: Path
    config: Config
    protocol: dict[str, str]
    progress: Progress
    metrics: dict[str, float]
    tensors: dict[str, Tensor]

    def weights(self) -> dict[str, Tensor]:
        """The model's weights; in a checkpoint with averaged weights, those."""
        if not any(name.startswith("adam.") or name.startswith("model.") for name in self.tensors):
            return self.tensors
        return under(self.tensors, "model.") | under(self.tensors, "average.")


def save(
    folder: Path,
    config: Config,
    protocol: Protocol,
    progress: Progress,
    metrics: Mapping[str, float],
    tensors: Mapping[str, Tensor],
) -> Path:
    """Write a checkpoint, then remove those that are too many.

    Raises:
        OSError: it could not be written; the message names the checkpoint that is still there.
    """
    path = folder / f"step-{progress.step:09}.safetensors"
    _write(path, config, _about(protocol), progress, metrics, tensors)
    for old in found(folder)[: -config.runtime.keep]:
        old.unlink(missing_ok=True)
    return path


def save_weights(
    folder: Path,
    config: Config,
    protocol: Protocol,
    progress: Progress,
    metrics: Mapping[str, float],
    weights: Mapping[str, Tensor],
) -> Path:
    """Write the best weights, under the model's own names."""
    path = folder / BEST
    _write(path, config, _about(protocol), progress, metrics, weights)
    return path


def write(path: Path, about: Checkpoint, weights: Mapping[str, Tensor]) -> None:
    """Write weights with all that `about` says of the run they are from."""
    _write(path, about.config, about.protocol, about.progress, about.metrics, weights)


def found(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step-*.safetensors"))


def load(path: str | Path) -> Checkpoint:
    """Read a checkpoint, a file of best weights, or the newest checkpoint of a run's folder.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or not one of ours. An older checkpoint is named if there is
            one; it is not taken silently.
    """
    path = Path(path)
    if path.is_dir():
        there = found(path)
        if not there:
            raise FileNotFoundError(f"there is no checkpoint in {path}")
        path = there[-1]
    try:
        tensors, text = tensorfile.read(path, ours=True)
    except tensorfile.DamagedFile as error:
        older = [other for other in found(path.parent) if other.name < path.name]
        hint = f"; delete it to go on from {older[-1].name}" if older else ""
        raise tensorfile.DamagedFile(f"{error}{hint}") from error
    if "config" not in text or "progress" not in text:
        raise ValueError(f"{path} is not a checkpoint of a training run")
    return Checkpoint(
        path=path,
        config=from_dict(json.loads(text["config"])),
        protocol=json.loads(text["protocol"]),
        progress=Progress(**json.loads(text["progress"])),
        metrics=json.loads(text["metrics"]),
        tensors=tensors,
    )


def load_model(path: str | Path, device: torch.device | str = "cpu") -> RegistrationModel:
    """The trained model of a run, in eval mode.

    Args:
        path: a checkpoint, a file of best weights, or a run's folder, for its best weights.
        device: where to put it.
    """
    path = Path(path)
    if path.is_dir() and (path / BEST).is_file():
        path = path / BEST
    checkpoint = load(path)
    model = build.model(checkpoint.config)
    fit(model, checkpoint)
    return model.to(device).eval()


def fit(model: RegistrationModel, checkpoint: Checkpoint) -> None:
    """Load a checkpoint's weights, or say how they differ from what the model wants."""
    wanted, got = model.state_dict(), checkpoint.weights()
    problems = [
        f"{len(names)} {what} ({', '.join(sorted(names)[:3])})"
        for what, names in (
            ("missing", wanted.keys() - got.keys()),
            ("unknown", got.keys() - wanted.keys()),
            (
                "of another shape",
                {n for n in wanted.keys() & got.keys() if wanted[n].shape != got[n].shape},
            ),
        )
        if names
    ]
    if problems:
        raise ValueError(
            f"{checkpoint.path} does not fit this {type(model).__name__}: of its {len(wanted)} "
            f"tensors {'; '.join(problems)}"
        )
    model.load_state_dict(got, strict=True)


def check_same(checkpoint: Checkpoint, config: Config, protocol: Protocol) -> None:
    """Raise a `ValueError` if going on would mix two different runs."""
    before, now = dict(flat(checkpoint.config.what)), dict(flat(config.what))
    differ = [
        f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
        for name in now
        if before.get(name) != now.get(name) and name != "name"
    ]
    if differ:
        raise ValueError(
            f"{checkpoint.path.parent} holds a run with other settings: {'; '.join(differ)}. "
            "Use another folder, or the settings it was started with"
        )
    if checkpoint.protocol.get("hash") != protocol.hash:
        raise ValueError(
            f"{checkpoint.path} was trained under protocol {checkpoint.protocol.get('name')} "
            f"({checkpoint.protocol.get('hash')}), which is now {protocol.hash}"
        )


def _about(protocol: Protocol) -> dict[str, str]:
    return {"name": protocol.name, "hash": protocol.hash}


def _write(
    path: Path,
    config: Config,
    protocol: Mapping[str, str],
    progress: Progress,
    metrics: Mapping[str, float],
    tensors: Mapping[str, Tensor],
) -> None:
    text = {
        "config": json.dumps(config.as_dict()),
        "protocol": json.dumps(protocol),
        "progress": json.dumps(asdict(progress)),
        "metrics": json.dumps(dict(metrics)),
    }
    try:
        tensorfile.write(path, tensors, text)
    except OSError as error:
        there = found(path.parent)
        still = f"{there[-1]} is still there" if there else "there is none from before"
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
        message = f"the checkpoint {path} was not written: {why}; {still}"
        raise OSError(error.errno, message) from error
