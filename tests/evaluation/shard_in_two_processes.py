"""One of two processes that share an evaluation: `python THIS_FILE RENDEZVOUS RANK OUT`."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[1]))
from evaluation.small import shapes
from spoonful.data import protocols
from spoonful.evaluation import evaluate, methods


def main(rendezvous: str, rank: int, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    # 7 items: the processes have 4 and 3; then 1 item: one process has none.
    for limit in (7, 1):
        result = evaluate(
            methods.get("true-matches"),
            protocols.get("dcp-noise"),
            shapes(),
            batch_size=2,
            limit=limit,
        )
        result.save(f"{out}/{limit}-{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
