"""What a device is to the host program: memory, bulk operations, launches.

Arrays of a device are opaque to the host program but for their shape; on the CPU they are NumPy arrays.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from ..flatten.levels import is_inside
from ..ir.types import Prim
from .kir import FailureSite

DeviceArray = Any
Scalar = bool | int | float


class KernelFailure(Exception):
    """A check of a kernel failed: the site and the values of its message."""

    def __init__(self, site: FailureSite, values: tuple[Scalar, ...]) -> None:
        super().__init__(site.code)
        self.site = site
        self.values = values


class Device(Protocol):
    """Memory is row-major unless it is a view; `launch` may return before the work is done, `synchronise` waits.

    For guards that no tuning file speaks of: `default_threshold`, the parallelism that fills the device, and
    `default_inside`, that which fills a collective of it."""

    default_threshold: ClassVar[int]
    default_inside: ClassVar[int]

    def scratch(self, prim: Prim, shape: tuple[int, ...]) -> DeviceArray: ...
    def from_host(self, array: Any) -> DeviceArray: ...
    def to_host(self, array: DeviceArray) -> Any: ...
    def iota(self, count: int, start: int, step: int, prim: Prim) -> DeviceArray: ...
    def replicate(self, shape: tuple[int, ...], value: Any, prim: Prim) -> DeviceArray: ...
    def literal(self, elems: list[Any], prim: Prim, shape: tuple[int, ...]) -> DeviceArray: ...
    def concat(self, arrays: list[DeviceArray], prim: Prim, shape: tuple[int, ...]) -> DeviceArray: ...
    def copy(self, array: DeviceArray) -> DeviceArray: ...
    def dense(self, array: DeviceArray) -> DeviceArray: ...
    def reshape(self, array: DeviceArray, shape: tuple[int, ...]) -> DeviceArray: ...
    def rearrange(self, array: DeviceArray, perm: tuple[int, ...]) -> DeviceArray: ...
    def view(self, array: DeviceArray, index: tuple[int | slice, ...]) -> DeviceArray: ...
    def read(self, array: DeviceArray, index: tuple[int, ...]) -> Scalar: ...
    def write(self, array: DeviceArray, index: tuple[int | slice, ...], value: Any) -> None: ...
    def launch(
        self, kernel: str, blocks: int, arrays: list[DeviceArray], scalars: list[Scalar], work: float
    ) -> None: ...
    def synchronise(self) -> None: ...


def default_of(device: Device, threshold: str) -> int:
    """What a threshold is on the device unless somebody sets it."""
    return device.default_inside if is_inside(threshold) else device.default_threshold
