"""How long compiling takes: by stage, and for each kernel its passes, its text and LLVM. Nothing comes from a cache."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ..frontend.compile import compile_source
from ..frontend.source.text import Reach
from ..ir.collector import paused_collector
from ..ir.machine import CPU, Mode
from ..kernels.devices.cpu.build import image_of, kernel_text
from ..kernels.devices.cpu.runtime.jit import Effort, compile_object, host
from ..kernels.kernel_ir.nodes import Kernel
from ..kernels.kernel_ir.traverse import all_statements
from ..kernels.lower import lower
from ..kernels.passes.pipeline import CPU_PASSES, ready
from ..pipeline import LOWER, stages
from .tables import table


@dataclass(frozen=True, slots=True)
class StageTime:
    """Processor time of a stage, in seconds."""

    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel, its size before and after the passes, and seconds of its passes, of printing it, and of LLVM."""

    kernel: str
    statements: int
    characters: int
    passes: float
    text: float
    llvm: float

    @property
    def seconds(self) -> float:
        return self.passes + self.text + self.llvm


def compile_times(text: str, file: str, reach: Reach) -> tuple[tuple[StageTime, ...], tuple[KernelTime, ...]]:
    """Compiles a program for the CPU, all of its kernels too, which a run does when it launches them first."""
    found: list[StageTime] = []
    now = time.process_time()

    def done(stage: str) -> None:
        nonlocal now
        end = time.process_time()
        found.append(StageTime(stage, end - now))
        now = end

    with paused_collector():
        prog = compile_source(text, file, reach).prog
        done("front end")
        functions = prog.functions
        for name, after in stages(prog, Mode.INCREMENTAL, CPU, False):
            prog = after
            done(name)
        program = lower(prog, CPU)
        done(LOWER)
        _, source = image_of(program, functions, native=True)
        compile_object(source.texts, host(), source.effort)
        done("host functions")
        kernels = tuple(map(_kernel_time, program.kernels))
    return tuple(one for one in found if one.stage != "elaborate"), kernels


def _kernel_time(kernel: Kernel) -> KernelTime:
    times = [time.process_time()]
    made = ready(kernel, CPU_PASSES)
    times.append(time.process_time())
    text = kernel_text(made, host())
    times.append(time.process_time())
    compile_object((text,), host(), Effort.FULL)
    times.append(time.process_time())
    passes, printed, llvm = (end - begin for begin, end in pairwise(times))
    return KernelTime(kernel.name, sum(1 for _ in all_statements(kernel.body)), len(text), passes, printed, llvm)


def time_lines(found: tuple[StageTime, ...], kernels: tuple[KernelTime, ...]) -> Iterator[str]:
    """Two tables in text, the kernels with the longest first."""
    width = max(len(one.stage) for one in found)
    yield from (f"{one.stage:<{width}}  {one.seconds * 1e3:8.1f} ms" for one in found)
    each, last = sum(one.seconds for one in found), sum(one.seconds for one in kernels)
    yield f"{'in all':<{width}}  {each * 1e3:8.1f} ms, and {last * 1e3:.1f} ms for {len(kernels)} kernels"
    if kernels:
        rows: list[tuple[str, ...]] = [("kernel", "statements", "characters", "passes, ms", "text, ms", "LLVM, ms")]
        for one in sorted(kernels, key=lambda one: -one.seconds):
            times = (f"{seconds * 1e3:.1f}" for seconds in (one.passes, one.text, one.llvm))
            rows.append((one.kernel, str(one.statements), str(one.characters), *times))
        yield ""
        yield from table(rows, "")
