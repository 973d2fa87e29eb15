"""Two processes that train each model: `python THIS_FILE FOLDER PORT PORT`."""

from __future__ import annotations

import os
import sys
from functools import partial

import torch

from scripts import fork_two
from spoonful.training import train
from training.small import blobs, small

NETS = {
    "dcp": ("dcp.embedding=dgcnn", "budget.steps=5"),
    "rpmnet": ("model=rpmnet", "rpmnet.feat_dim=8", "rpmnet.neighbors=4", "budget.steps=5"),
}


def main(folder: str, net: str, port: str, rank: int) -> None:
    """What torchrun would start, in its environment."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    train(small(*NETS[net]), corpus=blobs(), out=f"{folder}/{net}", quiet=True)


if __name__ == "__main__":
    import torch._dynamo  # torch.optim imports it in its first step; once for all processes

    for net, port in zip(NETS, sys.argv[2:], strict=True):
        fork_two(partial(main, sys.argv[1], net, port))
