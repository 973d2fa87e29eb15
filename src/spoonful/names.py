"""Things that users call by name, and what to say when there is none of that name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def named(name: str, among: Mapping[str, T], *, what: str) -> T:
    """The one called `name`, or an error that names those there are.

    Args:
        name: as it was typed.
        among: all there are.
        what: what they are, for the error: "protocol".

    >>> named("pear", {"apple": 1, "pear": 2}, what="fruit")
    2
    >>> named("aple", {"apple": 1, "pear": 2}, what="fruit")
    Traceback (most recent call last):
    ValueError: no fruit named 'aple'; did you mean 'apple'? There are: apple, pear
    >>> named("pear", {}, what="fruit")
    Traceback (most recent call last):
    ValueError: no fruit named 'pear'; there are none
    """
    if name not in among:
        close = difflib.get_close_matches(name, among, n=1)
        hint = f"; did you mean {close[0]!r}? There are" if close else "; there are"
        there = f": {', '.join(among)}" if among else " none"
        raise ValueError(f"no {what} named {name!r}{hint}{there}")
    return among[name]
