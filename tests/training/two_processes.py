"""One of two processes that train one model: `torchrun`'s environment, then `FOLDER MODEL`."""

from __future__ import annotations

import sys

import torch

from spoonful.training import train
from training.small import blobs, small

NETS = {
    "dcp": ("dcp.embedding=dgcnn", "budget.steps=5"),
    "rpmnet": ("model=rpmnet", "rpmnet.feat_dim=8", "rpmnet.neighbors=4", "budget.steps=5"),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    train(small(*NETS[sys.argv[2]]), corpus=blobs(), out=sys.argv[1], quiet=True)
