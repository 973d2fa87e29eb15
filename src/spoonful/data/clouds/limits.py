"""Limits on the memory that a file can claim.

A reader allocates nothing before it has compared the sizes in a header with the length of the file
(`expect`), and the unpacked size of a compressed file with `MAX_EXPANSION` (`expect_expansion`).
"""

from __future__ import annotations

# LZF, the compression of PCD, reaches 88 at most.
MAX_EXPANSION = 100
# Small files may unpack to this much at any ratio, for example a plane of zeros.
_ALWAYS = 1 << 20


def expect(needed: int, available: int, what: str) -> None:
    """Refuse a file that declares more than it holds.

    >>> expect(12_000, 500, "1000 points")
    Traceback (most recent call last):
    ValueError: it declares 1000 points, at least 12000 bytes, but only 500 follow: truncated?
    """
    if needed > available:
        raise ValueError(
            f"it declares {what}, at least {needed} bytes, but only {available} follow: truncated?"
        )


def expect_expansion(unpacked: int, packed: int, what: str) -> None:
    """Refuse a file that unpacks to more than `MAX_EXPANSION` times its size.

    >>> expect_expansion(10**12, 1000, "its arrays")
    Traceback (most recent call last):
    ValueError: its arrays would unpack to 1000000000000 bytes, over 100 times the file
    """
    if unpacked > max(_ALWAYS, MAX_EXPANSION * packed):
        raise ValueError(
            f"{what} would unpack to {unpacked} bytes, over {MAX_EXPANSION} times the file"
        )
