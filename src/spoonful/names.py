"""Things that users call by name, and what to say when there is none of that name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
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
        close = closest(name, among)
        hint = "; there are" if close is None else f"; did you mean {close!r}? There are"
        there = f": {', '.join(among)}" if among else " none"
        raise ValueError(f"no {what} named {name!r}{hint}{there}")
    return among[name]


def closest(name: str, among: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The one that was perhaps meant by `name`, or None if none is like it.

    Args:
        name: as it was typed.
        among: all there are.
        likeness: how alike it must be, from 0 to 1, the same.

    >>> closest("aple", ["apple", "pear"]), closest("plum", ["apple", "pear"])
    ('apple', None)
    """
    found = difflib.get_close_matches(name, among, n=1, cutoff=likeness)
    return found[0] if found else None
