"""A program and its peers on its data sets: equal results first, then times in turns.

soac runs in three ways: `tuned` with the thresholds that `soac autotune` finds for the data sets, `untuned` with
the defaults, and on every version by force. Ways that take the same sides of all guards are one contender: the same
kernels run. A short race picks the versions that may be the best; these then meet the others and the peers.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import soac
from soac.frontend.source.text import Reach
from soac.ir.version_tree import sites as sites_of
from soac.reports.timing import Clock, Effort, Times, race
from soac.session import open_program
from soac.settings import Settings
from soac.testing.datasets import DataSet, inputs_of
from soac.versions import named_versions, runs_of

from .machine import Limits
from .peers import MORE, Peer, peers_of
from .suite import bytes_moved, difference, flops, large_data_sets, program_path

FINALISTS = 3  # versions that meet the peers, besides the tuned and the untuned one
HEATS = Effort(rounds=1, seconds=0.05, spread=1.0, most_rounds=3, most_seconds=0.5)
LATE = 120.0  # seconds that a search may take beyond twice its time
HOPELESS = 4.0  # times as slow as the fastest in the first run: never the best

Sides = Mapping[str, bool]
Taken = tuple[tuple[str, int], ...]  # the guards of a run and the sides taken, and the sizes that are set


@dataclass(frozen=True, slots=True)
class Row:
    """A data set: the times of all contenders, and what follows from them. `regret` is tuned over the best version."""

    program: str
    entry: str
    dataset: str
    median_ms: Mapping[str, float]
    least_ms: Mapping[str, float]
    interval_ms: Mapping[str, tuple[float, float]]
    rounds: int
    best_peer: str
    ratio_to_best_peer: float
    ratio_by_least: float
    bound_ms: float
    fraction_of_bound: float
    versions: int
    tuned_version: str
    best_version: str
    regret: float
    untuned_over_tuned: float
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How a contest is held."""

    device: str
    threads: int
    effort: Effort
    libraries: Sequence[str]
    limits: Limits
    tuner_seconds: float
    clock: Clock


@dataclass(slots=True)
class Contest:
    """A data set of a program, and who has been found fit to race on it. `placed` are the arguments on the device."""

    name: str
    program: soac.Program
    one: DataSet
    args: list[Any]
    placed: list[Any]
    rules: Rules
    results: list[Any] = field(default_factory=list)  # of the first way
    ways: dict[Taken, list[str]] = field(default_factory=dict)  # names of the ways that run the same
    calls: dict[Taken, Callable[[], Any]] = field(default_factory=dict)
    seconds: dict[Taken, float] = field(default_factory=dict)  # of the first run
    faults: list[str] = field(default_factory=list)

    def add_way(self, name: str, thresholds: Mapping[str, int], forced: Sides) -> None:
        """A way to run the program, after a run of it. One that does not fit the machine at this size is left out."""
        begin = self.rules.clock()
        results, trace = self.program.trace(self.one.entry, self.placed, thresholds, forced, self.rules.threads)
        seconds = self.rules.clock() - begin
        if any(par < 0 and forced.get(guard) for guard, par, _ in trace):
            return
        defaults = self.program.facts.sizes
        sizes = ((size, value) for size, value in thresholds.items() if defaults.get(size, value) != value)
        taken = tuple(dict.fromkeys([*((guard, int(taken)) for guard, _, taken in trace), *sizes]))
        self.ways.setdefault(taken, []).append(name)
        if taken not in self.calls:
            self.results = self.results or list(results)
            self.seconds[taken], self.calls[taken] = seconds, self.call_of(thresholds, forced)
            if (why := self.differs(results)) is not None:
                self.faults.append(f"{name}: {why}")

    def call_of(self, thresholds: Mapping[str, int], forced: Sides) -> Callable[[], Any]:
        """With its settings decided beforehand, as those of a program that was loaded with them are."""
        prepared, placed = self.program.prepare(self.one.entry, thresholds, forced, self.rules.threads), self.placed
        return lambda: prepared(placed)

    def differs(self, results: Sequence[Any]) -> str | None:
        """How results differ from those of the first way."""
        return difference(self.name, self.one.entry, results, self.results)

    def way_of(self, name: str) -> Taken:
        return next(taken for taken, names in self.ways.items() if name in names)


def rows_of(name: str, rules: Rules, only: str | None) -> Iterator[Row]:
    """The rows of a program, one for each of its large data sets."""
    path = program_path(name)
    program = soac.load(path, device=rules.device)
    tuned, fault = tuned_thresholds(path, program, rules)
    for one in large_data_sets(name):
        if only is None or only in f"{one.entry} {one.label}":
            args = inputs_of(one, program, path)
            contest = Contest(name, program, one, args, program.place(one.entry, args), rules)
            contest.faults += fault
            yield row_of(contest, tuned)


def row_of(contest: Contest, tuned: Mapping[str, int]) -> Row:
    one, rules = contest.one, contest.rules
    contest.add_way("tuned", tuned, {})
    contest.add_way("untuned", {}, {})
    for forced in runs_of(contest.program.compiled.flat, one.entry):
        contest.add_way(version_name(contest.program, forced), {}, forced)
    peers = fit_peers(contest)
    runs = {" / ".join(contest.ways[taken]): contest.calls[taken] for taken in heats(contest)}
    times = race(runs | {peer.library: peer.call for peer in peers}, rules.effort, rules.clock)
    work = flops(contest.name, one.entry, contest.args)
    bound = rules.limits.bound_ms(bytes_moved(contest.args, contest.results), work)
    return judged(contest, times, {peer.library for peer in peers}, bound)


def judged(contest: Contest, times: Mapping[str, Times], peers: set[str], bound: float) -> Row:
    """Compares what was timed."""
    versions = {way: seen for way, seen in times.items() if way not in peers}
    tuned, untuned = (next(way for way in versions if kind in way.split(" / ")) for kind in ("tuned", "untuned"))
    best = min(versions, key=lambda way: versions[way].median)
    counted = peers.difference(MORE if contest.rules.device == "cpu" else ())
    peer = min(counted, key=lambda library: times[library].median, default="")
    least_peer = min((times[library].least for library in counted), default=0.0)
    mine = times[tuned]
    labels = {way: short_name(way) for way in times}
    return Row(
        contest.name, contest.one.entry, contest.one.label,
        {labels[way]: seen.median * 1e3 for way, seen in times.items()},
        {labels[way]: seen.least * 1e3 for way, seen in times.items()},
        {labels[way]: (seen.interval[0] * 1e3, seen.interval[1] * 1e3) for way, seen in times.items()},
        min(len(seen.seconds) for seen in times.values()),
        peer,
        times[peer].median / mine.median if peer else 0.0,
        least_peer / mine.least,
        bound,
        bound / (mine.least * 1e3),
        len(contest.ways),
        version_of(tuned), version_of(best),
        mine.median / times[best].median,
        times[untuned].median / mine.median,
        tuple(contest.faults),
    )  # fmt: skip


def heats(contest: Contest) -> list[Taken]:
    """The tuned and the untuned way, and the fastest versions of a short race of those that are not hopeless."""
    limit = HOPELESS * min(contest.seconds.values())
    hopeful = {taken: call for taken, call in contest.calls.items() if contest.seconds[taken] <= limit}
    times = race({str(n): call for n, call in enumerate(hopeful.values())}, HEATS, contest.rules.clock)
    order = sorted(zip(hopeful, times.values()), key=lambda pair: pair[1].least)
    fastest = [taken for taken, seen in order if seen.least < 1.5 * order[0][1].least][:FINALISTS]
    return list(dict.fromkeys([contest.way_of("tuned"), contest.way_of("untuned"), *fastest]))


def fit_peers(contest: Contest) -> list[Peer]:
    """The peers that give equal results; what is wrong with the others is a fault."""
    fit: list[Peer] = []
    for peer in peers_of(contest.name, contest.one.entry, contest.args, contest.rules.libraries):
        try:
            why = contest.differs(peer.fetch(peer.call()))
        except Exception as fault:
            why = f"{type(fault).__name__}: {fault}"
        if why is None:
            fit.append(peer)
        else:
            contest.faults.append(f"{peer.library}: {why}")
    return fit


# ---- tuning and names -----------------------------------------------------------------------------------------------


def tuned_thresholds(path: Path, program: soac.Program, rules: Rules) -> tuple[Mapping[str, int], list[str]]:
    """What `soac autotune` finds in the time there is, and what was wrong; empty where there is nothing to tune."""
    if not sites_of(program.compiled.flat) or not rules.tuner_seconds:
        return {}, []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.tuning"
        words = ["autotune", str(path), "--tuning", str(file), "--device", rules.device]
        words += ["--threads", str(rules.threads), "--runs", "3", "--timeout", str(rules.tuner_seconds)]
        command = [sys.executable, "-m", "soac", *words]
        try:
            subprocess.run(command, check=True, timeout=LATE + 2 * rules.tuner_seconds, stdout=subprocess.DEVNULL)
        except subprocess.SubprocessError as fault:
            return {}, [f"not tuned: {type(fault).__name__}"]
        settings = Settings(
            rules.device, rules.threads, file, use_tuning=True, params=(), forces=(), reach=Reach.PROJECT
        )
        return open_program(path, settings).program.thresholds, []


def version_name(program: soac.Program, forced: Sides) -> str:
    """The versions that are taken, by site."""
    words: list[str] = []
    for site in sites_of(program.compiled.flat):
        for taken, version in named_versions(site).items():
            if version and all(forced.get(guard) == side for guard, side in version.items()):
                words.append(f"{site.name}={taken}")
                break
    return " ".join(words) or "only"


def version_of(way: str) -> str:
    """The name of the version among the names of a way."""
    return next((name for name in way.split(" / ") if name not in ("tuned", "untuned")), "default")


def short_name(way: str) -> str:
    """`soac` for the tuned way, `soac untuned` for another untuned one, else the name of the version."""
    names = way.split(" / ")
    if "tuned" in names:
        return "soac"
    return "soac untuned" if "untuned" in names else names[0]
