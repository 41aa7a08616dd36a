"""Memory of a GPU, pooled: asking the driver for memory waits for all work, and takes longer than most kernels.

A block returns to the pool when nothing refers to it any more. All work is in one stream, so whoever takes it next
writes behind the work that read it. What other libraries have seen may still be read in their streams: it goes back to
the driver, which waits for them.
"""

from __future__ import annotations

import gc
from collections import deque
from dataclasses import field
from typing import Protocol

from ....ir.records import dataclass
from ..device import OutOfMemory
from ..host_memory import size_class
from .driver import Driver, DriverMemoryError
from .host.limits import SMALLEST

Returned = tuple[int, int, bool]
"""Address, capacity, shown."""


@dataclass(slots=True, eq=False)
class Block:
    """A piece of memory at `address`, and who gets it back; a piece of nothing is at 0. `shown`: other libraries know
    it, or it is not worth keeping."""

    address: int
    capacity: int
    returned: deque[Returned] = field(repr=False)
    shown: bool = False

    def __del__(self) -> None:
        if self.capacity:
            self.returned.append((self.address, self.capacity, self.shown))


class Native(Protocol):
    """The buffers of compiled host programs."""

    def trim(self) -> None: ...
    def forget_stacks(self) -> None: ...


@dataclass(slots=True)
class DevicePool:
    """Free blocks by size. Blocks may die in any thread; all else is done by the thread that drives the GPU."""

    driver: Driver
    free: dict[int, list[int]] = field(default_factory=dict)
    returned: deque[Returned] = field(default_factory=deque)
    held: int = 0
    """Bytes in free blocks."""
    stack: Block | None = None
    """Memory for the stacks of launches: these come one after the other, and so have the same."""
    native: Native | None = None

    def block(self, size: int) -> Block:
        """Raises `OutOfMemory` if not even without the free blocks there is room."""
        return Block(*self.take(size), self.returned) if size else Block(0, 0, self.returned)

    def take(self, size: int) -> tuple[int, int]:
        """Address and capacity of a piece of memory that nothing gives back. Raises `OutOfMemory`."""
        capacity = SMALLEST if size <= SMALLEST else size_class(size)
        self.take_back()
        if stack := self.free.get(capacity):
            self.held -= capacity
            return stack.pop(), capacity
        return self.fresh(size, capacity), capacity

    def fresh(self, size: int, capacity: int) -> int:
        """Memory of the driver; the second attempt is made after unused memory is given back."""
        try:
            return self.driver.alloc(capacity)
        except DriverMemoryError:
            gc.collect()
            self.trim()
        try:
            return self.driver.alloc(capacity)
        except DriverMemoryError:
            raise OutOfMemory(size, *self.driver.memory()) from None

    def stacks(self, size: int) -> int:
        """The address of `size` bytes, which are good until the launch is done that they are for."""
        if self.stack is None or self.stack.capacity < size:
            self.drop_stacks()
            self.stack = self.block(size)
            self.stack.shown = True  # goes back to the driver, not into the pool
        return self.stack.address

    def drop_stacks(self) -> None:
        """Give the memory for stacks back to the driver."""
        if self.stack is not None:
            self.stack = None
            if self.native is not None:
                self.native.forget_stacks()
            self.take_back()

    def take_back(self) -> None:
        """What has died since."""
        while self.returned:
            address, capacity, shown = self.returned.popleft()
            if shown:
                self.driver.free(address)
            else:
                self.free.setdefault(capacity, []).append(address)
                self.held += capacity

    def trim(self) -> None:
        """Give all free blocks back to the driver."""
        self.drop_stacks()
        self.take_back()
        if self.native is not None:
            self.native.trim()
        for addresses in self.free.values():
            for address in addresses:
                self.driver.free(address)
        self.free.clear()
        self.held = 0
