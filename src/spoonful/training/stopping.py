"""SIGINT (Ctrl-C) and SIGTERM: finish the step, write a checkpoint, stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """A request to stop.

    Attributes:
        asked: whether a signal has arrived.
    """

    asked: bool = False


_active: list[Stop] = []


@contextmanager
def on_signals() -> Iterator[Stop]:
    """Record the first SIGINT or SIGTERM in a `Stop`; a second one has its usual effect.

    Nested uses share one `Stop`, so that a loop over many trainings stops with the training that
    a signal stopped. Outside the main thread, where Python handles no signals, nothing changes.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    if _active:
        yield _active[-1]
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    for number in before:
        signal.signal(number, ask)
    _active.append(stop)
    try:
        yield stop
    finally:
        _active.remove(stop)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
