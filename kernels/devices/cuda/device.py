"""The CUDA device: the operations of the host program on a GPU, and launches of the kernels of one program.

Launches and bulk operations return before they are done. A failing check records itself in words of the device; all
later kernels of the run see that and do nothing (so none of them relies on what the check was to ensure), and the host
reads the words where it waits for the device anyway: before it uses a scalar, and at the end of a run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ....ir.core import Level
from ....ir.errors import NOWHERE
from ....ir.machine import BLOCK, CUDA
from ....ir.scalar import DTYPES, elements_as
from ....ir.types import Prim
from ...analysis.stack_sizes import UNKNOWN, Peak
from ...cuda_c.module import CudaKernel, Grid, cuda_kernel
from ...cuda_c.narrow_indices import fits
from ...host_ir.launch_parameters import fitting_block
from ...host_ir.nodes import HostProgram
from ...kernel_ir.nodes import FailureSite, Kernel, Space
from ..cpu.runtime import thread_pool as pool
from ..device import KernelCall, KernelFailure, Scalar
from ..failures import failure
from .array import CudaArray
from .dlpack import dense
from .driver import word
from .gpu import Gpu
from .host.limits import FIRST_STACK, MOST_GRID, MOST_SHARED, MOST_UNSEEN, RECORD, STACK_BUDGET, TURNS
from .native import NativeProgram
from .prepared import Prepared, loaded_kernels, prepared

MOST_PEAKS = 1 << 12
"""Launches whose stacks are remembered."""


def fitting_factor(blocks: int, sizes: Sequence[int]) -> Sequence[int]:
    """`sizes` of a launch with a factor that leaves no more than `MOST_GRID` blocks."""
    least = -(-blocks // MOST_GRID)
    return sizes if least <= max((1, *sizes[:1])) else (least, *sizes[1:])


class StackOverflow(KernelFailure):
    """Arrays inside of a kernel need more memory than a stack has: `needs` bytes, as far as is known."""

    def __init__(self, kernel: Kernel, space: Space, needs: int) -> None:
        super().__init__(FailureSite("R0301", NOWHERE, ("out of memory for arrays inside a kernel",)), ())
        self.stack = kernel.name, space
        self.needs = needs


@dataclass(slots=True)
class CudaDevice:
    """Runs in the thread of the GPU. `pending`: kernels have been launched since the failure words were read, and
    `unseen`: how many from the first on that can fail;
    `others`: kernels for other blocks than of `threads` threads, that take turns, or that came later, as launches asked
    for them;
    `peaks`: what launches take of their stacks; `grown`: the sizes of stacks that were too small at first, in the
    `version` that runs."""

    calibration: ClassVar[str] = ""
    default_threshold: ClassVar[int] = 1 << 15
    default_inside: ClassVar[Mapping[Level, int]] = {row.level: row.threads for row in CUDA.higher}

    gpu: Gpu
    kernels: dict[str, Prepared]
    record: CudaArray
    threads: int
    others: dict[tuple[str, int, Grid, bool, bool], Prepared] = field(default_factory=dict, repr=False)
    peaks: dict[tuple[str, Sequence[Scalar]], Peak] = field(default_factory=dict, repr=False)
    grown: dict[tuple[str, Space], int] = field(default_factory=dict)
    version: tuple[dict[str, int], dict[str, bool]] = field(default_factory=lambda: ({}, {}), repr=False)
    native: NativeProgram | None = field(default=None, repr=False)
    pending: bool = field(default=False, repr=False)
    unseen: int = field(default=0, repr=False)

    @staticmethod
    def of(gpu: Gpu, kernels: Sequence[Kernel], threads: int, later: Container[str] = ()) -> CudaDevice:
        """Compiles the kernels, for blocks of `threads` threads, or finds them in the cache, and loads them, those that
        come `later` when a launch asks for them."""
        record = gpu.scratch(Prim.U64, (RECORD,))
        device = CudaDevice(gpu, prepared(gpu, kernels, threads, later), record, threads)
        device.begin()
        return device

    def compile_host(self, program: HostProgram) -> None:
        """The host functions as machine code, where the driver shows its functions."""
        if (native := self.gpu.native) is not None:
            self.native = NativeProgram.of(self.gpu, native, program, self.kernels, self.variant)
            native.begin()

    # ---- a run ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget failures of a run before."""
        self.gpu.driver.clear(self.record.address, self.record.nbytes)
        self.pending, self.unseen = False, 0
        if self.gpu.native is not None:
            self.gpu.native.begin()

    def begin_version(self, thresholds: Mapping[str, int], forced: Mapping[str, bool]) -> None:
        """With other settings: what stacks have grown to is nothing to this version, and their memory goes back."""
        if (thresholds, forced) != self.version:
            self.grown.clear()
            if self.native is not None:
                self.native.forget_stacks()
            self.gpu.pool.drop_stacks()
            self.version = dict(thresholds), dict(forced)

    def synchronise(self) -> None:
        """Wait for the device. Raises KernelFailure."""
        if not self.pending:
            self.gpu.synchronise()
            return
        self.pending = False
        words = self.gpu.to_host(self.record).view(np.int64).tolist()
        if words[0]:
            raise self.failure(words)
        self.unseen = 0

    def failure(self, words: Sequence[int]) -> KernelFailure:
        known = sorted(self.kernels.values(), key=lambda k: k.first_site)
        of_site = known[bisect_right([k.first_site for k in known], words[0] - 1) - 1]
        number = words[0] - of_site.first_site
        if number > len(of_site.kernel.sites):
            return StackOverflow(of_site.kernel, Space.PRIVATE if words[1] else Space.SHARED, words[2])
        return failure(of_site.kernel, [number, *words[1:]])

    def launch(self, launch: KernelCall) -> None:
        """Start all blocks of a kernel."""
        kernel, blocks, scalars = launch.kernel, launch.blocks, launch.scalars
        if pool.is_stopping():
            pool.forget_stop()
            raise KeyboardInterrupt
        if self.unseen >= MOST_UNSEEN:
            self.synchronise()
        sizes = fitting_factor(blocks, launch.sizes)
        wide, driver = self.is_wide(kernel, blocks, scalars), self.gpu.driver
        what = self.shaped(kernel, sizes, wide, far=False)
        if what.text.near and self.peak(what, scalars).block > what.shared_left // what.text.together:
            what = self.shaped(kernel, sizes, wide, far=True)
        text, held = what.text, [self.gpu.dense(array) for array in launch.arrays]
        stack, at_once = self.stack(what, blocks, scalars) if text.stacks else ((0, 0, 0, 0), blocks)
        if text.take_turns:
            at_once = min(at_once, -(-blocks // max((1, *sizes[:1]))))
        before = self.record.address if self.unseen else 0
        values = [self.record.address, before, blocks, *stack, *(array.address for array in held)]
        values += [word(v.prim, value) for v, value in zip(what.kernel.scalars, scalars, strict=True)]
        self.pending = True
        self.unseen += text.fails or self.unseen > 0
        grid = -(-at_once // text.together)
        driver.launch(what.loaded, grid, text.threads * text.together, stack[3] * text.together, values)

    def is_wide(self, kernel: str, blocks: int, scalars: Sequence[Scalar]) -> bool:
        """Whether a launch takes indices of 64 bits."""
        what = self.kernels[kernel]
        if not what.text.bound:
            return False
        values = {var.name: int(x) for var, x in zip(what.kernel.scalars, scalars, strict=True) if var.prim is Prim.I64}
        return not fits(what.text.bound, values, blocks)

    def shaped(self, kernel: str, sizes: Sequence[int], wide: bool, far: bool) -> Prepared:
        """The kernel for the block size of `sizes`, each block doing the work of `factor` blocks; compiled when first
        asked for."""
        factor, *asked = sizes if any(sizes) else (1,)
        return self.variant(kernel, fitting_block(asked[0]) if any(asked) else self.threads, factor > 1, wide, far)

    def variant(self, kernel: str, threads: int, takes_turns: bool, wide: bool, far: bool) -> Prepared:
        """The kernel for blocks of that number of threads, with indices of 64 bits or those that mostly do, with arrays
        of a block that may be in global memory or those that are all in shared memory."""
        usual, grid = self.kernels[kernel], Grid.TURNS if takes_turns else Grid.WHOLE
        if (threads, grid, wide, far) == (self.threads, Grid.WHOLE, False, False) and usual.loaded is not None:
            return usual
        if (key := (kernel, threads, grid, wide, far)) not in self.others:
            text = self.text_of(usual, threads, takes_turns, wide, far)
            made = loaded_kernels(self.gpu, [usual.kernel], [(usual.first_site, text)], threads)
            self.others[key] = made[kernel]
        return self.others[key]

    def text_of(self, usual: Prepared, threads: int, takes_turns: bool, wide: bool, far: bool) -> CudaKernel:
        """The text of a variant of a kernel."""
        grid = Grid.TURNS if takes_turns else Grid.WHOLE
        return cuda_kernel(usual.kernel, threads, usual.first_site, grid, wide, far)

    def stack(self, what: Prepared, blocks: int, scalars: Sequence[Scalar]) -> tuple[tuple[int, int, int, int], int]:
        """`Memory` for a kernel whose blocks take turns, and how many may at once. The memory is in use until the
        kernel is done, and so is not used before by what comes after it in the stream. Shared memory is what the
        arrays of a block take, where that is known."""
        peak, name, text = self.peak(what, scalars), what.kernel.name, what.text
        room = what.shared_left // text.together
        shared = int(peak.block) if peak.block <= room else min(room, MOST_SHARED[what.kernel.collective]) & ~15
        block = 0 if peak.block <= shared else self.stack_size(name, Space.SHARED, peak.block)
        thread = self.stack_size(name, Space.PRIVATE, peak.thread)
        each = block + text.threads * thread
        if each == 0:
            return (0, 0, 0, shared), min(blocks, MOST_GRID)
        full = TURNS * max(1, BLOCK.threads // text.threads) * self.gpu.driver.properties.multiprocessors
        at_once = max(1, min(blocks, full, STACK_BUDGET // each))
        whole = -(-at_once // text.together) * text.together
        return (self.gpu.pool.stacks(whole * each), block, thread, shared), at_once

    def peak(self, what: Prepared, scalars: Sequence[Scalar]) -> Peak:
        """What the launch takes of its stacks."""
        key = what.kernel.name, tuple(scalars[k] for k in what.sizes.used)
        if key not in self.peaks:
            if len(self.peaks) >= MOST_PEAKS:
                self.peaks.clear()
            self.peaks[key] = what.sizes.peak_of(key[1])
        return self.peaks[key]

    def stack_size(self, kernel: str, space: Space, known: float) -> int:
        """Of the stack of a block or thread: what it takes if that is known, else as little as has been enough."""
        return int(known) if known != UNKNOWN else self.grown.get((kernel, space), FIRST_STACK[space])

    def enlarge(self, full: StackOverflow) -> bool:
        """Give arrays more room from now on, unless one block alone would fill the device."""
        (name, space), (_, total) = full.stack, self.gpu.driver.memory()
        size = max(full.needs, 2 * self.stack_size(name, space, UNKNOWN))
        if size * (self.kernels[name].text.threads if space is Space.PRIVATE else 1) > total:
            return False
        self.grown[name, space] = size
        if self.native is not None:
            self.native.enlarge(name, space, size)
        return True

    # ---- memory and bulk operations -------------------------------------------------------------------------------

    def scratch(self, prim: Prim, shape: tuple[int, ...]) -> CudaArray:
        return self.gpu.scratch(prim, shape)

    def from_host(self, array: np.ndarray) -> CudaArray:
        return self.gpu.upload(array)

    def to_host(self, array: CudaArray) -> np.ndarray:
        self.settle()
        return self.gpu.to_host(array)

    def settle(self) -> None:
        """Failures so far; what the host is about to read is good after it."""
        if self.pending:
            self.synchronise()

    def iota(self, count: int, start: int, step: int, prim: Prim) -> CudaArray:
        if prim.is_float:
            return self.gpu.upload(elements_as(np.arange(count, dtype=np.int64) * step + start, prim))
        array = self.gpu.scratch(prim, (count,))
        self.gpu.ramp(array, start, step)
        return array

    def replicate(self, shape: tuple[int, ...], value: Any, prim: Prim) -> CudaArray:
        if not isinstance(value, CudaArray):
            array = self.gpu.scratch(prim, shape)
            self.gpu.fill(array, value)
            return array
        array = self.gpu.scratch(prim, shape + value.shape)
        self.gpu.broadcast(array, value)
        return array

    def literal(self, elems: list[Any], prim: Prim, shape: tuple[int, ...]) -> CudaArray:
        if not any(isinstance(elem, CudaArray) for elem in elems):
            return self.gpu.upload(np.array(elems, DTYPES[prim]).reshape(shape))
        array = self.gpu.scratch(prim, shape)
        for k, elem in enumerate(elems):
            self.gpu.assign(self.view(array, (k,)), elem)
        return array

    def concat(self, arrays: list[CudaArray], prim: Prim, shape: tuple[int, ...]) -> CudaArray:
        joined, start = self.gpu.scratch(prim, shape), 0
        for array in arrays:
            end = start + array.shape[0]
            self.gpu.assign(self.view(joined, (slice(start, end),)), array)
            start = end
        return joined

    def copy(self, array: CudaArray) -> CudaArray:
        return self.gpu.copy(array)

    def dense(self, array: CudaArray) -> CudaArray:
        return self.gpu.dense(array)

    # ---- views ----------------------------------------------------------------------------------------------------

    def reshape(self, array: CudaArray, shape: tuple[int, ...]) -> CudaArray:
        held = self.gpu.dense(array)
        return CudaArray(self.gpu, held.block, held.address, shape, dense(shape), held.prim)

    def rearrange(self, array: CudaArray, perm: tuple[int, ...]) -> CudaArray:
        shape, strides = tuple(array.shape[p] for p in perm), tuple(array.strides[p] for p in perm)
        return CudaArray(self.gpu, array.block, array.address, shape, strides, array.prim)

    def view(self, array: CudaArray, index: tuple[int | slice, ...]) -> CudaArray:
        offset, shape, strides = 0, list[int](), list[int]()
        for at, size, stride in zip(index, array.shape, array.strides):
            if isinstance(at, slice):
                part = range(size)[at]
                offset += part.start * stride if part else 0
                shape.append(len(part))
                strides.append(part.step * stride)
            else:
                offset += at * stride
        rest = len(index)
        whole = (*shape, *array.shape[rest:]), (*strides, *array.strides[rest:])
        return CudaArray(self.gpu, array.block, array.address + offset * array.prim.bytes, *whole, array.prim)

    def read(self, array: CudaArray, index: tuple[int, ...]) -> Scalar:
        return self.to_host(self.view(array, index)).item()

    def write(self, array: CudaArray, index: tuple[int | slice, ...], value: Any) -> None:
        target = self.view(array, index)
        if not isinstance(value, CudaArray):
            self.gpu.fill(target, value)
        else:
            self.gpu.assign(target, self.gpu.copy(value) if value.block is array.block else value)
