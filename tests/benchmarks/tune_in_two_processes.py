"""Two processes that share a search: `python THIS_FILE OUT`."""

import sys
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist

from evaluation.small import shapes
from scripts import fork_two, load_benchmark
from spoonful.data import protocols

tune = load_benchmark("tune").tune


def main(out: str, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    card = replace(protocols.get("dcp-unseen"), points=96)
    found = tune("icp", card, shapes(128, 24, "toy/train"), trials=4, items=9)
    Path(out, f"{rank}.json").write_text(found.tuned.as_json())
    dist.destroy_process_group()


if __name__ == "__main__":
    fork_two(lambda rank: main(sys.argv[1], rank))
