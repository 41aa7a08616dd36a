"""The pool of a GPU's memory: what is used again, and what goes back to the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from soac.kernels.devices.cuda.memory_pool import DevicePool


@dataclass
class Addresses:
    """A driver that gives out addresses alone."""

    given: list[int] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def alloc(self, size: int) -> int:
        self.given.append(1 << 32 | len(self.given) << 20)
        return self.given[-1]

    def free(self, address: int) -> None:
        self.freed.append(address)


@pytest.mark.parametrize("shown", [False, True])
def test_what_other_libraries_have_seen_is_not_used_again(shown: bool) -> None:
    driver: Any = Addresses()
    pool = DevicePool(driver)
    block, other = pool.block(5000), pool.block(5000)
    first, block.shown = block.address, shown
    assert other.address != first
    del block
    again = pool.block(5001)
    assert (again.address == first) != shown
    assert driver.freed == [first] * shown
    assert pool.held == 0


def test_a_block_of_another_size_is_none() -> None:
    driver: Any = Addresses()
    pool = DevicePool(driver)
    first = pool.block(1 << 16).address
    assert pool.block(1 << 17).address != first
    assert pool.held == 1 << 16
    pool.trim()
    assert (driver.freed[0], pool.held) == (first, 0)
