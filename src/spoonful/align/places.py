"""Find the part of a group of scans whose place has the most against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

LIKELY = 0.4
"""Pairs that are less likely right than this say nothing about a place."""


def worst_part(
    group: Sequence[str], joins: Iterable[tuple[str, str]], case: Callable[[set[str]], float]
) -> tuple[set[str], float]:
    """The part with the strongest case against its place, and that case.

    The parts are those that form as pairs join the scans, one pair after the other. A part and the
    rest have the same case, so the smaller of the two is returned.

    Args:
        group: the scans' names.
        joins: the scans of each kept pair, the surest pair first.
        case: says how much is against the place of a part.
    """
    parts = [part for part in growing_parts(group, joins) if len(part) < len(group)]
    cases = [case(part) for part in parts]
    if not cases:
        return set(), 0.0
    worst = max(range(len(parts)), key=lambda k: cases[k])
    part = parts[worst]
    return (part if len(part) <= len(group) / 2 else {*group} - part), cases[worst]


def growing_parts(scans: Iterable[str], joins: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The parts that form as pairs join the scans, one pair after the other.

    >>> found = growing_parts("abcd", [("a", "b"), ("c", "d"), ("b", "a"), ("b", "c")])
    >>> ["".join(sorted(part)) for part in found]
    ['a', 'b', 'c', 'd', 'ab', 'cd', 'abcd']
    """
    found = [{scan} for scan in scans]
    part = {scan: alone for alone in found for scan in alone}
    for i, j in joins:
        if part[i] is not part[j]:
            found.append(part[i] | part[j])
            part |= dict.fromkeys(found[-1], found[-1])
    return found


def listed(names: Sequence[str]) -> str:
    """Up to three names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
