"""Where the time of a call goes: kernels, copies and the host, by line of the source; also as a trace for Perfetto.

The host function is run by Python over a device that notes when each of its operations begins and ends. What is neither
a kernel nor a copy is the host's, and takes longer so than in native code: compare with the time of a plain call.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..api import Program
from ..arguments import to_arguments
from ..ir.errors import NOWHERE, Loc
from ..kernels.devices.cpu.executable import Executable, Runner
from ..kernels.host_ir.nodes import Launch, statements
from .timing import seconds_text

COPIES = {"iota", "replicate", "literal", "concat", "copy", "dense", "reshape", "write", "from_host", "to_host"}


@dataclass(frozen=True, slots=True)
class Span:
    """One operation: a kernel's name or that of a bulk operation, and its seconds from the beginning of the call."""

    name: str
    is_kernel: bool
    start: float
    end: float


@dataclass(slots=True)
class Watched:
    """A device that notes what it does."""

    device: Any
    spans: list[Span] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.device, name)
        if name == "launch" or name in COPIES:
            return partial(self.noted, name, found)
        return found

    def noted(self, name: str, operation: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        try:
            result = operation(*args)
            self.device.synchronise()
            return result
        finally:
            is_kernel = name == "launch"
            self.spans.append(Span(args[0].kernel if is_kernel else name, is_kernel, start, time.perf_counter()))


@dataclass(frozen=True, slots=True)
class Profile:
    """A call: how long it took, what it did, and where the source asks for each kernel."""

    seconds: float
    spans: tuple[Span, ...]
    places: Mapping[str, Loc]


def profile(
    program: Program, entry: str, args: Sequence[Any], forced: Mapping[str, bool], threads: int | None, runs: int
) -> Profile:
    """The shortest of some calls on the CPU, after one that compiles what it needs."""
    compiled = program.compiled
    executable = Executable.build(compiled.host, compiled.core.functions, threads, Runner.PYTHON)
    watched = Watched(executable.device)
    executable.device = watched  # type: ignore[assignment]
    found: list[Profile] = []
    for _ in range(1 + runs):
        watched.spans.clear()
        start = time.perf_counter()
        executable.run(entry, args, program.thresholds, forced, convert=to_arguments)
        seconds = time.perf_counter() - start
        spans = [Span(one.name, one.is_kernel, one.start - start, one.end - start) for one in watched.spans]
        found.append(Profile(seconds, tuple(spans), {}))
    best = min(found[1:], key=lambda one: one.seconds)
    stms = (stm for fun in compiled.host.functions for stm in statements(*fun.bodies))
    places = {stm.exp.kernel: stm.loc for stm in stms if isinstance(stm.exp, Launch)}
    return Profile(best.seconds, best.spans, places)


def lines_of(found: Profile, source_of: Callable[[str], str | None]) -> list[str]:
    """A table, the longest first: share, time, calls, what, where, and the line of the source."""
    totals: dict[tuple[str, bool], tuple[float, int]] = {}
    for span in found.spans:
        seconds, calls = totals.get((span.name, span.is_kernel), (0.0, 0))
        totals[span.name, span.is_kernel] = (seconds + span.end - span.start, calls + 1)
    host = max(found.seconds - sum(seconds for seconds, _ in totals.values()), 0.0)
    rows = [(seconds, calls, name, is_kernel) for (name, is_kernel), (seconds, calls) in totals.items()]
    rows = [*rows, (host, 1, "host", False)]
    lines: list[str] = []
    for seconds, calls, name, is_kernel in sorted(rows, key=lambda row: -row[0]):
        loc = found.places.get(name, NOWHERE) if is_kernel else NOWHERE
        what = name if is_kernel or name == "host" else f"copies: {name}"
        where = "" if loc == NOWHERE else f"{loc}  {_line(loc, source_of)}"
        share = seconds / found.seconds if found.seconds else 0.0
        lines.append(f"{share:7.1%} {seconds_text(seconds):>9} {calls:>6}×  {what:<28} {where}".rstrip())
    return lines


def _line(loc: Loc, source_of: Callable[[str], str | None]) -> str:
    lines = (source_of(loc.file) or "").splitlines()
    return lines[loc.line - 1].strip()[:60] if 0 < loc.line <= len(lines) else ""


def trace_of(found: Mapping[str, Profile]) -> str:
    """Profiles by name in the trace event format, which Perfetto and Chrome show; each call is a process."""
    events: list[dict[str, Any]] = []
    for number, (name, one) in enumerate(found.items(), start=1):
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}})
        whole = Span("call", False, 0.0, one.seconds)
        for span in (whole, *one.spans):
            kind = "kernel" if span.is_kernel else "host" if span is whole else "copy"
            at = {"at": str(one.places[span.name])} if span.is_kernel and span.name in one.places else {}
            micros = {"ts": span.start * 1e6, "dur": (span.end - span.start) * 1e6}
            events.append({"name": span.name, "cat": kind, "ph": "X", "pid": number, "tid": 1, **micros, "args": at})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n"
