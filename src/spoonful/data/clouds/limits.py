"""How much a file may ask for.

Nothing is allocated on the word of a header. A reader first compares what a file declares with
how long the file is (`expect`), and what a compressed or self-referring file unpacks to with
`MAX_EXPANSION` (`expect_expansion`).
"""

from __future__ import annotations

# The most that honest data compress: LZF, the compression of PCD, cannot exceed 88.
MAX_EXPANSION = 100
# Small files may unpack to this much whatever their ratio: a plane of zeros is not an attack.
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
