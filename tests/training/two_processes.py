"""Two processes that train one model: `python THIS_FILE PORT FOLDER MODEL`."""

from __future__ import annotations

import os
import sys

import torch

from scripts import fork_two
from spoonful.training import train
from training.small import blobs, small

NETS = {
    "dcp": ("dcp.embedding=dgcnn", "budget.steps=5"),
    "rpmnet": ("model=rpmnet", "rpmnet.feat_dim=8", "rpmnet.neighbors=4", "budget.steps=5"),
}


def main(port: str, folder: str, net: str, rank: int) -> None:
    """What torchrun would start, in its environment."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    train(small(*NETS[net]), corpus=blobs(), out=folder, quiet=True)


if __name__ == "__main__":
    import torch._dynamo  # torch.optim imports it in its first step; once for both processes

    fork_two(lambda rank: main(*sys.argv[1:4], rank))
