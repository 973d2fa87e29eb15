"""Steps as one CUDA graph: recorded once, then replayed without Python or launches between kernels.

A training step of these networks is a thousand small kernels, and a host takes longer to launch
them than a fast device to run them. Replayed, the device alone decides how long a step takes.
"""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.training.step import Outcome, Stepper

# Steps taken before one is recorded: kernels are compiled and choose their algorithms in them.
_FIRST = 3


class GraphedSteps:
    """A `Stepper` whose steps are replayed; called like one.

    The first steps are taken as usual, as are those on batches of another shape. Random numbers
    of perturbed starts go on from replay to replay, though not in the order of usual steps.

    Args:
        stepper: on a CUDA device. Whatever its model is told from step to step, other than by
            batches and the learning rate, must stay as it is.
    """

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._taken = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch: Batch | None = None
        self._outcome: Outcome | None = None

    def __call__(self, batch: Batch, lr: float) -> Outcome:
        """Take a step."""
        if self._batch is None:
            self._batch = _like(batch)
        if not _same_shape(self._batch, batch):
            return self._stepper(batch, lr)
        _copy(batch, self._batch)
        self._stepper.set_rate(lr)
        self._taken += 1
        if self._taken <= _FIRST:
            return self._aside(self._batch)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._outcome = self._stepper.step(self._batch)
        self._graph.replay()
        assert self._outcome is not None
        loss, norm, skipped, pose = self._outcome
        # The next replay writes over them.
        return Outcome(
            loss.clone(), norm.clone(), skipped.clone(), Pose(*(each.clone() for each in pose))
        )

    def _aside(self, batch: Batch) -> Outcome:
        """A step on another stream, as recording needs it done before."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            outcome = self._stepper.step(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return outcome


def _tensors(batch: Batch) -> dict[str, Tensor]:
    """All tensors of a batch, by name."""
    found: dict[str, Tensor] = {}
    for each in fields(batch):
        value = getattr(batch, each.name)
        if isinstance(value, Tensor):
            found[each.name] = value
        elif isinstance(value, Pose):
            found |= {f"{each.name}.{name}": part for name, part in value._asdict().items()}
    return found


def _like(batch: Batch) -> Batch:
    """A batch of the same shape, in memory of its own."""
    own = {
        each.name: torch.empty(value.shape, dtype=value.dtype, device=value.device)
        for each in fields(batch)
        if isinstance(value := getattr(batch, each.name), Tensor)
    }
    pose = None if batch.pose is None else Pose(*(torch.empty_like(part) for part in batch.pose))
    return replace(batch, pose=pose, **own)


def _same_shape(one: Batch, other: Batch) -> bool:
    shapes = [{name: x.shape for name, x in _tensors(batch).items()} for batch in (one, other)]
    return shapes[0] == shapes[1]


def _copy(batch: Batch, into: Batch) -> None:
    for value, place in zip(_tensors(batch).values(), _tensors(into).values(), strict=True):
        place.copy_(value)
