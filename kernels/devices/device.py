"""What a device is to the host program: memory, bulk operations, launches.

Arrays of a device are opaque to the host program but for their shape; on the CPU they are NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from ...ir.core import FunDef, Level
from ...ir.machine import EVEN, ROUNDS, level_of
from ...ir.records import dataclass
from ...ir.thresholds import Threshold
from ...ir.types import Prim
from ..host_ir.timing_events import Event
from ..kernel_ir.nodes import FailureSite
from .calibration import calibrated

DeviceArray = Any
Scalar = bool | int | float
Settings = tuple[Mapping[str, int], Mapping[str, bool]]
"""Thresholds and forced decisions."""
Convert = Callable[[FunDef, Sequence[Any]], Sequence[Any]]
"""Arguments that an entry takes, from others."""
Call = Callable[[Sequence[Any]], list[Any]]
Trace = tuple[tuple[str, int, bool], ...]
"""The guards that a run executed: threshold, parallelism, first branch taken."""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A launch of a kernel by name. `work`: the estimated cost of the whole; `sizes`: what its sizes are set to, 0 for
    one that is not set."""

    kernel: str
    blocks: int
    arrays: list[DeviceArray]
    scalars: list[Scalar]
    work: float
    sizes: Sequence[int]


class OnDevice:
    """An array that a caller gets as a result and that stays in the memory of a device."""

    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """Its elements in host memory."""
        raise NotImplementedError


def on_host(results: list[Any]) -> list[np.ndarray | np.generic]:
    """Results of any device, in host memory."""
    return [result.numpy() if isinstance(result, OnDevice) else result for result in results]


class KernelFailure(Exception):
    """A check of a kernel failed: the site and the values of its message."""

    def __init__(self, site: FailureSite, values: tuple[Scalar, ...]) -> None:
        super().__init__(site.code)
        self.site = site
        self.values = values


class OutOfMemory(MemoryError):
    """The device has no room for `needs` bytes: `free` are free of `total`."""

    def __init__(self, needs: int, free: int, total: int) -> None:
        super().__init__(f"needs {bytes_text(needs)}, free {bytes_text(free)} of {bytes_text(total)}")
        self.needs = needs
        self.free = free
        self.total = total


def bytes_text(size: int) -> str:
    """A size for people: `12.0 GiB`."""
    scaled, unit = float(size), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if scaled < 1024 or unit == "TiB":
            break
        scaled /= 1024
    return f"{size} bytes" if unit == "bytes" else f"{scaled:.1f} {unit}"


class Device(Protocol):
    """Memory is row-major unless it is a view; `launch` may return before the work is done, `synchronise` waits.

    For guards that no tuning file speaks of: what the machine was calibrated to as `calibration`, else
    `default_threshold`, the parallelism that fills the device, and `default_inside`, that which fills a collective of
    a level."""

    calibration: ClassVar[str]
    default_threshold: ClassVar[int]
    default_inside: ClassVar[Mapping[Level, int]]

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
    def launch(self, launch: KernelCall) -> None: ...
    def synchronise(self) -> None: ...


class Runnable(Protocol):
    """A program ready to run on a device; `functions` are its entry points."""

    @property
    def functions(self) -> Mapping[str, FunDef]: ...
    @property
    def device(self) -> Device: ...
    def run(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
        convert: Convert = ...,
        log: list[Event] | None = None,
    ) -> tuple[list[Any], Sequence[tuple[str, int, bool]]]:
        """Results, arrays where the device has them, and the guards reached: (threshold, parallelism, taken)."""
        ...

    def prepare(self, entry: str, settings: Settings, threads: int | None, convert: Convert) -> Call:
        """A call that is `run` with these settings, and gives the results."""
        ...

    def place(self, entry: str, args: Sequence[Any]) -> list[Any]:
        """Arguments where the device reads them, for calls that are to take no time for that."""
        ...

    def complete(self, entry: str, every: bool = False) -> Iterator[str]:
        """Makes the code of each kernel of an entry, and gives its name; calls do so when they first need one. With
        `every` that for all sizes that a search may try, as far as they have code of their own."""
        ...


def default_of(device: Device | type[Device], threshold: str, threads: int) -> int:
    """What a threshold is on the device, or on any of its class, unless it is set; `threads`: of the host."""
    kind = Threshold.of(threshold).kind
    if kind == EVEN:
        return threads
    if kind == ROUNDS:
        return 0
    found = calibrated(device.calibration).get(kind)
    if found is not None:
        return found
    level = level_of(threshold)
    return device.default_threshold if level is None else device.default_inside[level]
