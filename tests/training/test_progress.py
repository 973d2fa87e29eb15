"""What a person sees while a model trains."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace

import pytest

from spoonful.training import progress, train, trainer
from spoonful.training.progress import Display
from training.small import blobs, small


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set, for this module alone.

    A server in another thread would sleep for hours if all of Python had it.
    """
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_without_a_terminal_lines_are_seldom_and_the_last_is_always_there(clock, capsys):
    display = Display("run")
    for done in range(1, 101):
        clock[0] = 0.25 * done
        display.step(done, 100, 0.5, 12.0, 0.25 * (100 - done))
    display.epoch(1, 100, 100, 0.5, 12.0, 0.0, {"rotation_degrees": 3.0, "translation": 0.1})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "run  step 41/100  0:15 left  loss 0.50000  12 pairs/s"
    assert "epoch 1  step 100/100  0:00 left  loss 0.50000  error 3.000° 0.1000" in lines[-1]


def test_quiet_is_silent(clock, capsys):
    with Display("run", quiet=True) as display:
        display.now("opening")
        display.say("a word")
        clock[0] = 1e3
        display.step(1, None, 0.5, 0.12, None)
        display.now("3/3 items", last=True)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_one_line_moves_and_words_stay(monkeypatch):

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Display("run") as display:
        display.step(1, None, 0.5, 0.123, None)
        display.say("[a word]")
        display.step(2, 9, 0.25, 0.123, 61.0)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "run: [a word]\n" in text
    assert text.rstrip().endswith("run  step 2/9  1:01 left  loss 0.25000  0.12 pairs/s")


def test_a_slow_cpu_is_seen_to_train_step_by_step(monkeypatch):
    seen = []
    monkeypatch.setattr(trainer, "_OFTEN", 0.0)
    monkeypatch.setattr(Display, "step", lambda self, *line: seen.append(line))
    train(small("budget.steps=4"), corpus=blobs())
    assert [(done, total) for done, total, *_ in seen] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert all(speed > 0 and left >= 0 for *_, speed, left in seen)
