"""Room for deeply nested programs: functions over trees recurse once or more for every level of nesting."""

from __future__ import annotations

import sys

FRAMES = 10_000
"""Enough for the deepest nesting that the front end lets through."""


def allow_depth() -> None:
    """Raises Python's recursion limit to `FRAMES`; never lowers it, as another thread may be deep in a tree."""
    if sys.getrecursionlimit() < FRAMES:
        sys.setrecursionlimit(FRAMES)
