"""Look up things by name, with an error that suggests the closest name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def named(name: str, among: Mapping[str, T], *, what: str) -> T:
    """The value called `name`, or a `ValueError` that lists the names.

    Args:
        name: as typed.
        among: all values by name.
        what: the kind of thing, for the error: "protocol".

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
    """The most similar name, or None if none is similar enough.

    Args:
        name: as typed.
        among: all names.
        likeness: the similarity that is needed, from 0 to 1.

    >>> closest("aple", ["apple", "pear"]), closest("plum", ["apple", "pear"])
    ('apple', None)
    """
    found = difflib.get_close_matches(name, among, n=1, cutoff=likeness)
    return found[0] if found else None
