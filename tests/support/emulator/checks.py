"""What is done to one program: its kernels compiled for a GPU, its cases emulated and traced on every version.

compiles    NVRTC takes its kernels for sm_90; registers, spills and shared memory are recorded; without it, too, none
            declares more shared memory than there may be
emulated    the CUDA C of its kernels, run by the whole CUDA device on an emulated driver, gives what the
            interpreter does, with the threads of a block in ascending, descending and random order
traced      no hazard, no read of what no thread has written, the interpreter's values

The tracer takes about 30 times as long as the emulator, which also tells what each run launches. So where a program is
compiled again to reach kernels for many elements, those runs are traced that launch a kernel of which nothing is known.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path

import numpy as np

from soac.arguments import Argument
from soac.data.read_write import compare_values
from soac.flatten.tiling.choose import REGISTERS
from soac.ir.errors import RunError
from soac.ir.machine import CUDA, Machine
from soac.ir.types import Prim
from soac.ir.version_tree import Size, sizes_of
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc, resources
from soac.kernels.devices.cuda.ptxas_report import Resources
from soac.kernels.devices.device import on_host
from soac.kernels.host_ir.launch_parameters import Kind, launch_sizes, size_kind
from soac.kernels.host_ir.nodes import HostFun
from soac.kernels.kernel_ir.dedup import form_of
from soac.kernels.kernel_ir.nodes import Distribute, FailureSite, Kernel, Note
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.tracer.run import Report, ready_kernels, trace_kernels
from soac.testing.sync import hazards_of
from soac.versions import misfits, runs_of
from tests.support.emulator.driver import EmulatedDriver, declared_shared, too_much
from tests.support.emulator.emulate import COMPILER
from tests.support.emulator.subjects import PARTS, ROOT, Call, Results, Subject, in_small_parts, of_file, outcome
from tests.support.emulator.ways import ways_to
from tests.support.emulator.wide_tiles import other_size
from tests.support.property.guards import Broken
from tests.support.property.soak import within

ARCH = "sm_90"
ORDERS = (0, 1, 5)
THREADS = 64
"""Of a block when emulated: a block of a GPU has more, which takes longer and shows no more."""
TRACE_SECONDS = 20.0
"""Of the processor: what the tracer may take for a case on a version."""
PROGRAM_SECONDS = 10.0
"""Of the processor, after which no further case of a program is begun, in the tracer and in all orders of the emulator,
but for versions that no smaller case has taken: these have as long again."""
CHECK_SECONDS = float("inf")
"""Of the processor, after which a program is not compiled with further limits."""


@dataclass(slots=True)
class Outcome:
    """What was found out about a program: faults, what its kernels take, how many runs there were, those that were
    skipped, how many more that were `slower` than another one of the same version; versions that do not fit a case, and
    the kernels that no run launched; the forms of those that were traced and emulated, and of those that `others` had;
    the digests of what it was compiled to, and of its cases (`digest_of`)."""

    faults: list[str] = field(default_factory=list)
    kernels: dict[str, Resources] = field(default_factory=dict)
    traced: int = 0
    ran: int = 0
    skipped: list[str] = field(default_factory=list)
    slower: int = 0
    misfits: list[str] = field(default_factory=list)
    not_traced: list[str] = field(default_factory=list)
    not_emulated: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    made_of: list[str] = field(default_factory=list)
    seconds: float = 0.0


def check(subject: Subject, before: Container[str] = (), earlier: Outcome | None = None) -> Outcome:
    """A program through everything that this machine can do; kernels that its cases do not reach are those for many
    elements, and are reached where the program is compiled as if it had many. Kernels of the forms in `before` have
    been traced and emulated with other programs: they need not be reached again. What was found `earlier` is the answer
    where the program is compiled to the same."""
    ours = ready_kernels_of(subject)
    if earlier is not None and is_still(earlier, subject, before):
        if ours and has_nvrtc() and not earlier.kernels:
            earlier.kernels = resources(cuda_module(map(cuda_kernel, ours)), ARCH)
        return earlier
    found, begin = Outcome(skipped=list(subject.left_out), made_of=[digest_of(subject)]), time.process_time()
    forms = digests(ours)
    found.others = sorted({form for form in forms.values() if form in before})
    subject = replace(subject, known=frozenset(name for name, form in forms.items() if form in before))
    text = cuda_module(map(cuda_kernel, ours))
    found.faults += too_much(declared_shared(text))
    if ours and has_nvrtc():
        found.kernels = resources(text, ARCH)
    run_all(subject, found)
    for k, other in enumerate(others_of(subject)):
        left, more = frozenset((*found.not_traced, *found.not_emulated)), Outcome()
        if not left or time.process_time() - begin > CHECK_SECONDS:
            break
        found.made_of.append(digest_of(other))
        theirs = ready_kernels_of(other)
        same = same_kernels(theirs, ours)
        wanted = frozenset[str]().union(*(same[name] for name in left))
        if k:
            run_all(replace(other, wanted=wanted), more)
        else:
            run_all(other, more, wanted | other_kernels(theirs, ours))
        merge(found, more, same)
    found.misfits = list(dict.fromkeys(found.misfits))
    found.forms = sorted({form for name, form in forms.items() if name not in {*found.not_traced, *found.not_emulated}})
    found.seconds = time.process_time() - begin
    return found


def others_of(subject: Subject) -> Iterator[Subject]:
    """The program compiled with other limits; then with other arguments, too."""
    yield from (in_small_parts(subject, part) for part in range(len(PARTS)))
    if calls := subject.made_up():
        other = replace(subject, calls=calls, wide=())
        yield other
        yield from (in_small_parts(other, part) for part in range(len(PARTS)))


def is_still(earlier: Outcome, subject: Subject, before: Container[str]) -> bool:
    """Whether a check would do what it did, without a fault: the program, and what it was compiled to with other
    limits, is the same, and kernels that others reached are reached by others."""
    if earlier.faults or any(form not in before for form in earlier.others):
        return False
    return all(was == digest_of(one) for was, one in zip(earlier.made_of, chain([subject], others_of(subject))))


def digest_of(subject: Subject) -> str:
    """Of all that a check depends on but the code that runs it: versions, host program, CUDA C, cases and results."""
    compiled = subject.compiled
    sha = hashlib.sha256(repr((compiled.flat, compiled.host)).replace(f"{ROOT}/", "").encode())
    sha.update(cuda_module(map(cuda_kernel, ready_kernels_of(subject))).encode())
    calls = (*subject.calls, *(call for _, call in subject.wide))
    for call in sorted(calls, key=lambda call: (call.entry, call.label)):
        sha.update(repr((call.entry, call.label, call.wanted if isinstance(call.wanted, str) else "")).encode())
        for value in map(np.asarray, (*call.args, *(() if isinstance(call.wanted, str) else call.wanted))):
            sha.update(repr((value.dtype.name, value.shape)).encode() + value.tobytes())
    return sha.hexdigest()[:20]


def ready_kernels_of(subject: Subject) -> tuple[Kernel, ...]:
    return all_ready(subject.compiled.host.kernels, CUDA_PASSES)


def digests(kernels: Iterable[Kernel]) -> dict[str, str]:
    """Of each kernel what it has in common with those of other programs that are the same, wherever in the source."""
    found = ((kernel.name, elsewhere(form_of(kernel))) for kernel in kernels)
    return {name: hashlib.sha256(repr(form).encode()).hexdigest()[:20] for name, form in found}


def elsewhere(form: Hashable) -> Hashable:
    """The form of a kernel without its places in the source."""
    match form:
        case (kind, *_) if kind in (Note, FailureSite):
            return kind.__name__
        case tuple():
            return tuple(map(elsewhere, form))
        case _:
            return form


def same_kernels(small: Sequence[Kernel], kernels: Sequence[Kernel]) -> dict[str, set[str]]:
    """For each kernel of a program those of `small` that are the same but for names and numbers: how long a tile is."""
    found = [(kernel.name, numberless(form_of(kernel))) for kernel in small]
    wanted = [(kernel.name, numberless(form_of(kernel))) for kernel in kernels]
    return {name: {one for one, other in found if other == form} for name, form in wanted}


def other_kernels(small: Sequence[Kernel], kernels: Sequence[Kernel]) -> frozenset[str]:
    """Those of `small` that a program does not have, or has with other numbers."""
    known = {repr(form_of(kernel)) for kernel in kernels}
    return frozenset(kernel.name for kernel in small if repr(form_of(kernel)) not in known)


def numberless(form: Hashable) -> Hashable:
    """The form of a kernel without the values of its constants and hints."""
    match form:
        case (int(), Prim(), *_):  # a variable or an array
            return form
        case (Prim() as prim, str()):
            return prim
        case tuple():
            return tuple(map(numberless, form))
        case int() if not isinstance(form, bool):
            return 0
        case _:
            return form


def run_all(subject: Subject, found: Outcome, fresh: frozenset[str] | None = None) -> None:
    """All runs emulated, then traced: where kernels are wanted the runs alone that were the first to launch one; where
    some are `fresh`, those, and the ones with default sizes that launch one."""
    if COMPILER is None:
        trace(subject, found)
        return
    launched = emulate(subject, found, ORDERS)
    if subject.wanted:
        trace(subject, found, firsts(launched, subject.wanted))
    elif fresh is not None:
        usual = frozenset(run for run, names in launched.items() if names & fresh and not run.sizes)
        trace(subject, found, usual | firsts(launched, fresh))
    else:
        trace(subject, found)


def firsts(launched: Mapping[Key, frozenset[str]], wanted: frozenset[str]) -> frozenset[Key]:
    """The runs that launch one of these kernels, each of which no run before has launched."""
    found, left = set[Key](), set(wanted)
    for run, names in launched.items():
        if names & left:
            found.add(run)
            left -= names
    return frozenset(found)


def merge(found: Outcome, more: Outcome, same: Mapping[str, set[str]]) -> None:
    """What was found with other limits; it says something of the kernels that are the `same`."""
    found.faults += [f"in small parts: {fault}" for fault in more.faults]
    found.skipped += [f"in small parts: {what}" for what in more.skipped]
    found.slower += more.slower
    found.traced += more.traced
    found.ran += more.ran
    found.not_traced = [name for name in found.not_traced if same[name].issubset(more.not_traced)]
    found.not_emulated = [name for name in found.not_emulated if same[name].issubset(more.not_emulated)]


def faults(path: Path, machine: Machine = CUDA, orders: Sequence[int] = ORDERS) -> list[str]:
    """What is wrong with a program when emulated."""
    found = Outcome()
    emulate(of_file(path, machine), found, orders)
    return found.faults


@cache
def has_nvrtc() -> bool:
    try:
        nvrtc()
    except NoCompiler:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Key:
    """A run: the case; entry, sides of guards and sizes; the sizes alone."""

    label: str
    version: tuple[object, ...]
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A case on a version, with sizes that a tuning file may set; `label` is what reports call it."""

    call: Call
    forced: Mapping[str, bool]
    sizes: Mapping[str, int]

    @property
    def key(self) -> Key:
        return Key(self.call.label, self.version, tuple(self.sizes.items()))

    @property
    def version(self) -> tuple[object, ...]:
        return self.call.entry, *self.forced.items(), *self.sizes.items()

    @property
    def label(self) -> str:
        sides = [f"{guard}={'T' if side else 'F'}" for guard, side in self.forced.items()]
        return f"{self.call.entry} {self.call.label} {{{', '.join(sides)}}}{self.sizes or ''}"


def runs(subject: Subject, reached: Container[str]) -> Iterator[Run]:
    """Every case on every version, and register tiles of every size; then with rivals of mappings, and with other sizes
    of tiles, the versions that may launch a kernel that has not been reached, as are all where kernels are wanted."""
    kernels = [name for name in subject.wanted or map(NAME, subject.compiled.host.kernels) if name not in subject.known]
    ways = ways_to(subject.compiled.host)

    def may_reach(run: Run) -> bool:
        left = (way for name in kernels if name not in reached for way in ways[name])
        return any(way.is_open(run.call.entry, run.forced) for way in left)

    usual = (run for call in subject.calls for run in _versions(subject, call, {}))
    yield from (run for run in usual if not subject.wanted or may_reach(run))
    for wide, call in subject.wide if any(name not in subject.known for name in in_registers(subject)) else ():
        yield Run(call, wide.forced, wide.settings)
    yield from (run for run in chain(_with_rivals(subject), _with_other_sizes(subject)) if may_reach(run))


def in_time(
    subject: Subject,
    reached: Container[str],
    found: Outcome,
    done: str,
    limit: float | None = None,
    only: Container[Key] | None = None,
) -> Iterator[Run]:
    """The runs that there is time for, that of the program without a limit, `only` these; what is left out is noted."""
    limit = seconds_of(subject) if limit is None else limit
    begin, taken = time.process_time(), set[tuple[object, ...]]()
    for run in runs(subject, reached):
        if only is not None and run.key not in only:
            continue
        seconds = time.process_time() - begin
        if seconds > limit and (run.version in taken or subject.wanted):
            found.slower += 1
        elif seconds > 2 * limit:
            found.skipped.append(f"{run.label}: not {done}, {2 * limit:g} s are over")
        else:
            yield run
            taken.add(run.version)


def seconds_of(subject: Subject) -> float:
    return PROGRAM_SECONDS if subject.seconds is None else subject.seconds


NAME = attrgetter("name")


def in_registers(subject: Subject) -> Iterator[str]:
    """The kernels that have tiles in registers."""
    for kernel in subject.compiled.host.kernels:
        if any(isinstance(stm, Distribute) for stm in statements(kernel.body)):
            yield kernel.name


def _with_rivals(subject: Subject) -> Iterator[Run]:
    """Versions with mappings that have rivals on their way, with these."""
    settings = {fun.entry.name: mappings_of(fun) for fun in subject.compiled.host.functions}
    for run in (run for call in subject.calls for run in _versions(subject, call, {})):
        if sizes := {s.name: 2 for s in settings[run.call.entry] if s.is_reached(run.forced)}:
            yield replace(run, sizes=sizes)


def mappings_of(fun: HostFun) -> tuple[Size, ...]:
    """The settings of mappings that have rivals."""
    return tuple(size for size in launch_sizes(fun) if size_kind(size.name) is Kind.MAPPING)


def _with_other_sizes(subject: Subject) -> Iterator[Run]:
    """Versions with sizes on their way, with other ones."""
    for step in range(len(REGISTERS)):
        for run in (run for call in subject.calls for run in _versions(subject, call, {})):
            reached = (s for s in sizes_of(subject.compiled.flat, run.call.entry) if s.is_reached(run.forced))
            if sizes := {s.name: other_size(s, step) for s in reached}:
                yield replace(run, sizes=sizes)


def _versions(subject: Subject, call: Call, sizes: Mapping[str, int]) -> Iterator[Run]:
    for forced in runs_of(subject.compiled.flat, call.entry):
        yield Run(call, forced, sizes)


def differences(wanted: Results, got: Results) -> Iterator[str]:
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


# ---- traced ------------------------------------------------------------------------------------------------------


def trace(subject: Subject, found: Outcome, only: Container[Key] | None = None) -> None:
    """All runs, or `only` these, traced: no hazard."""
    kernels, seen = ready_kernels(subject.compiled), set[str]()

    def fenced(name: str) -> Kernel:
        seen.add(name)
        return kernels(name)

    for run in in_time(subject, seen, found, "traced", only=only):
        entry, args = run.call.entry, run.call.args
        try:
            with np.errstate(all="ignore"), within(TRACE_SECONDS):
                report = trace_kernels(subject.compiled, fenced, entry, args, run.forced, sizes=run.sizes)
        except RunError as failure:
            found.faults += [f"{run.label} traced: {fault}" for fault in differences(run.call.wanted, str(failure))]
        except Broken:
            found.skipped.append(f"{run.label}: not traced in {TRACE_SECONDS:g} s")
        else:
            found.traced += 1
            found.faults += [f"{run.label} traced: {fault}" for fault in _faults_of(report, run.call)]
    found.not_traced = not_reached(subject, seen)


def _faults_of(report: Report, call: Call) -> Iterator[str]:
    yield from differences(call.wanted, report.results)
    if (hazards := hazards_of(report)) is not None:
        yield hazards


# ---- emulated ----------------------------------------------------------------------------------------------------


def emulate(subject: Subject, found: Outcome, orders: Sequence[int]) -> dict[Key, frozenset[str]]:
    """All runs in each order of threads, on the CUDA device: the interpreter's values. Where kernels are wanted, later
    orders are those of the runs that launched one first, so the search for these has all the time. What each run has
    launched."""
    driver, device = driver_of(the_gpu()), _built(subject, the_gpu(), THREADS)
    launched, reached = dict[Key, frozenset[str]](), set[str]()
    for k, order in enumerate(orders):
        driver.order = order
        only = firsts(launched, subject.wanted) if k and subject.wanted else None
        seen, limit = set[str](), seconds_of(subject) / (1 if subject.wanted else len(orders))
        for run in in_time(subject, seen, found, "run", limit, only):
            driver.names.clear()
            found.faults += [f"order {order}: {fault}" for fault in _run(device, run, found)]
            launched[run.key] = launched.get(run.key, frozenset()) | driver.names
            seen |= driver.names
        reached |= seen
    found.not_emulated = not_reached(subject, reached)
    return launched


def not_reached(subject: Subject, reached: Container[str]) -> list[str]:
    """The kernels that nothing has launched, here or with another program."""
    names = map(NAME, subject.compiled.host.kernels)
    return [name for name in names if name not in reached and name not in subject.known]


def run_on(gpu: Gpu, threads: int, subject: Subject, found: Outcome) -> Iterator[str]:
    """Every case on every version on a GPU: where it does not give the interpreter's values."""
    every, device = {kernel.name for kernel in subject.compiled.host.kernels}, _built(subject, gpu, threads)
    for run in in_time(subject, every, found, "run"):
        yield from _run(device, run, found)


def _built(subject: Subject, gpu: Gpu, threads: int) -> CudaExecutable:
    return CudaExecutable.build(subject.compiled.host, subject.compiled.core.functions, gpu, threads)


def _run(device: CudaExecutable, run: Run, found: Outcome) -> Iterator[str]:
    got = outcome(partial(_run_there, device, run, found))
    found.ran += 1
    for fault in differences(run.call.wanted, got):
        yield f"{run.label}: {fault}"


def _run_there(device: CudaExecutable, run: Run, found: Outcome) -> tuple[list[Argument], object]:
    results, reached = device.run(run.call.entry, run.call.args, run.sizes, run.forced)
    if (why := misfits(run.forced, reached)) is not None:
        found.misfits.append(f"{run.label}: {why}")
    return on_host(results), reached


@cache
def the_gpu() -> Gpu:
    return Gpu(EmulatedDriver(limit=1 << 30))


def driver_of(gpu: Gpu) -> EmulatedDriver:
    assert isinstance(gpu.driver, EmulatedDriver)
    return gpu.driver
