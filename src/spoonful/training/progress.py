"""What a person sees while a model trains: a line that moves, or now and then a line of text."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from spoonful.training.schedule import clock

# Without a terminal, a line at most this often.
_PAUSE = 10.0


class Display:
    """Progress on standard error. At the end, or as a context manager, it leaves the last line.

    Args:
        label: of what is being done, as the run's name.
        quiet: show nothing.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self.label = label
        self.quiet = quiet
        self._last = time.monotonic()
        self._errors = ""
        self._live: Any = None
        self._moves = (
            not quiet and sys.stderr.isatty() and importlib.util.find_spec("rich") is not None
        )

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def now(self, text: str) -> None:
        """What is being done, where there are no steps to count."""
        self._move(text)

    def count(self, done: int, total: int, what: str, left: float | None = None) -> None:
        """Show that `done` of `total` are done, with `left` seconds to the end."""
        rest = "" if left is None or done == total else f"  {clock(left)} left"
        self._move(f"{done}/{total} {what}{rest}", last=done == total)

    def step(
        self, done: int, total: int | None, loss: float, speed: float, left: float | None
    ) -> None:
        """A few steps were taken.

        Args:
            done: steps so far.
            total: steps of the run, or None if that is not known yet.
            loss: of the last steps.
            speed: in pairs a second.
            left: seconds to the end, or None if that is not known yet.
        """
        self._move(self._line(done, total, loss, speed, left))

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
        """An epoch is over; `errors` are on the validation pairs, if there was a validation."""
        if errors:
            self._errors = (
                f"  error {errors.get('rotation_degrees', float('nan')):.3f}° "
                f"{errors.get('translation', float('nan')):.4f}"
            )
        line = self._line(done, total, loss, speed, left)
        self._move(f"epoch {number}  {line}", last=total is not None and done >= total)

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.quiet:
            return
        if self._live is not None:
            self._live.console.print(f"{self.label}: {text}", highlight=False, markup=False)
        else:
            print(f"{self.label}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _move(self, text: str, *, last: bool = False) -> None:
        """Replace the line; where lines do not move, add one, unless it is too soon after another.

        The last is never too soon.
        """
        if self._moves:
            if self._live is None:
                from rich.console import Console
                from rich.live import Live

                self._live = Live("", console=Console(stderr=True), refresh_per_second=4)
                self._live.start()
            from rich.text import Text

            self._live.update(Text(f"{self.label}  {text}", overflow="ellipsis", no_wrap=True))
        elif not self.quiet and (last or time.monotonic() - self._last > _PAUSE):
            self._last = time.monotonic()
            print(f"{self.label}  {text}", file=sys.stderr, flush=True)

    def _line(
        self, done: int, total: int | None, loss: float, speed: float, left: float | None
    ) -> str:
        pairs = f"{speed:.0f}" if speed >= 10 else f"{speed:.2g}"
        # What matters least is last, where a narrow terminal cuts.
        return (
            f"step {done}/{total or '?'}"
            + ("" if left is None else f"  {clock(left)} left")
            + f"  loss {loss:.5f}{self._errors}  {pairs} pairs/s"
        )
