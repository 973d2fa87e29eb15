"""What each of two processes does that share an evaluation."""

import torch
import torch.distributed as dist

from evaluation.small import shapes
from spoonful.data import protocols
from spoonful.evaluation import evaluate, methods


def main(out: str, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
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
