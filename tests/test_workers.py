"""Both kinds of workers: a crash or a hang costs one call, and no more."""

from __future__ import annotations

import os
import sys

import pytest

from spoonful.workers import PlainWorker, TimeLimit, WarmWorker, Worker, WorkerDied

FUNCTIONS = """
import os, sys, time

def do(what, value=None):
    if what == "abort":
        os.abort()
    if what == "sleep":
        time.sleep(60)
    if what == "divide":
        return 1 / value
    if what == "read":
        return sys.stdin.read()
    if what == "modules":
        return sorted(sys.modules)
    return what, value, os.getpid()
"""


@pytest.fixture(params=[pytest.param("warm", marks=pytest.mark.slow), "plain"])
def worker(request, tmp_path, monkeypatch):
    (tmp_path / "functions_of_a_worker.py").write_text(FUNCTIONS)
    if request.param == "plain":
        made: Worker = PlainWorker(tmp_path / "functions_of_a_worker.py", "do")
    else:
        monkeypatch.syspath_prepend(tmp_path)
        import functions_of_a_worker

        made = WarmWorker(functions_of_a_worker.do)
    with made:
        yield made


def test_a_crash_and_a_hang_cost_one_call_each(worker):
    *echo, first = worker("echo", 1)
    assert echo == ["echo", 1]
    assert worker("echo")[2] == first != os.getpid()
    with pytest.raises(WorkerDied, match=r"^its process ended by SIGABRT$"):
        worker("abort")
    second = worker("echo")[2]
    with pytest.raises(TimeLimit, match=r"^stopped after 0\.2 s$"):
        worker("sleep", timeout=0.2)
    assert worker("echo")[2] not in (first, second)


def test_a_killed_worker_takes_no_call(worker):
    worker("echo")
    worker.kill()
    with pytest.raises(WorkerDied):
        worker("echo")
    with pytest.raises(WorkerDied, match=r"^its process was stopped$"):
        worker("echo")


def test_an_error_in_the_function_or_on_the_way_there_leaves_it_usable(worker):
    with pytest.raises(RuntimeError, match="division by zero"):
        worker("divide", 0)
    with pytest.raises((TypeError, AttributeError), match=r"pickle|local object"):
        worker("echo", lambda: None)
    assert worker("divide", 2) == 0.5


def test_a_plain_worker_has_nothing_of_the_callers(tmp_path):
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    with PlainWorker(file, "do") as worker:
        modules = worker("modules")
        assert worker("read") == ""
    assert not {"torch", "numpy", "spoonful", "pytest"} & set(modules)


@pytest.mark.slow  # the fork server imports torch
@pytest.mark.parametrize("script", ["<stdin>", "raise SystemExit(1)"])
def test_a_worker_does_not_import_the_callers_script(script, tmp_path, monkeypatch):
    path = tmp_path / "script.py"
    path.write_text(script)
    main = sys.modules["__main__"]
    name = script if script == "<stdin>" else str(path)
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.setattr(main, "__file__", name, raising=False)  # not there with `python -c`
    with WarmWorker(divmod) as worker:
        assert worker(7, 2) == (3, 1)
    assert main.__file__ == name
