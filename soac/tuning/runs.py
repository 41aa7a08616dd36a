"""What is tuned: an entry with its data sets, each ready to be run on any version and to be checked."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from ..api import Program
from ..arguments import Argument
from ..autotune.measure import OutOfBudget, Record, Version, at_most, measure
from ..autotune.search import Problem
from ..autotune.sizes import Block, Dimension, listed_dimension, size_dimension, thread_dimension
from ..autotune.store import Facts, Request, Timed
from ..autotune.tuning import threads_name
from ..checked_settings import guards_of
from ..data.read_write import TOLERANCE, compare_values, epsilon
from ..devices import described
from ..ir.core import Prog
from ..ir.cores import cores
from ..ir.errors import Diagnostic, IRError, TuningError
from ..ir.show import show
from ..ir.version_tree import CONSTANTS, Size, sizes_of
from ..kernels.devices.device import on_host
from ..kernels.host_ir.launch_parameters import VALUES, Kind, launch_sizes, size_kind
from ..kernels.host_ir.timing_events import Event
from ..session import Session
from ..testing.blocks import Output
from ..testing.datasets import DataSet, inputs_of, sets_to_run, spelling_of, values_of
from ..testing.references import SECONDS, OutOfTime, outer_only, reference, within
from ..version import __version__

SKIPPED = frozenset({"disable", "notune", "no_soac"})

T = TypeVar("T")

SMALL = 1 << 17
"""Elements of input up to which the interpreter is asked for the results."""


@dataclass(slots=True)
class Subject:
    """An entry on its data sets. Arguments lie where the device reads them; what results must be is found when it is
    first needed. `until`: when the search must end, on the monotonic clock."""

    path: Path
    program: Program
    entry: str
    sets: Sequence[DataSet]
    args: Sequence[list[Any]]
    placed: Sequence[list[Any]]
    threads: int | None
    until: float
    expected: dict[int, list[Argument]] = field(default_factory=dict)

    def run(self, case: int, version: Version, log: list[Event]) -> list[Any]:
        return self.program.timed(self.entry, self.placed[case], version.settings, version.forced, self.threads, log)

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        call, args = self.program.prepare(self.entry, version.settings, version.forced, self.threads), self.placed[case]
        return lambda: call(args)

    def check(self, case: int, version: Version, results: Any) -> None:
        """Raises `IRError` unless the results are right: versions that disagree are a bug of the compiler. Sums of n
        floats may differ by n units in the last place, for versions add in different orders."""
        elements = sum(getattr(arg, "size", 1) for arg in self.args[case])
        for got, wanted in zip(on_host(results), self.right(case), strict=True):
            tolerance = max(TOLERANCE, elements * epsilon(wanted))
            if (difference := compare_values(got, wanted, tolerance)) is not None:
                forced, own = dict(version.forced), [name for name in version.settings if "." not in name]
                if own:
                    text = f"results depend on {', '.join(own)}: {difference}"
                    raise TuningError(Diagnostic("T0206", text))
                raise IRError(f"`{self.entry}` is wrong on {self.sets[case].label} under {forced}: {difference}")

    def right(self, case: int) -> list[Argument]:
        """What a data set must give: its test block says, or the interpreter where that is quick, else a version of
        the program that shares no guard with those that are timed."""
        if case not in self.expected:
            self.expected[case] = self._right(case)
        return self.expected[case]

    def _right(self, case: int) -> list[Argument]:
        fun, asked = self.program.function(self.entry), self.sets[case].case.expected
        assert fun.entry is not None
        if isinstance(asked, Output):
            types = [fun.results[k].type for result in fun.entry.results for k in result.components]
            return values_of(asked.values, types, self.path, None)
        is_small = sum(getattr(arg, "size", 1) for arg in self.args[case]) <= SMALL
        compiled, entry, args = self.program.compiled, self.entry, self.args[case]
        left = self.until - time.monotonic()
        if is_small:
            return in_time(left, lambda: reference(compiled, entry, args, min(SECONDS, left)))
        return in_time(left, lambda: outer_only(compiled, entry, args))


def in_time(left: float, find: Callable[[], T]) -> T:
    """What `find` gives, which compiles and runs; raises `OutOfBudget` where that takes more than `left` seconds."""
    if left == math.inf:
        return find()
    with at_most(left):
        try:
            return within(left, find)
        except OutOfTime:
            raise OutOfBudget from None


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Times requests by running them."""

    subject: Subject
    repetitions: int

    def __call__(self, request: Request) -> Record:
        return measure(self.subject, request.case, request.version, self.repetitions, request.limit, self.subject.until)


@dataclass(slots=True)
class Replay:
    """Finds requests among stored runs; one that was made twice gets what each found, in order."""

    stored: Sequence[Timed]
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Record:
        records = [timed.record for timed in self.stored if is_same(timed.request, request)]
        before = sum(is_same(one, request) for one in self.asked)
        self.asked.append(request)
        if records:
            return records[min(before, len(records) - 1)]
        text = f"the stored study has no run of data set {request.case} under {dict(request.version.forced)}"
        hint = "let a search with the same `--device` and `--threads` end first, without `--simulate`"
        raise TuningError(Diagnostic("T0205", text, hint=hint))


def is_same(one: Request, other: Request) -> bool:
    return (one.phase, one.case, one.version) == (other.phase, other.case, other.version)


def sets_of(path: Path, session: Session, entry: str) -> list[DataSet]:
    """The data sets of an entry that are to be tuned for."""
    return sets_to_run(session.text, str(path), entry, SKIPPED)


def subject_of(
    path: Path, session: Session, entry: str, sets: Sequence[DataSet], threads: int | None, until: float = math.inf
) -> Subject:
    """The entry with its arguments made."""
    for _ in session.program.executable.complete(entry, every=True):  # no run is to wait for the compiler
        if time.monotonic() >= until:
            break
    args = [inputs_of(one, session.program, path) for one in sets]
    placed = [session.program.place(entry, each) for each in args]
    return Subject(path, session.program, entry, sets, args, placed, threads, until)


def problem_of(session: Session, entry: str, sets: Sequence[DataSet], threads: int | None) -> Problem:
    branches = tuple(site.tree for site in session.sites if site.entry in (entry, CONSTANTS))
    program = session.program
    return Problem(branches, labels_of(sets), {}, {**program.defaults(threads), **_set_before(program)})


def _set_before(program: Program) -> dict[str, int]:
    """The thresholds that are set before the search."""
    guards = guards_of(program.facts)
    return {name: value for name, value in program.thresholds.items() if name in guards}


def blocks_of(session: Session, entry: str, device: str, threads: int | None) -> list[Block]:
    """The sizes that may be tuned, those behind the same guards together, but first what the program and flattening
    leave open and then what the back end does; last those of the whole entry, with the number of threads unless that
    was asked for. Where there are floats, chunks of a CPU stay as they are: tuning leaves the bits of a version."""
    are_many = device == "cpu" and threads is None and cores() > 1
    fixed = Kind.CHUNK if has_floats(session.program.compiled.flat) else None
    together: dict[tuple[tuple[tuple[str, bool], ...], bool], list[Dimension]] = {}
    for size in sorted(all_sizes(session, entry), key=lambda size: (not size.path, size_kind(size.name) is not None)):
        kind = size_kind(size.name)
        if kind is not None and kind is fixed:
            continue
        if kind is not Kind.TASKS or are_many or (threads or 1) > 1:
            together.setdefault((size.path, kind is None), []).append(dimension_of(size))
    if are_many:
        together.setdefault(((), False), []).append(thread_dimension(threads_name(entry), cores()))
    return [Block(tuple(dimensions), dict(path)) for (path, _), dimensions in together.items()]


def has_floats(prog: Prog) -> bool:
    """Whether a program mentions a type of floats."""
    return re.search(r"f(16|32|64)\b", show(prog)) is not None


def all_sizes(session: Session, entry: str) -> list[Size]:
    """Those of the program and of flattening, and those that the back end leaves open."""
    compiled = session.program.compiled
    fun = next(fun for fun in compiled.host.functions if fun.entry.name == entry)
    return list({size.name: size for size in (*sizes_of(compiled.flat, entry), *launch_sizes(fun))}.values())


def dimension_of(size: Size) -> Dimension:
    kind = size_kind(size.name)
    if kind is None:
        return size_dimension(size.name, size.default)
    return listed_dimension(size.name, VALUES[kind], size.default)


def labels_of(sets: Sequence[DataSet]) -> tuple[str, ...]:
    """Names of data sets, numbered where they are the same."""
    seen: dict[str, int] = {}
    labels: list[str] = []
    for one in sets:
        seen[one.label] = seen.get(one.label, 0) + 1
        labels.append(one.label if seen[one.label] == 1 else f"{one.label} ({seen[one.label]})")
    return tuple(labels)


def facts_of(session: Session, entry: str, sets: Sequence[DataSet], device: str, threads: int | None) -> Facts:
    """What the times of an entry depend on, besides the version; not on where the program is, or is called from."""
    digest = hashlib.sha256(show(session.program.compiled.flat).encode())
    inputs = (f"{type(one.case.input).__name__} {spelling_of(one.case.input)}" for one in sets)
    for text in (entry, *labels_of(sets), *inputs, str(threads)):
        digest.update(text.encode() + b"\0")
    driver = f"soac {__version__}, llvmlite {metadata.version('llvmlite')}"
    return Facts(digest.hexdigest(), described(device), driver)
