"""Functions in processes of their own, so that a crash or a hang stays there.

A `Worker` is one process that runs one function, call after call. It may crash or hang: the call
then ends with `WorkerDied` or `TimeLimit`, and the next call finds a new process.

- A `WarmWorker` is for our own code. It is there in milliseconds, as the fork of a process that has
  imported all there is, and uses one thread, since several of them share the machine.
- A `PlainWorker` is for other people's libraries. It imports what it is asked to and nothing of the
  caller's: neither the script nor torch, with which not every library gets on.
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
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

# What the libraries that compute ask how many threads they may use.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

# The environment belongs to all threads: one at a time changes it.
_STARTING = threading.Lock()


class WorkerDied(RuntimeError):
    """The process ended amid a call; the message says how."""


class TimeLimit(RuntimeError):
    """A call took longer than it may, and was stopped."""


class Worker(ABC):
    """A process that runs one function, made when it is first needed."""

    def __init__(self) -> None:
        self._process: BaseProcess | _Interpreter | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._ready = False

    @abstractmethod
    def _launch(self, theirs: Connection[Any, Any]) -> BaseProcess | _Interpreter:
        """Make a process that runs `_serve` at the other end of `self._pipe`."""

    def __call__(self, *arguments: Any, timeout: float | None = None) -> Any:
        """The function's value. What it raises is raised here.

        Raises:
            WorkerDied: the process ended, as by a crash in compiled code or for want of memory.
            TimeLimit: there is no answer after `timeout` seconds; the process is gone.
        """
        try:
            pipe = self.begin(*arguments)
            if timeout is not None and not pipe.poll(timeout):
                raise TimeLimit(f"stopped after {timeout:g} s")
        except BaseException:
            # Also after Ctrl-C: the pipe would hold half a question, or the answer to an old one.
            self.stop()
            raise
        return self.finish()

    def begin(self, *arguments: Any) -> Connection[Any, Any]:
        """Start a call; what is returned has something to read when `finish` need not wait.

        Waits for a process that is still being made, so that its imports do not count as part of
        the call.
        """
        if not self.running:
            self.stop()
            self.start()
        assert self._pipe is not None
        if not self._ready:
            self._receive()
            self._ready = True
        # A process that died just now is found out by `finish`.
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
        """Whether there is a process, so that the next call need not make one."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Make the process now, so that the first call need not wait for its imports."""
        if self._process is not None:
            return
        self._pipe, theirs = multiprocessing.Pipe()
        with _STARTING, theirs, _deaf():
            self._process = self._launch(theirs)

    def kill(self) -> None:
        """End the process amid a call of another thread's, which then raises `WorkerDied`."""
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """End the process, whatever it is doing, from the thread that calls it."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
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
            given and returns must be picklable.
        preload: modules to import once for all the processes that are made, before the first of
            them. What is not installed is left out without a word.

    >>> with WarmWorker(divmod) as worker:
    ...     worker(7, 2)
    (3, 1)
    """

    def __init__(self, function: Callable[..., Any], *, preload: Sequence[str] = ()) -> None:
        super().__init__()
        self._function = function
        self._preload = preload

    def _launch(self, theirs: Connection[Any, Any]) -> BaseProcess | _Interpreter:
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            context = _context(self._preload)
            made = context.Process(target=_serve, args=(theirs, self._function), daemon=True)
            made.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        return made


class PlainWorker(Worker):
    """A worker that is an interpreter of its own, and starts with nothing but one file.

    It finds modules where this process does. What its libraries print goes to standard error, and
    there is nothing for them to read.

    Args:
        file: where the function is.
        name: the function's.
        python: the command of another interpreter, which finds modules where it always does: one of
            Python 3.11 or later, that need not have Spoonful. Empty for this process's own.
    """

    def __init__(self, file: Path, name: str, *, python: Sequence[str] = ()) -> None:
        super().__init__()
        self._command = [*(python or [sys.executable]), "-P", __file__, str(file), name]
        self._own_path = bool(python)

    def _launch(self, theirs: Connection[Any, Any]) -> _Interpreter:
        assert self._pipe is not None
        made = _Interpreter(self._command, stdin=_descriptor(theirs), stdout=2)
        # A process that died just now is found out by the first call.
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send(None if self._own_path else sys.path)
        return made


class _Interpreter(subprocess.Popen[bytes]):
    """A process under the names that `multiprocessing` has for what can be done with one."""

    def is_alive(self) -> bool:
        return self.poll() is None

    def join(self, timeout: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(timeout)

    @property
    def exitcode(self) -> int | None:
        return self.poll()

    def close(self) -> None:
        """Nothing is held."""


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Have the processes that are made here never hear of Ctrl-C.

    A terminal sends it to every process; what becomes of these, the one that made them says.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's own helper, which would be made on the way and lets the signal in again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context(preload: Sequence[str]) -> Any:
    """How processes are made for our own code.

    Never as a fork of this one, which may hang in the thread pools that have computed here, but as
    forks of a process that has imported all there is and done nothing else: each takes
    milliseconds, and they share what was imported.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *preload])
    return context


def _serve(pipe: Connection[Any, Any], function: Callable[..., Any]) -> None:
    """The process's life: answer until the other end of the pipe is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be kept away
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    # The other end may be gone at any time.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send("ready")
        while True:
            arguments = pipe.recv()
            try:
                answer = (True, function(*arguments))
            except Exception as error:
                answer = (False, _plain(error))
            pipe.send(answer)


def _plain(error: Exception) -> Exception:
    """An error that survives the journey: many cannot be made again from their message."""
    kinds = (MemoryError, ImportError, OSError, TypeError, ValueError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), RuntimeError)
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    return kind(" ".join(text.split()) or type(error).__name__)


def _how(code: int | None) -> str:
    if code is None:
        return "without a word"
    if code < 0:
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"
    return f"with exit code {code}"


def _main(file: str, name: str) -> None:
    """A plain worker's life: this module is then a script, and all there is of Spoonful."""
    pipe = _connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nothing for libraries to read
    path = pipe.recv()
    if path is not None:
        sys.path[:] = path
    _serve(pipe, runpy.run_path(file)[name])


def _descriptor(pipe: Connection[Any, Any]) -> int:
    """A pipe as something that can be another process's standard input."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.open_osfhandle(pipe.fileno(), os.O_RDWR)
    return pipe.fileno()


def _connection(descriptor: int) -> Connection[Any, Any]:
    """The way back from `_descriptor`."""
    if sys.platform == "win32":
        import msvcrt
        from multiprocessing.connection import PipeConnection

        return PipeConnection(msvcrt.get_osfhandle(descriptor))
    return Connection(descriptor)


if __name__ == "__main__":
    _main(*sys.argv[1:])
