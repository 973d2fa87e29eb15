"""Calls into compiled libraries, made in a process of their own.

A C++ library may abort or hang on an unexpected cloud. Here that ends only a helper process: the
call returns the status "crashed" or "time-limit", and the next call starts a new helper. The helper
is a plain interpreter. It imports the requested function and nothing of the caller's script, and it
ends with the caller. Output that a library prints goes to standard error.

>>> call("math:sqrt", 2.25).value
1.5
>>> call("math:log", 0)
Outcome(status='failed', value=None, message='ValueError: ...')
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from spoonful.classical.contract import FAILED, OK, TIME_LIMIT
from spoonful.workers import PlainWorker, TimeLimit, WorkerDied

CRASHED: Final = "crashed"
"""The process that ran a library died; the pose is where the method started."""

_SERVE = Path(__file__).parent / "native" / "serve.py"
# How long a helper may take to import a library, in seconds. It is not part of a call's time: a
# cold disk or a busy machine is not counted for a pair.
_IMPORT_SECONDS = 300.0


class Outcome(NamedTuple):
    """The outcome of a call.

    Attributes:
        status: "ok", "failed" (it raised an error), "crashed" or "time-limit".
        value: what it returned; None unless "ok".
        message: what went wrong, in words.
    """

    status: str
    value: Any = None
    message: str = ""


def call(
    function: str,
    *args: Any,
    seconds: float = 60.0,
    python: Sequence[str] = (),
    **options: Any,
) -> Outcome:
    """Call a function in the helper process of this one.

    Args:
        function: where it is, "package.module:name" or "path/of/a/file.py:name". It is imported in
            the helper, and not here.
        args: picklable, as `options` and what the function returns must be.
        seconds: how long the call may take.
        python: the command of the helper's interpreter; empty for that of this process.
        options: passed by name.

    Raises:
        OSError: `python` cannot be run.
        ModuleNotFoundError: the function's module, or one that it imports, is not there.
        ImportError: it is there and does not load.

    >>> call("time:sleep", 60, seconds=0.2)
    Outcome(status='time-limit', value=None, message='no answer within 0.2 s')
    """
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    helper = _helper(python)
    with helper.lock:
        helper.prepare(function)
        return helper.ask(seconds, function, args, options)


def prepare(function: str, *, python: Sequence[str] = ()) -> None:
    """Import a function in the helper, without calling it; raises as `call` does."""
    helper = _helper(python)
    with helper.lock:
        helper.prepare(function)


class Helper:
    """A process that makes calls, started by the first one. Hold its lock while using it."""

    def __init__(self, python: Sequence[str] = ()) -> None:
        self.lock = threading.Lock()
        self._worker = PlainWorker(_SERVE, "answer", python=python)
        self._imported: set[str] = set()

    def stop(self) -> None:
        """End the process, if there is one."""
        self._worker.stop()

    def prepare(self, function: str) -> None:
        """Import a function, unless the process has done so already."""
        if not self._worker.running:
            self._imported.clear()
        if function not in self._imported:
            found = self.ask(_IMPORT_SECONDS, function)
            if found.status != OK:
                raise ImportError(found.message)
            self._imported.add(function)

    def ask(self, seconds: float, *request: Any) -> Outcome:
        """The answer of the process to a request."""
        try:
            kind, value = self._worker(*request, timeout=seconds)
        except TimeLimit:
            return Outcome(TIME_LIMIT, message=f"no answer within {seconds:g} s")
        except WorkerDied as error:
            return Outcome(CRASHED, message=str(error))
        if kind == "missing":
            raise ModuleNotFoundError(f"No module named {value!r}", name=value)
        return Outcome(OK, value) if kind == "value" else Outcome(FAILED, message=value)


_helpers: dict[tuple[int, tuple[str, ...]], Helper] = {}


def _helper(python: Sequence[str] = ()) -> Helper:
    """The helper of this process: a fork must not talk through its parent's pipes."""
    key = os.getpid(), tuple(python)
    if key not in _helpers:
        for other in [other for other in _helpers if other[0] != key[0]]:
            del _helpers[other]
        _helpers[key] = Helper(python)
        atexit.register(_helpers[key].stop)
    return _helpers[key]
