"""What stands in for registration in tests of what is around it: quick, and countable."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from spoonful.pipeline.batches import Pair, Settings

IDENTITY = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]


def quick(pair: Pair, settings: Settings) -> dict[str, Any]:
    """Note who did which pair, in the folder of the source; then do what the pair's id says."""
    # A file of its own for each process: no line is torn by another's.
    with open(Path(pair.source).parent / f"{os.getpid()}.log", "a") as log:
        log.write(f"{pair.id} {os.getpid()} {os.getppid()}\n")
    if pair.id.startswith("wrong"):
        raise ValueError("this pair is wrong")
    if pair.id.startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if pair.id.startswith("hang"):
        time.sleep(60)
    if pair.id.startswith("slow"):
        time.sleep(0.02)
    threads = [os.environ.get("OMP_NUM_THREADS", "")]
    return {
        "status": "confident",
        "method": "quick",
        "seconds": 0.0,
        "confidence": 0.9,
        "T_target_source": IDENTITY,
        "warnings": threads,
    }


def log(folder: Path) -> list[tuple[str, int, int]]:
    """What was done: the pair's id, the process that did it and its parent."""
    lines = [line.split() for path in folder.glob("*.log") for line in path.read_text().split("\n")]
    return [(line[0], int(line[1]), int(line[2])) for line in lines if len(line) == 3]
