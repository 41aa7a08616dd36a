"""A device whose launches are traced, and the shadows of its memory: which elements hold a value.

It is the CPU device but for launches and for new memory, which is remembered (and kept, so that no address is used
twice) together with one flag for each element.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...ir.core import Level
from ...ir.scalar import DTYPES
from ...ir.types import Prim
from ..devices.cpu.executable import CpuDevice
from ..devices.cpu.kernel_code import KernelCode
from ..devices.device import KernelCall, Scalar
from ..devices.host_memory import address

Launch = Callable[[str, int, list[np.ndarray], list[Scalar]], None]


@dataclass(slots=True)
class Shadows:
    """For arrays that began uninitialised, sorted by address: the array and its flags."""

    starts: list[int] = field(default_factory=list)
    known: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def add(self, array: np.ndarray) -> None:
        if not array.size:
            return
        position = bisect_right(self.starts, address(array))
        self.starts.insert(position, address(array))
        self.known.insert(position, (array, np.zeros(array.size, np.bool_)))

    def of(self, array: np.ndarray) -> np.ndarray | None:
        """The flags of `array`, a view of the shadow of its memory; None where all is initialised."""
        where = address(array)
        position = bisect_right(self.starts, where) - 1
        if position < 0 or not array.size:
            return None
        owner, flags = self.known[position]
        offset = where - address(owner)
        if offset >= owner.nbytes:
            return None
        size = array.itemsize
        strides = tuple(stride // size for stride in array.strides)
        return np.lib.stride_tricks.as_strided(flags[offset // size :], array.shape, strides)

    def flat(self, array: np.ndarray) -> np.ndarray | None:
        """The same for a dense array, one flag after the other."""
        flags = self.of(array)
        return None if flags is None else flags.reshape(-1)

    def missing(self, array: np.ndarray) -> int:
        """How many elements hold nothing."""
        flags = self.of(array)
        return 0 if flags is None else int(flags.size - np.count_nonzero(flags))


@dataclass(slots=True)
class TracingDevice(CpuDevice):
    """`on_launch` runs a kernel instead of the CPU; `unwritten` counts the uninitialised elements that the host
    read."""

    calibration: ClassVar[str] = ""
    default_threshold: ClassVar[int] = CpuDevice.default_threshold
    default_inside: ClassVar[Mapping[Level, int]] = CpuDevice.default_inside

    on_launch: Launch = lambda name, blocks, arrays, scalars: None
    shadows: Shadows = field(default_factory=Shadows)
    unwritten: int = 0

    @staticmethod
    def tracing(on_launch: Launch, shadows: Shadows) -> TracingDevice:
        return TracingDevice(KernelCode(), {}, 1, on_launch=on_launch, shadows=shadows)

    # ---- memory and bulk operations -------------------------------------------------------------------------------

    def scratch(self, prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        array = np.zeros(shape, DTYPES[prim])
        self.shadows.add(array)
        return array

    def replicate(self, shape: tuple[int, ...], value: Any, prim: Prim) -> np.ndarray:
        return self.filled(CpuDevice.replicate(self, shape, value, prim))

    def literal(self, elems: list[Any], prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        return self.filled(CpuDevice.literal(self, elems, prim, shape))

    def concat(self, arrays: list[np.ndarray], prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        return self.filled(CpuDevice.concat(self, arrays, prim, shape))

    def filled(self, array: np.ndarray) -> np.ndarray:
        flags = self.shadows.of(array)
        if flags is not None:
            flags[...] = True
        return array

    def copy(self, array: np.ndarray) -> np.ndarray:
        fresh = array.copy()
        if self.shadows.missing(array):
            self.shadows.add(fresh)
            mine, theirs = self.shadows.of(fresh), self.shadows.of(array)
            assert mine is not None
            mine[...] = theirs
        return fresh

    def read(self, array: np.ndarray, index: tuple[int, ...]) -> Scalar:
        self.unwritten += self.shadows.missing(array[(*index, np.newaxis)])
        return CpuDevice.read(self, array, index)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        self.unwritten += self.shadows.missing(array)
        return array

    def write(self, array: np.ndarray, index: tuple[int | slice, ...], value: Any) -> None:
        CpuDevice.write(self, array, index, value)
        flags = self.shadows.of(array)
        if flags is not None:
            flags[index] = True

    # ---- launches -------------------------------------------------------------------------------------------------

    def launch(self, launch: KernelCall) -> None:
        dense = [np.ascontiguousarray(a) for a in launch.arrays]
        self.on_launch(launch.kernel, launch.blocks, dense, launch.scalars)
