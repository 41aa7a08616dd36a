"""Python's cycle collector, while the compiler works."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Generator[None]:
    """Leave the cycle collector off: trees without cycles are built here by the million, and it would walk them again
    and again (measured: 0.6 s instead of 4.5 s for a thousand lines). What was made counts as old afterwards, or the
    first collection would walk all of it (measured: a tenth of the time to a first result)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
