"""Jobs for the server's tests: quick, or as bad as jobs can be, by the source's name."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from pipeline.standins import aligned
from spoonful.pipeline import runner
from spoonful.pipeline.runner import Request
from spoonful.serve.jobs import run_limited


def job(asked: Request, memory: int) -> dict[str, Any]:
    if asked.shown[0].startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if asked.shown[0].startswith("hang"):
        time.sleep(60)
    if asked.shown[0].startswith("full"):
        raise OSError(28, "No space left on device", asked.report)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "register", aligned)
        return run_limited(asked, memory) | {"folder": os.path.dirname(asked.source)}
