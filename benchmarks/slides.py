"""`python -m benchmarks.slides`: the figures of the slides *Regular Flattening*, on the CPU or with `--device cuda`.

- `matmul`: products of 2^n x 2^m and 2^m x 2^n with m = k - 2n, the work being constant: every fixed version, the tuned
  program, and how many versions win somewhere. The tuned curve is to be within 5 % of the lower envelope everywhere.
- `locvolcalib`: small, medium and large; every version over the one that maps lines to threads and scans sequentially.
- `effort`: runs that it takes to tune, and what is reached, by the exact search, by the binary search of the slides and
  by TPE: on made-up entries whose truth is known, and on the two programs, with their measured times as the truth.

Times are the least of interleaved runs, on the CPU of processor time of one thread, so that other load says little.

    python -m benchmarks.slides --write            all, in full: tables and pictures of docs/autotuning.md
    python -m benchmarks.slides matmul --work 20   to be looked at
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from soac.autotune.measure import Version
from soac.autotune.model import FAILS, Side
from soac.autotune.search import Problem, Search, Tuned
from soac.autotune.solve import weights_of
from soac.autotune.store import Planned, open_study
from soac.frontend.source.text import Reach
from soac.ir.errors import SoacError
from soac.ir.version_tree import Branch, Sides
from soac.reports.svg import Chart, Curve, chart, seconds_label
from soac.reports.timing import seconds_text
from soac.session import open_program
from soac.settings import Settings
from soac.tuning.charts import fixed_versions
from soac.tuning.runs import Stopwatch, Subject, problem_of, sets_of, subject_of

from .binary_search import BinarySearch
from .suite import program_path
from .synthetic import MadeUp, entry, total
from .tuning import PAGE, PICTURES, replaced
from .tuning_tpe import FACTS, HIGHEST, NOISE, Raw, regret

NEAR = 1.05
SLOWER = 8.0
"""Times of the fastest version from which on a version is timed no more."""
SCANS = "main.ys.suff_outer_1", "main.ys.suff_outer_2"
"""The guards of LocVolCalib whose versions have a thread for each line of the grid."""
CALIBRATIONS = {
    "small": (16, 32, 256, 256), "medium": (128, 256, 32, 64), "large": (256, 256, 256, 64)
}  # fmt: skip
"""Strikes, points along x and y, and points in time, as FinPar has them."""
ENTRIES = 40


@dataclass(frozen=True, slots=True)
class Measured:
    """A program that was tuned for some data sets: the least seconds of each version and of the tuned program."""

    labels: tuple[str, ...]
    versions: Mapping[str, tuple[float, ...]]
    tuned: tuple[float, ...]
    search: tuple[Problem, Tuned]
    wanted: Mapping[str, Sides]

    def least(self, case: int) -> float:
        return min(times[case] for times in self.versions.values())

    @property
    def ratios(self) -> list[float]:
        """The tuned program over the lower envelope."""
        return [self.tuned[k] / self.least(k) for k in range(len(self.labels))]

    @property
    def winners(self) -> list[str]:
        """The versions that are fastest somewhere."""
        best = {min(self.versions, key=lambda name: self.versions[name][k]) for k in range(len(self.labels))}
        return [name for name in self.versions if name in best]


# ---- measuring ------------------------------------------------------------------------------------------------------


def measured(program: str, inputs: Mapping[str, str], device: str, rounds: int) -> Measured:
    """Tunes the thresholds of a program on these inputs, and races its versions."""
    threads = 1 if device == "cpu" else None
    with tempfile.TemporaryDirectory() as folder:
        path = with_inputs(program_path(program), inputs, Path(folder))
        session = open_program(path, Settings(device, threads, None, False, (), (), Reach.ANYWHERE))
        sets = sets_of(path, session, "main")
        subject = subject_of(path, session, "main", sets, threads)
    problem, sampler = problem_of(session, "main", sets, threads), Planned(1)
    search = Search(
        open_study(None, program, FACTS, sampler), sampler, Stopwatch(subject, 5), math.inf, lambda progress: None
    )
    search.see_versions(problem)
    tuned = search.settle(problem)
    sites = [site for site in session.sites if site.entry == "main"]
    sides = dict(fixed_versions(sites))
    versions = {name: Version(forced, {}) for name, forced in sides.items()}
    versions["tuned"] = Version({}, dict(tuned.solution.thresholds))
    columns = [race(subject, case, versions, rounds) for case in range(len(sets))]
    for case, column in enumerate(columns):
        taken = version_taken(subject, case, versions["tuned"], sides)
        column["tuned"] = min(column["tuned"], column.get(taken, FAILS))
    times = {name: tuple(column.get(name, FAILS) for column in columns) for name in versions}
    after = times.pop("tuned")
    return Measured(problem.labels, times, after, (problem, tuned), sides)


def with_inputs(path: Path, inputs: Mapping[str, str], folder: Path) -> Path:
    """A copy of a program with these data sets alone, beside what it imports."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("-- ")]
    block = ["-- ==", "-- entry: main", *(f'-- "{name}" {given}' for name, given in inputs.items()), ""]
    (folder / "lib").symlink_to(path.parent / "lib")
    copy = folder / path.name
    copy.write_text("\n".join([*block, *lines]) + "\n", encoding="utf-8")
    return copy


def race(subject: Subject, case: int, versions: Mapping[str, Version], rounds: int) -> dict[str, float]:
    """The least time of each version, which take turns; one that is much slower runs twice only."""
    found = {name: min(seconds(subject, case, one) for _ in range(2)) for name, one in versions.items()}
    for number in range(rounds):
        racing = [name for name in versions if found[name] < SLOWER * min(found.values())]
        for name in racing[:: 1 if number % 2 else -1]:
            found[name] = min(found[name], seconds(subject, case, versions[name]))
    return found


def version_taken(subject: Subject, case: int, tuned: Version, sides: Mapping[str, Sides]) -> str:
    """The fixed version that the tuned program is on a data set, so that the times of both are of the same code; none
    where a loop takes several."""
    _, reached = subject.program.trace(subject.entry, subject.args[case], tuned.settings, threads=subject.threads)
    seen = {(threshold, side) for threshold, _, side in reached}
    fitting = (name for name, own in sides.items() if all(own.get(t) == side for t, side in seen))
    return next(fitting, "")


def seconds(subject: Subject, case: int, version: Version) -> float:
    """Processor time on one thread, else the time that passes."""
    clock = time.thread_time if subject.threads == 1 else time.perf_counter
    try:
        call = subject.prepare(case, version)
        start = clock()
        call()
    except (SoacError, MemoryError):
        return FAILS
    return clock() - start


# ---- products -------------------------------------------------------------------------------------------------------


def products(work: int) -> dict[str, str]:
    """2^n x 2^m times 2^m x 2^n, with 2n + m = work."""
    shapes = [(1 << n, 1 << (work - 2 * n)) for n in range(work // 2 + 1)]
    return {f"n={k}": f"notest script input {{ matrices {n} {m} }}" for k, (n, m) in enumerate(shapes)}


def said_of_products(work: int, found: Measured) -> str:
    names = list(found.versions)
    rows = [f"| {' | '.join(('n', *names, 'tuned', 'over the envelope'))} |", "|---:|" + "---:|" * (len(names) + 2)]
    for k, label in enumerate(found.labels):
        times = [seconds_text(found.versions[name][k]) for name in names]
        cells = (label.removeprefix("n="), *times, seconds_text(found.tuned[k]), f"{found.ratios[k]:.3f}")
        rows.append(f"| {' | '.join(cells)} |")
    worst, near = max(found.ratios), sum(ratio <= NEAR for ratio in found.ratios)
    said = (
        f"k = {work}: {len(found.winners)} of {len(names)} versions win somewhere ({', '.join(found.winners)}); tuned "
        f"within 5 % of the lower envelope at {near} of {len(found.labels)} shapes, {worst:.3f} at worst."
    )
    return "\n".join([said, "", *rows])


def picture_of_products(work: int, found: Measured) -> str:
    curves = [Curve(name, tuple(map(float_pair, enumerate(times))), False) for name, times in found.versions.items()]
    curves.append(Curve("tuned", tuple(map(float_pair, enumerate(found.tuned))), True))
    ticks = tuple((float(k), str(k)) for k in range(len(found.labels)))
    title = f"2^n x 2^m times 2^m x 2^n, m = {work} - 2n"
    return chart(Chart(title, "n", "time", tuple(curves), ticks, seconds_label))


def float_pair(pair: tuple[int, float]) -> tuple[float, float]:
    return float(pair[0]), pair[1]


# ---- LocVolCalib ----------------------------------------------------------------------------------------------------


def calibrations(part: int) -> dict[str, str]:
    """FinPar's data sets with 1/part of the strikes and of the steps in time."""
    return {
        name: f"notest input {{ {max(1, outer // part)} {nx} {ny} {max(2, nt // part)} 0.03 5.0 0.2 0.6 0.5 }}"
        for name, (outer, nx, ny, nt) in CALIBRATIONS.items()
    }


def said_of_calibrations(part: int, found: Measured) -> str:
    scans = next(
        name for name, sides in found.wanted.items() if all(sides.get(t) for t in SCANS) and sum(sides.values()) == 2
    )
    rows = [f"| version | {' | '.join(found.labels)} |", "|---|" + "---:|" * len(found.labels)]
    base = found.versions[scans]
    for name, times in {**found.versions, "tuned": found.tuned}.items():
        cells = [f"{b / t:.2f}× ({seconds_text(t)})" for b, t in zip(base, times, strict=True)]
        rows.append(f"| {'sequential scans' if name == scans else name} | {' | '.join(cells)} |")
    what = "" if part == 1 else f", 1/{part} of the strikes and of the steps"
    said = f"LocVolCalib{what}: speed-up over sequential scans, a line of the grid for each thread; "
    ratios = ", ".join(f"{label} {ratio:.3f}" for label, ratio in zip(found.labels, found.ratios, strict=True))
    return "\n".join([f"{said}tuned over the best version: {ratios}.", "", *rows])


# ---- effort ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effort:
    """Runs that each search made, and the time of what it found over that of the best thresholds."""

    exact: tuple[int, float]
    binary: tuple[int, float]
    tpe: tuple[int, float]


def effort(branches: tuple[Branch, ...], truth: Sequence[Side], seed: int) -> Effort:
    """Of an entry, with times of the truth and noise. TPE makes as many runs as the exact search."""
    bench, weights, sampler = MadeUp(truth, NOISE), weights_of(truth), Planned(1)
    problem = Problem(branches, tuple(map(str, range(len(truth)))), {})
    search = Search(open_study(None, "exact", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    search.see_versions(problem)
    exact = regret(truth, search.settle(problem).solution.thresholds)
    runs = len(search.timed())

    def run(case: int, thresholds: Mapping[str, int]) -> float:
        return total(bench.piece(truth[case], Version({}, thresholds), 1.0))

    binary = BinarySearch(truth, run)
    thresholds = binary.search(branches)

    def value(tried: Mapping[str, int]) -> float:
        return sum(w * run(case, tried) for case, w in enumerate(weights))

    reached, _ = Raw(truth, HIGHEST, value).search(runs, seed, math.inf)
    tpe = reached[min(runs, len(reached)) - 1]
    return Effort((runs, exact), (binary.runs, regret(truth, thresholds)), (runs, tpe))


def said_of_efforts(found: Mapping[str, Sequence[Effort]]) -> str:
    rows = ["| on | exact search | binary search | TPE |", "|---|---:|---:|---:|"]
    for name, efforts in found.items():
        cells = [
            f"{statistics.mean(runs for runs, _ in column):.0f} runs, {statistics.mean(r for _, r in column):.3f}"
            for column in ([e.exact for e in efforts], [e.binary for e in efforts], [e.tpe for e in efforts])
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    said = "Runs of a data set that tuning takes, and the time of what is found over that of the best thresholds"
    return "\n".join([f"{said}; times vary by {NOISE:.0%}.", "", *rows])


def efforts(programs: Mapping[str, Measured]) -> Iterator[tuple[str, Sequence[Effort]]]:
    made_up = [entry(seed, cases=4, failing=0.0) for seed in range(ENTRIES)]
    yield f"{ENTRIES} made-up entries", [effort(*one, seed) for seed, one in enumerate(made_up)]
    for name, found in programs.items():
        problem, tuned = found.search
        truth = [case for k, case in enumerate(tuned.cases) if tuned.best[k] > found.least(k) / 2]  # else a wrong time
        if truth:
            yield name, [effort(problem.branches, truth, seed) for seed in range(5)]


# ---- all ------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slides", description=__doc__)
    parser.add_argument("only", nargs="*", help="matmul, locvolcalib, effort; default: all")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--work", type=int, nargs="+", default=[25], help="k of the products; the slides: 25")
    parser.add_argument("--part", type=int, help="1/PART of LocVolCalib's strikes and steps; default: 4 on the CPU")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write the tables and pictures of docs/autotuning.md")
    options = parser.parse_args()
    only = options.only or ("matmul", "locvolcalib", "effort")
    part = options.part or (4 if options.device == "cpu" else 1)
    said: list[str] = []
    found: dict[str, Measured] = {}
    for work in options.work if "matmul" in only else ():
        found[f"products, k = {work}"] = one = measured("matmul", products(work), options.device, options.rounds)
        said.append(said_of_products(work, one))
        print(said[-1], flush=True)
        if options.write:
            name = f"slides_{options.device}_{work}.svg"
            (PICTURES / name).write_text(picture_of_products(work, one), encoding="utf-8")
            said.append(f"![products](pictures/{name})")
    if "locvolcalib" in only:
        found["LocVolCalib"] = one = measured("locvolcalib", calibrations(part), options.device, options.rounds)
        said.append(said_of_calibrations(part, one))
        print(f"\n{said[-1]}", flush=True)
    if "effort" in only:
        said.append(said_of_efforts(dict(efforts(found))))
        print(f"\n{said[-1]}", flush=True)
    if options.write:
        mark = f"slides {options.device}"
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), mark, "\n\n".join(said)), encoding="utf-8")


if __name__ == "__main__":
    main()
