"""A program ready to run on a GPU: arguments there, host functions by Python, results left there.

A call waits for the device before it returns, so failures are the call's, and nothing is under way in memory that a
caller gets or gave. Memory of other libraries is used where it is; it is never written.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....ir.core import FunDef
from ....ir.entry import bind_sizes
from ....ir.errors import Diagnostic, Label, Loc, RunError
from ....ir.machine import BLOCK
from ....ir.records import dataclass
from ....ir.types import Name
from ...cuda_c.module import cuda_module
from ...host_ir.nodes import HostProgram
from ...host_ir.timing_events import Careful, Event, Outline
from ..device import Call, Convert, KernelFailure, OutOfMemory, Settings, Trace, default_of
from ..host_runner import Code, Run, compile_host
from ..run_errors import as_type, failure_error, room_error
from .array import CudaArray
from .device import CudaDevice, StackOverflow
from .driver import DriverMemoryError, DriverRefusal, Signature, signature_of
from .gpu import Gpu
from .import_arrays import adopted
from .native import NativeProgram
from .variants import Variant, compile_ahead, rivals, variants_of


@dataclass(slots=True)
class CudaExecutable:
    """The entry points of a program on a GPU. `run` may be called from several threads; they take turns."""

    codes: dict[str, Code]
    functions: dict[str, FunDef]
    gpu: Gpu
    device: CudaDevice

    @staticmethod
    def build(
        program: HostProgram, functions: tuple[FunDef, ...], gpu: Gpu, threads: int = BLOCK.threads
    ) -> CudaExecutable:
        """`functions`: the entry points as core functions, for their signatures; `threads` are those of a block."""
        device = gpu.call(lambda: CudaDevice.of(gpu, program.kernels, threads, rivals(program)))
        gpu.call(lambda: device.compile_host(program))
        codes = {f.entry.name: compile_host(f) for f in program.functions}
        return CudaExecutable(codes, {f.entry.name: f for f in functions if f.entry}, gpu, device)

    def run(
        self,
        entry: str,
        args: Sequence[Any],
        thresholds: Mapping[str, int] | None = None,
        forced: Mapping[str, bool] | None = None,
        threads: int | None = None,
        convert: Convert = lambda fun, args: args,
        log: list[Event] | None = None,
    ) -> tuple[list[Any], Trace]:
        """Results of an entry, arrays in the memory of the GPU, and the guards reached; `threads` says nothing here.

        Raises RunError, DataError, GpuLost."""
        fun = self.functions[entry]
        given = convert(fun, [adopted(self.gpu, arg) for arg in args])
        sizes = bind_sizes(fun, given)
        settings = thresholds or {}, forced or {}
        return self.gpu.call(lambda: self.attempts(entry, [*sizes, *given], settings, log))

    def prepare(self, entry: str, settings: Settings, threads: int | None, convert: Convert) -> Call:
        """`run` with these settings."""
        return lambda args: self.run(entry, args, *settings, threads, convert)[0]

    def place(self, entry: str, args: Sequence[Any]) -> list[Any]:
        """Arguments with their arrays in the memory of the GPU, for calls that are to take no time for that."""
        params = self.functions[entry].params[-len(args) :] if args else ()

        def job() -> list[Any]:
            placed = [
                self.gpu.upload(arg) if isinstance(arg, np.ndarray) and param.type.shape else arg
                for param, arg in zip(params, args, strict=True)
            ]
            self.gpu.synchronise()
            return placed

        return self.gpu.call(job)

    # ---- in the thread of the GPU ---------------------------------------------------------------------------------

    def attempts(
        self, entry: str, args: Sequence[Any], settings: Settings, log: list[Event] | None
    ) -> tuple[list[Any], Trace]:
        """A run; again from the start with larger stacks, while arrays inside of kernels have too little room."""
        while True:
            begun = 0 if log is None else len(log)
            try:
                if log is None or isinstance(log, Careful):
                    return self.attempt(entry, args, settings, log)
                return self.timed(entry, args, settings, log)
            except StackOverflow as full:
                self.device.begin()
                if not self.device.enlarge(full):
                    raise failure_error(full) from None
                if log is not None:
                    del log[begun:]
            except KernelFailure as found:
                raise failure_error(found) from None
            except (DriverRefusal, DriverMemoryError) as why:
                raise refused(str(why), self.functions[entry].loc) from None

    def timed(self, entry: str, args: Sequence[Any], settings: Settings, log: list[Event]) -> tuple[list[Any], Trace]:
        """An attempt by the clock of the device, which is not waited for before the end."""
        marks, events = self.gpu.marks, list[Event]()
        marks.begin()
        try:
            return self.attempt(entry, args, settings, None if isinstance(log, Outline) else events)
        finally:
            log.extend(marks.end(events))

    def complete(self, entry: str, every: bool = False) -> Iterator[str]:
        """Without `every` nothing: all kernels are one module, which was made with the program."""
        device, modules = self.device, dict[Variant, tuple[str, list[Signature]]]()
        loaded = {name for name, usual in device.kernels.items() if usual.loaded is not None}
        for name, threads, turns in variants_of(self.codes[entry].fun, device.threads, loaded) if every else ():
            usual = device.kernels[name]
            text = cuda_module([device.text_of(usual, threads, turns, wide=False, far=False)])
            modules[name, threads, turns] = text, [signature_of(usual.kernel)]
        return compile_ahead(self.gpu.driver.compiler(), modules)

    def attempt(
        self, entry: str, args: Sequence[Any], settings: Settings, log: list[Event] | None
    ) -> tuple[list[Any], Trace]:
        native, done = self.device.native, False
        self.device.begin_version(*settings)
        try:
            if native is not None and entry in native.entries and not isinstance(log, Careful):
                found = self.by_machine_code(native, entry, args, settings, log)
            else:
                found = self.by_python(entry, args, settings, log)
            done = True
            return found
        finally:
            if not done:
                self.gpu.synchronise()
                self.device.begin()

    def by_machine_code(
        self, native: NativeProgram, entry: str, args: Sequence[Any], settings: Settings, log: list[Event] | None
    ) -> tuple[list[Any], Trace]:
        fun, device = self.codes[entry].fun, self.device
        values = self.arguments(entry, args, ())[fun.entry.sizes :]
        found = native.call(
            entry,
            values,
            settings,
            lambda name: default_of(device, name, 1),
            device.failure,
            self.functions[entry].loc,
            log,
        )
        self.gpu.uploaded()
        return found

    def by_python(
        self, entry: str, args: Sequence[Any], settings: Settings, log: list[Event] | None
    ) -> tuple[list[Any], Trace]:
        clock = self.waited if isinstance(log, Careful) else self.gpu.marks.mark
        code, run = self.codes[entry], Run(self.device, *settings, 1, log, clock)
        found = code.function.call(iter(self.arguments(entry, args, code.fun.consumes)), run)
        results = self.results(code, found, args)
        self.device.synchronise()
        return results, tuple(run.trace)

    def waited(self) -> float:
        """The host's clock when the device has done what it was asked to. Raises KernelFailure."""
        self.device.synchronise()
        return time.monotonic()

    def arguments(self, entry: str, args: Sequence[Any], consumed: Collection[Name]) -> list[Any]:
        """Arrays dense in the memory of the GPU, those that the entry consumes as copies; scalars as Python values."""
        fun = self.codes[entry].fun
        values: list[Any] = []
        for param, arg in zip(fun.params, args, strict=True):
            if not param.type.shape:
                values.append(as_type(arg, param.type))
                continue
            try:
                given = isinstance(arg, CudaArray)
                array = self.gpu.dense(arg) if given else self.gpu.upload(np.asarray(arg))
                values.append(self.gpu.copy(array) if given and param.name in consumed else array)
            except OutOfMemory as why:
                raise room_error(why, f"the argument `{param.name.base}`", self.functions[entry].loc) from None
        return values

    def results(self, code: Code, results: list[Any], args: Sequence[Any]) -> list[Any]:
        """What the user sees, arrays of their own."""
        loc = self.functions[code.fun.entry.name].loc
        seen = {id(arg.block) for arg in args if isinstance(arg, CudaArray)}

        def own(value: CudaArray) -> CudaArray:
            try:
                array = self.gpu.dense(value)
                array = self.gpu.copy(array) if id(array.block) in seen else array
            except OutOfMemory as why:
                raise room_error(why, "a result", loc) from None
            seen.add(id(array.block))
            return array

        return code.shown(results, own)


def refused(why: str, loc: Loc) -> RunError:
    """R0302 for what the driver would not do; the GPU can still be used."""
    hint = "another version may ask for less: see `soac explain`, and choose it with --force or a tuning file"
    return RunError(Diagnostic("R0302", f"the driver of the GPU refuses: {why}", Label(loc, ""), hint=hint))
