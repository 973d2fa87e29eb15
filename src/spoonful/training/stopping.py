"""Ctrl-C and a cluster's notice to leave: finish the step, write a checkpoint, stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """Whether a signal has asked the run to stop."""

    asked: bool = False


_heard: list[Stop] = []


@contextmanager
def on_signals() -> Iterator[Stop]:
    """Turn the first SIGINT or SIGTERM into a wish, and leave the second as it was.

    Inside another one the wish is shared, so that who runs many trainings hears what stopped one.
    Outside the main thread, where Python handles no signals, nothing changes.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    if _heard:
        yield _heard[-1]
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    for number in before:
        signal.signal(number, ask)
    _heard.append(stop)
    try:
        yield stop
    finally:
        _heard.remove(stop)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
