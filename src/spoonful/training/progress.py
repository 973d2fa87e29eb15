"""Progress on standard error: one line that is rewritten, or a line of text every few seconds."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from types import TracebackType

from spoonful.training.schedule import clock

# Seconds between two lines if standard error is not a terminal.
_PAUSE = 10.0
_CLEAR = "\r\x1b[2K"


class Display:
    """Progress on standard error, after a label; also a context manager, which ends the line."""

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self.label = label
        self.quiet = quiet
        self._last = time.monotonic()
        self._errors = ""
        self._rewrites = not quiet and sys.stderr.isatty()
        self._open = False

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def step(
        self, done: int, total: int | None, loss: float, speed: float, left: float | None
    ) -> None:
        """Show the state after a few steps: pairs per second and seconds left, None if unknown."""
        self.now(self._line(done, total, loss, speed, left))

    def epoch(
        self,
        number: int,
        done: int,
        total: int | None,
        loss: float,
        speed: float,
        left: float | None,
        errors: Mapping[str, float],
    ) -> None:
        """Show the state after an epoch; `errors` are those of its validation, if it had one."""
        if errors:
            self._errors = (
                f"  error {errors.get('rotation_degrees', float('nan')):.3f}° "
                f"{errors.get('translation', float('nan')):.4f}"
            )
        line = self._line(done, total, loss, speed, left)
        self.now(f"epoch {number}  {line}", last=total is not None and done >= total)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if not self.quiet:
            start = _CLEAR if self._open else ""
            self._open = False
            print(f"{start}{self.label}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line that is rewritten."""
        if self._open:
            self._open = False
            print(file=sys.stderr, flush=True)

    def now(self, text: str, *, last: bool = False) -> None:
        """Rewrite the line. Without a terminal, print one now and then, and always the last."""
        line = f"{self.label}  {text}"
        if self._rewrites:
            self._open = True
            width = shutil.get_terminal_size().columns - 1
            while len(line) > width and "  " in line:  # drop the last part
                line = line.rpartition("  ")[0]
            print(f"{_CLEAR}{line[:width]}", end="", file=sys.stderr, flush=True)
        elif not self.quiet and (last or time.monotonic() - self._last > _PAUSE):
            self._last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def _line(
        self, done: int, total: int | None, loss: float, speed: float, left: float | None
    ) -> str:
        pairs = f"{speed:.0f}" if speed >= 10 else f"{speed:.2g}"
        # A narrow terminal drops the last parts.
        return (
            f"step {done}/{total or '?'}"
            + ("" if left is None else f"  {clock(left)} left")
            + f"  loss {loss:.5f}{self._errors}  {pairs} pairs/s"
        )
