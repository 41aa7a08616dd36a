"""What a program goes through: the evaluator, the interpreter of core, all passes, the devices. Each stage is a way to
run the program; all of them agree on a program that does not fail."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from traceback import extract_tb
from typing import Any
from unittest.mock import patch

import numpy as np

from soac.flatten.context.trace import Rule
from soac.frontend.elaborate.program import elaborate
from soac.frontend.library import known_prelude
from soac.frontend.modules.program import infer
from soac.frontend.parsing.desugar_unzipped import plain_calls
from soac.frontend.parsing.parse import parse_module
from soac.frontend.source.declarations import Module
from soac.ir.check import Stage, check
from soac.ir.collector import paused_collector
from soac.ir.core import PrimOp, Prog
from soac.ir.depth import allow_depth
from soac.ir.errors import CompileError, RunError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import combinations, sites
from soac.kernels.devices.cpu.build import compiled_code, image_of, kernel_text
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.cpu.runtime.jit import CompiledKernels, Effort, host, load_source, source_of
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.kernel_ir.values import symbol_of
from soac.pipeline import Compiled, Kernels, compile_core, kernel_stages
from tests.support.property.generate import Case
from tests.support.property.guards import Broken
from tests.support.property.irregular import small_parts
from tests.support.property.law import Tally, check_law
from tests.support.source_programs.modules import run_program
from tests.support.source_programs.program import Program, arguments_as_values
from tests.support.source_programs.scalars import Failure
from tests.support.source_programs.values import TooLong, Undetermined, Value, agrees, components

MOST_VERSIONS = 8
MOST_EMULATED = 3
FULL_EVERY = 10
STAGES = ("evaluator", "passes", "cpu", "gpu", "emulator")
MODES = tuple(Mode)
LIMITS = {
    "flatten.block_rounds.ROUNDS": 5, "flatten.block_rounds.PANELS": 1, "flatten.block_rounds.LEAST": 1,
    "flatten.versions.in_place.LEAST": 1, "flatten.versions.in_place.ROW": 2, "flatten.memory.fuse_stencils.FAR": 16,
    "flatten.memory.fuse_stencils.MOST": 300.0, "kernels.passes.peel_boundaries.LEAST_REDUCED": 2,
    "kernels.schedule.cpu.inner_first.LEAST_POINTS": 3, "kernels.schedule.cpu.inner_first.LARGE": 40,
    "kernels.schedule.cpu.lanes_over_rows.MANY_SEGMENTS": 4, "kernels.schedule.cpu.rows_side_by_side.LEAST_BYTES": 1,
    "kernels.schedule.cpu.rows_side_by_side.LEAST_SIDE": 3,
    "kernels.schedule.cpu.rows_side_by_side.LEAST_ROW_BYTES": 8,
    "kernels.schedule.cpu.segred.MANY_SEGMENTS": 4, "kernels.schedule.cpu.segred.SHORT": 8,
    "kernels.schedule.cpu.split_k.LEAST_LENGTH": 16,
    "kernels.schedule.cpu.streamed_rows.LARGE": 40,
}  # fmt: skip
"""Limits of sizes from which on versions and schedules pay, and small values of them."""


@dataclass(slots=True)
class Reach:
    """How much of everything has been reached."""

    programs: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    schedules: Counter[str] = field(default_factory=Counter)

    def add(self, other: Reach) -> None:
        for name in self.__slots__:
            getattr(self, name).update(getattr(other, name))


class Refused(Exception):
    """The front end does not accept the program."""


class LeftOut(Exception):
    """The program takes too long, or says too little about sizes of what is empty."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a program gives, component by component, with tolerances; `code`: how it fails instead."""

    parts: tuple[Value, ...] = ()
    tolerances: tuple[float, ...] = ()
    code: str | None = None


def parsed(program: Program) -> Module:
    """The syntax tree."""
    try:
        return parse_module(program.text, "random.soac", known_prelude().module.next_id)
    except CompileError as error:
        raise Refused(str(error)) from error


def evaluated(program: Program, module: Module) -> Wanted:
    """What the program means."""
    try:
        value, _ = run_program(module, "main", arguments_as_values(program), program.literals)
    except Failure as failure:
        return Wanted(code=str(failure))
    except (TooLong, Undetermined) as error:
        raise LeftOut(type(error).__name__) from error
    values = (value,) if len(program.results) == 1 else value
    parts: list[Value] = []
    tolerances: list[float] = []
    for one, (form, tolerance) in zip(values, program.results, strict=True):
        found = components(one, form)
        parts += found
        tolerances += [tolerance] * len(found)
    return Wanted(tuple(parts), tuple(tolerances))


def elaborated(module: Module) -> Prog:
    """The core of the program."""
    allow_depth()
    try:
        with paused_collector():
            own, _ = plain_calls((module,))
            modules = (known_prelude().module, *own)
            typed, _ = infer(modules, known_prelude())
            prog = elaborate(modules, typed)
    except CompileError as error:
        raise Refused(str(error)) from error
    check(prog, Stage.CORE)
    return prog


def compare(stage: str, wanted: Wanted, run: Callable[[], tuple[Sequence[Any], object]]) -> None:
    """Raises `Broken` unless what runs gives what is wanted. Where the program fails, a stage may fail or not: what is
    not needed need not be computed."""
    try:
        found = run()[0]
    except RunError as error:
        if wanted.code is None:
            raise Broken(f"{stage}: fails with {error}") from None
        return
    if wanted.code is not None:
        return
    if len(found) != len(wanted.parts):
        raise Broken(f"{stage}: {len(found)} results, not {len(wanted.parts)}")
    for k, (part, tolerance, one) in enumerate(zip(wanted.parts, wanted.tolerances, found, strict=True)):
        if not agrees(part, one, tolerance):
            raise Broken(f"{stage}: result {k} is {one!r:.200}, not {part!r:.200}")


# ---- one program ---------------------------------------------------------------------------------------------------


@contextmanager
def small_limits() -> Iterator[None]:
    """What pays for large arrays is done for small ones."""
    with ExitStack() as stack:
        for name, value in LIMITS.items():
            stack.enter_context(patch(f"soac.{name}", value))
        yield


def check_program(program: Program, stages: Sequence[str], number: int) -> Reach:
    """Raises `Broken` unless all stages agree; `Refused` and `LeftOut` where there is nothing to compare. Every other
    program is compiled with small limits."""
    if number % 2:
        with small_limits():
            return _checked(program, stages, number)
    return _checked(program, stages, number)


def _checked(program: Program, stages: Sequence[str], number: int) -> Reach:
    reach = Reach(features=program.reached.copy())
    with at("front-end"):
        module = parsed(program)
        prog = elaborated(module)
    with at("evaluator"):
        wanted = evaluated(program, module)
    reach.operations.update(_operations(prog))
    reach.programs["fails" if wanted.code else "gives a value"] += 1
    with at("core"):
        compare("core", wanted, partial(prepare(prog).run, "main", program.args, Thresholds()))
    if "passes" in stages:
        with at("passes"):
            _passes(program, prog, number, reach)
    if "cpu" in stages:
        with at("cpu"):
            _cpu(program, prog, wanted, number, reach)
    if "gpu" in stages or "emulator" in stages:
        with at("emulator" if "emulator" in stages else "gpu"):
            _gpu(program, prog, wanted, reach, "emulator" in stages)
    return reach


@contextmanager
def at(stage: str) -> Iterator[None]:
    """A stage, of which a crash of whatever kind is a fault: `Broken` says of which kind, and where."""
    try:
        yield
    except (Broken, LeftOut, Refused):
        raise
    except Exception as error:  # the compiler may break in any way
        place = extract_tb(error.__traceback__)[-1].name
        raise Broken(f"{stage}: stops with {type(error).__name__} in {place}: {error}") from error


def _operations(prog: Prog) -> Iterator[str]:
    """Those of a program, with their types."""
    exps = (exp for fun in prog.functions for exp in all_exps(fun.body))
    return (f"{exp.op.value} {exp.prim.value}" for exp in exps if isinstance(exp, PrimOp))


def _passes(program: Program, prog: Prog, number: int, reach: Reach) -> None:
    """Every pass, and every version of one mode, in the interpreter."""
    tally: Tally
    with small_parts():
        tally = check_law(Case(prog, program.args), MODES[number % len(MODES)])
    reach.rules.update({rule.value: tally.fired[rule] for rule in Rule})
    reach.passes.update(tally.others)
    reach.programs["versions interpreted"] += tally.versions


def _cpu(program: Program, prog: Prog, wanted: Wanted, number: int, reach: Reach) -> None:
    """Every version on the CPU, with one thread and with two; one program of `FULL_EVERY` is compiled as users do."""
    compiled, kernels = compiled_for(prog, CPU, reach)
    is_full = number % FULL_EVERY == 0
    device = Executable.build(compiled.host, compiled.flat.functions) if is_full else quickly(compiled, kernels)
    for version in combinations(sites(compiled.flat))[:MOST_VERSIONS]:
        for threads in (1, 2):
            reach.programs["runs on the CPU"] += 1
            run = partial(device.run, "main", program.args, forced=version, threads=threads)
            compare(f"cpu {version} {threads}", wanted, run)


def _gpu(program: Program, prog: Prog, wanted: Wanted, reach: Reach, emulate: bool) -> None:
    """Every version for a GPU in the interpreter; with `emulate`, some of them in the emulator."""
    compiled, _ = compiled_for(prog, CUDA, reach)
    prepared = prepare(compiled.flat)
    versions = combinations(sites(compiled.flat))
    for version in versions[:MOST_VERSIONS]:
        reach.programs["versions for a GPU interpreted"] += 1
        compare(f"gpu {version}", wanted, partial(prepared.run, "main", program.args, Thresholds(forced=version)))
    if emulate:
        device = on_emulator(compiled)
        for version in versions[:MOST_EMULATED]:
            reach.programs["runs in the emulator"] += 1
            compare(f"emulator {version}", wanted, partial(emulated_run, device, program.args, version))


def on_emulator(compiled: Compiled) -> CudaExecutable:
    """A program for a GPU on the emulated device."""
    from tests.support.emulator.driver import EmulatedDriver, emulated_gpu

    return CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(EmulatedDriver()), 64)


def emulated_run(device: CudaExecutable, args: Sequence[Any], version: Any) -> tuple[list[Any], object]:
    """What a version of `main` gives there, in the memory of the host."""
    found, trace = device.run("main", args, forced=version)
    return [np.asarray(one.numpy() if isinstance(one, CudaArray) else one) for one in found], trace


def compiled_for(prog: Prog, machine: Machine, reach: Reach) -> tuple[Compiled, Kernels]:
    """A program for a machine with its kernels after all passes, checked; the schedules that its segops are run by."""
    compiled = compile_core(prog, Mode.INCREMENTAL, machine)
    check(compiled.flat, Stage.FLAT)
    reach.operations.update(_operations(compiled.flat))
    [(_, kernels)] = deque(kernel_stages(compiled.host.kernels, machine, checked=True), maxlen=1)
    for one in compiled.scheduled:
        kind = type(one.stm.exp).__name__
        reach.schedules.update(f"{machine.name} {kind} {row.schedule}" for row in one.considered if row.why_not is None)
        reach.schedules[f"{machine.name} {kind} interpreted"] += one.interpreted is not None
    return compiled, kernels


def quickly(compiled: Compiled, kernels: Kernels) -> Executable:
    """The program on the CPU with little of LLVM's own passes, which take most of the time."""
    image, host_source = image_of(compiled.host, compiled.flat.functions, native=True)
    by_name = {kernel.name: kernel for kernel in kernels}

    def code(name: str, far: bool, _effort: Effort) -> tuple[str, CompiledKernels]:
        source = source_of(kernel_text(by_name[name], host(), far), Effort.QUICK)
        return source.key, load_source(source, (symbol_of(name),))

    return Executable.of(image, compiled_code(image, host_source, KernelCode(code)))
