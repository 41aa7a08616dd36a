"""A program and the suite's versions of it: equal results first, then the time to the first result, then others."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.reports.timing import Clock, Effort, Times

from .cases import CASES, Case, difference, unordered_difference
from .suite import LIBRARIES, Original, Peer, original, peers_of

HOPELESS = 4.0  # times as slow as the fastest variant of its library in a run after the first: not raced
HEAT = Effort(rounds=3, seconds=0.0, spread=1.0, most_rounds=3, most_seconds=5.0)
PATIENCE = 20.0  # seconds of a run from which on there is no other


@dataclass(frozen=True, slots=True)
class Row:
    """A program on one preset. `first_s` is the time to the first result, compiling included; `peers` are the fastest
    variants of each library."""

    program: str
    preset: str
    threads: int
    table: str
    median_ms: Mapping[str, float]
    least_ms: Mapping[str, float]
    first_s: Mapping[str, float]
    variants: Mapping[str, str]
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How a contest is held."""

    suite: Path
    preset: str
    threads: int
    variants: Mapping[str, Sequence[str]]  # by library
    effort: Effort
    clock: Clock
    longest: float  # seconds of a run of soac from which on a row is left out


@dataclass(slots=True)
class Contest:
    """A program on its inputs, and who is fit to race: calls by name, after a run of each."""

    case: Case
    suite: Original
    values: dict[str, Any]
    rules: Rules
    wanted: list[Any] = field(default_factory=list)
    first: dict[str, float] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def run(self, name: str, peer: Peer) -> list[Any] | None:
        """The results of the first run of a peer; None, and a fault, where it fails."""
        try:
            args = peer.fresh()
            self.first[name], returned = self.timed(peer.call, args)
            results = peer.fetch(returned, args)
            self.again[name] = self.first[name]
            if self.first[name] < PATIENCE:
                self.again[name], _ = self.timed(peer.call, peer.fresh())
        except Exception as fault:
            text = str(fault).replace(str(self.suite.folder), "..").strip().partition("\n")[0][:100]
            self.faults.append(f"{name}: {type(fault).__name__}: {text}")
            return None
        return results

    def timed(self, call: Callable[[Any], Any], args: Any) -> tuple[float, Any]:
        begin = self.rules.clock()
        returned = call(args)
        return self.rules.clock() - begin, returned


def check(case: Case, suite: Path, preset: str) -> str | None:
    """None if the program gives what the suite's NumPy version gives, else how they differ."""
    own = original(suite, case)
    values = own.inputs(preset)
    got = soac.load(case.path).call("main", case.arguments(values))
    (peer,) = peers_of(case, own, values, LIBRARIES["numpy"])
    args = peer.fresh()
    with np.errstate(all="ignore"):
        return difference(case, got, peer.fetch(peer.call(args), args))


def row_of(name: str, rules: Rules) -> Row | None:
    """Races a program; None if it runs too long for the rules."""
    case = CASES[name]
    own = original(rules.suite, case)
    if rules.preset not in own.sizes:
        return None
    contest = Contest(case, own, own.inputs(rules.preset), rules)
    with tempfile.TemporaryDirectory() as empty, np.errstate(all="ignore"):
        os.environ["SOAC_CACHE_DIR"] = empty
        for library in ("soac", *rules.variants):
            warm_up(library)
        runs = {"soac": own_run(contest)}
        if contest.again["soac"] > rules.longest:
            return None
        variants = dict(fit_peers(contest))
        times = race(runs | variants, rules)
    return Row(
        name, rules.preset, rules.threads, case.table.value,
        {who: seen.median * 1e3 for who, seen in times.items()},
        {who: seen.least * 1e3 for who, seen in times.items()},
        contest.first,
        {library: peer.variant for library, peer in variants.items()},
        tuple(contest.faults),
    )  # fmt: skip


def warm_up(library: str) -> None:
    """Compiles one addition: what a library does only once does not belong to the time to the first result."""
    match library:
        case "soac":
            soac.compile("entry main (x: i64): i64 = x + 1").call("main", [1])
        case "numba":
            import numba

            numba.njit(lambda x: x + 1)(1)
        case "jax":
            import jax

            jax.jit(lambda x: x + 1)(1)
        case _:
            pass


def own_run(contest: Contest) -> Peer:
    """soac's call, with settings decided beforehand; the first one compiles, with an empty cache."""
    case, rules = contest.case, contest.rules
    begin = rules.clock()
    program = soac.load(case.path)
    args = case.arguments(contest.values)
    prepared = program.prepare("main", threads=rules.threads)
    contest.wanted = list(prepared(args))
    contest.first["soac"] = rules.clock() - begin
    contest.again["soac"], _ = contest.timed(prepared, args)
    placed = program.place("main", args)
    return Peer("soac", lambda: placed, prepared, lambda results, _: list(results))


def fit_peers(contest: Contest) -> Iterator[tuple[str, Peer]]:
    """The best variant of each library among those that give soac's results; what is wrong with others is a fault."""
    for library, variants in contest.rules.variants.items():
        fit: list[tuple[float, Peer]] = []
        for peer in peers_of(contest.case, contest.suite, contest.values, variants):
            results = contest.run(peer.variant, peer)
            compare = unordered_difference if peer.variant == "jax" else difference
            why = None if results is None else compare(contest.case, results, contest.wanted)
            if why is not None:
                contest.faults.append(f"{peer.variant}: {why}")
            elif results is not None:
                fit.append((contest.again[peer.variant], peer))
        if fit:
            yield library, best_of(fit, contest.rules)


def best_of(fit: list[tuple[float, Peer]], rules: Rules) -> Peer:
    """The fastest variant in a short race of those that are not hopeless."""
    limit = HOPELESS * min(seconds for seconds, _ in fit)
    hopeful = {peer.variant: peer for seconds, peer in fit if seconds <= limit}
    if len(hopeful) == 1:
        return next(iter(hopeful.values()))
    times = race(hopeful, replace(rules, effort=HEAT))
    return hopeful[min(times, key=lambda variant: times[variant].least)]


def race(runs: Mapping[str, Peer], rules: Rules) -> dict[str, Times]:
    """As `soac.reports.timing.race`, with fresh arguments for every call, made while the clock stands still."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    order, drawn, begin = list(runs.items()), random.Random(0), time.perf_counter()
    while not rules.effort.is_done(found, time.perf_counter() - begin):
        for name, run in drawn.sample(order, len(order)):
            args = run.fresh()
            start = rules.clock()
            run.call(args)
            found[name].append(rules.clock() - start)
    return {name: Times(tuple(seen)) for name, seen in found.items()}
