"""How the functions are compiled: in parallel, and with what an associative operator allows; nan and inf stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

ASSOCIATIVE = {"reassoc", "contract", "nsz", "arcp"}


def parallel(function: Callable[..., Any]) -> Callable[..., Any]:
    return numba.njit(parallel=True, fastmath=ASSOCIATIVE)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    return numba.njit(fastmath=ASSOCIATIVE, inline="always")(function)


def pieces_of(rows: int) -> int:
    """Into how many pieces a row is cut so that all threads have work."""
    threads = numba.get_num_threads()
    return 1 if rows >= 4 * threads or threads == 1 else 4 * threads
