"""What any number of steps lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def reachable(starts: Iterable[T], nexts: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """`starts`, and what can be reached from there by steps to one of `nexts`, the nearest first."""
    found = list(dict.fromkeys(starts))
    seen = set(found)
    for one in found:
        new = [other for other in dict.fromkeys(nexts(one)) if other not in seen]
        seen.update(new)
        found += new
    return dict.fromkeys(found)
