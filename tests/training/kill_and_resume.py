"""Kill training runs at random moments: `python THIS_FILE FOLDER KILLS SEED`.

One process imports torch and computes nothing; every run is a fork of it, so that dying and
starting again is cheap. Prints how often a run was killed and how many went through to the end.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # which torch.optim imports in its first step

from scripts import fork
from spoonful.training import train
from spoonful.training.checkpoint import RESULT, found
from training.small import blobs, small

CONFIG = small("budget.steps=12", "refine=perturbed", "optimizer.ema=0.9")


def start(folder: Path) -> int:
    return fork(lambda: train(CONFIG, corpus=blobs(), out=folder, quiet=True))


def main(folder: Path, kills: int, seed: int) -> None:
    torch.set_num_threads(1)
    dice = random.Random(seed)
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(start(folder / "whole"), 0)[1]) == 0
    duration = time.monotonic() - began
    done, runs = 0, 0
    while done < kills:
        child = start(folder / f"killed-{runs}")
        time.sleep(dice.uniform(0.2, 0.8) * duration)
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), f"a resumed run failed with {code}"
        done += code != 0
        if (folder / f"killed-{runs}" / RESULT).is_file():
            runs += 1
    if found(folder / f"killed-{runs}"):
        assert os.waitstatus_to_exitcode(os.waitpid(start(folder / f"killed-{runs}"), 0)[1]) == 0
        runs += 1
    print(done, runs)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
