"""Python's cycle collector, while the compiler works."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

MORE = 2_000_000
"""Blocks of memory (about 60 bytes each) beyond twice what the last full collection left, at which comes the next."""
left = 0
"""Blocks that the last full collection left."""
frozen = False
"""Whether somebody else was seen to have frozen objects, which must stay so: to count them takes 8 ms for a million."""


@contextmanager
def paused_collector() -> Generator[None]:
    """Leave the cycle collector off: trees without cycles are built here by the million, and it would walk them again
    and again (measured: 0.6 s instead of 4.5 s for a thousand lines). What was made counts as old afterwards, or the
    first collection would walk all of it (measured: a tenth of the time to a first result). Python does not count what
    becomes old in this way and would never collect it, so that is done here, once there is much of it."""
    global left, frozen
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            frozen = frozen or gc.get_freeze_count() > 0
            if not frozen:
                gc.freeze()
                gc.unfreeze()
                if sys.getallocatedblocks() > 2 * left + MORE:
                    gc.collect()
                    left = sys.getallocatedblocks()
            gc.enable()
