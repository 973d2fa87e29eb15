"""Jobs for the server's tests: quick, or as bad as jobs can be, by the source's name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from pipeline.standins import aligned
from spoonful.pipeline.shapes import read_shape
from spoonful.serve.jobs import Job, write_all


def job(asked: Job) -> dict[str, Any]:
    if asked.names[0].startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if asked.names[0].startswith("hang"):
        time.sleep(60)
    source = read_shape(Path(asked.source))
    found = aligned(source, asked.target, method=asked.method, voxel=asked.voxel)
    return write_all(asked, source, found) | {"folder": os.path.dirname(asked.source)}
