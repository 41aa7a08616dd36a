"""Host memory for arrays, pooled: the first touch of fresh memory costs several times what its use does.

A large array is a view of a buffer that returns to the pool when the last view of it dies. Small ones are NumPy's own.
"""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from dataclasses import field

import numpy as np

from ...ir.arrays import shape_text
from ...ir.records import dataclass
from ...ir.scalar import prim_of

SMALL = 1 << 16  # bytes below which pooling is not worth it
ALIGN = 64
_BYTE = ctypes.c_char


@dataclass(slots=True)
class Pool:
    """Free buffers by size class. Holds at most `limit` bytes; what exceeds it is given back to the system."""

    limit: int = 1 << 32
    held: int = 0
    free: dict[int, list[np.ndarray]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array, aligned to cache lines. Raises MemoryError."""
        size = math.prod(shape) * dtype.itemsize
        if size < SMALL:
            return np.empty(shape, dtype)
        capacity = size_class(size)
        with self.lock:
            stack = self.free.get(capacity)
            buffer = stack.pop() if stack else None
            if buffer is not None:
                self.held -= capacity
        if buffer is None:
            buffer = fresh(capacity, shape, dtype)
        start = -address(buffer) % ALIGN
        # the owner is an object of its own, so that its death means that no view is left
        owner = np.frombuffer(memoryview(buffer)[start : start + size], dtype=np.uint8)  # type: ignore[arg-type]
        weakref.finalize(owner, self.give_back, buffer, capacity).atexit = False
        return owner.view(dtype).reshape(shape)

    def give_back(self, buffer: np.ndarray, capacity: int) -> None:
        with self.lock:
            if self.held + capacity <= self.limit:
                self.free.setdefault(capacity, []).append(buffer)
                self.held += capacity

    def trim(self) -> None:
        """Give all free buffers back to the system."""
        with self.lock:
            self.free.clear()
            self.held = 0


def fresh(capacity: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Bytes for an array of this shape. Raises MemoryError."""
    try:
        return np.empty(capacity + ALIGN, np.uint8)
    except (MemoryError, ValueError):  # the latter where no array may be so large
        raise no_room(shape, dtype) from None


def no_room(shape: tuple[int, ...], dtype: np.dtype) -> MemoryError:
    """The error for an array that cannot be had, with its shape and type; it is not raised here."""
    prim = prim_of(dtype)
    return MemoryError(f"no room for an array {shape_text(shape)}{prim.value if prim else dtype}")


def size_class(size: int) -> int:
    """Sizes are rounded up to an eighth of their power of two: at most 12.5 % is unused."""
    step = max(4096, 1 << (size.bit_length() - 4))
    return -(-size // step) * step


def address(array: np.ndarray) -> int:
    """Where the elements of a dense array start."""
    try:
        return ctypes.addressof(_BYTE.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, empty, or strided
        return array.__array_interface__["data"][0]
