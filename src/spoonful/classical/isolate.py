"""Calls into compiled libraries, made in a process of their own.

A library in C++ that meets a cloud it did not expect may abort, or never come back, and would take
the whole program along. Here it takes a helper process along: the call ends with the status
"crashed" or "time-limit", and the next one finds a new helper. The helper is a plain interpreter
that imports what it is asked to and nothing of the caller's script, stays for as long as the caller
does, and keeps what libraries print apart from what they answer.

>>> call("math:sqrt", 2.25).value
1.5
>>> call("math:log", 0)
Outcome(status='failed', value=None, message='ValueError: ...')
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from spoonful.classical.contract import FAILED, OK, TIME_LIMIT

CRASHED: Final = "crashed"
"""The process that ran a library died; the pose is where the method started."""

_SERVE = Path(__file__).parent / "native" / "serve.py"
# How long a helper may take to start and to import a library, in seconds. It is not part of a
# call's time: a cold disk or a busy machine is no fault of a pair's.
_START_SECONDS = 300.0


class Outcome(NamedTuple):
    """What became of a call.

    Attributes:
        status: "ok", "failed" (it raised an error), "crashed" or "time-limit".
        value: what it returned; None unless "ok".
        message: what went wrong, in words.
    """

    status: str
    value: Any = None
    message: str = ""


def call(function: str, *args: Any, seconds: float = 60.0, **options: Any) -> Outcome:
    """Call a function in the helper process of this one.

    Args:
        function: where it is, "package.module:name" or "path/of/a/file.py:name". It is imported in
            the helper, and not here.
        args: picklable, as `options` and what the function returns must be.
        seconds: how long the call may take.
        options: passed by name.

    Raises:
        ModuleNotFoundError: the function's module, or one that it imports, is not there.
        ImportError: it is there and does not load.

    >>> call("time:sleep", 60, seconds=0.2)
    Outcome(status='time-limit', value=None, message='no answer within 0.2 s')
    """
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    return _helper().call(function, args, options, seconds)


def prepare(function: str) -> None:
    """Import a function in the helper, without calling it; raises as `call` does."""
    _helper().prepare(function)


class Helper:
    """A process that makes calls, one at a time; started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[tuple[str, Any] | None] = queue.SimpleQueue()
        self._imported: set[str] = set()

    def call(
        self, function: str, args: tuple[Any, ...], options: dict[str, Any], seconds: float
    ) -> Outcome:
        """See `call`."""
        with self._lock:
            self._prepare(function)
            return self._ask(("call", function, args, options), seconds)

    def prepare(self, function: str) -> None:
        """See `prepare`."""
        with self._lock:
            self._prepare(function)

    def _prepare(self, function: str) -> None:
        if self._process is None:
            self._start()
        if function not in self._imported:
            found = self._ask(("import", function, (), {}), _START_SECONDS)
            if found.status != OK:
                raise ImportError(found.message)
            self._imported.add(function)

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        self._imported.clear()
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # Closing would flush what the process did not live to read.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _ask(self, request: tuple[Any, ...], seconds: float) -> Outcome:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            pickle.dump(request, self._process.stdin, protocol=5)
            self._process.stdin.flush()
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            return Outcome(TIME_LIMIT, message=f"no answer within {seconds:g} s")
        except BrokenPipeError:
            answer = None
        except BaseException:  # an interrupt: the answer would be taken for the next call's
            self.stop()
            raise
        if answer is None:
            code = self._process.wait()
            self.stop()
            return Outcome(CRASHED, message=_how(code))
        kind, value = answer
        if kind == "missing":
            raise ModuleNotFoundError(f"No module named {value!r}", name=value)
        return Outcome(OK, value) if kind == "value" else Outcome(FAILED, message=value)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_SERVE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answers = queue.SimpleQueue()
        # A thread, because pipes cannot be waited for with a time limit on every system.
        threading.Thread(
            target=_collect, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        self._ask(("path", "", tuple(sys.path), {}), _START_SECONDS)


def _collect(pipe: IO[bytes], answers: queue.SimpleQueue[tuple[str, Any] | None]) -> None:
    """Pass on a process's answers; None once there will be no more."""
    with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
        while True:
            answers.put(pickle.load(pipe))
    answers.put(None)


def _how(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    return f"its process ended by {name}"


_helpers: dict[int, Helper] = {}


def _helper() -> Helper:
    """The helper of this process: a fork must not talk through its parent's pipes."""
    pid = os.getpid()
    if pid not in _helpers:
        _helpers.clear()
        _helpers[pid] = Helper()
        atexit.register(_helpers[pid].stop)
    return _helpers[pid]
