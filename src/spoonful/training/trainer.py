"""The training loop: steps, epochs, validation, checkpoints and resuming.

A run is a function of its configuration. A stopped run resumes from its last checkpoint with the
same result. The checkpoint has the weights, Adam's moments, the random numbers and the position in
the epoch.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.files import check_folder, json_ready, write_whole
from spoonful.geometry import SpoonfulLayer
from spoonful.locking import locked
from spoonful.models.checkpoints import DamagedFile, fit
from spoonful.training import build, checkpoint, corpora, distributed, shipped
from spoonful.training.checkpoint import Progress
from spoonful.training.config import Config
from spoonful.training.graphed import GraphedForward, GraphedSteps
from spoonful.training.journal import Journal
from spoonful.training.pairs import TrainingPairs
from spoonful.training.progress import Display
from spoonful.training.schedule import rate, turn_bound
from spoonful.training.step import StepOutcome, Stepper
from spoonful.training.stopping import Stop, on_signals
from spoonful.training.tensorboard_log import TensorBoardLog
from spoonful.training.validation import BEST_BY, Validation, validate

# Steps between two reads of what the device has done. Each read covers the previous window, so the
# host is never further ahead than two windows.
_LOOK = 10
_OFTEN = 1.0  # seconds between two looks at a CPU, though fewer steps are done
# A budget in seconds becomes a number of steps after this many, the first of which do not count;
# a share of the time is left for validation and files.
_WARM, _TIMED, _SPARE = 3, 12, 0.1


class TrainingFailed(RuntimeError):
    """Several batches in a row had no finite loss; the message names their shapes."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a run, or of a part of it.

    Attributes:
        finished: whether all steps are done; if not, the same call resumes.
        step: steps done.
        total: steps of the whole run.
        epochs: epochs done.
        seconds: time spent, over all sessions.
        best: validation errors of the best epoch, by name.
        best_epoch: its number.
        untrained: validation errors before the first step.
        last: validation errors of the last epoch.
        skipped: batches that had no finite loss.
        folder: the run's folder, or None.
    """

    finished: bool
    step: int
    total: int | None
    epochs: int
    seconds: float
    best: dict[str, float]
    best_epoch: int
    untrained: dict[str, float]
    last: dict[str, float]
    skipped: int
    folder: Path | None


def train(
    config: Config,
    *,
    out: str | Path | None = None,
    corpus: Corpus | Sequence[Any] | None = None,
    seconds: float | None = None,
    quiet: bool = False,
) -> TrainingResult:
    """Train a model, or resume its training.

    Args:
        config: what to train.
        out: the run's folder; a run that was stopped there resumes, and a finished one is not
            repeated. None: nothing is written.
        corpus: the training shapes, or pairs of scans; None for what the configuration names.
        seconds: stop after this time, with a checkpoint from which another call resumes.
        quiet: show no progress.

    Returns:
        `TrainingResult`; if `finished` is False, call again to resume.

    Raises:
        ValueError: the configuration does not fit the data, or the folder holds another run.
        FolderInUse: another process trains in the folder.
        TrainingFailed: the loss was not finite many times in a row.
    """
    folder = None if out is None else Path(out)
    check_folder("out", folder)
    group, device = distributed.join(config.runtime.device)
    try:
        if folder is not None and (folder / checkpoint.RESULT).is_file():
            return _finished(folder, config)
        with ExitStack() as held:
            if folder is not None and group.first:
                held.enter_context(locked(folder))
            return Trainer(config, folder, corpus, group, device, quiet=quiet).run(seconds)
    finally:
        distributed.leave(group)


def _finished(folder: Path, config: Config) -> TrainingResult:
    """The result of a run that is finished already; it must be of this configuration."""
    _resumable(folder, config)
    content = json.loads((folder / checkpoint.RESULT).read_text())
    kept = {name: content[name] for name in TrainingResult.__dataclass_fields__}
    return TrainingResult(**{**kept, "folder": folder})


def _resumable(folder: Path | None, config: Config) -> checkpoint.Checkpoint | None:
    """The checkpoint to resume from, if there is one; it must be of this configuration."""
    if folder is None or not checkpoint.found(folder):
        return None
    found = checkpoint.load(folder)
    checkpoint.check_same(found, config, build.protocol(config))
    return found


class _PendingStep(NamedTuple):
    """A step whose outcome is not read yet, and its batch."""

    outcome: StepOutcome
    batch: Batch


class _PendingRead(NamedTuple):
    """Steps whose numbers are being copied from the device.

    Attributes:
        steps: the steps.
        numbers: (3, K) their losses, norms and whether they were skipped, on the host.
        there: the event of the copy; None if it is complete.
    """

    steps: list[_PendingStep]
    numbers: Tensor
    there: torch.cuda.Event | None


class Trainer:
    """A run in one process, from its first step or from the newest checkpoint in its folder.

    `train` is the usual way to start one.

    Args:
        config: what to train.
        folder: the run's folder, without a result; None: nothing is written.
        corpus: the training shapes, or pairs of scans; None for what the configuration names.
        group: the processes of the run.
        device: this process' device.
        quiet: show no progress.
    """

    def __init__(
        self,
        config: Config,
        folder: Path | None,
        corpus: Corpus | Sequence[Any] | None,
        group: distributed.Group,
        device: torch.device,
        *,
        quiet: bool = False,
    ) -> None:
        if config.data.batch_size % group.size:
            raise ValueError(
                f"data.batch_size ({config.data.batch_size}) must be a multiple of the number of "
                f"processes ({group.size})"
            )
        self.started = time.monotonic()
        self.config, self.folder, self.group, self.device = config, folder, group, device
        self.protocol = build.protocol(config)
        self.progress = Progress()
        self.display = Display(config.name, quiet=quiet or not group.first)
        self.metrics: dict[str, float] = {}
        self.best_metrics: dict[str, float] = {}
        self.bf16 = config.runtime.precision == "bf16" or (
            config.runtime.precision == "auto" and device.type != "cpu"
        )
        self.tf32 = self.bf16 or config.runtime.precision == "tf32"
        resumed = _resumable(folder, config)
        torch.manual_seed(config.seed)
        self.model = build.model(config).to(device).train()
        if config.init and resumed is None:
            fit(self.model, shipped.find(config.init).state_dict(), Path(config.init))
        if _wanted(config.runtime.compile, device):
            # Batches have one size. By default torch would compile for any size as soon as it
            # sees a second one, and RPM-Net describes both clouds at first and then one.
            self.model.compile_parts(dynamic=False)
        self.stepper = Stepper(
            self.model, config.optimizer, terms=config.loss, bf16=self.bf16, group=group
        )
        self._take: Stepper | GraphedSteps = self.stepper
        self._forward: GraphedForward | None = None
        steady = config.refine.mode != "perturbed" or config.refine.schedule == "constant"
        if _wanted(config.runtime.graph, device) and device.type == "cuda" and group.size == 1:
            self._forward = GraphedForward(self.stepper)
            if steady:
                self._take = GraphedSteps(self.stepper)
        data: Corpus | Sequence[Any] | None = corpus
        if data is None and self.protocol.sampling == "given":
            data = corpora.load_scans(config.data.corpus, self.protocol)
        elif data is None:
            data = corpora.load(config.data.corpus, per_category=config.data.per_category)
        validation: float | Corpus = config.data.validation
        if config.data.validation_files:
            if corpus is not None:
                raise ValueError("corpus must be None with data.validation_files, got one")
            if self.protocol.categories == "all":
                raise ValueError(
                    "data.validation_files must be false if a protocol tests on all categories: "
                    f"the test set would pick the best epoch; got {self.protocol.name!r}"
                )
            validation = corpora.load(
                config.data.corpus, "test", per_category=config.data.per_category
            )
        self.pairs = TrainingPairs(
            self.protocol,
            data,
            device=device,
            batch_size=config.data.batch_size,
            validation=validation,
            seed=config.seed,
            normals=self.model.needs_normals,
            stretch=config.data.stretch,
        )
        self._epoch_start = self.pairs.generator.get_state()
        self._best: dict[str, Tensor] | None = None
        if group.size > 1:  # each process has its own perturbed starts
            torch.manual_seed(config.seed + 7919 * group.rank)
        if resumed is None:
            self.progress.total = self._planned()
        else:
            self._restore(resumed)
        self._queue: list[_PendingStep] = []
        self._coming: list[_PendingRead] = []
        self._saved = self._timed_from = self._began = time.monotonic()
        self._seconds_before, self._first_step = self.progress.seconds, self.progress.step
        writes = folder if group.first else None
        self.board = TensorBoardLog(writes if config.runtime.tensorboard else None)
        self.journal = None if writes is None else Journal(writes)
        if self.journal is not None:
            self.journal.rewind(self.progress.epoch)

    def run(self, seconds: float | None = None) -> TrainingResult:
        """Train until all is done, or `seconds` are over."""
        limit = math.inf if seconds is None else self.started + seconds
        try:
            with fast_products(self.tf32), on_signals() as stop:
                return self._run(limit, stop)
        finally:
            self.board.close()
            self.display.close()

    def _run(self, limit: float, stop: Stop) -> TrainingResult:
        progress = self.progress
        self._began = time.monotonic()
        if not progress.untrained:
            self.display.now("validating the network before training")
            progress.untrained = self._validate().errors
        while progress.total is None or progress.step < progress.total:
            why = self._epoch(limit, stop)
            progress.seconds = self._spent()
            if why is not None:
                self._save()
                self.display.say(f"stopped by {why} after step {progress.step}")
                return self._result(finished=False)
            due = time.monotonic() - self._saved >= self.config.runtime.checkpoint_seconds
            if self.group.agree(due) and progress.step != progress.total:
                self._epoch_start = self.pairs.generator.get_state()
                self._save()
        self._epoch_start = self.pairs.generator.get_state()
        self._save()
        result = self._result(finished=True)
        self._write(result)
        return result

    def _spent(self) -> float:
        """Seconds that the run has taken so far, over all calls."""
        return self._seconds_before + time.monotonic() - self._began

    # --- steps ---

    def _epoch(self, limit: float, stop: Stop) -> str | None:
        """Take the remaining steps of an epoch; returns why the run is to stop, or None."""
        progress = self.progress
        began = looked = time.monotonic()
        first, before = progress.step, len(progress.losses)
        self._epoch_start = self.pairs.generator.get_state()
        for batch in self.pairs.epoch(skip=progress.in_epoch):
            step_began = time.monotonic()
            self._step(batch)
            if progress.total is None:
                self._plan()
            # A CPU has done a step when it returns, and may need a minute for it.
            slow = self.device.type == "cpu" and time.monotonic() - looked >= _OFTEN
            if slow or len(self._queue) >= _LOOK:
                looked = time.monotonic()
                self._look(wait=False)
                seen = len(progress.losses) - before  # fewer than were started on a GPU
                if seen:
                    pace = self._pace(time.monotonic() - began, seen)
                    loss = _mean(progress.losses[-_LOOK:])
                    self.display.step(progress.step, progress.total, loss, *pace)
            if progress.step == progress.total:
                break
            why = self._why_stop(limit, stop, time.monotonic() - step_began)
            if why is not None:
                self._look()
                return why
        self._look()  # waits for the device, so that the epoch's time is that of its steps
        self._end_epoch(time.monotonic() - began, progress.step - first)
        return None

    def _step(self, batch: Batch) -> None:
        """Take a step, without reading its outcome."""
        progress, config = self.progress, self.config
        share = 0.0 if progress.total is None else progress.step / progress.total
        self._turn_by(turn_bound(config.refine, share))
        outcome = self._take(self.group.slice(batch), rate(config.optimizer, share))
        self._queue.append(_PendingStep(outcome, batch))
        progress.step += 1
        progress.in_epoch += 1

    def _why_stop(self, limit: float, stop: Stop, step: float) -> str | None:
        """The reason to stop after a step that took `step` seconds, or None to continue."""
        # On a CPU, the next step takes as long as the last; elsewhere, the first one compiles.
        ends = time.monotonic() + (step if self.device.type == "cpu" else 0.0)
        over = ends >= limit
        # Several processes must agree, which takes time, so they check less often.
        looks = self.group.size == 1 or limit < math.inf or not self.progress.step % _LOOK
        if not (looks and self.group.agree(over or stop.asked)):
            return None
        return "the time limit" if over else "a signal"

    def _turn_by(self, degrees: float) -> None:
        """Set the bound of the layer's perturbed starts."""
        for part in self.model.children():
            if isinstance(part, SpoonfulLayer):
                part.max_degrees = degrees

    def _planned(self) -> int | None:
        """Steps of the whole run; None if they depend on how fast it goes."""
        budget = self.config.budget
        if budget.steps is not None:
            return budget.steps
        if budget.seconds is not None:
            return None
        return max(1, round(budget.epochs * len(self.pairs)))

    def _plan(self) -> None:
        """Turn a budget in seconds into steps, once enough of them have been timed."""
        step, budget = self.progress.step, self.config.budget.seconds
        assert budget is not None
        if self.group.agree(self._spent() >= budget):
            self.progress.total = step
            self.display.say(f"{budget:g} s are over after step {step}")
        elif step - self._first_step == _WARM:
            self._look()
            self._timed_from = time.monotonic()
        elif step - self._first_step == _WARM + _TIMED:
            self._look()
            each = (time.monotonic() - self._timed_from) / _TIMED
            left = (budget - self._spent()) * (1 - _SPARE)
            self.progress.total = step + int(self.group.agree(max(left / each, 0)))
            self.display.say(
                f"{budget:g} s make {self.progress.total} steps, "
                f"{self.progress.total / len(self.pairs):.1f} epochs"
            )

    def _look(self, *, wait: bool = True) -> None:
        """Read the outcomes of the last steps; raise if too many had no finite loss.

        Without `wait`, read only those that were requested by the call before, and request the
        rest, so that the device does not run out of steps meanwhile.
        """
        if self._queue:
            self._coming.append(_fetch(self._queue))
            self._queue = []
        while self._coming and (wait or len(self._coming) > 1 or self._coming[0].there is None):
            self._read(self._coming.pop(0))

    def _read(self, fetched: _PendingRead) -> None:
        """Record the outcomes of some steps."""
        progress = self.progress
        if fetched.there is not None:
            fetched.there.synchronize()
        rows = fetched.numbers.T.tolist()
        for seen, (loss, norm, bad) in zip(fetched.steps, rows, strict=True):
            progress.norm = norm
            progress.losses.append(math.nan if bad else loss)
            progress.skipped_in_row = progress.skipped_in_row + 1 if bad else 0
            if not bad:
                continue
            progress.skipped += 1
            shapes = self._culprits(seen)
            self.display.say(f"skipped a batch: loss {loss}, gradient {norm}; shapes {shapes}")
            if self.journal is not None:
                self.journal.add(
                    {"epoch": progress.epoch, "skipped": {"loss": loss, "shapes": shapes}}
                )
            if progress.skipped_in_row >= self.config.runtime.max_skipped:
                raise TrainingFailed(
                    f"{progress.skipped_in_row} batches in a row had no finite loss, the last with "
                    f"shapes {shapes} of the corpus. Look at these, or lower optimizer.lr "
                    f"({self.config.optimizer.lr:g}) or set optimizer.clip"
                )

    def _culprits(self, seen: _PendingStep) -> list[int]:
        """The numbers, in the corpus as loaded, of the shapes that may have caused a bad loss."""
        batch, pose = seen.batch, seen.outcome.pose
        assert batch.index is not None
        inputs = (batch.source, batch.target, batch.source_normals, batch.target_normals)
        bad = torch.zeros_like(batch.index, dtype=torch.bool)
        for cloud in inputs:
            if cloud is not None:
                bad |= ~cloud.isfinite().all(-1).all(-1)
        if not bad.any() and len(pose.rotation) == len(bad):
            bad = ~pose.rotation.isfinite().all(-1).all(-1)
        if not bad.any():
            bad = torch.ones_like(bad)
        return self.pairs.numbers[batch.index[bad].cpu()].tolist()

    # --- epochs ---

    def _end_epoch(self, duration: float, steps: int) -> None:
        progress, config = self.progress, self.config
        last = progress.step == progress.total
        loss = _mean(progress.losses)
        speed, left = self._pace(duration, steps)
        share = progress.step / (progress.total or progress.step)
        line: dict[str, Any] = {
            "epoch": progress.epoch,
            "step": progress.step,
            "loss": loss,
            "lr": rate(config.optimizer, min(share, 1 - 1e-9)),
            "gradient_norm": progress.norm,
            "skipped": sum(math.isnan(loss) for loss in progress.losses),
            "pairs_per_second": round(speed, 1),
            "seconds": round(duration, 3),
        }
        errors: dict[str, float] = {}
        if last or (progress.epoch + 1) % config.runtime.validate_every == 0:
            self.group.mean_([b for b in self.model.buffers() if b.is_floating_point()])
            found = self._validate()
            errors = line["validation"] = found.errors
            self.metrics = errors
            if errors[BEST_BY] < progress.best:
                progress.best, progress.best_epoch = errors[BEST_BY], progress.epoch
                self.best_metrics, self._best = errors, self.stepper.weights()
            self.board.validation(found, progress.step)
        line["best_epoch"] = progress.best_epoch
        if self.journal is not None:
            self.journal.add(line)
        self.board.scalars({f"train/{name}": value for name, value in line.items()}, progress.step)
        progress.epoch += 1
        progress.in_epoch = 0
        progress.losses = []
        self.display.epoch(progress.epoch, progress.step, progress.total, loss, speed, left, errors)

    def _pace(self, duration: float, steps: int) -> tuple[float, float | None]:
        """Pairs per second over the last steps, and the estimated seconds to the end."""
        progress = self.progress
        left = None if progress.total is None else progress.total - progress.step
        return (
            steps * self.config.data.batch_size / duration,
            None if left is None or not steps else left * duration / steps,
        )

    def _validate(self) -> Validation:
        batches, refine = self.pairs.validation, self.config.refine
        return validate(self.stepper, batches, refine, self.group, self._forward)

    # --- files ---

    def _save(self) -> None:
        """Write the best weights if they are new, then a checkpoint."""
        self._saved = time.monotonic()
        if self.folder is None:
            return
        states = [torch.get_rng_state()]
        if self.device.type == "cuda":
            states.append(torch.cuda.get_rng_state(self.device))
        everyone = [states]
        if self.group.size > 1:
            everyone = [[] for _ in range(self.group.size)]
            torch.distributed.all_gather_object(everyone, states)
        if self.group.first:
            about = (self.folder, self.config, self.protocol, self.progress)
            if self._best is not None:
                checkpoint.save(*about, self.best_metrics, self._best, best=True)
                self._best = None
            tensors = self.stepper.state() | {"random.pairs": self._epoch_start}
            for rank, some in enumerate(everyone):
                tensors |= {
                    f"random.{kind}.{rank}": state
                    for kind, state in zip(("cpu", "cuda"), some, strict=False)
                }
            checkpoint.save(*about, self.metrics, tensors)
        self.group.wait()

    def _write(self, result: TrainingResult) -> None:
        """Write the result, which marks the run as finished."""
        if self.folder is None or not self.group.first:
            return
        content = json_ready({**vars(result), "folder": None, "config": self.config.as_dict()})
        content["protocol"] = checkpoint.describe(self.protocol)
        write_whole(self.folder / checkpoint.RESULT, json.dumps(content, indent=1))

    def _restore(self, found: checkpoint.Checkpoint) -> None:
        """Resume from a checkpoint; a `DamagedFile` if a tensor is missing or does not fit."""
        fit(self.model, found.weights(), found.path)
        self.progress, self.metrics = found.progress, found.metrics
        best = found.path.parent / checkpoint.BEST
        if self.progress.best_epoch >= 0 and best.is_file():
            self.best_metrics = checkpoint.load(best).metrics
        elif self.progress.best_epoch >= 0:  # lost: the best epoch from here on is kept
            self.display.say(f"{best} is missing: the best epoch from now on is kept instead")
            self.progress.best, self.progress.best_epoch = math.inf, -1
        if self.progress.total is None:
            self.progress.total = self._planned()
        rank = self.group.rank
        try:
            self.stepper.restore(found.tensors)
            self.pairs.generator.set_state(found.tensors["random.pairs"])
            # The number of processes and the device may have changed since.
            if rank == 0 or f"random.cpu.{rank}" in found.tensors:
                torch.set_rng_state(found.tensors[f"random.cpu.{rank}"])
            if self.device.type == "cuda" and f"random.cuda.{rank}" in found.tensors:
                torch.cuda.set_rng_state(found.tensors[f"random.cuda.{rank}"], self.device)
        except KeyError as error:
            raise DamagedFile(f"{found.path} cannot be resumed: it has no {error}") from error
        except (RuntimeError, TypeError) as error:
            raise DamagedFile(f"{found.path} cannot be resumed: {error}") from error

    def _result(self, *, finished: bool) -> TrainingResult:
        progress = self.progress
        return TrainingResult(
            finished=finished,
            step=progress.step,
            total=progress.total,
            epochs=progress.epoch,
            seconds=progress.seconds,
            best=self.best_metrics,
            best_epoch=progress.best_epoch,
            untrained=progress.untrained,
            last=self.metrics,
            skipped=progress.skipped,
            folder=self.folder,
        )


def _fetch(steps: list[_PendingStep]) -> _PendingRead:
    """Start to copy the steps' numbers to the host."""
    outcomes = [seen.outcome for seen in steps]
    columns = zip(*((o.loss, o.norm, o.skipped) for o in outcomes), strict=True)
    numbers = torch.stack([number for column in columns for number in column]).view(3, -1)
    if numbers.device.type != "cuda":
        return _PendingRead(steps, numbers, None)
    # A copy is asynchronous only into pinned memory.
    host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    host.copy_(numbers, non_blocking=True)
    there = torch.cuda.Event()
    there.record()
    return _PendingRead(steps, host, there)


def _wanted(setting: Literal["auto", "on", "off"], device: torch.device) -> bool:
    """True if a setting is on; "auto" is on for a GPU."""
    return setting == "on" or (setting == "auto" and device.type == "cuda")


def _mean(losses: list[float]) -> float:
    """The mean of the losses that are not NaN."""
    kept = [loss for loss in losses if not math.isnan(loss)]
    return sum(kept) / len(kept) if kept else math.nan


@contextmanager
def fast_products(tf32: bool) -> Iterator[None]:
    """Allow TF32 in float32 products, if `tf32`. A bfloat16 network has few of them."""
    before = torch.get_float32_matmul_precision()
    if tf32:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
