"""Two processes that share a batch norm, compiled and not: `python THIS_FILE RENDEZVOUS`."""

import sys

import torch
import torch.distributed as dist

from graphs import whole_graph
from scripts import fork_two
from spoonful.models.norms import batch_norm


def main(rendezvous: str, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    values = torch.randn(4, 8, 5, generator=torch.Generator().manual_seed(rank))
    norm = torch.nn.BatchNorm1d(5)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return batch_norm(x, norm).pow(3).sum()

    gradients = []
    for function in (loss, torch.compile(loss, backend=whole_graph)):
        x = values.clone().requires_grad_()
        function(x).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients)
    dist.destroy_process_group()


if __name__ == "__main__":
    fork_two(lambda rank: main(sys.argv[1], rank))
