"""`python -m benchmarks.untuned [SOURCE..]`: untuned time over that of the best version, for every data set there is.

Sources: `classes`, `programs`, `regress` (their test blocks or the data of their peers) and `npbench` (where `--suite`
or $NPBENCH names NPBench's repository; preset S). Every combination of versions of an entry is run; those that take the
same sides of all guards are one. On one thread the least processor time of the calling thread, on more the least wall
time, runs in turns. A table of what is slower than `--worst` times the best, then geometric mean and worst.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.ir.version_tree import sites
from soac.reports.timing import Clock, geometric_mean
from soac.testing.blocks import Fails, parse_tests
from soac.testing.datasets import data_sets, inputs_of
from soac.versions import misfits, runs_of

from .contest import version_name
from .npbench.cases import CASES
from .npbench.suite import original
from .run import workers

ROOT = Path(__file__).parent.parent
FOLDERS = {"classes": "benchmarks/classes", "programs": "programs", "regress": "tests/regress"}
SOURCES = (*FOLDERS, "npbench")
SHORT = 2e-3  # seconds that a timing takes, of several calls where one is shorter
HOPELESS = 4.0  # times as slow as the fastest in a run after the first: not timed again
SECONDS = 0.15  # of each version
ROUNDS = 4  # of each version, at least

Taken = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An entry point on data: microseconds untuned and on each other version by name, and which versions failed."""

    name: str
    default: float
    taken: str
    versions: Mapping[str, float]
    faults: Sequence[str] = ()

    @property
    def best(self) -> str:
        return min(self.versions, key=lambda name: self.versions[name], default="")

    @property
    def ratio(self) -> float:
        return self.default / min(self.default, *self.versions.values()) if self.versions else 1.0


@dataclass(frozen=True, slots=True)
class Rules:
    """How times are taken."""

    threads: int
    only: str
    suite: Path | None
    seconds: float

    @property
    def clock(self) -> Clock:
        return time.thread_time if self.threads == 1 else time.perf_counter


# ---- the data --------------------------------------------------------------------------------------------------------


def files_of(source: str) -> list[Path]:
    if source == "npbench":
        return [case.path for case in CASES.values()]
    return sorted((ROOT / FOLDERS[source]).glob("*.soac"))


def data_of(source: str, path: Path, program: soac.Program, suite: Path | None) -> Iterator[tuple[str, str, list[Any]]]:
    """Entry points and their arguments, each with what it is called."""
    if source == "npbench":
        case = CASES[path.stem]
        assert suite is not None
        yield "main", "S", case.arguments(original(suite, case).inputs("S"))
    elif source == "classes" and path.with_suffix(".py").exists():
        peers = importlib.import_module(f".classes.{path.stem}", __package__)
        for large in (False, True):
            for entry, args in peers.data(large).items():
                yield entry, "large" if large else "small", list(args)
    else:
        for one in data_sets(parse_tests(path.read_text(encoding="utf-8"), str(path))):
            if not isinstance(one.case.expected, Fails):
                yield one.entry, one.label, inputs_of(one, program, path)


# ---- measuring -------------------------------------------------------------------------------------------------------


def rows_of(source: str, path: Path, rules: Rules) -> list[Row]:
    """In a process of its own, on one core where there is one thread."""
    if rules.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    program = soac.load(path)
    if not sites(program.compiled.flat):
        return []
    found: list[Row] = []
    for entry, label, args in data_of(source, path, program, rules.suite):
        name = f"{source}/{path.stem}.{entry} {label}"
        if rules.only in name and len(runs_of(program.compiled.flat, entry)) > 1:
            found.append(row_of(name, program, entry, args, rules))
            print(line(found[-1]), flush=True)
    return found


def row_of(name: str, program: soac.Program, entry: str, args: list[Any], rules: Rules) -> Row:
    """The times of the untuned version and of all that differ from it."""
    calls: dict[Taken, Callable[[], Any]] = {}
    names: dict[Taken, str] = {}
    faults: list[str] = []
    placed = program.place(entry, args)
    wanted: list[Any] = []
    for forced in ({}, *runs_of(program.compiled.flat, entry)):
        results, trace = program.trace(entry, placed, None, forced, rules.threads)
        taken = tuple(dict.fromkeys((guard, side) for guard, _, side in trace))
        if misfits(forced, trace) is not None or taken in calls:
            continue
        wanted = wanted or results
        names[taken] = version_name(program, dict(taken))
        if not all(np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True) for a, b in zip(results, wanted)):
            faults.append(names[taken])
        prepared = program.prepare(entry, None, forced, rules.threads)
        calls[taken] = lambda prepared=prepared: prepared(placed)
    default = next(iter(calls))
    times = {taken: 1e6 * seconds for taken, seconds in raced(calls, rules).items()}
    own = times.pop(default)
    return Row(name, own, names[default], {names[taken]: t for taken, t in times.items()}, faults)


def raced(calls: Mapping[Taken, Callable[[], Any]], rules: Rules) -> dict[Taken, float]:
    """The least seconds of a call of each that is not hopeless."""
    first = {taken: least(call, 2, rules.clock) for taken, call in calls.items()}
    limit = HOPELESS * min(first.values())
    hopeful = {taken: call for taken, call in calls.items() if first[taken] <= limit}
    counts = {taken: max(1, int(SHORT / max(first[taken], 1e-7))) for taken in hopeful}
    begin, rounds = time.perf_counter(), 0
    while len(hopeful) > 1 and (rounds < ROUNDS or time.perf_counter() - begin < rules.seconds * len(hopeful)):
        rounds += 1
        for taken, call in hopeful.items():
            first[taken] = min(first[taken], timed(call, counts[taken], rules.clock))
    return first


def least(call: Callable[[], Any], times: int, clock: Clock) -> float:
    return min(timed(call, 1, clock) for _ in range(times))


def timed(call: Callable[[], Any], count: int, clock: Clock) -> float:
    """Seconds of a call."""
    begin = clock()
    for _ in range(count):
        call()
    return (clock() - begin) / count


# ---- the table -------------------------------------------------------------------------------------------------------


def line(row: Row) -> str:
    best = row.versions[row.best] if row.versions else row.default
    other = f" | {row.best} | {best:.4g}" if row.ratio > 1 else " | |"
    wrong = f" differs: {', '.join(row.faults)}" if row.faults else ""
    return f"| {row.name} | {row.ratio:.2f} | {row.taken} | {row.default:.4g}{other} |{wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.untuned", description=__doc__)
    parser.add_argument("sources", nargs="*", default=SOURCES, metavar="SOURCE", help=f"of {', '.join(SOURCES)}")
    parser.add_argument("--program", default="", help="only this program")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--suite", type=Path, default=os.environ.get("NPBENCH"), help="NPBench's repository")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each version")
    parser.add_argument("--worst", type=float, default=1.25, help="from which ratio on a row is listed at the end")
    options = parser.parse_args()
    rules = Rules(options.threads, options.only, options.suite, options.seconds)
    rows: list[Row] = []
    for source in options.sources:
        for path in files_of(source) if source != "npbench" or options.suite else ():
            if options.program in ("", path.stem):
                rows += in_process(source, path, rules)
    print(f"\ndefault over best above {options.worst}:\n")
    print("| data | default/best | default | µs | best | µs |\n|---|---:|---|---:|---|---:|")
    for row in sorted(rows, key=lambda row: -row.ratio):
        if row.ratio > options.worst:
            print(line(row))
    if ratios := [row.ratio for row in rows]:
        print(f"\ngeometric mean {geometric_mean(ratios):.3f}, worst {max(ratios):.2f} of {len(ratios)}")


def in_process(source: str, path: Path, rules: Rules) -> list[Row]:
    """A program that fails is reported."""
    with workers() as pool:
        try:
            return pool.submit(rows_of, source, path, rules).result()
        except Exception as fault:
            print(f"{source}/{path.stem}: {type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
            return []


if __name__ == "__main__":
    main()
