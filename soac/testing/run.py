"""Running the `-- ==` blocks of a program: each case on the default version, or on every version.

A program is tested in steps: it is compiled and its kernels are checked, then each of its checks is made, a run once
for every version asked for. `events` tells of each step before it begins, so that somebody outside the process can end
one that takes too long and go on behind it (`soac/testing/workers.py`); `test_program` gives the outcomes alone.

A case of every version is run with forced guards: each version of each guard is taken in some run. What a pattern is
compared with are all words of a message, each part on its own line.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..api import with_entries
from ..arguments import Argument
from ..by_hand import note
from ..data.read_write import compare_values
from ..frontend.source.text import Reach
from ..ir.by_hand import digests, versions_by_hand
from ..ir.core import FunDef
from ..ir.errors import CompileError, Diagnostic, IRError, RunError
from ..ir.interpret import interpret
from ..ir.machine import MACHINES, Machine, Mode
from ..kernels.analysis.check_collectives import misplaced
from ..pipeline import Compiled, compile_core, compile_prog
from ..session import Session, open_program
from ..settings import Settings
from ..source import read_source
from ..versions import misfits, runs_of
from . import sync
from .around import around, tiles_of
from .blocks import AutoOutput, Case, Fails, Output, Pattern, RandomInput, Succeeds, parse_tests
from .by_hand import unlike
from .checks import (
    EXCLUDED,
    ByHand,
    Check,
    Compiles,
    Differentiated,
    Holds,
    Lawful,
    Rejects,
    Resized,
    Runs,
    Shaped,
    Skipped,
    Testing,
    Warns,
    checks_of,
    name_of,
)
from .datasets import DataSet, inputs_of, seed_of, values_of
from .gradients import without_gradient, wrong_gradient
from .laws import verdicts
from .outcomes import (
    PREPARING,
    START,
    Begin,
    Event,
    Outcome,
    Place,
    Said,
    Seen,
    Status,
    done,
    ended,
    shown,
    words_of,
    words_of_failure,
)
from .posix_regex import matches
from .properties import refuted, untried
from .references import OutOfTime, reference, within
from .shapes import misshapen

INTERPRETED = 0.5  # seconds that the interpreter may take for a size around a tile
MATCH_SECONDS = 5.0  # that a regular expression may take


# ---- a program ----------------------------------------------------------------------------------------------------


def test_program(path: Path, settings: Settings, every_version: bool) -> Iterator[Outcome]:
    """The outcomes of all checks of the program at `path`, as they come; all in this process, without time limits."""
    testing = Testing(settings, every_version, False, EXCLUDED, None, None, False)
    return (event for event in events(path, testing, START) if isinstance(event, Outcome))


test_program.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]  (not a test of pytest's)


@dataclass(frozen=True, slots=True)
class Subject:
    """A program under test; `session` None where nothing of it is to be run. `traced`: as it is for the machine whose
    versions are traced."""

    path: Path
    text: str
    compiled: Compiled
    session: Session | None
    traced: Compiled


def events(path: Path, testing: Testing, since: Place) -> Iterator[Event]:
    """What happens when the program at `path` is tested, from the step `since` on."""
    yield Begin(None, "compile", "", testing.timeout)
    begin = time.perf_counter()
    try:
        text = read_source(path)
        checks = checks_of(parse_tests(text, str(path)), testing)
        if isinstance(checks[0], Rejects):
            yield from _rejected(checks[0].pattern, path, text, testing.settings.reach)
            return
        skipped = [check for check in checks if isinstance(check, Skipped)]
        if len(skipped) == len(checks):
            yield from map(_skipped, skipped)
            return
        subject, said = _open(path, text, checks, testing)
    except Exception as error:
        yield done("compile", "", begin, words_of_failure(error))
        return
    checks = (*checks, *map(ByHand, digests(subject.compiled.core)))
    if since == START:
        yield from [Said(said)] if said else []
        yield from _misplaced(subject.traced, MACHINES[testing.machine or testing.settings.device])
    for number, check in enumerate(checks):
        if number >= since.check:
            yield from _check(subject, check, number, testing, since)


def _open(path: Path, text: str, checks: Sequence[Check], testing: Testing) -> tuple[Subject, str]:
    """The program compiled, and what was said about it."""
    settings = testing.settings
    heard = io.StringIO()
    with contextlib.redirect_stderr(heard):
        if any(isinstance(check, Runs | Holds) for check in checks):
            session = open_program(path, settings)
            compiled = session.program.compiled
            return Subject(path, text, compiled, session, _for_machine(compiled, testing.machine)), heard.getvalue()
        compiled = compile_prog(text, str(path), reach=settings.reach)
    return Subject(path, text, compiled, None, _for_machine(compiled, testing.machine)), shown(compiled.warnings)


def _for_machine(compiled: Compiled, machine: str) -> Compiled:
    return compile_core(compiled.core, Mode.INCREMENTAL, MACHINES[machine]) if machine else compiled


def _misplaced(compiled: Compiled, machine: Machine) -> Iterator[Event]:
    """A failure where a statement of a kernel is not executed by all the threads that it needs."""
    begin = time.perf_counter()
    if found := misplaced(compiled.host.kernels, machine):
        yield done("kernels", "", begin, "\n".join(map(str, found)))


def _check(subject: Subject, check: Check, number: int, testing: Testing, since: Place) -> Iterator[Event]:
    match check:
        case Runs(data_set):
            yield from _Run(subject, data_set, number, testing).events(since)
        case Resized(data_set):
            yield from _Run(subject, data_set, number, testing).resized(since)
        case Warns(pattern):
            yield from _matching(
                "warning", pattern, _words(subject.compiled.warnings), Place(number, PREPARING), "a warning"
            )
        case Shaped(wanted):
            check_of = partial(misshapen, subject.compiled, wanted)
            yield from _step("structure", number, testing, check_of, wanted.pipeline or "")
        case Differentiated(data_set):
            yield from _gradient(subject, data_set, number, testing)
        case Holds(name):
            yield from _property(subject, name, number, testing)
        case ByHand(name):
            yield from _by_hand(subject, name, number, testing)
        case Lawful():
            yield from _laws(subject.compiled, number, testing)
        case Compiles():
            yield Outcome("compiles", "", Status.PASSED, None, 0.0)
        case Skipped():
            yield _skipped(check)
        case Rejects():
            raise IRError("a program that must not compile has other checks")


def _skipped(check: Skipped) -> Outcome:
    return Outcome(check.name, "", Status.SKIPPED, check.why, 0.0)


def _step(
    name: str, number: int, testing: Testing, check: Callable[[], str | None], version: str = ""
) -> Iterator[Event]:
    """A check that is one step, which gives what is wrong."""
    yield Begin(Place(number, PREPARING), name, version, testing.timeout)
    yield ended(name, version, time.perf_counter(), check)


QUOTE = '"'


def _property(subject: Subject, name: str, number: int, testing: Testing) -> Iterator[Event]:
    """The property `name` on random arguments, unless these cannot be drawn."""
    assert subject.session is not None
    program, shown_as = subject.session.program, f"property {name}"
    if (why := untried(program, name)) is not None:
        yield _skipped(Skipped(shown_as, why))
        return
    seed, threads = testing.seed or 0, testing.settings.threads
    yield from _step(shown_as, number, testing, lambda: refuted(program, name, seed, threads))


def _gradient(subject: Subject, data_set: DataSet, number: int, testing: Testing) -> Iterator[Event]:
    """The derivatives of an entry point at one of its inputs."""
    assert subject.session is not None
    program, shown_as = subject.session.program, f"gradient of {name_of(data_set)}"
    why = "it is to fail" if isinstance(data_set.case.expected, Fails) else None
    if why := why or without_gradient(program.function(data_set.entry)):
        yield _skipped(Skipped(shown_as, why))
        return

    def found() -> str | None:
        args = inputs_of(data_set, program, subject.path, testing.seed)
        return wrong_gradient(program, data_set.entry, args, testing.seed or 0)

    yield from _step(shown_as, number, testing, found)


def _by_hand(subject: Subject, name: str, number: int, testing: Testing) -> Iterator[Event]:
    """A kernel compared with its function; its digest is noted if it agrees."""
    core, seed = subject.compiled.core, testing.seed or 0

    def found() -> str | None:
        note(subject.path, name, None)
        versions = [version for version in versions_by_hand(core) if version.name == name]
        fault = next((said for said in (unlike(core, one, seed) for one in versions) if said is not None), None)
        if fault is not None:
            return f"{versions[0].kernel.loc}: {fault}"
        note(subject.path, name, digests(core)[name])
        return None

    yield from _step(f"kernel {name}", number, testing, found)


def _laws(compiled: Compiled, number: int, testing: Testing) -> Iterator[Event]:
    """The laws of all operators of the program."""
    yield Begin(Place(number, PREPARING), "laws", "", testing.timeout)
    begin = time.perf_counter()
    try:
        found = verdicts(compiled.core)
    except Exception as error:
        yield done("laws", "", begin, words_of_failure(error))
        return
    for one in found:
        name = f"law of `{one.what}` at {one.loc}"
        if one.untried is not None:
            yield _skipped(Skipped(name, one.untried))
        else:
            yield done(name, "", begin, one.broken)


def _rejected(pattern: Pattern, path: Path, text: str, reach: Reach) -> Iterator[Event]:
    """A program that must not compile; its message is compared."""
    begin = time.perf_counter()
    try:
        with_entries(compile_prog(text, str(path), reach=reach), str(path))
    except CompileError as error:
        words = _words(error.diagnostics)
        either = f"{words}\n{words.replace('`', QUOTE)}"  # names may be asked for in quotes
        yield from _matching("error", pattern, either, None, "an error", "\n" + shown(error.diagnostics).rstrip())
    else:
        yield done("error", "", begin, "compiles, but should not")


# ---- one case -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a run of a case gave: results (None if it was not run to its end), hazards if it was traced, why it is not
    what was asked for, and costs."""

    results: Sequence[Argument] | None
    fault: str | None
    skipped: str | None
    costs: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A case of a program, by the number of its check."""

    subject: Subject
    data_set: DataSet
    number: int
    testing: Testing

    def events(self, since: Place) -> Iterator[Event]:
        """The case on its versions, those before `since` left out."""
        name = name_of(self.data_set)
        yield Begin(Place(self.number, PREPARING), name, "", self.testing.timeout)
        begin = time.perf_counter()
        try:
            args, expected = self._prepared()
        except Exception as error:
            yield from self._failed(Place(self.number, PREPARING), "", error, begin)
            return
        for version, forced in enumerate(self._versions()):
            place = Place(self.number, version)
            if place >= since:
                yield from self._on_version(place, name, forced, args, expected)

    def _session(self) -> Session:
        assert self.subject.session is not None
        return self.subject.session

    def _versions(self) -> Sequence[dict[str, bool]]:
        if self.testing.every_version or self.testing.sync:
            return runs_of(self.subject.traced.flat, self.data_set.entry)
        return (dict(self._session().forced),)

    def resized(self, since: Place) -> Iterator[Event]:
        """Sizes around tiles on all versions, those before `since` left out; what fails in the interpreter, or takes it
        long, is left out too."""
        name = f"{self.data_set.entry} around tiles"
        yield Begin(Place(self.number, PREPARING), name, "", self.testing.timeout)
        begin = time.perf_counter()
        try:
            runs = list(self._resized_runs())
        except Exception as error:
            yield done(name, "", begin, words_of_failure(error))
            return
        for number, (said, args, expected, forced) in enumerate(runs):
            place = Place(self.number, number)
            if place >= since:
                yield from self._on_version(place, f"{self.data_set.entry} {said}", forced, args, expected)

    def _resized_runs(self) -> Iterator[tuple[str, list[Argument], list[Argument], dict[str, bool]]]:
        program, traced = self._session().program, self.subject.traced
        fun = program.function(self.data_set.entry)
        given = inputs_of(self.data_set, program, self.subject.path, self.testing.seed)
        versions = self._versions()
        for said, args in around(fun, given, tiles_of(traced.flat, self.data_set.entry)):
            try:
                expected = _interpreted(traced, self.data_set.entry, args)
            except (RunError, OutOfTime):
                continue
            yield from ((said, args, expected, forced) for forced in versions)

    def _prepared(self) -> tuple[list[Argument], list[Argument] | None]:
        program = self._session().program
        args = inputs_of(self.data_set, program, self.subject.path, self.testing.seed)
        fun = program.function(self.data_set.entry)
        return args, _expected(self.subject, fun, self.data_set.case, args)

    def _on_version(
        self, place: Place, name: str, forced: dict[str, bool], args: list[Argument], expected: list[Argument] | None
    ) -> Iterator[Event]:
        version = ", ".join(f"{guard}={'yes' if side else 'no'}" for guard, side in forced.items())
        yield Begin(place, name, version, self.testing.timeout)
        begin = time.perf_counter()
        try:
            ran = self._traced(forced, args) if self.testing.sync else self._ran(forced, args)
        except Exception as error:
            yield from self._failed(place, version, error, begin)
            return
        yield from ran.costs
        fault = self._fault(ran, expected)
        if fault is None and ran.skipped is not None:
            yield Outcome(name, version, Status.SKIPPED, ran.skipped, time.perf_counter() - begin)
        else:
            yield done(name, version, begin, fault)

    def _fault(self, ran: _Ran, expected: list[Argument] | None) -> str | None:
        """What is wrong with a run that went to its end."""
        if ran.results is None:
            return None
        fault = "runs, but should fail" if self._pattern() else _difference(ran.results, expected)
        return ran.fault if fault is None else fault + self._seed()

    def _ran(self, forced: dict[str, bool], args: list[Argument]) -> _Ran:
        program, threads = self._session().program, self.testing.settings.threads
        results, reached = program.trace(self.data_set.entry, args, forced=forced, threads=threads)
        return _Ran(results, None, misfits(forced, reached), ())

    def _traced(self, forced: dict[str, bool], args: list[Argument]) -> _Ran:
        """On the tracer, where hazards are faults."""
        limit = self.testing.timeout
        seconds = sync.SECONDS if limit is None else min(sync.SECONDS, limit / 2)
        report = sync.traced(self.subject.traced, self.data_set.entry, args, forced, seconds)
        if report is None:
            return _Ran(None, None, f"too long to trace: not done after {seconds:g} seconds", ())
        costs = (sync.seen(report),)
        return _Ran(report.results, sync.hazards_of(report), misfits(forced, report.guards), costs)

    def _failed(self, place: Place, version: str, error: Exception, begin: float) -> Iterator[Event]:
        """A failure, which may be the one asked for."""
        name, pattern = name_of(self.data_set), self._pattern()
        if pattern is not None and isinstance(error, RunError):
            yield from _matching(name, pattern, _words(error.diagnostics), place, "an error", str(error), version)
        else:
            yield done(name, version, begin, words_of_failure(error))

    def _pattern(self) -> Pattern | None:
        expected = self.data_set.case.expected
        return expected.pattern if isinstance(expected, Fails) else None

    def _seed(self) -> str:
        """How to have the input of a failure again."""
        if not isinstance(self.data_set.case.input, RandomInput):
            return ""
        seed = seed_of(self.data_set) if self.testing.seed is None else self.testing.seed
        return f" (random input of seed {seed})"


def _interpreted(compiled: Compiled, entry: str, args: list[Argument]) -> list[Argument]:
    return list(within(INTERPRETED, lambda: interpret(compiled.core, entry, args, None)[0]))


def _expected(subject: Subject, fun: FunDef, case: Case, args: Sequence[Argument]) -> list[Argument] | None:
    """The values that the case asks for, if any."""
    assert fun.entry is not None
    results = [fun.results[k] for result in fun.entry.results for k in result.components]
    match case.expected:
        case Output(values, _):
            return values_of(values, [result.type for result in results], subject.path, None)
        case AutoOutput():
            return reference(subject.compiled, fun.entry.name, args)
        case Fails() | Succeeds():
            return None


def _difference(results: Sequence[Argument], expected: Sequence[Argument] | None) -> str | None:
    """The first difference between results and what was expected, in words."""
    if expected is None:
        return None
    differences = (compare_values(got, want) for got, want in zip(results, expected, strict=True))
    return next((f"result {k}: {said}" for k, said in enumerate(differences) if said), None)


def _words(diagnostics: Sequence[Diagnostic]) -> str:
    """What a pattern is compared with: each message as a sentence, as test blocks ask for it, then all words."""
    kinds = ((one.message, "Warning" if one.is_warning else "Error") for one in diagnostics)
    sentences = [f"{kind}: {message[:1].upper()}{message[1:]}\n" for message, kind in kinds]
    return "".join(sentences) + words_of(diagnostics)


def _matching(
    name: str,
    pattern: Pattern,
    words: str,
    place: Place | None,
    what: str,
    shown: str | None = None,
    version: str = "",
) -> Iterator[Event]:
    """Compares words with a pattern, as a step with a limit of its own."""
    yield Begin(place, f"{name}: the expression `{pattern.regex}`", version, MATCH_SECONDS)
    begin = time.perf_counter()
    got = "none" if not words else words if shown is None else shown
    wrong = f"expected {what} that matches `{pattern.regex}`, got: {got}"
    yield ended(name, version, begin, lambda: None if matches(pattern.regex, words) else wrong)
