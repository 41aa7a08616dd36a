"""The law of the project for one program: every pass and every version gives what the core program gives.

    interpret(core) == interpret(pass(..)) == interpret(flat, any version) == interpret(flat, any thresholds)

and the law of failure: where core fails, a version fails or succeeds. All values are exact. Guards are part of it: a
version runs when the parallelism reaches its threshold, thresholds have different names, and a guard counts the points
of the version it guards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse, fused_once
from soac.flatten.fusion.sink import sink
from soac.flatten.tiling.choose import tile
from soac.ir.check import Stage, check
from soac.ir.collector import paused_collector
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import Prepared, Thresholds, Trace, prepare
from soac.ir.machine import CUDA, Mode
from soac.ir.version_tree import combinations, sites
from soac.pipeline import CORE_PASSES, FLAT_PASSES, Pass
from tests.support.property import guards, segops
from tests.support.property.generate import Case
from tests.support.property.guards import Broken

MOST_VERSIONS = 64
TILE = 2
"""The edge of tiles."""
INFINITE = 2**63 - 1

Results = list | None
"""None where the program fails."""


@dataclass(slots=True)
class Tally:
    """What was tested: programs, versions taken and left out, how often each rule of flattening fired and each of the
    other passes; programs left out because a single run of them takes long."""

    programs: int = 0
    versions: int = 0
    skipped: int = 0
    fired: Counter[Rule] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    expensive: int = 0

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.versions += other.versions
        self.skipped += other.skipped
        self.fired += other.fired
        self.others += other.others
        self.expensive += other.expensive


@paused_collector()
def check_law(case: Case, mode: Mode) -> Tally:
    """Raises `Broken` unless the law holds for the program flattened in this mode, as written and after fusion."""
    with segops.one_value_a_place():
        return _lawful(case, mode)


def _lawful(case: Case, mode: Mode) -> Tally:
    tally = Tally()
    check(case.prog, Stage.CORE)
    expected = meaning_of(case)
    prog = case.prog
    for name, apply in CORE_PASSES:
        if apply is fuse:
            tally.others[sink.__name__] += sink(prog) != prog
            once, rules = fused_once(prog)
            check(once, Stage.CORE)  # simplification would hide what was fused twice
            tally.others.update(rules)
        before, prog = prog, _checked(apply, prog, Stage.CORE)
        if prog is not before:
            _assert_agrees(name, expected, run(prepare(prog), case, Thresholds())[0])
    for source, name in ((case.prog, "flatten as written"), (prog, "flatten")):
        flat = _flattened(source, mode, tally)
        _versions_agree(f"{name} {mode.value}", expected, case, flat, tally)
    for name, apply in FLAT_PASSES:
        before, flat = flat, _checked(apply, flat, Stage.FLAT)
        if flat is not before:
            _versions_agree(f"{name} {mode.value}", expected, case, flat, tally)
    _guards_decide(f"{mode.value}", expected, case, flat)
    _tiles_agree(f"tile {mode.value}", expected, case, flat, tally)
    return tally


@paused_collector()
def check_values(case: Case, mode: Mode) -> None:
    """The law for the values of the program flattened as written, by whatever rules there are: with few of them, SOACs
    stay that have no rule, and versions may be the same."""
    flat = flatten_traced(case.prog, mode, CUDA).prog
    _versions_agree(f"flatten as written {mode.value}", meaning_of(case), case, flat, Tally())


class NoMeaning(Exception):
    """A program without a meaning, which no law is about: it was cut down too far."""


def meaning_of(case: Case) -> Results:
    """What the program gives before any pass."""
    try:
        return run(prepare(case.prog), case, Thresholds())[0]
    except Exception as error:
        raise NoMeaning(str(error)) from error


def broken_by(law: Callable[[Case], object], case: Case) -> str | None:
    """What is wrong with a program, if anything; a crash of whatever kind is."""
    try:
        law(case)
    except NoMeaning:
        return None
    except Broken as error:
        return str(error)
    except Exception as error:  # the compiler and the interpreter may break in any way
        return f"{type(error).__name__}: {error}"
    return None


def _flattened(prog: Prog, mode: Mode, tally: Tally) -> Prog:
    done = flatten_traced(prog, mode, CUDA)
    tally.fired.update(step.rule for step in done.trail)
    check(done.prog, Stage.FLAT)
    guards.assert_sound(done.prog)
    segops.assert_neutral(done.prog, prog)
    return done.prog


def _checked(apply: Pass, prog: Prog, stage: Stage) -> Prog:
    """The program after a pass that does not break it; the same one where the pass changes nothing."""
    after = apply(prog)
    if after == prog:
        return prog
    check(after, stage)
    return after


# ---- values ------------------------------------------------------------------------------------------------------


def run(prepared: Prepared, case: Case, thresholds: Thresholds) -> tuple[Results, Trace]:
    """The results, None if the program fails, and the guards it reached."""
    try:
        return prepared.run("main", case.args, thresholds)
    except RunError:
        return None, ()


def agree(expected: Results, found: Results) -> bool:
    """Equal values; if the program fails, failure or success."""
    if expected is None:
        return True
    return found is not None and all(map(_same, expected, found))


def _same(x: object, y: object) -> bool:
    a, b = np.asarray(x), np.asarray(y)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fV")  # bf16 is of kind V


def _assert_agrees(what: str, expected: Results, found: Results) -> None:
    if not agree(expected, found):
        raise Broken(f"{what}: {expected} became {found}")


def _versions_agree(what: str, expected: Results, case: Case, prog: Prog, tally: Tally) -> None:
    prepared, versions = prepare(prog), combinations(sites(prog))
    tally.versions += len(versions[:MOST_VERSIONS])
    tally.skipped += len(versions[MOST_VERSIONS:])
    for version in versions[:MOST_VERSIONS]:
        _assert_agrees(f"{what} {version}", expected, run(prepared, case, Thresholds(forced=version))[0])


def _tiles_agree(what: str, expected: Results, case: Case, prog: Prog, tally: Tally) -> None:
    """The same with tiles, which are smaller than most arrays."""
    tiled = _checked(lambda given: tile(given, replace(CUDA, tile=TILE)), prog, Stage.FLAT)
    if tiled == prog:
        return
    tally.others[tile.__name__] += 1
    prepared = prepare(tiled)
    for version in combinations(sites(tiled))[:MOST_VERSIONS]:
        _assert_agrees(f"{what} {version}", expected, run(prepared, case, Thresholds({}, version))[0])


# ---- guards ------------------------------------------------------------------------------------------------------


def _guards_decide(what: str, expected: Results, case: Case, prog: Prog) -> None:
    """With thresholds around the parallelism that a guard has seen, it goes the way it says: `t <= par`."""
    prepared = prepare(prog)
    for default in (1, INFINITE):
        values, trace = run(prepared, case, Thresholds(default=default))
        _assert_agrees(f"{what} default {default}", expected, values)
        guards.assert_fits(trace)
        for name, par, _ in dict.fromkeys(trace):
            for value in (par, par + 1):
                chosen = Thresholds({name: value}, {}, default)
                values, path = run(prepared, case, chosen)
                _assert_agrees(f"{what} {name}={value}", expected, values)
                if values is not None and any(took != (0 <= p >= value) for guard, p, took in path if guard == name):
                    raise Broken(f"{what}: {name}={value} took {path}")
