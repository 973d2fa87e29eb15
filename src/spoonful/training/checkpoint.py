"""The files of a run, and how they are read again.

A run's folder holds

- `step-000001200.safetensors`: all that is needed to resume, for the last few checkpoints;
- `best.safetensors`: the weights of the best epoch, under the model's own names;
- `log.jsonl`, a line for each epoch, and `result.json` when the run is finished.

Every file carries the configuration, the protocol's hash and the metrics, and is written
atomically. An older checkpoint is removed only after the new one is on the disk.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.data.protocols import Protocol
from spoonful.models import RegistrationModel
from spoonful.models.checkpoints import DamagedFile, built, read_tensors, write_tensors
from spoonful.training import build
from spoonful.training.config import Config, flat, from_dict
from spoonful.training.step import under

BEST = "best.safetensors"
RESULT = "result.json"


@dataclass
class Progress:
    """The progress of a run.

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
    """The content of a file that `save` writes.

    Attributes:
        path: the file.
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
    *,
    best: bool = False,
) -> Path:
    """Write a checkpoint, or the best weights; then remove checkpoints beyond `runtime.keep`.

    Raises:
        OSError: it could not be written; the message names the checkpoint that is still there.
    """
    path = folder / (BEST if best else f"step-{progress.step:09}.safetensors")
    write(Checkpoint(path, config, describe(protocol), progress, dict(metrics), dict(tensors)))
    for old in found(folder)[: -config.runtime.keep]:
        old.unlink(missing_ok=True)
    return path


def describe(protocol: Protocol) -> dict[str, str]:
    """The name and hash of a protocol's card, as files of a run hold them."""
    return {"name": protocol.name, "hash": protocol.hash}


def write(content: Checkpoint) -> None:
    """Write a checkpoint to its path."""
    path = content.path
    text = {
        "config": json.dumps(content.config.as_dict()),
        "protocol": json.dumps(content.protocol),
        "progress": json.dumps(asdict(content.progress)),
        "metrics": json.dumps(content.metrics),
    }
    try:
        write_tensors(path, content.tensors, text)
    except OSError as error:
        there = found(path.parent)
        still = f"{there[-1]} is still there" if there else "there is none from before"
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
        message = f"the checkpoint {path} was not written: {why}; {still}"
        raise OSError(error.errno, message) from error


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
        tensors, text = read_tensors(path, need_checksum=True)
    except DamagedFile as error:
        older = [other for other in found(path.parent) if other.name < path.name]
        hint = f"; delete it to resume from {older[-1].name}" if older else ""
        raise DamagedFile(f"{error}{hint}") from error
    if not {"config", "progress"} <= text.keys():
        raise DamagedFile(f"{path} is not a checkpoint of a training run")
    try:
        return Checkpoint(
            path=path,
            config=from_dict(json.loads(text["config"])),
            protocol=dict(json.loads(text["protocol"])),
            progress=_progress(json.loads(text["progress"])),
            metrics=_numbers(json.loads(text["metrics"])),
            tensors=tensors,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"{path} is not a checkpoint of this version: {error}") from error


def _progress(values: dict[str, object]) -> Progress:
    """The progress of a run; a `ValueError` or `TypeError` if a value is of another type."""
    found = Progress(**values)  # type: ignore[arg-type]
    for name, default in vars(Progress()).items():
        value = values.get(name, default)
        kinds = (int, type(None)) if default is None else (type(default),)
        least = default if isinstance(default, int) else 0
        if type(value) not in kinds or (isinstance(value, int) and value < least):
            raise ValueError(f"progress.{name} is {value!r:.50}")
    _numbers(found.untrained)
    _numbers(dict(enumerate(found.losses)))
    return found


def _numbers(values: dict[Any, float]) -> dict[Any, float]:
    """The values, if they are a dictionary of numbers."""
    if not all(type(value) in (int, float) for value in values.values()):
        raise ValueError("its metrics are not all numbers")
    return values


def best_of(path: str | Path) -> Path:
    """The best weights in a run's folder; the path itself if there are none yet.

    Raises:
        FileNotFoundError: the run is finished, and its best weights are not there.
    """
    best = Path(path, BEST)
    if best.is_file():
        return best
    if Path(path, RESULT).is_file():
        raise FileNotFoundError(missing(Path(path)))
    return Path(path)


def missing(folder: Path) -> str:
    """A sentence for a finished run without its best weights."""
    last = f"; {found(folder)[-1]} has those of the last step" if found(folder) else ""
    return f"{folder / BEST} is missing{last}"


def load_model(path: str | Path, device: torch.device | str = "cpu") -> RegistrationModel:
    """The trained model of a run, in eval mode.

    Args:
        path: a checkpoint, a file of best weights, or a run's folder, for its best weights.
        device: where to put it.
    """
    found = load(best_of(path))
    model = built(lambda: build.model(found.config), found.weights(), found.path)
    return model.to(device).eval()


def check_same(checkpoint: Checkpoint, config: Config, protocol: Protocol) -> None:
    """Raise a `ValueError` if resuming would mix two different runs."""
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
