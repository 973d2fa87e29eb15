"""A batch in a process that a test can kill: `python -m pipeline.run_batch LOG OUT COUNT`."""

from __future__ import annotations

import sys

from pipeline.standins import quick
from spoonful.pipeline.batches import Pair, register_pairs

if __name__ == "__main__":
    folder, out, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    pairs = [Pair(f"slow-{i}", f"{folder}/a.ply", f"{folder}/b.ply") for i in range(count)]
    register_pairs(pairs, out, workers=2, task=quick)
