"""Whatever a library does, the caller lives and gets an answer."""

from __future__ import annotations

import os
import sys

import pytest

from spoonful.classical import isolate
from spoonful.classical.isolate import call


def test_values_come_back():
    assert call("operator:add", 2, 3).value == 5
    assert call("builtins:dict", seconds=5.0, a=1).value == {"a": 1}


def test_the_helper_is_another_process_and_stays():
    first, second = call("os:getpid").value, call("os:getpid").value
    assert first == second != os.getpid()


def test_an_abort_is_a_status_and_the_next_call_works():
    found = call("os:abort")
    assert (found.status, found.value) == ("crashed", None)
    assert found.message == "its process ended by SIGABRT"
    assert call("operator:add", 2, 3).value == 5


def test_an_exit_is_a_status():
    assert call("os:_exit", 3).message == "its process ended with exit code 3"


def test_a_hang_ends_at_its_time_limit():
    call("operator:add", 0, 0)  # the start is not part of the time
    found = call("time:sleep", 600, seconds=0.3)
    assert found.status == "time-limit"
    assert call("operator:add", 2, 3).value == 5


def test_errors_are_told():
    found = call("operator:truediv", 1, 0)
    assert (found.status, found.message) == ("failed", "ZeroDivisionError: division by zero")


def test_what_libraries_print_is_not_taken_for_an_answer():
    assert call("builtins:print", "hello").status == "ok"
    assert call("os:system", "echo hello").value == 0
    assert call("operator:add", 2, 3).value == 5


def test_large_arguments_travel():
    blob = b"x" * 3_000_000
    assert call("builtins:len", blob).value == len(blob)


def test_what_cannot_be_imported_is_an_error(tmp_path):
    with pytest.raises(ModuleNotFoundError) as caught:
        call("no_such_module:f")
    assert caught.value.name == "no_such_module"
    broken = tmp_path / "broken.py"
    broken.write_text(
        "def load():\n    raise OSError('libusb-1.0.so.0: cannot open shared object file')"
    )
    with pytest.raises(ImportError, match=r"OSError: libusb-1\.0\.so\.0: cannot open"):
        call(f"{broken}:f")


def test_another_interpreter_has_a_helper_and_modules_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def f(): return 'found'")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    isolate._helper().stop()  # the next one has the new path
    other = (sys.executable, "-X", "utf8")
    assert call("only_here:f").value == "found"
    with pytest.raises(ModuleNotFoundError):
        call("only_here:f", python=other)
    assert call("os:getpid", python=other).value != call("os:getpid").value
    assert call("builtins:eval", "__import__('sys').flags.utf8_mode", python=other).value == 1
    isolate._helper(other).stop()


def test_an_interpreter_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError, match="no/such/python"):
        call("os:getpid", python=("no/such/python",))


def test_seconds_must_be_positive():
    with pytest.raises(ValueError, match="seconds must be positive, got 0"):
        call("os:getpid", seconds=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_has_a_helper_of_its_own():
    mine = call("os:getpid").value
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(isolate.call("os:getpid").value).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) != mine
    assert call("os:getpid").value == mine
