"""The CPU device with launches emulated: the generated CUDA C, compiled by the system's C++ compiler, thread by thread.

A test oracle for the printer of CUDA C (`kernels/cuda_c/module.py`): what kernels compute must not depend on the order
in which the threads of a block run between barriers.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from soac.kernels.analysis.stack_sizes import UNKNOWN, StackSizes
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel, cuda_module
from soac.kernels.cuda_c.ops import c_type
from soac.kernels.devices.cpu.executable import CpuDevice, Executable, failure
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.device import KernelCall, Scalar
from soac.kernels.devices.host_runner import compile_host
from soac.kernels.kernel_ir.nodes import Atomic, Kernel, LookBack, WaitFor
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, Passes, all_ready
from soac.pipeline import Compiled

HERE = Path(__file__).parent
GRID = 8
RESIDENT = 4
BLOCK_BYTES, THREAD_BYTES, SHARED_BYTES = 1 << 22, 1 << 14, 1 << 12
COMPILER = shutil.which("g++") or shutil.which("clang++")
UNDEFINED = "alignment,bounds,bool,float-cast-overflow,integer-divide-by-zero,shift,signed-integer-overflow"
"""What has no meaning in C++, and is a problem where the emulator meets it."""
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", f"-fsanitize={UNDEFINED}")


class Memory(ctypes.Structure):
    """`Memory` of `cuda_prelude.h`."""

    _fields_: ClassVar = [
        ("memory", ctypes.c_void_p),
        ("block_size", ctypes.c_int64),
        ("thread_size", ctypes.c_int64),
        ("shared_size", ctypes.c_int64),
    ]


@dataclass(frozen=True, slots=True)
class Emulator:
    """Kernels as emulated machine code."""

    library: ctypes.CDLL
    kernels: dict[str, Kernel]
    texts: dict[str, CudaKernel]

    def launch(self, name: str, blocks: int, arrays: list[np.ndarray], scalars: list[Scalar], order: int) -> None:
        """All blocks, threads in this order: 0 ascending, 1 descending, else the seed of a random one.
        Raises KernelFailure, and AssertionError where threads wait for each other in vain."""
        kernel, threads, own = self.kernels[name], self.texts[name].threads, self.of_thread(name, scalars)
        failures = (ctypes.c_uint64 * 17)()
        together = self.texts[name].together
        scratch = np.empty(GRID * together * (BLOCK_BYTES + threads * own), np.uint8)
        held = [np.ascontiguousarray(a) for a in arrays]
        values = [
            ctypes.c_void_p(ctypes.addressof(failures)), ctypes.c_void_p(ctypes.addressof(failures)),
            ctypes.c_int64(blocks),
            Memory(scratch.ctypes.data, BLOCK_BYTES, own, self.shared(name, scalars)),
            *(ctypes.c_void_p(a.ctypes.data) for a in held),
            *(c_value(v.prim, x) for v, x in zip(kernel.scalars, scalars, strict=True)),
        ]  # fmt: skip
        table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        grid = -(-blocks // together)
        grid = min(grid, GRID) if self.texts[name].take_turns else grid
        at_once = RESIDENT if order and blocks_wait(kernel) else 1
        if getattr(self.library, f"emulate_{name}")(table, ctypes.c_int64(grid), threads * together, order, at_once):
            raise AssertionError(f"{name}: {self.library.emulator_problem().decode()}")
        if failures[0]:
            raise failure(kernel, [ctypes.c_int64(word).value for word in failures])

    def of_thread(self, name: str, scalars: Sequence[Scalar]) -> int:
        """Bytes of the stack of each thread: all that it takes, where a launch tells."""
        sizes = StackSizes.of(self.kernels[name])
        peak = sizes.peak_of([scalars[k] for k in sizes.used]).thread
        return THREAD_BYTES if peak == UNKNOWN else max(THREAD_BYTES, int(peak))

    def shared(self, name: str, scalars: Sequence[Scalar]) -> int:
        """Bytes of shared memory for arrays of a block: all that a text takes which has none elsewhere, else a few."""
        sizes = StackSizes.of(self.kernels[name])
        return int(sizes.peak_of([scalars[k] for k in sizes.used]).block) if self.texts[name].near else SHARED_BYTES


def blocks_wait(kernel: Kernel) -> bool:
    """Do its blocks wait for each other, or race for the same elements?"""
    return any(isinstance(stm, (WaitFor, LookBack, Atomic)) for stm in statements(kernel.body))


@dataclass(slots=True)
class EmulatedDevice(CpuDevice):
    """Launches are emulated; memory is the CPU's."""

    emulator: Emulator | None = None
    order: int = 0

    def launch(self, launch: KernelCall) -> None:
        assert self.emulator is not None
        self.emulator.launch(launch.kernel, launch.blocks, launch.arrays, launch.scalars, self.order)


def c_value(prim: Prim, value: Scalar) -> ctypes.Structure | ctypes._SimpleCData:
    """A scalar argument in memory, as its C type."""
    return {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[prim.bytes](
        int.from_bytes(DTYPES[prim].type(value).tobytes(), "little")
    )


def emulated(compiled: Compiled, emulator: Emulator, order: int) -> Executable:
    """The program, ready to run with the threads of its kernels in this order."""
    device = EmulatedDevice(KernelCode(), {}, 1, emulator=emulator, order=order)
    codes = {f.entry.name: compile_host(f) for f in compiled.host.functions}
    return Executable(codes, {f.entry.name: f for f in compiled.core.functions if f.entry}, device)


def build(kernels: tuple[Kernel, ...], threads: int = 64, passes: Passes = CUDA_PASSES) -> Emulator:
    """The kernels' CUDA C after the passes for blocks of `threads` threads, with a function for each that emulates a
    launch."""
    texts = tuple(cuda_kernel(kernel, threads) for kernel in all_ready(kernels, passes))
    parts = ['#include "cuda_emulator.h"', cuda_module(texts), *(wrapper(kernel) for kernel in kernels)]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        source.write_text("\n".join(parts), encoding="utf-8")
        assert COMPILER is not None
        done = subprocess.run([COMPILER, *FLAGS, f"-I{HERE}", "-o", library, source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        loaded = ctypes.CDLL(str(library))
    loaded.emulator_problem.restype = ctypes.c_char_p
    return Emulator(loaded, {k.name: k for k in kernels}, {text.name: text for text in texts})


def wrapper(kernel: Kernel) -> str:
    """`emulate_NAME(table of pointers to arguments, grid, threads, order)`."""
    types = ["u64 *", "const u64 *", "i64", "Memory", *(f"{c_type(a.prim)} *" for a in kernel.arrays)]
    types += [c_type(v.prim) for v in kernel.scalars]
    args = ", ".join(f"*({t} *)arguments_of_{kernel.name}[{k}]" for k, t in enumerate(types))
    return f"""
static void **arguments_of_{kernel.name};
extern "C" int emulate_{kernel.name}(void **arguments, i64 grid, int threads, int order, int at_once) {{
  arguments_of_{kernel.name} = arguments;
  return emulator::launch([] {{ {kernel.name}({args}); }}, grid, threads, order, at_once);
}}"""
