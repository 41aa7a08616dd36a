"""Numbers that kernels of copies, schedules and the runtime agree on. Light to import: the runtime is assembled with
them."""

from __future__ import annotations

FAR_BYTES = 32 << 20
"""Bytes of results from which on they are written past the caches: a last cache of many machines. From half of that
on, such stores are the faster ones, but others may read them."""

LINE = 64
"""Bytes of a line of the cache: of the lanes, and of a side of a tile."""
CHUNK = 1 << 16
"""Bytes of a row that are a block's."""
ROWS = 16
"""Rows of a block: what it reads against the grain, its next rows find in the cache."""
BAND = 128
"""Columns that a block transposes: each is a row of the source, in a page of its own."""
DOWN = 1 << 9
"""Bytes of a row of the source that a block transposes."""
WIDTHS = range(2, 9)
"""Points of how many elements, side by side, have code of their own."""
