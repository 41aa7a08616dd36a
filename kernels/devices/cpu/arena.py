"""Memory for the arrays inside kernels: one bump-allocated region for each worker of a launch.

The regions are reserved, not committed: only what a kernel touches costs memory, and it stays warm for the next one.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

from ....ir.records import dataclass

RESERVED = 1 << 35  # bytes of address space for one worker, less where the system refuses
SMALLEST = 1 << 26
# Without this flag Linux counts what is reserved as memory, and `fork` fails. Python 3.11 has no name for it.
NORESERVE: int = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


@dataclass(frozen=True, slots=True)
class Arenas:
    """The table that generated code reads: for each worker base address, bytes in use (0), size."""

    table: ctypes.Array[ctypes.c_int64]
    regions: tuple[mmap.mmap, ...]

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


def make_arenas(workers: int) -> Arenas:
    """Reserve a region for each worker. Raises MemoryError."""
    table = (ctypes.c_int64 * (3 * workers))()
    regions = tuple(reserve() for _ in range(workers))
    for k, region in enumerate(regions):
        table[3 * k] = ctypes.addressof(ctypes.c_char.from_buffer(region))
        table[3 * k + 2] = len(region)
    return Arenas(table, regions)


def reserve() -> mmap.mmap:
    """Address space for one worker: RESERVED bytes, half of that and so on down to SMALLEST where the system refuses.
    Raises MemoryError."""
    size = RESERVED
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    while size >= SMALLEST:
        try:
            return mmap.mmap(-1, size, flags=flags)
        except (OSError, ValueError, OverflowError):
            size //= 2
    raise MemoryError("no address space for the arrays of kernels")
