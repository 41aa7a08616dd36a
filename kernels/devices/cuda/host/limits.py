"""Numbers that both runners of host programs on a GPU go by."""

from __future__ import annotations

from .....ir.machine import BLOCK, CUDA
from ....kernel_ir.nodes import Space

RECORD = 17
"""Words of the failure record: site + 1, then values."""
MOST_UNSEEN = 4096
"""Launches from one that may have failed to where the host looks: so a long loop ends soon after a failure."""
STACK_BUDGET = 1 << 30
FIRST_STACK = {Space.SHARED: 64 << 10, Space.PRIVATE: 4 << 10}
"""Bytes of the arrays of a block and of a thread, where only the kernel finds out how many they are; where these turn
out to be too few, it gets twice as many, or what it asked for."""
MOST_SHARED = {row.level: row.bytes for row in CUDA.higher}
"""Shared memory for arrays of a block or warp of which only the kernel finds out how large they are: what versions
there are for has room there."""
TURNS = 8
"""Blocks of `BLOCK.threads` threads for each multiprocessor, where blocks of a kernel take turns."""
MOST_GRID = (1 << 31) - 1
"""Blocks of a grid; where a kernel has more, each of the grid does the work of several."""
WAVES = 8
"""Blocks for each multiprocessor that a bulk operation starts at most; each goes on in steps of them all."""
TILES_PAY = 8
"""Rows shorter than this are as well copied element by element."""
SMALLEST = 512
"""Bytes of the smallest piece of memory."""
BULK = tuple(f"{kind}_{width}" for kind in ("copy", "fill", "transpose", "iota") for width in (1, 2, 4, 8))
"""The kernels of bulk operations, by the numbers that the runtime knows them by."""
MOST_STEPS = 256
"""Launches and copies of a graph."""
STEP_ROOM = 512
"""Bytes of the parameters of one; a launch with more ends a graph."""
MOST_GRAPHS = 8
"""Of a process, for loops of the host; then the oldest goes."""
THREADS = BLOCK.threads
