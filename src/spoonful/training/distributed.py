"""Several processes that train one model, as `torchrun` starts them.

Every process makes the whole global batch from the same random numbers and takes its slice, so a
run has the same pairs with one process and with many. Gradients are reduced as one flat vector:
these networks are small, and one message is faster than many.

Batch norms take their statistics over all processes, except those of the published MLP head. Each
process draws its own random turns for perturbed starts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from spoonful.batch import Batch
from spoonful.inputs import known_device


@dataclass(frozen=True)
class Group:
    """The processes of a run.

    Attributes:
        rank: this process' number.
        size: how many there are.
        own: whether `join` made the group, and `leave` is to end it.
    """

    rank: int = 0
    size: int = 1
    own: bool = False

    @property
    def first(self) -> bool:
        """True for the process that writes files and shows progress."""
        return self.rank == 0

    def slice(self, batch: Batch) -> Batch:
        """This process' part of a global batch."""
        if self.size == 1:
            return batch
        share = len(batch) // self.size
        return batch.part(slice(self.rank * share, (self.rank + 1) * share))

    def mean_(self, tensors: Sequence[Tensor]) -> None:
        """Replace the tensors by their means over all processes."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors]) / self.size
        dist.all_reduce(flat)
        for tensor, values in zip(
            tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True
        ):
            tensor.copy_(values.view_as(tensor))

    def agree(self, value: float) -> float:
        """The first process' value, on all of them."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def wait(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            dist.barrier()


def join(device: str = "auto") -> tuple[Group, torch.device]:
    """Join the processes that `torchrun` started, if any, and choose this one's device."""
    size = int(os.environ.get("WORLD_SIZE", 1))
    local = int(os.environ.get("LOCAL_RANK", 0))
    chosen = known_device(device, "runtime.device")
    if chosen == torch.device("cuda"):
        chosen = torch.device("cuda", local % torch.cuda.device_count())
        torch.cuda.set_device(chosen)
    own = size > 1 and not dist.is_initialized()
    if own:
        backend = "nccl" if chosen.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=timedelta(minutes=10))
    if not (dist.is_available() and dist.is_initialized()):
        return Group(), chosen
    return Group(dist.get_rank(), dist.get_world_size(), own), chosen


def leave(group: Group) -> None:
    """End the group, if `join` made it."""
    if group.own:
        dist.destroy_process_group()
