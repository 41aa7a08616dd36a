"""The tracer: kernels run sequentially, as a block of a GPU would be allowed to run them, and everything is seen.

One run gives the values, the hazards (races, uninitialised reads, accesses out of bounds), what each access costs in
memory sectors, and how the work is spread over the threads. It needs no GPU, and it is a check of one run at concrete
sizes: sizes around the block size (0, 1, t-1, t, t+1, 3t+2) are the interesting ones.

`trace_kernel` traces a launch on NumPy arrays, `trace_program` all launches of an entry point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np

from ...ir.core import Level, Prog
from ...ir.errors import NOWHERE, Loc
from ...ir.machine import WARP
from ..devices.cpu.executable import Executable
from ..devices.host_runner import compile_host
from ..host_ir.nodes import HostProgram
from ..kernel_ir.nodes import GROUP, KArray, Kernel
from ..passes.pipeline import CUDA_PASSES, ready
from .closures import Traced, run_block, traced
from .device import Shadows, TracingDevice
from .memory import Memory, Site
from .threads import for_threads
from .visibility import Hazard, Kind, Machine, Track

Scalar = bool | int | float

MOST_KEPT = 256
"""Blocks of a launch of which the work of each thread is kept."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """The block to simulate, and the numbers of the fences (in order of execution) that are left out."""

    threads: int = 64
    warp: int = WARP.threads
    drop: frozenset[int] = frozenset()


# ---- what is reported --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """Hazards of one kind between the same two places: how many, and the first. `at` and `after` are the statements of
    the second and the first access, `sources` where they are in the source."""

    kernel: str
    hazard: Hazard
    at: str
    after: str | None
    count: int
    sources: tuple[Loc, Loc]


@dataclass(frozen=True, slots=True)
class SiteCosts:
    """An access site: requests of warps, what they cost (32-byte sectors of global memory, turns of the fullest bank
    of shared memory), the costliest, the threads that took part, and what the requests would cost if the elements that
    each touches were neighbours."""

    place: str
    array: KArray
    requests: int
    units: int
    worst: int
    lanes: int
    least: int


@dataclass(frozen=True, slots=True)
class Work:
    """Statements executed: by all threads, by the busiest thread of a block, and what they cost when every thread of a
    block takes as long as the busiest one, idle warps too. `slots`: threads there were, over all blocks. `each`: those
    executed by each thread of the first `MOST_KEPT` blocks."""

    total: int
    most: int
    padded: int
    slots: int
    each: tuple[tuple[int, ...], ...]

    @property
    def balance(self) -> float:
        """Useful share of the time that blocks take; 1 is perfect."""
        return self.total / self.padded if self.padded else 1.0


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """One launch. `fences`: how many were executed, over all blocks; `shared_bytes`: the most a block asked for."""

    kernel: str
    blocks: int
    counts: Mapping[Kind, int]
    findings: tuple[Finding, ...]
    sites: tuple[SiteCosts, ...]
    work: Work
    fences: int
    shared_bytes: int

    @property
    def is_clean(self) -> bool:
        return not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class Report:
    """One call of an entry: its results, every launch in order, the guards reached (threshold, parallelism, taken), and
    how many elements that had not been written the host read or returned."""

    results: list[np.ndarray | np.generic]
    launches: tuple[KernelTrace, ...]
    guards: tuple[tuple[str, int, bool], ...]
    unwritten: int

    @property
    def is_clean(self) -> bool:
        return not self.unwritten and all(launch.is_clean for launch in self.launches)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for launch in self.launches for finding in launch.findings)


def show_finding(finding: Finding) -> str:
    """A finding in words: array, index, both threads, both places, what is missing."""
    h = finding.hazard
    head = f"{finding.kernel}: {h.kind.value} at {h.array}[{h.index}]"
    at, after = (f" ({loc})" if loc != NOWHERE else "" for loc in finding.sources)
    second = f"thread {h.second.thread} of block {h.second.block} in `{finding.at}`{at}"
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    if h.first is None or h.missing is None:
        return f"{head}: {second}{times}"
    first = f"thread {h.first.thread} of block {h.first.block} in `{finding.after}`{after}"
    return f"{head}: {second} after {first}; missing is {h.missing.value}{times}"


# ---- one launch --------------------------------------------------------------------------------------------------


def trace_kernel(
    kernel: Kernel,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[Scalar],
    blocks: int,
    settings: TraceSettings = TraceSettings(),
    defined: Sequence[np.ndarray | None] | None = None,
) -> KernelTrace:
    """Run `blocks` blocks on `arrays`, in place, in the order of the kernel's arrays.

    `defined`: for each array, which elements hold a value (1-D, changed in place); None: all. Raises KernelFailure."""
    threads = settings.warp if kernel.collective is Level.WARP else settings.threads
    t = traced(kernel, Machine(threads, settings.warp), settings.drop, for_threads)
    t.env[GROUP.name] = threads
    t.env.update((var.name, value) for var, value in zip(kernel.scalars, scalars, strict=True))
    for array, values, known in zip(kernel.arrays, arrays, defined or [None] * len(arrays), strict=True):
        track = Track(array.name, known)
        t.memory[array.name] = Memory(array, values.ravel().tolist(), track, track if array in t.written else None)
    tally = Tally()
    try:
        for block in range(blocks):
            run_block(t, block)
            tally.block_done(t)
    finally:
        for array, target in zip(kernel.arrays, arrays, strict=True):
            if array in t.written:
                target.reshape(-1)[:] = t.memory[array.name].values
    return summary(t, blocks, tally)


@dataclass(slots=True)
class Tally:
    """Sums over blocks."""

    total: int = 0
    most: int = 0
    padded: int = 0
    shared: int = 0
    each: list[tuple[int, ...]] = field(default_factory=list)

    def block_done(self, t: Traced) -> None:
        self.total += sum(t.work)
        self.most = max(self.most, *t.work)
        self.padded += max(t.work) * len(t.work)
        if len(self.each) < MOST_KEPT:
            self.each.append(tuple(t.work))
        self.shared = max(self.shared, sum(t.shared_bytes.values()))


def summary(t: Traced, blocks: int, tally: Tally) -> KernelTrace:
    """What a launch of `blocks` blocks was: hazards, costs of the sites that had requests, work."""
    work = Work(tally.total, tally.most, tally.padded, blocks * t.machine.threads, tuple(tally.each))
    sites = tuple(costs(t, site) for site in t.sites if site.requests)
    return KernelTrace(t.kernel.name, blocks, dict(t.machine.counts), findings(t), sites, work, t.fences, tally.shared)


def costs(t: Traced, site: Site) -> SiteCosts:
    """The counts of one site, with the text of its statement."""
    return SiteCosts(t.places[site.place], site.array, site.requests, site.units, site.worst, site.lanes, site.least)


def findings(t: Traced) -> tuple[Finding, ...]:
    """Hazards that differ only in index and threads count as one."""
    first: dict[Any, Hazard] = {}
    count: Counter[Any] = Counter()
    for hazard in t.machine.hazards:
        key = (hazard.kind, hazard.array, hazard.second.place, hazard.first and hazard.first.place, hazard.missing)
        first.setdefault(key, hazard)
        count[key] += 1
    made: list[Finding] = []
    for key, h in first.items():
        second, before = h.second.place, h.first.place if h.first else None
        after, loc = (None, NOWHERE) if before is None else (t.places[before], t.sources[before])
        made.append(Finding(t.kernel.name, h, t.places[second], after, count[key], (t.sources[second], loc)))
    return tuple(made)


# ---- a program ---------------------------------------------------------------------------------------------------


class HasHost(Protocol):
    """A compiled program: its host program with kernels, and its entry points."""

    @property
    def host(self) -> HostProgram: ...
    @property
    def flat(self) -> Prog: ...


def trace_program(
    compiled: HasHost,
    entry: str,
    args: Sequence[np.ndarray | np.generic],
    forced: Mapping[str, bool] | None = None,
    settings: TraceSettings = TraceSettings(),
) -> Report:
    """Run an entry point with every launch traced, its kernels with the fences that they need on a machine with
    threads. `forced`: decisions at guards. Raises what running the program raises."""
    return trace_kernels(compiled, ready_kernels(compiled), entry, args, forced, settings)


def ready_kernels(compiled: HasHost) -> Callable[[str], Kernel]:
    """The kernels of a program by name as a machine with threads runs them, with their fences; made when first asked
    for."""
    by_name = {kernel.name: kernel for kernel in compiled.host.kernels}
    return cache(lambda name: ready(by_name[name], CUDA_PASSES))


def trace_kernels(
    compiled: HasHost,
    kernel: Callable[[str], Kernel],
    entry: str,
    args: Sequence[np.ndarray | np.generic],
    forced: Mapping[str, bool] | None,
    settings: TraceSettings = TraceSettings(),
    sizes: Mapping[str, int] | None = None,
) -> Report:
    """The same; `kernel` gives the kernel to run for a name, `sizes` those that a tuning file may set. Raises what
    running the program raises."""
    launches: list[KernelTrace] = []
    shadows = Shadows()

    def launch(name: str, blocks: int, arrays: list[np.ndarray], scalars: list[Scalar]) -> None:
        known = [shadows.flat(array) for array in arrays]
        launches.append(trace_kernel(kernel(name), arrays, scalars, blocks, settings, known))

    (fun,) = (f for f in compiled.host.functions if f.entry.name == entry)
    functions = {f.entry.name: f for f in compiled.flat.functions if f.entry}
    device = TracingDevice.tracing(launch, shadows)
    results, guards = Executable({entry: compile_host(fun)}, functions, device).run(entry, args, sizes, forced)
    unwritten = sum(shadows.missing(value) for value in results if isinstance(value, np.ndarray))
    return Report(results, tuple(launches), guards, device.unwritten + unwritten)
