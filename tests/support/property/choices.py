"""Decisions of a generator: drawn at random and kept, replayed, and made smaller while a property still fails.

A random value is a function of the numbers it asks for. A list of such numbers, replayed, gives the same value; any
other list gives some value too (a number is taken modulo what is asked for, and a list that ends goes on with 0, the
simplest choice). So smaller values are found by deleting and lowering numbers, whatever the generator makes of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

Decide = Callable[[int], int]
"""A number from 0 up to, but not, the one given."""


@dataclass(slots=True)
class Drawn:
    """Decisions of a seed, kept as they are made."""

    source: Random
    made: list[int] = field(default_factory=list)

    def __call__(self, below: int) -> int:
        self.made.append(self.source.randrange(below))
        return self.made[-1]


@dataclass(slots=True)
class Replayed:
    """Decisions as they were; 0 after the last."""

    numbers: tuple[int, ...]
    used: int = 0

    def __call__(self, below: int) -> int:
        self.used += 1
        return self.numbers[self.used - 1] % below if self.used <= len(self.numbers) else 0


def shrunk(numbers: tuple[int, ...], fails: Callable[[tuple[int, ...]], bool], seconds: float) -> tuple[int, ...]:
    """A list with which the property still fails, as small as found in the time given."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(numbers):
            if time.monotonic() > end:
                return numbers
            if fails(candidate):
                numbers, smaller = candidate, True
                break
    return numbers


def _smaller(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Candidates, the boldest first: shorter at the end, without a part, with a part of zeros, one number lower."""
    size = len(numbers)
    width = size
    while width:
        yield from (numbers[:k] + numbers[k + width :] for k in range(size - width, -1, -width))
        width //= 2
    width = size // 2
    while width:
        for k in range(0, size, width):
            if any(numbers[k : k + width]):
                yield numbers[:k] + (0,) * len(numbers[k : k + width]) + numbers[k + width :]
        width //= 2
    for k, number in enumerate(numbers):
        for lower in dict.fromkeys((number // 2, number - 1)):
            if 0 < lower < number:
                yield (*numbers[:k], lower, *numbers[k + 1 :])
