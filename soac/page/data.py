"""Data sets of an entry: the path that each takes through the guards, and what every version takes on it.

On a device that is there, programs are run and timed. For one that is not there they are flattened for it and run by
the CPU, which takes the same paths; what that takes says nothing of the device, and only serves to choose data sets
that can be traced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..api import Program
from ..arguments import Argument, to_arguments
from ..autotune.measure import OutOfBudget, at_most
from ..ir.errors import SoacError
from ..ir.version_tree import Sides, Site
from ..kernels.devices.device import Runnable
from ..reports import svg
from ..reports.explain import Decision, Trace, decisions_of, versions_taken
from ..reports.timing import seconds_of
from ..testing.datasets import DataSet, inputs_of, sets_to_run
from ..tuning.charts import fixed_versions
from ..versions import misfits, named_versions

SKIPPED = frozenset({"disable", "no_soac"})
AS_IS = "as it is"
LABEL, SMALL = 80, 1 << 16
"""Letters of a label that are shown; elements of a data set that is kept for tracing."""
SLOWER, MOST_ROUNDS, ENOUGH, LEAST = 10.0, 50, 0.3, 1.0
"""Times of the fastest version from which on a version is timed no more, rounds, and seconds that they take; seconds
that the versions of a data set may take at least."""


@dataclass(frozen=True, slots=True)
class Given:
    """A data set; `source`: the case of a test block whose input it is, if its arguments are not made yet."""

    label: str
    args: Sequence[Argument] | None
    source: DataSet | None


@dataclass(frozen=True, slots=True)
class Runs:
    """How an entry is run, and whether that is to be `timed`."""

    entry: str
    sites: Sequence[Site]
    runnable: Runnable
    thresholds: Mapping[str, int]
    forced: Mapping[str, bool]
    threads: int | None
    timed: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a data set does: its path, the seconds of a run as it is and of every version, as far as there was time.
    `args`: of one that is small; `why`: what is missing."""

    label: str
    args: Sequence[Argument] | None
    shapes: tuple[str, ...]
    decisions: Mapping[str, tuple[Decision, ...]]
    taken: Mapping[str, Mapping[frozenset[tuple[str, bool]], int]]
    seconds: float
    times: Mapping[str, float]
    why: str


def cases_of(text: str, file: str, entry: str) -> Iterator[Given]:
    """The data sets of the test blocks that an entry can be run on."""
    return (Given(one.label, None, one) for one in sets_to_run(text, file, entry, SKIPPED))


def seen(runs: Runs, sets: Sequence[Given], program: Program, path: Path, seconds: float) -> Iterator[Seen]:
    """What data sets do, one after the other, while there is time. `program` makes the inputs of scripts."""
    for _ in runs.runnable.complete(runs.entry) if sets else ():  # compiling does not count
        pass
    until = time.monotonic() + seconds
    for number, given in enumerate(sets):
        left = until - time.monotonic()
        try:
            yield _seen(runs, given, program, path, left, max(LEAST, left / (len(sets) - number)))
        except OutOfBudget:
            yield Seen(given.label, None, (), {}, {}, 0.0, {}, "no time was left to run it (`--seconds`)")
        except (SoacError, MemoryError) as fault:
            yield Seen(given.label, None, (), {}, {}, 0.0, {}, f"fails: {str(fault).splitlines()[0]}")


def _seen(runs: Runs, given: Given, program: Program, path: Path, left: float, share: float) -> Seen:
    """Raises `OutOfBudget`, and what making the input or the program raises."""
    with at_most(left if left < LEAST else max(LEAST, left / 2)):
        args = given.args
        if args is None:
            assert given.source is not None
            args = inputs_of(given.source, program, path)
        trace: Trace = ()
        spent = 0.0
        for _ in range(2):  # the first call compiles
            start = time.perf_counter()
            _, trace = runs.runnable.run(runs.entry, args, runs.thresholds, runs.forced, runs.threads, to_arguments)
            spent = time.perf_counter() - start
    taken = versions_taken(trace, {site.name: site.thresholds for site in runs.sites})
    times = _times(runs, args, share) if runs.timed else {}
    why = "" if times or not runs.timed else "no time was left to time versions (`--seconds`)"
    kept = args if sum(map(np.size, args)) <= SMALL else None
    shapes = tuple(map(_described, args))
    return Seen(given.label, kept, shapes, decisions_of(trace), taken, times.get(AS_IS, spent), times, why)


def _times(runs: Runs, args: Sequence[Argument], seconds: float) -> dict[str, float]:
    """The least time of the program as it is and of every version that fits; they take turns, those that are much
    slower than others only once."""
    until = time.monotonic() + seconds
    calls: dict[str, Callable[[], object]] = {}
    found: dict[str, list[float]] = {}
    with suppress(OutOfBudget):
        for name, sides in _versions(runs):
            with at_most(until - time.monotonic()):
                if (call := _call(runs, args, sides)) is not None:
                    calls[name], found[name] = call, [seconds_of(call)]
        begin = time.monotonic()
        for number in range(MOST_ROUNDS):
            least = min(map(min, found.values()))
            for name in sorted(calls, reverse=number % 2 == 0):
                if min(found[name]) < SLOWER * least:
                    with at_most(until - time.monotonic()):
                        found[name].append(seconds_of(calls[name]))
            if time.monotonic() - begin > ENOUGH:
                break
    return {name: min(samples) for name, samples in found.items()}


def _versions(runs: Runs) -> Iterator[tuple[str, Sides]]:
    """The program as it is, and fixed versions, if there are any."""
    yield AS_IS, {}
    if runs.sites:
        yield from fixed_versions(runs.sites)


def _call(runs: Runs, args: Sequence[Argument], sides: Sides) -> Callable[[], object] | None:
    """A version ready to be timed, after a first run; None for one that fails or does not fit."""
    forced, convert = {**runs.forced, **sides}, to_arguments
    try:
        _, reached = runs.runnable.run(runs.entry, args, runs.thresholds, forced, runs.threads, convert)
    except (SoacError, MemoryError):
        return None
    if sides and misfits(forced, reached) is not None:
        return None
    call = runs.runnable.prepare(runs.entry, (runs.thresholds, forced), runs.threads, convert)
    placed = runs.runnable.place(runs.entry, convert(runs.runnable.functions[runs.entry], args))
    return lambda: call(placed)


def as_data(runs: Runs, found: Seen) -> dict[str, Any]:
    """A data set for JSON."""
    taken = {
        site.name: {name: n for name, sides in named_versions(site).items() if (n := _times_taken(found, site, sides))}
        for site in runs.sites
    }
    return {
        "label": found.label[:LABEL],
        "args": found.shapes,
        "decisions": {threshold: list(map(asdict, sides)) for threshold, sides in found.decisions.items()},
        "taken": taken,
        "times": dict(found.times),
        "why": found.why,
    }


def _times_taken(found: Seen, site: Site, sides: Sides) -> int:
    return found.taken.get(site.name, {}).get(frozenset(sides.items()), 0)


def _described(arg: Argument) -> str:
    """`[16][32]f32`; a number as it is."""
    if np.ndim(arg):
        return "".join(f"[{n}]" for n in np.shape(arg)) + arg.dtype.name
    return str(arg)


def chart_of(entry: str, sets: Sequence[Seen]) -> str | None:
    """Times of versions over the data sets, if some were timed."""
    timed = [one for one in sets if one.times]
    names = list(dict.fromkeys(name for one in timed for name in one.times))
    if len(names) < 2:
        return None
    curves = tuple(
        svg.Curve(
            name, tuple((float(k), one.times[name]) for k, one in enumerate(timed) if name in one.times), name == AS_IS
        )
        for name in names
    )
    ticks = tuple((float(k), one.label[:14]) for k, one in enumerate(timed))
    return svg.chart(svg.Chart(f"{entry}: times of versions", "data set", "time", curves, ticks, svg.seconds_label))
