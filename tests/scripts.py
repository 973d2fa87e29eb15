"""Load a benchmark as a module, and run a script of the tests in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from spoonful.locking import locked

TESTS = Path(__file__).parent


def load_benchmark(name: str) -> ModuleType:
    """Import benchmarks/NAME.py, and restore `sys.path`, which it changes.

    Otherwise benchmarks/training.py would hide the folder tests/training from later tests.
    """
    spec = importlib.util.spec_from_file_location(
        f"benchmark_{name}", TESTS.parent / "benchmarks" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.modules[spec.name] = module  # where dataclasses look for their module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def paths() -> str:
    """PYTHONPATH for a script that imports from this folder."""
    return os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))


def run_script(path: Path, *arguments: object) -> str:
    """Run a script of the tests in a process of its own; returns what it prints."""
    done = subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fork(run: Callable[[], object]) -> int:
    """Start `run` in a fork of this process, and return the process id.

    Importing torch takes seconds; a fork has done it. A fork that computes gradients must start
    before any in this process: torch built for CUDA refuses them afterwards.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return child


@contextmanager
def holding(folder: Path) -> Iterator[int]:
    """Hold the lock of a folder in another process, which is killed at the end; gives its id."""
    read, write = os.pipe()

    def hold() -> None:
        with locked(folder):
            os.write(write, b"held")
            time.sleep(300)

    process = fork(hold)
    os.close(write)
    try:
        assert os.read(read, 4) == b"held"
        yield process
    finally:
        os.close(read)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def fork_two(run: Callable[[int], None], *, seconds: int = 300) -> None:
    """Run `run(0)` and `run(1)` in two forks; exit with 1 if one of them fails."""

    def one(rank: int) -> Callable[[], None]:
        def begin() -> None:
            signal.alarm(seconds)  # ends a process whose partner has died
            run(rank)

        return begin

    children = [fork(one(rank)) for rank in range(2)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if codes != [0, 0]:
        sys.exit(1)
