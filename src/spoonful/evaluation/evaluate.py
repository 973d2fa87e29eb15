"""Run a method over the test items of a protocol, alone or as one of many processes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from spoonful.batch import Batch
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.evaluation.methods import Method, Run
from spoonful.evaluation.provenance import fingerprint, machine, versions
from spoonful.evaluation.result import Data, Result, Timing
from spoonful.metrics import PoseErrors
from spoonful.models.contract import evaluating
from spoonful.registration import Registration

# Pairs that are registered once more, one at a time, to know how long a single pair takes.
_SINGLES = 3
_GOLDEN = (math.sqrt(5) - 1) / 2


def evaluate(
    method: Method,
    protocol: Protocol,
    data: Corpus | Sequence[Any],
    *,
    batch_size: int = 16,
    device: torch.device | str = "cpu",
    limit: int | None = None,
    seconds: float | None = None,
    chamfer: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Register every test item of a protocol, and measure all errors.

    In a process group of `torch.distributed` each process takes every so-many-th item and all of
    them return the same result, of every item once.

    Args:
        method: what to measure.
        protocol: its card says how the items are made.
        data: the test corpus (the card selects the categories), or a list of scan pairs.
        batch_size: pairs at a time.
        device: where the method runs.
        limit: the number of items, the first ones; None for all of them.
        seconds: only as many batches as fit into this time, and one at least. Items come in a fixed
            order that mixes all categories, so that the first items are not all of one category.
        chamfer: whether to measure Chamfer distances, the one costly error.
        progress: called with the number of items done and of all items, of this process.

    Returns:
        The `Result`.

    >>> from spoonful.data import protocols, synthetic
    >>> from spoonful.evaluation import methods
    >>> corpus = synthetic.load("test", per_category=1, points=1024)
    >>> result = evaluate(methods.get("truth"), protocols.get("dcp-clean"), corpus, limit=4)
    >>> len(result), result["rotation_degrees"].summary.max
    (4, 0.0)
    """
    from spoonful.data.items import test_items  # needs numpy, which reading results does not

    if not isinstance(method, Method):
        raise TypeError(
            f"method must be a Method, got {type(method).__name__}; methods.get(name) and "
            "methods.of_model(name, model) return one"
        )
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    device = torch.device(device)
    items = test_items(protocol, data)
    count = len(items) if limit is None else min(limit, len(items))
    rank, processes = rank_and_size()
    share = _order(count, mixed=seconds is not None)[rank::processes]
    began = time.perf_counter()

    def room_for(more: int, done: int) -> bool:
        """True if `more` items fit into the time, at the pace of the first `done`."""
        if seconds is None or not done:
            return True
        return (time.perf_counter() - began) * (1 + more / done) <= seconds

    errors = PoseErrors(chamfer=chamfer)
    taken = 0.0
    singles: list[float] = []
    with torch.no_grad(), _ready(method.run, device):
        for first in range(0, len(share), batch_size):
            if not room_for(batch_size, done=first):
                break
            numbers = share[first : first + batch_size]
            batch = collate([items[number] for number in numbers]).to(device)
            if first == 0:  # the first call compiles, allocates, opens libraries
                # On an accelerator kernels are chosen for the batch's size, so it has to be whole.
                whole = device.type != "cpu"
                _run(method, batch if whole else items[numbers[0]].to(device))
            output, spent = _run(method, batch)
            errors.update(output, batch)
            taken += spent
            if progress is not None:
                progress(first + len(numbers), len(share))
        for number in share[: _SINGLES if room_for(_SINGLES, done=len(errors)) else 0]:
            singles.append(_run(method, items[number].to(device))[1])

    errors, times = errors.reduce(), _gathered((taken, singles))
    labels = None
    categories: tuple[str, ...] = ()
    if isinstance(data, Corpus):
        labels = protocol.select(data, "test").labels.cpu()[errors.index]
        categories = data.categories
    all_singles = [single for _, some in times for single in some]
    return Result(
        method=method.name,
        settings=method.settings,
        protocol=protocol.name,
        protocol_hash=protocol.hash,
        data=Data(name_of(data), fingerprint(data), len(items)),
        index=errors.index,
        errors={name: errors.values(name) for name in errors.names},
        labels=labels,
        categories=categories,
        failures=errors.compute().nonfinite,
        weights=method.weights,
        seed=method.seed,
        training=method.training,
        timing=Timing(
            batch_size=batch_size,
            processes=processes,
            pairs=len(errors),
            seconds=sum(each for each, _ in times),
            single=median(all_singles) if all_singles else math.nan,
        ),
        versions=versions(),
        machine=machine(device),
    )


def _order(count: int, *, mixed: bool) -> list[int]:
    """The items' numbers, in the order they are registered in; mixed, any first few are spread.

    >>> _order(6, mixed=True)
    [0, 5, 2, 4, 1, 3]
    """
    # By the golden ratio: those whose multiples' fractions are below a bound lie evenly apart.
    return (
        sorted(range(count), key=lambda number: number * _GOLDEN % 1) if mixed else [*range(count)]
    )


def _run(method: Method, batch: Batch) -> tuple[Registration, float]:
    """The method's result, and the seconds it took."""
    device = batch.source.device

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    began = now()
    output = method.run(batch)
    taken = now() - began
    if not isinstance(output, Registration):
        raise TypeError(
            f"method {method.name} must return a Registration, got a {type(output).__name__}"
        )
    return output, taken


@contextmanager
def _ready(run: Run, device: torch.device) -> Iterator[None]:
    """A model on the device and in eval mode; afterwards every part is in the mode it was in."""
    if not isinstance(run, nn.Module):
        yield
        return
    with evaluating(run.to(device)):
        yield


def rank_and_size() -> tuple[int, int]:
    """This process' number, and how many there are."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _gathered(value: Any) -> list[Any]:
    """The values of all processes."""
    _, processes = rank_and_size()
    if processes == 1:
        return [value]
    values = [None] * processes
    dist.all_gather_object(values, value)
    return values


def name_of(data: Corpus | Sequence[Any]) -> str:
    """The name of data in results, as "synthetic/test"."""
    if isinstance(data, Corpus):
        return data.name
    return str(getattr(data, "name", "scans"))
