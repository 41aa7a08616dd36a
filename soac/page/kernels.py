"""What each kernel of a program is and costs: axes, accesses, work of threads, memory, schedules, code.

Costs are those of traced launches (`kernels/tracer`) on small data sets: every version is traced until each kernel that
it may launch was seen, or the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from ..ir.core import Level
from ..ir.errors import NOWHERE, IRError, Loc, SoacError
from ..ir.machine import CUDA, Machine
from ..ir.types import Prim
from ..ir.version_tree import Sides
from ..kernels.analysis.sectors import SOME, predict
from ..kernels.cuda_c.module import cuda_kernel, cuda_module
from ..kernels.devices.cuda.nvrtc import NoCompiler, resources
from ..kernels.devices.cuda.ptxas_report import Resources
from ..kernels.host_ir.launch_parameters import Kind, size_kind
from ..kernels.host_ir.nodes import launches
from ..kernels.kernel_ir.nodes import Kernel
from ..kernels.kernel_ir.show import show_kernel, show_stm
from ..kernels.lanes.module import emit
from ..kernels.passes.pipeline import CPU_PASSES, ready
from ..kernels.schedule.cuda.mapping import EXTENT
from ..kernels.tracer.run import KernelTrace, Report, SiteCosts, TraceSettings, ready_kernels, trace_kernels
from ..pipeline import Compiled
from ..reports.explain import Guard, Interpreted, Launched, Step
from ..reports.schedules import ScheduledSegop, as_json_of, taken_in_words
from ..testing.references import OutOfTime, within
from .axes import Access, Axes, Shape, axes_of
from .data import Seen

ARCH = "sm_90"
LONGEST = 3e-4
"""Seconds of a run, of data sets that are small enough to be traced."""
SECONDS = 10.0
"""That a traced run may take."""
SHOWN_BLOCKS, SHOWN_THREADS = 64, 256
BLOCKS = 8
"""Of a launch that is evaluated instead of traced."""
MOST_CODE = 40_000
"""Letters of a kernel's code that are shown."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Launches by kernel, and what was traced: data set and version, by kernel. `why`: what was not."""

    launches: Mapping[str, Sequence[KernelTrace]]
    of: Mapping[str, str]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traceable:
    """An entry whose launches can be traced: its versions with the kernels that each may launch, and its data sets."""

    compiled: Compiled
    entry: str
    versions: Mapping[str, tuple[Sides, frozenset[str]]]
    sizes: Mapping[str, int]
    settings: TraceSettings


def traces_of(asked: Traceable, sets: Sequence[Seen], seconds: float) -> Traces:
    """Traces versions that launch kernels which were not seen, on the longest of the data sets that are short enough,
    then on shorter ones."""
    until = time.monotonic() + seconds
    kernel = ready_kernels(asked.compiled)
    small = sorted((one for one in sets if one.args is not None), key=lambda one: one.seconds)
    short = [one for one in small if one.seconds < max(LONGEST, 3 * small[0].seconds)]
    found: dict[str, list[KernelTrace]] = {}
    of: dict[str, str] = {}
    why: dict[str, str] = {}
    for one in [*short[:-4:-1], *short[:1]]:
        for name, (sides, kernels) in asked.versions.items():
            left = min(SECONDS, until - time.monotonic())
            if kernels <= found.keys():
                continue
            if left <= 0:
                return Traces(found, of, ("no time was left to trace all kernels (`--seconds`)",))
            report = _traced(asked, kernel, one, sides, left)
            if isinstance(report, str):
                why[name] = f"{one.label}, {name}: {report}"
                continue
            why.pop(name, None)
            seen: dict[str, list[KernelTrace]] = {}
            for launch in report.launches:
                seen.setdefault(launch.kernel, []).append(launch)
            for own, launched in seen.items():
                if own not in found:
                    found[own], of[own] = launched, f"{one.label}, version {name}"
    return Traces(found, of, tuple(why.values()))


def _traced(asked: Traceable, kernel: Callable[[str], Kernel], one: Seen, sides: Sides, seconds: float) -> Report | str:
    """The report of a run, or why there is none."""
    assert one.args is not None
    args = list(one.args)
    try:
        return within(
            seconds,
            lambda: trace_kernels(asked.compiled, kernel, asked.entry, args, sides, asked.settings, asked.sizes),
        )
    except OutOfTime:
        return f"tracing takes more than {seconds:.0f} seconds"
    except SoacError as fault:
        return str(fault).splitlines()[0]


# ---- facts --------------------------------------------------------------------------------------------------------


def kernels_data(
    compiled: Compiled, machine: Machine, steps: Mapping[str, Sequence[Step]], segops: Sequence[ScheduledSegop],
    traces: Traces, settings: tuple[TraceSettings, Mapping[str, int]], files: Sequence[str],
) -> tuple[list[dict[str, Any]], list[str]]:  # fmt: skip
    """Each kernel that the entries shown launch, as JSON data, in the order of launches; and what is not known."""
    kernel, notes = ready_kernels(compiled), list(traces.why)
    launched = {one.kernel: (entry, one) for entry, tree in reversed(tuple(steps.items())) for one in _launched(tree)}
    names = dict.fromkeys(one.kernel for tree in steps.values() for one in _launched(tree))
    taken: Mapping[str, Resources] = {}
    if machine.name == CUDA.name:
        try:
            taken = resources(cuda_module(cuda_kernel(kernel(name)) for name in names), ARCH)
        except (NoCompiler, IRError) as fault:
            notes.append(f"registers are not known: {str(fault).splitlines()[0]}")
    trace, sizes = settings
    factors = _factors(compiled, tuple(steps), sizes)
    found: list[dict[str, Any]] = []
    for name in names:
        one, (entry, launch) = kernel(name), launched[name]
        threads = trace.warp if one.collective is Level.WARP else trace.threads
        shape = Shape(threads, trace.warp, factors.get(name, 1))
        axes = axes_of(one, launch.blocks, shape)
        data = {
            "name": name,
            "entry": entry,
            "level": one.collective.value,
            "blocks": launch.blocks,
            "under": list(launch.under),
            "at": place_of(launch.loc, files),
            "axes": [asdict(axis) | {"where": axis.where.value} for axis in axes.axes],
            "bindings": axes.bindings,
            "schedules": [_segop_data(segop) for segop in segops if name in _kernels_in(segop)],
            "threads": threads,
            "warp": trace.warp,
            "code": dict(_code(machine, compiled, one)),
        }
        if name in taken:
            data["resources"] = {
                "registers": taken[name].registers, "shared": taken[name].shared, "stack": taken[name].stack,
                "spills": taken[name].spill_loads + taken[name].spill_stores,
            }  # fmt: skip
        launches_seen = traces.launches.get(name, ())
        costs = _costs(axes, launches_seen, traces.of.get(name, "")) if launches_seen else _predicted(axes, one, shape)
        found.append(data | costs)
    return found, notes


def _launched(steps: Sequence[Step]) -> Iterator[Launched]:
    for step in steps:
        match step:
            case Launched():
                yield step
            case Guard(then=then, orelse=orelse):
                yield from _launched((*then, *orelse))
            case Interpreted():
                pass


def place_of(loc: Loc, files: Sequence[str]) -> list[int] | None:
    """The first place of code and its callers that is in a file which is shown."""
    for one in () if loc == NOWHERE else (loc, *loc.calls):
        if one.file in files:
            return [files.index(one.file), one.line, one.col, one.end_line, one.end_col]
    return None


def _factors(compiled: Compiled, entries: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Of kernels whose blocks take turns, how many of them one block of the grid does, in the first entry that launches
    them."""
    found: dict[str, int] = {}
    for fun in compiled.host.functions:
        bodies = fun.bodies if fun.entry.name in entries else ()
        for launch in chain.from_iterable(map(launches, bodies)):
            for size in launch.sizes:
                if size_kind(size.name) is Kind.FACTOR:
                    found.setdefault(launch.kernel, sizes.get(size.name, size.default))
    return found


def _kernels_in(segop: ScheduledSegop) -> set[str]:
    return {kernel for row in segop.rows for kernel in row.kernels}


def _segop_data(segop: ScheduledSegop) -> dict[str, Any]:
    """With what became of each schedule in words."""
    data = as_json_of(segop)
    for row, words in zip(data["schedules"], taken_in_words(segop.rows), strict=True):
        row["words"] = words
    return data


def _code(machine: Machine, compiled: Compiled, kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Kernel IR, and what is printed of it for the machine."""
    (own,) = (one for one in compiled.host.kernels if one.name == kernel.name)
    yield "kernel IR", _cut(show_kernel(own))
    if machine.name == CUDA.name:
        yield "CUDA C", _cut(cuda_kernel(kernel).text)
    else:
        yield "LLVM IR", _cut(emit((ready(own, CPU_PASSES),)))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CODE else f"{text[:MOST_CODE]}\n... {len(text) - MOST_CODE} more characters\n"


# ---- costs --------------------------------------------------------------------------------------------------------


def _costs(axes: Axes, traced: Sequence[KernelTrace], of: str) -> dict[str, Any]:
    """Accesses, with what they cost if they were traced, and the work of a launch."""
    sums: dict[tuple[str, str], SiteCosts] = {}
    for launch in traced:
        for site in launch.sites:
            known = sums.get((site.place, site.array.name))
            sums[site.place, site.array.name] = site if known is None else _both(known, site)
    accesses = [_access_data(one, sums.get(one.site)) for one in axes.accesses]
    most = max(traced, key=lambda launch: launch.work.total)
    each = [list(block[:SHOWN_THREADS]) for block in most.work.each[:SHOWN_BLOCKS]]
    work = {
        "total": most.work.total, "balance": round(most.work.balance, 4), "slots": most.work.slots, "each": each,
    }  # fmt: skip
    return {
        "accesses": accesses,
        "traced": {
            "of": of, "launches": len(traced), "blocks": most.blocks, "work": work,
            "fences": sum(launch.fences for launch in traced),
            "shared": max(launch.shared_bytes for launch in traced),
            "hazards": sum(sum(launch.counts.values()) for launch in traced),
        },
    }  # fmt: skip


def _predicted(axes: Axes, kernel: Kernel, shape: Shape) -> dict[str, Any]:
    """Accesses of a kernel that was not traced, evaluated at sizes that stand for large ones."""
    scalars = [EXTENT if var.prim is Prim.I64 else None for var in kernel.scalars]
    sites = predict(kernel, scalars, BLOCKS, shape.threads, shape.warp, SOME)
    known = {(show_stm(site.statement), site.array.name): site for site in sites if site.requests}
    accesses = [_access_data(one, None) for one in axes.accesses]
    for one, data in zip(axes.accesses, accesses, strict=True):
        if (site := known.get(one.site)) is not None:
            data |= {"requests": round(site.requests), "units": round(site.units), "lanes": round(site.lanes)}
    return {"accesses": accesses, "traced": None}


def _both(x: SiteCosts, y: SiteCosts) -> SiteCosts:
    return replace(
        x, requests=x.requests + y.requests, units=x.units + y.units, worst=max(x.worst, y.worst),
        lanes=x.lanes + y.lanes, least=x.least + y.least,
    )  # fmt: skip


def _access_data(access: Access, costs: SiteCosts | None) -> dict[str, Any]:
    """`units`: sectors of global memory, turns of shared memory."""
    data: dict[str, Any] = {
        "array": access.array, "index": access.index, "space": access.space, "writes": access.writes,
    }  # fmt: skip
    if costs is None:
        return data
    return data | {
        "requests": costs.requests, "units": costs.units, "least": costs.least, "worst": costs.worst,
        "lanes": costs.lanes,
    }  # fmt: skip
