"""Functions in separate processes, so that a crash or a hang does not reach the caller.

A `Worker` is one process that runs one function, call after call. If it crashes or hangs, the call
raises `WorkerDied` or `TimeLimit`, and the next call starts a new process.

- A `WarmWorker` is for our own code. It starts in milliseconds, as the fork of a process that has
  imported everything, and uses one thread, since several of them share the machine.
- A `PlainWorker` is for third-party libraries. It imports only what the function imports: not the
  caller's script and not torch, which conflicts with some libraries.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

STOPPED = 130  # exit code after Ctrl-C or another signal

# The environment variables that set the number of threads of numerical libraries.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

# All threads share the environment, so only one changes it at a time.
_STARTING = threading.Lock()


class WorkerDied(RuntimeError):
    """The process ended during a call; the message says how."""


class TimeLimit(RuntimeError):
    """A call exceeded its time limit and was stopped."""


class Worker(ABC):
    """A process that runs one function; it is started by the first call."""

    def __init__(self) -> None:
        self._process: BaseProcess | _Interpreter | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._ready = False
        self._ended = False

    @abstractmethod
    def _launch(self, theirs: Connection[Any, Any]) -> BaseProcess | _Interpreter:
        """Make a process that runs `_serve` at the other end of `self._pipe`."""

    def __call__(self, *arguments: Any, timeout: float | None = None) -> Any:
        """The function's value; its exceptions are raised here.

        Raises:
            WorkerDied: the process ended, by a crash in compiled code or for lack of memory.
            TimeLimit: there is no answer after `timeout` seconds; the process is killed.
        """
        try:
            pipe = self.begin(*arguments)
            if timeout is not None and not pipe.poll(timeout):
                raise TimeLimit(f"stopped after {timeout:g} s")
        except BaseException:
            # Also after Ctrl-C: the pipe may hold half a request, or the answer to an old one.
            self.stop()
            raise
        return self.finish()

    def begin(self, *arguments: Any) -> Connection[Any, Any]:
        """Start a call; the connection that is returned is readable when the answer is there.

        Waits for a process that is still starting, so that its imports do not count as part of
        the call.
        """
        if not self.running:
            self.stop()
            self.start()
        if self._ended:
            raise WorkerDied("its process was stopped")
        assert self._pipe is not None
        if not self._ready:
            self._receive()
            self._ready = True
        # `finish` detects a process that has just died.
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send(arguments)
        return self._pipe

    def finish(self) -> Any:
        """Wait for the value of the call that `begin` started."""
        fine, answer = self._receive()
        if not fine:
            raise answer
        return answer

    def _receive(self) -> Any:
        assert self._pipe is not None
        assert self._process is not None
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            raise WorkerDied(f"its process ended {_how(code)}") from None
        except BaseException:
            self.stop()
            raise

    @property
    def running(self) -> bool:
        """True if the process runs, so that the next call need not start one."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start the process now, so that the first call need not wait for its imports."""
        if self._process is not None:
            return
        self._pipe, theirs = multiprocessing.Pipe()
        with _STARTING, theirs, _without_interrupts():
            self._process = self._launch(theirs)

    def kill(self) -> None:
        """Kill the process for good. A call, also one of another thread, raises `WorkerDied`."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Kill the process, from the thread that uses the worker."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
            # It is still open if the fork server does not tell its end; the kill is certain.
            with contextlib.suppress(ValueError):
                self._process.close()
        self._process = self._pipe = None
        self._ready = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class WarmWorker(Worker):
    """A worker for a function of this process's own.

    Args:
        function: at the top level of a module, so that the process can import it. What it is
            given and returns must be picklable. The process imports the caller's script only if
            the function is defined there.
        preload: modules to import once for all processes, before the first is started. Modules
            that are not installed are skipped.

    >>> with WarmWorker(divmod) as worker:
    ...     worker(7, 2)
    (3, 1)
    """

    def __init__(self, function: Callable[..., Any], *, preload: Sequence[str] = ()) -> None:
        super().__init__()
        self._function = function
        self._preload = preload

    def _launch(self, theirs: Connection[Any, Any]) -> BaseProcess | _Interpreter:
        # The process could not import a script from standard input, and would run one that has no
        # `if __name__ == "__main__":` again. `multiprocessing` reads these two names of a script.
        own = self._function.__module__ == "__main__"
        hidden = {} if own else {"__file__": None, "__spec__": None}
        script = vars(sys.modules["__main__"])
        with _replaced(os.environ, dict.fromkeys(_THREADS, "1")), _replaced(script, hidden):
            context = _context(self._preload)
            made = context.Process(target=_serve, args=(theirs, self._function), daemon=True)
            made.start()
        return made


class PlainWorker(Worker):
    """A worker that is a new interpreter, which runs one file.

    It has this process's module path. Its output goes to standard error, and its standard input
    is empty.

    Args:
        file: the file that defines the function.
        name: the function's name.
        python: the command of another interpreter, Python 3.11 or later, which keeps its own module
            path and need not have Spoonful. Empty for this process's interpreter.
    """

    def __init__(self, file: Path, name: str, *, python: Sequence[str] = ()) -> None:
        super().__init__()
        self._command = [*(python or [sys.executable]), "-P", __file__, str(file), name]
        self._own_path = bool(python)

    def _launch(self, theirs: Connection[Any, Any]) -> _Interpreter:
        assert self._pipe is not None
        made = _Interpreter(self._command, stdin=_descriptor(theirs), stdout=2)
        # The first call detects a process that has just died.
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send(None if self._own_path else sys.path)
        return made


class _Interpreter(subprocess.Popen[bytes]):
    """A subprocess with the methods of a `multiprocessing` process."""

    def is_alive(self) -> bool:
        return self.poll() is None

    def join(self, timeout: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(timeout)

    @property
    def exitcode(self) -> int | None:
        return self.poll()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C.

    A terminal sends it to every process; only the parent decides when its workers stop.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's own helper process, which would be started here and would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _replaced(mapping: MutableMapping[str, Any], values: Mapping[str, Any]) -> Iterator[None]:
    """Set values of a mapping within the block."""
    before = {name: mapping[name] for name in values if name in mapping}
    mapping.update(values)
    try:
        yield
    finally:
        for name in values:
            del mapping[name]
        mapping.update(before)


def _context(preload: Sequence[str]) -> Any:
    """The `multiprocessing` context for our own code.

    A fork of this process may hang in the thread pools of its libraries. A fork server has
    imported everything and computed nothing: a fork of it takes milliseconds and shares memory.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *preload])
    return context


def _serve(pipe: Connection[Any, Any], function: Callable[..., Any]) -> None:
    """The main loop of a worker: answer until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # if the system has no signal masks
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    # The other end may be closed at any time.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send("ready")
        while True:
            arguments = pipe.recv()
            try:
                answer = (True, function(*arguments))
            except Exception as error:
                answer = (False, _portable(error))
            pipe.send(answer)


def _portable(error: Exception) -> Exception:
    """A builtin error with the same message: many other errors cannot be unpickled."""
    kinds = (MemoryError, ImportError, OSError, TypeError, ValueError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), RuntimeError)
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    return kind(" ".join(text.split()) or type(error).__name__)


def _how(code: int | None) -> str:
    if code is None:
        return "without an exit code"
    if code < 0:
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"
    return f"with exit code {code}"


def _main(file: str, name: str) -> None:
    """The main function of a `PlainWorker`: this module as a script, without the package."""
    pipe = _connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # an empty standard input for libraries
    path = pipe.recv()
    if path is not None:
        sys.path[:] = path
    _serve(pipe, runpy.run_path(file)[name])


def _descriptor(pipe: Connection[Any, Any]) -> int:
    """The file descriptor of a pipe, for another process's standard input."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.open_osfhandle(pipe.fileno(), os.O_RDWR)
    return pipe.fileno()


def _connection(descriptor: int) -> Connection[Any, Any]:
    """The inverse of `_descriptor`."""
    if sys.platform == "win32":
        import msvcrt
        from multiprocessing.connection import PipeConnection

        return PipeConnection(msvcrt.get_osfhandle(descriptor))
    return Connection(descriptor)


if __name__ == "__main__":
    _main(*sys.argv[1:])
