"""Jobs for the server's tests: quick, or as bad as jobs can be, by the source's name."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from pipeline.standins import aligned
from spoonful.pipeline.report import record, write_report
from spoonful.serve.jobs import Job


def job(asked: Job) -> dict[str, Any]:
    if asked.names[0].startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if asked.names[0].startswith("hang"):
        time.sleep(60)
    found = aligned(asked.source, asked.target, method=asked.method, voxel=asked.voxel)
    write_report(asked.report, found, names=asked.names, unit=asked.unit)
    return record(found, asked.names, asked.unit) | {"folder": os.path.dirname(asked.source)}
