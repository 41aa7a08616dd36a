"""A GPU as compiled host programs see it: the driver's functions by address, memory from the pool."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import field
from typing import Any

from ....ir.records import dataclass
from ..device import OutOfMemory
from .driver import Driver, EntryPoints
from .host import structs
from .host.limits import BULK, RECORD
from .host.runtime import runtime
from .launch_queue import LaunchQueue
from .marks import Marks
from .memory_pool import DevicePool

ALLOCATE = CFUNCTYPE(c_int64, c_void_p, c_int64)
FREE = CFUNCTYPE(None, c_void_p, c_int64)
STACKS = CFUNCTYPE(None, c_void_p, c_int64)
NEED = CFUNCTYPE(None, c_void_p)
PIECE = CFUNCTYPE(None, c_int64)
SCALAR = 8
"""Bytes behind the record for a scalar."""


@dataclass(slots=True)
class NativeGpu:
    """`words`: what machine code reads; `short`: why there was no memory, the last time; `raised`: what ended a
    callback. `callbacks` must outlive the code. `drop` and `let_go` take a buffer: one reference less, and its memory
    is somebody else's."""

    driver: Driver
    pool: DevicePool
    bulk: Callable[[], Any]
    marks: Marks
    words: structs.Gpu = field(default_factory=structs.Gpu)
    bulk_codes: Any = field(default_factory=lambda: (c_void_p * len(BULK))())
    lists: Any = field(default_factory=lambda: (c_void_p * structs.LISTS)())
    short: OutOfMemory | None = None
    raised: BaseException | None = None
    callbacks: tuple[Any, ...] = ()
    queue: LaunchQueue | None = None
    drop: Any = field(default_factory=lambda: PIECE(runtime().address("soac_cuda_drop")))
    let_go: Any = field(default_factory=lambda: PIECE(runtime().address("soac_cuda_let_go")))

    @staticmethod
    def of(driver: Driver, found: EntryPoints, pool: DevicePool, bulk: Callable[[], Any], marks: Marks) -> NativeGpu:
        """In the thread of the GPU; `bulk` loads the kernels of bulk operations."""
        made = NativeGpu(driver, pool, bulk, marks)
        words = made.words
        for name in ("launch", "download", "upload", "copy", "clear", "set_16", "set_32", "wait"):
            setattr(words, name, getattr(found, name))
        words.stream, words.pinned = driver.stream, found.pinned(8 * RECORD + SCALAR)
        words.bulk, words.lists = ctypes.addressof(made.bulk_codes), ctypes.addressof(made.lists)
        words.multiprocessors = driver.properties.multiprocessors
        words.record = pool.take(8 * RECORD + SCALAR)[0]
        words.marks, marks.words.record = ctypes.addressof(marks.words), found.record
        jobs = (ALLOCATE(made.allocate), FREE(made.free), STACKS(made.stacks), NEED(made.need), NEED(made.more_marks))
        made.callbacks = jobs
        places = (ctypes.cast(job, c_void_p) for job in jobs)
        words.allocate, words.free, words.stacks, words.need, marks.words.more = places
        if found.graphs is not None:
            made.queue = LaunchQueue.of(found.graphs)
            words.queue = ctypes.addressof(made.queue.words)
        pool.native = made
        return made

    def begin(self) -> None:
        """Forget failures of a call before."""
        self.driver.clear(self.words.record, 8 * RECORD)
        self.words.pending = self.words.failing = self.words.error = 0
        self.short = self.raised = None
        if self.queue is not None:
            self.queue.words.count = self.queue.words.turns = 0

    def trim(self) -> None:
        """Give the memory of free buffers back to the driver."""
        CFUNCTYPE(None, c_void_p)(runtime().address("soac_cuda_trim"))(ctypes.addressof(self.words))

    def forget_stacks(self) -> None:
        """The memory for stacks has gone."""
        self.words.stack = self.words.stack_room = 0

    # ---- called by machine code ------------------------------------------------------------------------------------

    def allocate(self, _: int, size: int) -> int:
        """Memory for a buffer; 0 if there is none."""
        try:
            return self.pool.take(size)[0]
        except OutOfMemory as why:
            self.short = why
        except BaseException as why:
            self.raised = why
        return 0

    def free(self, _: int, address: int) -> None:
        self.driver.free(address)

    def stacks(self, _: int, size: int) -> None:
        """Memory for the stacks of a launch, if there is any."""
        try:
            self.words.stack = self.pool.stacks(size)
            self.words.stack_room = size
        except OutOfMemory as why:
            self.short = why
        except BaseException as why:
            self.raised = why

    def more_marks(self, _: int) -> None:
        """Events for marks."""
        try:
            self.marks.grow()
        except BaseException as why:
            self.raised = why

    def need(self, _: int) -> None:
        """The kernels of bulk operations."""
        try:
            loaded = self.bulk()
            for number, name in enumerate(BULK):
                self.bulk_codes[number] = self.driver.handle(loaded[name])
        except BaseException as why:
            self.raised = why
