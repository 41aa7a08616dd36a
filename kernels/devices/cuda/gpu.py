"""A GPU at work: its driver, its memory, and what is done to arrays without kernels of a program.

One for each GPU and process; programs share its memory, so that results of one may be arguments of another. Everything
that asks the driver runs in the thread of the GPU; `call` gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from ....ir.machine import BLOCK
from ....ir.records import dataclass
from ....ir.scalar import DTYPES, prim_of
from ....ir.types import Prim
from ...schedule.cuda.bulk_copies import CHUNK, MOST_DIMS, TILE
from .array import CudaArray
from .bulk import Axis, Tiles, bulk_module, count, merged, padded, repeated, tiles
from .context_thread import DriverThread
from .dlpack import dense
from .driver import Driver, DriverFault, GpuLost, Loaded, Value, word
from .host.limits import WAVES
from .marks import Marks
from .memory_pool import DevicePool
from .native_gpu import NativeGpu

T = TypeVar("T")
UNFAILING, STACKLESS = (0, 0), (0, 0, 0, 0)
"""Of a kernel that cannot fail, that no failure stops, and that has no stack."""
MOST_UPLOADING = 1 << 28
"""Bytes of host memory that uploads under way may hold."""


@dataclass(eq=False)
class Gpu:
    """`lost` says what the GPU died of; `uploading`: arrays that the driver may still read, until it is waited for."""

    driver: Driver
    lost: str | None = None
    pool: DevicePool = field(init=False, repr=False)
    thread: DriverThread = field(init=False, repr=False)
    marks: Marks = field(init=False, repr=False)
    uploading: list[np.ndarray] = field(default_factory=list, repr=False)
    uploading_bytes: int = 0

    def __post_init__(self) -> None:
        self.pool, self.marks = DevicePool(self.driver), Marks(self.driver)
        self.thread = DriverThread(self.driver.attach, self.driver.detach)

    def call(self, job: Callable[[], T]) -> T:
        """What the job gives, which is done in the thread of the GPU. Raises GpuLost."""
        if self.lost is not None:
            raise GpuLost(f"the GPU has failed before ({self.lost}): this process can no longer use it")
        try:
            return self.thread.call(job)
        except DriverFault as fault:
            self.lost = str(fault)
            raise GpuLost(f"the GPU has failed: {fault}; this process can no longer use it") from fault

    @cached_property
    def bulk(self) -> Mapping[str, Loaded]:
        """The kernels of bulk operations, loaded when they are first needed."""
        return self.driver.load(*bulk_module())

    @cached_property
    def native(self) -> NativeGpu | None:
        """The GPU for compiled host programs; None where the driver shows no functions."""
        found = self.driver.entry_points()
        return None if found is None else NativeGpu.of(self.driver, found, self.pool, lambda: self.bulk, self.marks)

    # ---- memory ---------------------------------------------------------------------------------------------------

    def scratch(self, prim: Prim, shape: tuple[int, ...]) -> CudaArray:
        size = prim.bytes * int(np.prod(shape, dtype=object)) if shape else prim.bytes
        block = self.pool.block(size)
        return CudaArray(self, block, block.address, shape, dense(shape), prim)

    def upload(self, array: np.ndarray) -> CudaArray:
        prim = prim_of(array.dtype)
        assert prim is not None
        held = as_buffer(np.ascontiguousarray(array).reshape(array.shape))
        there = self.scratch(prim, array.shape)
        if array.size:
            self.uploading.append(held)
            self.uploading_bytes += held.nbytes
            self.driver.upload(there.address, held)
        if self.uploading_bytes > MOST_UPLOADING:
            self.synchronise()
        return there

    def to_host(self, array: CudaArray) -> np.ndarray:
        found = np.empty(array.shape, array.dtype)
        if found.size:
            self.driver.download(as_buffer(found), self.dense(array).address)
            self.uploaded()
        return found

    def synchronise(self) -> None:
        self.driver.synchronise()
        self.uploaded()

    def uploaded(self) -> None:
        self.uploading.clear()
        self.uploading_bytes = 0

    # ---- copies ---------------------------------------------------------------------------------------------------

    def dense(self, array: CudaArray) -> CudaArray:
        return array if array.is_dense else self.copy(array)

    def copy(self, array: CudaArray) -> CudaArray:
        fresh = self.scratch(array.prim, array.shape)
        self.assign(fresh, array)
        return fresh

    def finished_copy(self, array: CudaArray) -> CudaArray:
        """A copy that is done."""
        fresh = self.copy(array)
        self.synchronise()
        return fresh

    def assign(self, target: CudaArray, source: CudaArray) -> None:
        """`target[..] = source[..]` of one shape; they do not overlap."""
        self.move(target, source, source.strides)

    def broadcast(self, target: CudaArray, source: CudaArray) -> None:
        """Every row of `target` of the shape of `source` becomes it."""
        self.move(target, source, (0,) * (target.ndim - source.ndim) + source.strides)

    def move(self, target: CudaArray, source: CudaArray, strides: tuple[int, ...]) -> None:
        """`strides`: those of the source along the dimensions of the target."""
        if target.size:
            axes = merged(target.shape, target.strides, strides)
            self.move_axes(target.prim.bytes, target.address, source.address, axes)

    def move_axes(self, size: int, target: int, source: int, axes: tuple[Axis, ...]) -> None:
        """Elements of `size` bytes; the way depends on what the axes are like."""
        if not axes or (len(axes) == 1 and axes[0].to == axes[0].source == 1):
            self.driver.copy(target, source, size * count(axes))
        elif (found := tiles(axes)) is not None:
            self.transpose(size, target, source, found)
        elif len(axes) <= MOST_DIMS:
            steps = zip(*((axis.size, axis.to, axis.source) for axis in padded(axes)))
            self.spread("copy", size, count(axes), [target, source], [len(axes), *chain(*steps)])
        else:
            first, rest = axes[0], axes[1:]
            for k in range(first.size):
                self.move_axes(size, target + size * k * first.to, source + size * k * first.source, rest)

    def transpose(self, size: int, target: int, source: int, t: Tiles) -> None:
        parts = t.matrix.size * -(-t.row.size // TILE) * -(-t.column.size // TILE)
        sizes = t.matrix.size, t.row.size, t.column.size
        strides = t.matrix.to, t.row.to, t.matrix.source, t.column.source
        self.start("transpose", size, parts, [target, source, *sizes, *strides])

    # ---- values ---------------------------------------------------------------------------------------------------

    def ramp(self, array: CudaArray, start: int, step: int) -> None:
        """`array[i] = start + i · step`, as integers of its width; array is dense."""
        word = repeated(start, array.prim.bytes) if step == 0 else None
        if array.size and word is not None:
            self.driver.set(array.address, *word, array.nbytes // word[1])
        elif array.size:
            self.spread("iota", array.prim.bytes, array.size, [array.address], [signed(start), signed(step)])

    def fill(self, array: CudaArray, value: Any) -> None:
        """Every element becomes a scalar."""
        bits = bits_of(array.prim, value)
        if array.is_dense:
            self.ramp(array, bits, 0)
        elif array.size:
            axes = merged(array.shape, array.strides, (0,) * array.ndim)
            self.fill_axes(array.prim.bytes, array.address, bits, axes)

    def fill_axes(self, size: int, address: int, bits: int, axes: tuple[Axis, ...]) -> None:
        if len(axes) <= MOST_DIMS:
            steps = zip(*((axis.size, axis.to) for axis in padded(axes)))
            self.spread("fill", size, count(axes), [address], [len(axes), *chain(*steps), bits])
            return
        first, rest = axes[0], axes[1:]
        for k in range(first.size):
            self.fill_axes(size, address + size * k * first.to, bits, rest)

    def spread(self, name: str, size: int, elements: int, arrays: Sequence[Value], scalars: Sequence[Value]) -> None:
        self.start(name, size, -(-elements // CHUNK), [*arrays, elements, *scalars])

    def start(self, name: str, size: int, blocks: int, values: Sequence[Value]) -> None:
        """A bulk kernel for elements of `size` bytes, which cannot fail."""
        grid = min(blocks, WAVES * self.driver.properties.multiprocessors)
        self.driver.launch(
            self.bulk[f"{name}_{size}"], grid, BLOCK.threads, 0, [*UNFAILING, blocks, *STACKLESS, *values]
        )


def as_buffer(array: np.ndarray) -> np.ndarray:
    """The same memory as an array of which there is a buffer: there is none of bf16."""
    return array.view(np.uint16) if prim_of(array.dtype) is Prim.BF16 else array


def signed(bits: int) -> int:
    """The i64 with these bits."""
    return (bits + (1 << 63)) % (1 << 64) - (1 << 63)


def bits_of(prim: Prim, value: Any) -> int:
    """A scalar as the integer with its bits."""
    there = np.array(word(prim, value), np.uint16) if prim.is_half else np.array(value, DTYPES[prim])
    return int(there.view(f"u{prim.bytes}"))
