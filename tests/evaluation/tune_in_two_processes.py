"""One of two processes that share a search: `python THIS_FILE RENDEZVOUS RANK OUT`."""

import sys
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[1]))
from evaluation.small import shapes
from spoonful.data import protocols
from spoonful.evaluation.tuning import tune


def main(rendezvous: str, rank: int, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    card = replace(protocols.get("dcp-unseen"), points=96)
    found = tune("icp", card, shapes(128, 24, "toy/train"), trials=4, items=9)
    Path(out, f"{rank}.json").write_text(found.tuned.as_json())
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
