"""`soac.autotune (prog, data)`: the search of `soac autotune` for a program of Python on arguments of Python.

tuned = soac.autotune(prog, {"main": [(xss,), (yss,)]})     a program with the settings that were found
tuned = soac.autotune(prog.main, [(xss,), (yss,)])          of one entry point
tuned = soac.autotune(prog)                                 on the data sets of its test blocks
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..api import Program
from ..arguments import to_arguments
from ..autotune.search import Search, tune
from ..autotune.store import Facts, Planned, open_study
from ..by_hand import tunable, verified
from ..checked_settings import checked_threads, misused
from ..ir.errors import NOWHERE, Diagnostic, TuningError
from ..python.entry import Entry
from ..session import Session
from ..testing.blocks import Case, Succeeds, ValuesText
from ..testing.datasets import DataSet
from .report import is_slower, lines_of, remarks, rows_of
from .runs import Stopwatch, Subject, blocks_of, problem_of, sets_of, subject_of
from .searches import Outcome, search_all

Data = Mapping[str, Sequence[Sequence[Any]]] | Sequence[Sequence[Any]] | None


def autotune(
    program: Program | Entry,
    data: Data = None,
    *,
    runs: int = 5,
    timeout: float = math.inf,
    trials: int = 12,
    threads: int | None = None,
    tell: Callable[[str], object] | None = None,
) -> Program:
    """The program with the thresholds and sizes that are best for some data.

    Times every version of the entry points on it, `runs` times or more, for at most `timeout` seconds. `data`: for each
    entry point the arguments of some calls. `tell` gets the lines of a report (`print`). Nothing is written;
    `thresholds` of what comes back are the settings."""
    prog, wanted = _asked(program, data)
    for name, value, least in (("runs", runs, 1), ("trials", trials, 0), ("timeout", timeout, 0)):
        if not isinstance(value, int | float) or not value >= least:
            raise misused(f"`{name}` is {value!r}", f"a number from {least} on")
    until = time.monotonic() + timeout
    sites = tunable(prog.facts.sites, verified(Path(prog.source.file), prog.facts.by_hand))
    session = Session(prog.source.text, prog, sites, {})
    found: dict[str, int] = {}
    for entry, calls in wanted.items():
        subject = _subject(session, entry, calls, checked_threads(threads), until)
        if subject.sets:
            found |= _tuned(session, subject, (runs, trials), tell or (lambda line: None))
    return replace(prog, thresholds={**prog.thresholds, **found})


def _asked(program: Program | Entry, data: Data) -> tuple[Program, dict[str, Sequence[Sequence[Any]] | None]]:
    """The program, and for each entry point to be tuned its calls, None for those of the test blocks."""
    hint = 'write `soac.autotune(prog, {"main": [(xs, 2)]})` or `soac.autotune(prog.main, [(xs, 2)])`'
    match program:
        case Entry():
            if isinstance(data, Mapping):
                raise misused("the data of one entry point is a mapping", hint)
            return program.program, {program.__name__: _calls(data, hint)}
        case Program():
            if data is None:
                return program, dict.fromkeys(program.entries)
            if not isinstance(data, Mapping):
                raise misused("data for a program names its entry points", hint)
            return program, {program[name].__name__: _calls(calls, hint) for name, calls in data.items()}
        case _:
            raise misused(f"`soac.autotune` is given {program!r}", hint)


def _calls(data: Any, hint: str) -> Sequence[Sequence[Any]] | None:
    if data is None:
        return None
    if not isinstance(data, list | tuple) or not data or not all(isinstance(call, list | tuple) for call in data):
        raise misused("data is a list of calls, each a tuple of arguments", hint)
    return data


def _subject(
    session: Session, entry: str, calls: Sequence[Sequence[Any]] | None, threads: int | None, until: float
) -> Subject:
    prog, file = session.program, Path(session.program.source.file)
    if calls is None:
        return subject_of(file, session, entry, sets_of(file, session, entry), threads, until)
    args = [to_arguments(prog.function(entry), prog[entry].components(call)) for call in calls]
    case = Case(None, (), ValuesText("", 0, NOWHERE), Succeeds(), NOWHERE)
    sets = [DataSet(entry, f"#{k}", case) for k in range(len(args))]
    placed = [prog.place(entry, each) for each in args]
    return Subject(file, prog, entry, sets, args, placed, threads, until)


def _tuned(
    session: Session, subject: Subject, effort: tuple[int, int], tell: Callable[[str], object]
) -> dict[str, int]:
    """The settings of an entry, none where they make it slower."""
    (runs, trials), entry = effort, subject.entry
    problem, sampler = problem_of(session, entry, subject.sets, subject.threads), Planned(1)
    study = open_study(None, entry, Facts("", "", ""), sampler)
    search = Search(study, sampler, Stopwatch(subject, runs), subject.until, lambda progress: None)
    outcome, device = Outcome(problem), session.program.source.device
    search_all(search, outcome, lambda: blocks_of(session, entry, device, subject.threads), trials)
    timed = search.timed()
    tuned = tune(outcome.problem, timed)
    if all(math.isinf(seconds) for seconds in tuned.after):
        reasons = tuple(dict.fromkeys(one.record.reason for one in timed if one.record.reason))
        text = f"no run of `{entry}` ended"
        raise TuningError(Diagnostic("T0202", text, notes=reasons[:10]))
    settings = {**tuned.solution.thresholds, **outcome.sizes}
    confirmed = search.confirm(outcome.problem, settings) if outcome.is_whole else (None,) * len(problem.labels)
    sites = [site for site in session.sites if site.entry == entry]
    rows = rows_of(outcome.problem, tuned, timed, confirmed, sites)
    for line in (*lines_of(entry, rows, tuned, outcome.sizes), *remarks(outcome.problem, rows, tuned, timed)):
        tell(line)
    return {} if is_slower(rows) else settings
