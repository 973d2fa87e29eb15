"""Durations as options: `--timeout 90s`."""

from __future__ import annotations

from spoonful.training.schedule import seconds


def duration(text: str, option: str) -> float:
    """Seconds of a duration such as "90s", "10m" or "1h30m"; mistakes name the option.

    >>> duration("1.5m", "--timeout")
    90.0
    >>> duration("0s", "--timeout")
    Traceback (most recent call last):
    ValueError: --timeout must be above 0, got 0s
    >>> duration("soon", "--timeout")
    Traceback (most recent call last):
    ValueError: --timeout: a duration reads 90s, 10m or 1h30m; got 'soon'
    """
    try:
        value = seconds(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if not value > 0:
        raise ValueError(f"{option} must be above 0, got {text}")
    return value
