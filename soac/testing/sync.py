"""`soac test --sync`: the launches of a case traced on a machine with threads, and what is to be said of them.

The tracer (`kernels/tracer/run.py`) runs each kernel with the fences that it needs, one thread after the other, and
sees races, reads of what no thread has written and accesses out of bounds, in whatever order the threads might run;
and what the accesses cost. It takes about a microsecond where the CPU device takes a nanosecond, so that a case has a
time limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..arguments import Argument
from ..kernels.kernel_ir.nodes import Space
from ..kernels.tracer.run import KernelTrace, Report, show_finding, trace_program
from ..kernels.tracer.visibility import Kind
from ..pipeline import Compiled
from .outcomes import Costs, Seen
from .references import OutOfTime, within

SECONDS = 30.0  # that tracing a case on a version may take
MOST_SHOWN = 5  # hazards of a case that are shown in full


def traced(
    compiled: Compiled, entry: str, args: Sequence[Argument], forced: Mapping[str, bool], seconds: float
) -> Report | None:
    """A call with every launch traced; None where that takes longer. Raises what the program raises."""
    try:
        return within(seconds, lambda: trace_program(compiled, entry, args, forced))
    except OutOfTime:
        return None


def hazards_of(report: Report) -> str | None:
    """What is wrong, in words."""
    lines = [show_finding(finding) for finding in report.findings]
    if report.unwritten:
        lines.append(f"the host reads {report.unwritten} elements that no thread has written")
    counts: Counter[Kind] = Counter()
    for launch in report.launches:
        counts.update(launch.counts)
    head = ", ".join(f"{count} of {kind.value}" for kind, count in counts.items() if count)
    more = [f"and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join([f"hazards: {head}" if head else "hazards", *lines[:MOST_SHOWN], *more]) if lines else None


def seen(report: Report) -> Seen:
    """What the launches of a call cost, by kernel."""
    return Seen(tuple(total(map(_costs, report.launches))))


def total(costs: Iterable[Costs]) -> Iterator[Costs]:
    """The costs of each kernel together, in the order of their first launches."""
    sums: dict[str, Costs] = {}
    for one in costs:
        known = sums.get(one.kernel)
        sums[one.kernel] = one if known is None else known.plus(one)
    return iter(sums.values())


def _costs(launch: KernelTrace) -> Costs:
    sectors = [site for site in launch.sites if site.array.space is Space.GLOBAL]
    turns = [site for site in launch.sites if site.array.space is Space.SHARED]
    return Costs(
        kernel=launch.kernel,
        launches=1,
        blocks=launch.blocks,
        hazards=sum(launch.counts.values()),
        uninitialised=launch.counts.get(Kind.UNINIT, 0),
        requests=sum(site.requests for site in sectors),
        sectors=sum(site.units for site in sectors),
        worst=max((site.worst for site in sectors), default=0),
        shared_requests=sum(site.requests for site in turns),
        turns=sum(site.units for site in turns),
        work=launch.work.total,
        padded=launch.work.padded,
        fences=launch.fences,
        shared_bytes=launch.shared_bytes,
    )
