"""Parse lengths with units, such as "5mm"."""

from __future__ import annotations

import math
import re

# The length of each unit in metres.
UNITS = {
    "um": 1e-6,
    "mm": 1e-3,
    "cm": 1e-2,
    "m": 1.0,
    "km": 1e3,
    "in": 0.0254,
    "inch": 0.0254,
    "ft": 0.3048,
}


def length(text: str, unit: str, name: str) -> float:
    """Parse a length: "5mm", "0.05 m", or a number without unit. Returns it in the files' unit.

    >>> length("5mm", "m", "--voxel"), length("5", "mm", "--voxel"), length("1in", "mm", "--voxel")
    (0.005, 5.0, 25.4)
    >>> length("five", "m", "--voxel")
    Traceback (most recent call last):
    ValueError: --voxel must be a length such as 5mm, 0.05m or 0.05, got 'five'
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?\d+)?)\s*([a-zµ]*)\s*", text)
    own = found.group(2).replace("µ", "u") if found else ""
    try:
        value = float(found.group(1)) if found else math.nan
    except ValueError:
        value = math.nan
    if not value < math.inf or (own and own not in UNITS):
        raise ValueError(f"{name} must be a length such as 5mm, 0.05m or 0.05, got {text!r}")
    if value <= 0:
        raise ValueError(f"{name} must be more than 0, got {text!r}")
    return value * UNITS[own] / UNITS[unit or "m"] if own else value
