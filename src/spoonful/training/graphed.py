"""Training steps and validation passes as CUDA graphs: recorded once, then replayed.

A training step of these networks is a thousand small kernels. A host takes longer to launch them
than a fast device to run them; a replayed graph needs a single launch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Generic, TypeVar

import torch

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.registration import Registration
from spoonful.training.step import StepOutcome, Stepper

# Calls before one is recorded: kernels are compiled and choose their algorithms in them.
_FIRST = 3

T = TypeVar("T")


class Recorded(Generic[T]):
    """A function of batches, as one CUDA graph; called like the function.

    The first calls run without a graph. If recording fails, there is a warning and all calls do.
    The next replay overwrites the result of a replay: copy it to keep it.

    Args:
        function: works on the current CUDA device and never waits for it. All tensors that it
            uses besides its batch must keep their memory.
    """

    def __init__(self, function: Callable[[Batch], T]) -> None:
        self._function = function
        self._calls = 0
        self._stream: torch.cuda.Stream | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch: Batch | None = None
        self._result: T | None = None
        self._refused = False

    def fits(self, batch: Batch) -> bool:
        """True if the batch has the shapes of the first batch, which are those of the graph."""

        def shapes(one: Batch) -> dict[str, torch.Size]:
            return {name: tensor.shape for name, tensor in one.tensors().items()}

        return self._batch is None or shapes(self._batch) == shapes(batch)

    def __call__(self, batch: Batch) -> T:
        """The function's result; the batch must fit."""
        if self._batch is None:
            self._batch = batch.apply(
                lambda tensor: torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            )
        own = self._batch.tensors()
        for name, value in batch.tensors().items():
            own[name].copy_(value)
        self._calls += 1
        if self._calls <= _FIRST or self._refused:
            return self._aside(self._batch)
        if self._graph is None:
            self._record(self._batch)
        if self._graph is None:
            # Not in the handler of the failure: the exception keeps the recording alive, and
            # gradients that belong to it.
            return self._aside(self._batch)
        self._graph.replay()
        assert self._result is not None
        return self._result

    def _record(self, batch: Batch) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                result = self._function(batch)
        except RuntimeError as error:  # something in the function waits for the device
            self._refused = True
            warnings.warn(
                "not recorded as a CUDA graph, and so slower: " + str(error).splitlines()[0],
                stacklevel=3,
            )
        else:
            self._graph, self._result = graph, result

    def _aside(self, batch: Batch) -> T:
        """Run the function on a side stream, which recording needs.

        It is always the stream that is recorded: autograd remembers the stream on which a
        weight's gradient was first accumulated, and each stream has its own memory pool.
        """
        if self._stream is None:
            self._stream = torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            result = self._function(batch)
        torch.cuda.current_stream().wait_stream(self._stream)
        return result


class GraphedSteps:
    """A `Stepper` whose steps are replayed; called like one.

    Steps on batches of another shape than the first run without a graph. Random numbers of
    perturbed starts change from replay to replay, but differ from those of steps without a graph.

    Args:
        stepper: on a CUDA device. Only batches and the learning rate may change between steps.
    """

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._step = Recorded(stepper.step)

    def __call__(self, batch: Batch, lr: float) -> StepOutcome:
        """Take a step."""
        if not self._step.fits(batch):
            return self._stepper(batch, lr)
        self._stepper.set_rate(lr)
        loss, norm, skipped, pose = self._step(batch)
        copied = Pose(*(part.clone() for part in pose))
        return StepOutcome(loss.clone(), norm.clone(), skipped.clone(), copied)


class GraphedForward:
    """The network's forward pass on validation pairs, replayed; the model must be in eval mode."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._forward = Recorded(stepper.forward)

    def __call__(self, batch: Batch) -> Registration:
        """Register a batch; returns the parts of the result that validation uses."""
        if not self._forward.fits(batch):
            return self._stepper.forward(batch)
        found = self._forward(batch)
        used = Registration(found.pose, matches=found.matches, weights=found.weights)
        return used.apply(lambda values: values.clone())
