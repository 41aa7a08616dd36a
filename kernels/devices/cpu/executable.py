"""The CPU device: NumPy memory, kernels as LLVM lanes, a fork–join pool; and `Executable`, a program ready to run.

A caller's arrays are never written: what an entry may consume is copied first, and a result never shares memory
with an argument or with another result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import llvmlite.binding as llvm
import numpy as np

from ....ir.core import FunDef, Level
from ....ir.cores import cores
from ....ir.entry import bind_sizes
from ....ir.errors import Diagnostic, IRError, Label, RunError
from ....ir.records import dataclass
from ....ir.scalar import DTYPES
from ....ir.types import Prim
from ...host_ir.launch_parameters import TASKS
from ...host_ir.nodes import HostProgram
from ...host_ir.timing_events import Event
from ...kernel_ir.nodes import Kernel
from ..device import Call, KernelCall, KernelFailure, Scalar, Trace, default_of
from ..failures import RECORD, failure
from ..host_memory import Pool, address
from ..run_errors import as_type, failure_error
from . import native
from .arena import Arenas, make_arenas
from .argument_words import exactly, in_order, word_of
from .image import Image, MachineCode
from .kernel_code import KernelCode, has_far
from .kernel_code import address as address_of_kernel
from .native import Native, Turn, link
from .runtime import thread_pool as pool
from .runtime.assembly import INLINE_WORK, Status

if TYPE_CHECKING:
    from ..host_runner import Code

WORKERS = cores()
Convert = Callable[[FunDef, Sequence[Any]], Sequence[np.ndarray | np.generic]]


@dataclass(slots=True)
class CpuDevice:
    """Runs the kernels of one program. `threads`: how many cores a launch may use.

    A few rows fill the cores, and what is sequential in a row still runs on the lanes: hence the threshold. It is
    a constant and not the number of cores, so that results are the same on every machine that was not calibrated. Of
    fewer, a core's turn pays wherever it fits: its arrays stay in the cache, and there is one launch, where the flat
    version has many of little work."""

    calibration: ClassVar[str] = f"cpu {llvm.get_host_cpu_name()} {WORKERS}"
    default_threshold: ClassVar[int] = 8
    default_inside: ClassVar[Mapping[Level, int]] = dict.fromkeys(Level, 1)

    code: KernelCode
    kernels: dict[str, Loaded]
    threads: int
    pool: Pool = field(default_factory=Pool)
    arenas: list[Arenas] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    # ---- memory and bulk operations -------------------------------------------------------------------------------

    def scratch(self, prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        return self.pool.array(shape, DTYPES[prim])

    def from_host(self, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def iota(self, count: int, start: int, step: int, prim: Prim) -> np.ndarray:
        with np.errstate(over="ignore"):
            counted = np.arange(count, dtype=np.int64) * step + start
        return counted.astype(DTYPES[prim])

    def replicate(self, shape: tuple[int, ...], value: Any, prim: Prim) -> np.ndarray:
        inner = np.shape(value)
        array = self.scratch(prim, shape + inner)
        array[...] = value
        return array

    def literal(self, elems: list[Any], prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        array = self.scratch(prim, shape)
        for k, elem in enumerate(elems):
            array[k] = elem
        return array

    def concat(self, arrays: list[np.ndarray], prim: Prim, shape: tuple[int, ...]) -> np.ndarray:
        array = self.scratch(prim, shape)
        np.concatenate(arrays, out=array)
        return array

    def copy(self, array: np.ndarray) -> np.ndarray:
        fresh = self.pool.array(array.shape, array.dtype)
        fresh[...] = array
        return fresh

    def dense(self, array: np.ndarray) -> np.ndarray:
        return array if array.flags.c_contiguous else self.copy(array)

    def reshape(self, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return self.dense(array).reshape(shape)

    def rearrange(self, array: np.ndarray, perm: tuple[int, ...]) -> np.ndarray:
        return array.transpose(perm)

    def view(self, array: np.ndarray, index: tuple[int | slice, ...]) -> np.ndarray:
        return array[index]

    def read(self, array: np.ndarray, index: tuple[int, ...]) -> Scalar:
        return array[index].item()

    def write(self, array: np.ndarray, index: tuple[int | slice, ...], value: Any) -> None:
        array[index] = value

    def synchronise(self) -> None:
        return None

    # ---- launches -------------------------------------------------------------------------------------------------

    def launch(self, launch: KernelCall) -> None:
        """Run all blocks of a kernel. Raises KernelFailure."""
        what = self.kernels[launch.kernel]
        code = address_of_kernel(self.code, launch.kernel, has_far(what.kernel) and bool(launch.scalars[-1]))
        slots = what.table()
        arenas = self.take_arenas(self.threads)
        base = ctypes.addressof(slots)
        slots[0], slots[1] = base + what.record, arenas.address
        held = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in launch.arrays]
        words = [address(a) for a in held]
        words += [word(value) for word, value in zip(what.words, launch.scalars)]
        slots[2 : 2 + len(words)] = words
        try:
            threads = 1 if launch.work < INLINE_WORK else self.threads
            tasks = next(iter(launch.sizes), 0) or TASKS
            pool.run_blocks(code, base, launch.blocks, threads, pool.share(launch.blocks, threads, tasks))
        finally:
            self.arenas.append(arenas)
        if slots[what.record // 8]:
            raise failure(what.kernel, slots[what.record // 8 :])

    def take_arenas(self, threads: int) -> Arenas:
        """Arenas for `threads` workers, to be put back after use."""
        try:
            arenas = self.arenas.pop()
        except IndexError:
            return make_arenas(max(WORKERS, threads))
        return arenas if len(arenas.regions) >= threads else make_arenas(threads)

    def take_turn(self, threads: int) -> Turn:
        """The turn that prepared calls on `threads` workers wait for."""
        for turn in self.turns:
            if len(turn.arenas.regions) >= threads:
                return turn
        self.turns.append(Turn(ctypes.c_int64(0), self.take_arenas(threads)))
        return self.turns[-1]


@dataclass(frozen=True, slots=True)
class Loaded:
    """How a kernel is called: its argument table ends with the failure record, at byte `record`; `words` turn its
    scalars into 64-bit words."""

    kernel: Kernel
    table: type[ctypes.Array[ctypes.c_int64]]
    record: int
    words: tuple[Callable[[Any], int], ...]


def loaded(kernel: Kernel) -> Loaded:
    """A kernel with a table of two words, one for each array and scalar, and the failure record."""
    size = 2 + len(kernel.arrays) + len(kernel.scalars)
    words = tuple(word_of(v.prim) for v in kernel.scalars)
    return Loaded(kernel, ctypes.c_int64 * (size + RECORD), 8 * size, words)


# ---- programs ready to run ---------------------------------------------------------------------------------------


def python_codes(image: Image) -> dict[str, Code]:
    """The functions that Python runs, by their entry points."""
    from ..host_runner import compile_host  # with the interpreter, which few programs need

    return {f.entry.name: compile_host(f) for f in image.interpreted}


class Runner(Enum):
    """Who runs host functions: native code where it can, or Python everywhere."""

    NATIVE = "native"
    PYTHON = "python"


@dataclass(slots=True)
class Executable:
    """The entry points of a program on the CPU. `run` may be called from several threads.

    An entry is native (`native.py`), or, where it holds what has no native form, run by Python
    (`devices/host_runner.py`)."""

    codes: dict[str, Code]
    functions: dict[str, FunDef]
    device: CpuDevice
    native: Native = field(default_factory=lambda: Native({}, None))

    @staticmethod
    def build(
        program: HostProgram, functions: tuple[FunDef, ...], threads: int | None = None, runner: Runner = Runner.NATIVE
    ) -> Executable:
        """Compile the host functions (or find them in the cache); kernels follow when they are first launched.

        `functions`: the entry points as core functions, for their signatures."""
        from .build import compile_kernel, compiled_code, image_of

        image, host = image_of(program, functions, runner is Runner.NATIVE)
        bodies = {kernel.name: kernel for kernel in program.kernels}
        kernels = KernelCode(lambda name, far, effort: compile_kernel(bodies[name], far, effort))
        return Executable.of(image, compiled_code(image, host, kernels), threads)

    @staticmethod
    def of(image: Image, code: MachineCode, threads: int | None = None) -> Executable:
        """An image with its code."""
        device = CpuDevice(code.kernels, {k.name: loaded(k) for k in image.kernels}, threads or WORKERS)
        entries = {f.entry.name: f for f in image.entries if f.entry}
        codes = python_codes(image) if image.interpreted else {}
        return Executable(codes, entries, device, link(image, code))

    def run(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
        convert: Convert = lambda fun, args: args,
        log: list[Event] | None = None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        """Results of an entry (components in order), and the guards reached: (threshold, parallelism, taken). `convert`
        gives arrays and scalars for arguments that are not already what the entry takes. With a `log` the run is timed,
        and its events are put there, also if it fails.

        Raises RunError, DataError (arguments of the wrong type), MemoryError as RunError R0301."""
        settings, workers = (thresholds or {}, forced or {}), threads or self.device.threads
        try:
            if entry in self.native.entries:
                return self.run_native(entry, args, settings, workers, convert, log)
            return self.run_python(entry, convert(self.functions[entry], args), settings, workers, log)
        except (KernelFailure, MemoryError) as fault:
            raise self.reported(entry, fault) from None

    def reported(self, entry: str, fault: BaseException) -> BaseException:
        """The error that the user sees of a fault."""
        match fault:
            case KernelFailure():
                return failure_error(fault)
            case MemoryError():
                text = f"out of memory: {fault}"
                return RunError(Diagnostic("R0301", text, Label(self.functions[entry].loc, "")))
            case _:
                return fault

    def prepare(self, entry: str, settings: native.Settings, threads: int | None, convert: Convert) -> Call:
        """A call of an entry with these settings, decided once; it gives the results alone, and raises what `run`
        raises."""
        found = self.native.entries.get(entry)

        def slowly(args: Sequence[Any]) -> list[Any]:
            return self.run(entry, args, *settings, threads, convert)[0]

        if found is None:
            return slowly
        workers = threads or self.device.threads
        pool.start(workers)
        ready = native.prepared(found, settings, self.default(workers), workers, self.device.take_turn(workers))
        run = ready.run

        def call(args: Sequence[Any], again: bool = True) -> list[Any]:
            try:
                results = run(*args)
            except MemoryError as fault:
                raise self.reported(entry, fault) from None
            except TypeError:
                convert(self.functions[entry], args)  # says what `args` are, if they are no sequence
                raise
            if results.__class__ is list:
                return results
            if results == Status.UNSUITED:
                return call(list(map(in_order, args)), False) if again else slowly(args)
            raise self.reported(entry, native.failed(found, ready, results)) from None

        return call

    def place(self, entry: str, args: Sequence[Any]) -> list[Any]:
        return list(args)

    def complete(self, entry: str, every: bool = False) -> Iterator[str]:
        native = self.native.entries.get(entry)
        for name in (k.name for k in native.kernels.kernels) if native else self.device.kernels:
            for far in (False, True)[: 1 + has_far(self.device.kernels[name].kernel)]:
                address_of_kernel(self.device.code, name, far)
            yield name

    def run_native(
        self,
        entry: str,
        args: Sequence[Any],
        settings: native.Settings,
        threads: int,
        convert: Convert,
        log: list[Event] | None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        """A call whose arguments are converted only where they do not suit."""
        pool.start(threads)
        fun, code = self.functions[entry], self.native.entries[entry]
        arenas = self.device.take_arenas(threads)
        how = settings, self.default(threads), threads, arenas, log
        try:
            done = native.call(code, args, *how) or native.call(code, exactly(fun, convert(fun, args)), *how)
        finally:
            self.device.arenas.append(arenas)
        if done is None:
            raise IRError("arguments that do not suit were accepted")
        return done

    def run_python(
        self,
        entry: str,
        args: Sequence[np.ndarray | np.generic],
        settings: native.Settings,
        threads: int,
        log: list[Event] | None,
    ) -> tuple[list[np.ndarray | np.generic], Trace]:
        from ..host_runner import Run

        sizes = bind_sizes(self.functions[entry], args)
        code = self.codes[entry]
        run = Run(
            self.device if threads == self.device.threads else self.with_threads(threads), *settings, threads, log
        )
        results = code.function.call(iter([*sizes, *self.arguments(code, args)]), run)
        return self.results(code, results, args), tuple(run.trace)

    def default(self, threads: int) -> Callable[[str], int]:
        """What thresholds are on `threads` threads, unless they are set."""
        return lambda threshold: default_of(self.device, threshold, threads)

    def with_threads(self, threads: int) -> CpuDevice:
        return CpuDevice(self.device.code, self.device.kernels, threads, self.device.pool, self.device.arenas)

    def arguments(self, code: Code, args: Sequence[np.ndarray | np.generic]) -> list[Any]:
        """Arrays dense and, where the entry consumes them, copied; scalars as Python values."""
        consumed = set(code.fun.consumes)
        values: list[Any] = []
        for param, arg in zip(code.fun.params[code.fun.entry.sizes :], args, strict=True):
            if not param.type.shape:
                values.append(as_type(arg, param.type))
            elif param.name in consumed:
                values.append(self.device.copy(np.asarray(arg)))
            else:
                values.append(np.ascontiguousarray(arg))
        return values

    def results(
        self, code: Code, results: list[Any], args: Sequence[np.ndarray | np.generic]
    ) -> list[np.ndarray | np.generic]:
        """What the user sees, arrays of their own."""
        seen: list[Any] = [a for a in args if isinstance(a, np.ndarray) and a.ndim]

        def own(value: np.ndarray) -> np.ndarray:
            if not value.flags.c_contiguous or any(np.may_share_memory(value, other) for other in seen):
                value = value.copy()
            seen.append(value)
            return value

        return code.shown(results, own)
