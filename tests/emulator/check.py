"""Kernels for a GPU, checked without one: `python -m tests.emulator.check [FILE..] [--all] [--random N] [--json FILE]`.

Each program is compiled for a GPU, and then, with every small case of its test blocks on every version:

    compiles    NVRTC takes its kernels for sm_90; registers, spills and shared memory are recorded
    traced      no hazard, no read of what nobody has written, the interpreter's values
    emulated    the CUDA C of its kernels, run by the whole CUDA device on an emulated driver, gives what the
                interpreter does, with the threads of a block in ascending, descending and random order

`--all` takes every program of programs/ and tests/conformance/; random programs are those of tests/property. What takes
too long is skipped, and counted. Where NVRTC or a C++ compiler is missing, that part is left out, and said so; the exit
code is then 3, with faults 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from soac.arguments import Argument
from soac.datasets import arguments_of, data_sets
from soac.flatten.levels import CUDA, Machine, Mode
from soac.frontend.compile import Reach
from soac.frontend.data import compare_values
from soac.frontend.testblocks import ScriptInput, parse_tests
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, prepare
from soac.kernels.cuda import cuda_kernel, cuda_module
from soac.kernels.cuda_array import on_host
from soac.kernels.cuda_program import CudaExecutable
from soac.kernels.gpu import Gpu
from soac.kernels.nvrtc import NoCompiler, nvrtc
from soac.kernels.resources import Resources, resources
from soac.pipeline import Compiled, compile_core, compile_prog
from soac.references import OutOfTime, within
from soac.sync import hazards_of, traced
from soac.versions import misfits, runs_of
from tests.property.soak import on_device, program

from .driver import EmulatedDriver
from .emulate import COMPILER

ROOT = Path(__file__).parent.parent.parent
ARCH = "sm_90"
ORDERS = (0, 1, 5)
THREADS = 64
"""Of a block when emulated: a block of a GPU has more, which takes longer and shows no more."""
MOST_ELEMENTS = 1000
EQUAL_WRITES = frozenset({"same_value_twice"})
"""Programs whose threads write the same value to the same place, which the tracer cannot tell from a race."""
ORACLE_SECONDS, TRACE_SECONDS = 3.0, 5.0
"""That the interpreter may take for a case, and the tracer for a case on a version."""
PROGRAM_SECONDS = 40.0
"""After which no further case of a program is begun, in the tracer and in the emulator."""


@dataclass(frozen=True, slots=True)
class Call:
    """A case: an entry with arguments, and what it gives or the text of its failure."""

    entry: str
    label: str
    args: Sequence[Argument]
    wanted: Sequence[Argument] | str


@dataclass(frozen=True, slots=True)
class Subject:
    """A program and its cases; those that the interpreter takes too long for are `left_out`."""

    name: str
    compiled: Compiled
    calls: tuple[Call, ...]
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What was found out about a program: faults, what its kernels take, how many runs there were."""

    faults: list[str] = field(default_factory=list)
    kernels: dict[str, Resources] = field(default_factory=dict)
    traced: int = 0
    ran: int = 0
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0


# ---- programs ----------------------------------------------------------------------------------------------------


def of_file(path: Path, machine: Machine = CUDA) -> Subject:
    """A program with the small cases of its test blocks."""
    text = path.read_text(encoding="utf-8")
    compiled = compile_prog(text, str(path), machine=machine, reach=Reach.ANYWHERE)
    found = list(_calls(path, text, compiled))
    calls = tuple(call for call in found if isinstance(call, Call))
    return Subject(str(path), compiled, calls, tuple(label for label in found if isinstance(label, str)))


def _calls(path: Path, text: str, compiled: Compiled) -> Iterator[Call | str]:
    """The small cases, or the names of those without a value to compare with."""
    functions = {fun.entry.name: fun for fun in compiled.core.functions if fun.entry}
    oracle = prepare(compiled.core)
    for one in data_sets(parse_tests(text, str(path)), tuple(functions)):
        if isinstance(one.case.input, ScriptInput):
            continue
        try:
            args = arguments_of(one, functions[one.entry], path)
        except RunError:
            continue
        if sum(np.size(a) for a in args) > MOST_ELEMENTS:
            continue
        try:
            wanted = within(ORACLE_SECONDS, partial(outcome, oracle.run, one.entry, args, Thresholds()))
        except OutOfTime:
            yield f"{one.entry} {one.label}: not interpreted in {ORACLE_SECONDS:g} s"
        else:
            yield Call(one.entry, one.label, args, wanted)


def of_number(seed: int, number: int) -> Subject:
    """Random program `number` of a seed."""
    case = on_device(program(seed, number), number)
    compiled = compile_core(case.prog, Mode.INCREMENTAL, CUDA)
    wanted = outcome(prepare(case.prog).run, "main", case.args, Thresholds())
    return Subject(f"random {seed} {number}", compiled, (Call("main", "", case.args, wanted),))


def corpus() -> list[Path]:
    """Every program that is not there to be rejected."""
    conformance = (ROOT / "tests" / "conformance").rglob("*.fut")
    apart = {"rejected", "library"}
    return [
        *sorted((ROOT / "programs").glob("*.soac")),
        *sorted(path for path in conformance if not apart & set(path.relative_to(ROOT).parts)),
    ]


# ---- the checks --------------------------------------------------------------------------------------------------


def faults(path: Path, machine: Machine = CUDA, orders: Sequence[int] = ORDERS) -> list[str]:
    """What is wrong with a program when emulated."""
    found = Outcome()
    emulate(of_file(path, machine), found, orders)
    return found.faults


def check(subject: Subject) -> Outcome:
    """A program through everything that this machine can do."""
    found, begin = Outcome(skipped=list(subject.left_out)), time.monotonic()
    if _has_nvrtc():
        texts = [cuda_kernel(kernel) for kernel in subject.compiled.host.kernels]
        found.kernels = resources(cuda_module(texts), ARCH) if texts else {}
    trace(subject, found)
    if COMPILER is not None:
        emulate(subject, found, ORDERS)
    found.seconds = time.monotonic() - begin
    return found


def trace(subject: Subject, found: Outcome) -> None:
    """Every case on every version, traced: no hazard."""
    if Path(subject.name).stem in EQUAL_WRITES:
        found.skipped.append("not traced: threads write equal values to one place")
        return
    end = time.monotonic() + PROGRAM_SECONDS
    for call in subject.calls:
        for forced in runs_of(subject.compiled.flat, call.entry):
            try:
                with np.errstate(all="ignore"):
                    seconds = min(TRACE_SECONDS, end - time.monotonic())
                    report = traced(subject.compiled, call.entry, call.args, forced, seconds) if seconds > 0 else None
            except RunError:
                continue
            if report is None:
                found.skipped.append(f"{call.entry} {call.label} {forced}: not traced in time")
                continue
            found.traced += 1
            where = f"{call.entry} {call.label} {forced} traced"
            found.faults += [f"{where}: {fault}" for fault in differences(call.wanted, report.results)]
            if (hazards := hazards_of(report)) is not None:
                found.faults.append(f"{where}: {hazards}")


def emulate(subject: Subject, found: Outcome, orders: Sequence[int]) -> None:
    """Every case on every version in each order of threads, on the CUDA device: the interpreter's values."""
    for order in orders:
        driver_of(the_gpu()).order = order
        found.faults += [f"order {order}: {fault}" for fault in run_on(the_gpu(), THREADS, subject, found)]


def run_on(gpu: Gpu, threads: int, subject: Subject, found: Outcome) -> Iterator[str]:
    """Every case on every version on a GPU: where it does not give the interpreter's values."""
    compiled, end = subject.compiled, time.monotonic() + PROGRAM_SECONDS
    device = CudaExecutable.build(compiled.host, compiled.core.functions, gpu, threads)
    for call in subject.calls:
        for forced in runs_of(compiled.flat, call.entry):
            if time.monotonic() > end:
                found.skipped.append(f"{call.entry} {call.label} {forced}: not run in time")
                continue
            got = outcome(_run_there(device, found, forced), call.entry, call.args)
            found.ran += 1
            for fault in differences(call.wanted, got):
                yield f"{call.entry} {call.label} {forced}: {fault}"


def _run_there(device: CudaExecutable, found: Outcome, forced: dict[str, bool]) -> Callable[..., Any]:
    def run(entry: str, args: Sequence[Argument]) -> tuple[list[Argument], object]:
        results, met = device.run(entry, args, forced=forced)
        if (why := misfits(forced, met)) is not None:
            found.skipped.append(f"{entry} {forced}: {why}")
        return on_host(results), met

    return run


@cache
def the_gpu() -> Gpu:
    return Gpu(EmulatedDriver(limit=1 << 30))


def driver_of(gpu: Gpu) -> EmulatedDriver:
    assert isinstance(gpu.driver, EmulatedDriver)
    return gpu.driver


@cache
def _has_nvrtc() -> bool:
    try:
        nvrtc()
    except NoCompiler:
        return False
    return True


def outcome(run: Callable[..., tuple[Sequence[Argument], object]], *args: object) -> Sequence[Argument] | str:
    """The results, or the text of the failure."""
    try:
        with np.errstate(all="ignore"):
            return run(*args)[0]
    except RunError as failure:
        return str(failure)


def differences(wanted: Sequence[Argument] | str, got: Sequence[Argument] | str) -> Iterator[str]:
    """The law of failure: what fails may succeed where the failing value is not used."""
    if isinstance(wanted, str):
        return
    if isinstance(got, str):
        yield f"{got} instead of {wanted}"
        return
    for k, (x, y) in enumerate(zip(got, wanted, strict=True)):
        difference = compare_values(x, y)
        if difference:
            yield f"result {k}: {difference}"


# ---- the command -------------------------------------------------------------------------------------------------


def main() -> int:
    asked = _arguments()
    subjects: list[tuple[str, Callable[[], Subject]]] = [
        (str(path), lambda path=path: of_file(path)) for path in (*asked.files, *(corpus() if asked.all else ()))
    ]
    subjects += [
        (f"random {asked.seed} {k}", lambda k=k: of_number(asked.seed, k))
        for k in range(asked.first, asked.first + asked.random)
    ]
    missing = _missing()
    for what in missing:
        print(f"LEFT OUT: {what}", flush=True)
    found = {name: _checked(name, make) for name, make in subjects}
    _show_table(found)
    bad = sum(bool(one.faults) for one in found.values())
    print(f"{len(found)} programs, {bad} with faults; {_total(found)}")
    if asked.json is not None:
        _write(asked.json, found, missing)
    return 1 if bad else 3 if missing else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.emulator.check", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="every program of the repository")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="so many random programs")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="the number of the first of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def _missing() -> list[str]:
    without_nvrtc = [] if _has_nvrtc() else ["compiling for sm_90 (NVRTC is missing: pip install 'soac[cuda]')"]
    return without_nvrtc + ([] if COMPILER is not None else ["emulation (no C++ compiler: install g++ or clang++)"])


def _checked(name: str, make: Callable[[], Subject]) -> Outcome:
    try:
        found = check(make())
    except Exception:
        found = Outcome([traceback.format_exc(limit=-4)])
    said = f"{len(found.kernels)} kernels, {found.traced} traced, {found.ran} emulated, {found.seconds:.1f} s"
    print(f"{name}: {said if not found.faults else 'FAULT ' + found.faults[0][:1500]}", flush=True)
    return found


def _show_table(found: dict[str, Outcome]) -> None:
    """The kernels that spill, and those that take most registers and shared memory."""
    kernels = [(name, kernel, use) for name, one in found.items() for kernel, use in one.kernels.items()]
    most = sorted(kernels, key=lambda one: -one[2].registers)[:10] + sorted(kernels, key=lambda one: -one[2].shared)[:5]
    shown = [one for one in kernels if one[2].spills] + [one for one in most if not one[2].spills]
    print(f"{'kernel':<70} {'registers':>9} {'spilled':>8} {'stack':>6} {'shared':>7}")
    for name, kernel, use in dict.fromkeys(shown):
        spilled = use.spill_stores + use.spill_loads
        label = f"{Path(name).name} {kernel}"[:70]
        print(f"{label:<70} {use.registers:>9} {spilled:>8} {use.stack:>6} {use.shared:>7}")


def _total(found: dict[str, Outcome]) -> str:
    kernels = sum(len(one.kernels) for one in found.values())
    spilling = sum(use.spills for one in found.values() for use in one.kernels.values())
    runs = sum(one.traced for one in found.values()), sum(one.ran for one in found.values())
    skipped = sum(len(one.skipped) for one in found.values())
    return f"{kernels} kernels, {spilling} spill; {runs[0]} runs traced, {runs[1]} emulated, {skipped} skipped"


def _write(file: Path, found: dict[str, Outcome], missing: list[str]) -> None:
    report = {
        "format": 1, "arch": ARCH, "orders": ORDERS, "left_out": missing,
        "programs": {name: asdict(one) for name, one in found.items()},
    }  # fmt: skip
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
