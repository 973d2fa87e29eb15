"""The learning rate and the perturbation over a run, and durations as text."""

from __future__ import annotations

import re

from spoonful.training.config import Optimizer, Refine

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def rate(settings: Optimizer, progress: float) -> float:
    """The learning rate when the share `progress` of the run is done.

    It falls by `gamma` at each milestone, after a linear rise over the warm-up.

    >>> [round(rate(Optimizer(lr=1.0), p), 3) for p in (0.0, 0.29, 0.3, 0.7, 0.9)]
    [1.0, 1.0, 0.1, 0.01, 0.001]
    """
    passed = sum(progress >= mark for mark in settings.milestones)
    rise = 1.0
    if progress < settings.warmup:
        rise = progress / settings.warmup
    return settings.lr * rise * settings.gamma**passed


def turn_bound(settings: Refine, progress: float) -> float:
    """The bound of a perturbed start, in degrees, when the share `progress` of the run is done.

    >>> turn_bound(Refine(max_degrees=60), 0.75)
    60
    >>> turn_bound(Refine(max_degrees=60, schedule="shrinking"), 0.75)
    15.0
    """
    if settings.schedule == "constant":
        return settings.max_degrees
    return settings.max_degrees * max(1 - progress, 1e-6)


def seconds(text: str) -> float:
    """A duration: "90", "90s", "10m", "1.5h" or "1h30m".

    >>> seconds("10m"), seconds("1h30m")
    (600.0, 5400.0)
    >>> seconds("soon")
    Traceback (most recent call last):
    ValueError: a duration reads 90s, 10m or 1h30m; got 'soon'
    """
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"a duration reads 90s, 10m or 1h30m; got {text!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration(text: str, option: str) -> float:
    """The seconds of an option that takes a duration above zero; mistakes name the option.

    >>> duration("1.5m", "--timeout")
    90.0
    >>> duration("0s", "--timeout")
    Traceback (most recent call last):
    ValueError: --timeout must be above 0, got 0s
    """
    try:
        value = seconds(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if not value > 0:
        raise ValueError(f"{option} must be above 0, got {text}")
    return value


def clock(duration: float) -> str:
    """A duration as text.

    >>> clock(75), clock(4000)
    ('1:15', '1:06:40')
    """
    whole = round(max(duration, 0.0))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
