"""What a person sees while a model trains: a line that moves, or now and then a line of text."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Mapping
from typing import Any

from spoonful.training.schedule import clock

# Without a terminal, a line at most this often.
_PAUSE = 10.0


class Display:
    """Progress on standard error.

    Args:
        label: the run's name.
        total: steps of the run, or None if that is not known yet.
        quiet: show nothing.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self.label = label
        self.quiet = quiet
        self._last = float("-inf")
        self._errors = ""
        self._live: Any = None
        if not quiet and sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live("", console=Console(stderr=True), refresh_per_second=4)
            self._live.start()

    def step(self, done: int, total: int | None, loss: float, speed: float) -> None:
        """A few steps were taken; `speed` is in pairs a second, -1 while it is not known."""
        if self._live is not None:
            self._live.update(self._line(done, total, loss, speed))

    def epoch(
        self,
        number: int,
        done: int,
        total: int | None,
        loss: float,
        speed: float,
        errors: Mapping[str, float],
        left: float,
    ) -> None:
        """An epoch is over."""
        if errors:
            self._errors = (
                f"  error {errors.get('rotation_degrees', float('nan')):.3f}° "
                f"{errors.get('translation', float('nan')):.4f}"
            )
        self._left = left
        final = total is not None and done >= total
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self._line(done, total, loss, speed))
        elif not self.quiet and (final or now - self._last > _PAUSE):
            self._last = now
            print(f"epoch {number:4}  {self._line(done, total, loss, speed)}", file=sys.stderr)
            sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.quiet:
            return
        if self._live is not None:
            self._live.console.print(text, highlight=False, markup=False)
        else:
            print(f"{self.label}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def _line(self, done: int, total: int | None, loss: float, speed: float) -> str:
        left = getattr(self, "_left", None)
        return (
            f"{self.label}  step {done}/{total or '?'}  loss {loss:.5f}{self._errors}  "
            f"{speed:.0f} pairs/s" + ("" if left is None else f"  {clock(left)} left")
        )
