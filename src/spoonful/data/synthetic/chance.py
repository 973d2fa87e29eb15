"""Random numbers that are the same on every machine, today and in ten years.

Library generators may change between versions and devices, so the synthetic shapes have their
own: number n of a stream is a hash of n and of the stream's key. Everything is integer arithmetic
below 2^63, so nothing rounds or overflows, and any number can be computed by itself.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

_MASK = 0xFFFF_FFFF
_Word = TypeVar("_Word", int, Tensor)


def mix(word: _Word) -> _Word:
    """A well-mixed 32-bit hash of 32-bit words, given as an int or an int64 tensor.

    The constants are the least biased pair that Chris Wellons' hash-prospector found; both are
    below 2^31, so that their products with a word stay below 2^63.

    >>> mix(1), mix(2)
    (2261973619, 229111015)
    >>> mix(torch.tensor([1, 2])).tolist()
    [2261973619, 229111015]
    """
    word = word ^ (word >> 16)
    word = (word * 0x21F0AAAD) & _MASK
    word = word ^ (word >> 15)
    word = (word * 0x735A2D97) & _MASK
    return word ^ (word >> 15)


def keys(*words: int) -> tuple[int, int]:
    """A 64-bit stream key, as two words, for a tuple of non-negative integers."""
    key = [0x243F6A88, 0x85A308D3]  # the first bits of pi's fraction
    for place, word in enumerate(words):
        low, high = word & _MASK, (word >> 32) & _MASK
        for half in range(2):
            key[half] = mix(key[half] ^ mix((low + 2 * place + half) & _MASK))
            key[half] = mix((key[half] + high + 1) & _MASK)
    return key[0], key[1]


def words(key: tuple[int, int], first: int, count: int) -> Tensor:
    """Numbers `first` to `first + count` of a stream: (count,) int64 in [0, 2^32).

    >>> stream = keys(7)
    >>> bool((words(stream, 2, 3) == words(stream, 0, 5)[2:]).all())
    True
    """
    counter = torch.arange(first, first + count, dtype=torch.int64)
    return mix(mix((counter + key[0]) & _MASK) ^ key[1])


class Sampler:
    """A stream of random numbers for the measures of a shape.

    >>> sampler = Sampler(keys(0))
    >>> [round(sampler(1, 2), 3) for _ in range(3)]
    [1.071, 1.997, 1.827]
    """

    def __init__(self, key: tuple[int, int]) -> None:
        self._key = key
        self._drawn = 0

    def __call__(self, low: float, high: float) -> float:
        """The next number, uniform in [low, high)."""
        self._drawn += 1
        word = mix(mix((self._drawn - 1 + self._key[0]) & _MASK) ^ self._key[1])
        return low + (high - low) * (word / 4294967296.0)

    def integer(self, low: int, high: int) -> int:
        """The next number, uniform among `low` to `high`, both included."""
        return low + int(self(0.0, 1.0) * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self(0.0, 1.0) < probability
