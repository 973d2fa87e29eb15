"""A batch in a process that a test can kill: `python -m pipeline.run_batch LOG OUT COUNT`."""

from __future__ import annotations

import sys

from pipeline.standins import quick
from spoonful.pipeline.batches import register_pairs
from spoonful.pipeline.runner import Request

if __name__ == "__main__":
    folder, out, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    pairs = [Request(f"{folder}/a.ply", f"{folder}/b.ply", id=f"slow-{i}") for i in range(count)]
    register_pairs(pairs, out, workers=2, task=quick)
