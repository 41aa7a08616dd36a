"""`python -m benchmarks.tuning`: what the autotuner finds, against every fixed version, and against a search by TPE.

Programs are tuned for the large data sets of their test blocks; then the tuned program, the untuned one and every fixed
version take turns on each data set. Then the exact search races Optuna's TPE over raw thresholds, with the same timed
runs: on three programs, and on made-up entries whose truth is known (`benchmarks/tuning_tpe.py`).

    python -m benchmarks.tuning --all                 tables, pictures, JSON: all that docs/autotuning.md shows
    python -m benchmarks.tuning matmul --rounds 5     some programs, to be looked at
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from soac.autotune.measure import Version, interval
from soac.autotune.model import FAILS, seconds_of
from soac.autotune.observe import Status
from soac.autotune.plan import most_versions
from soac.autotune.search import Search, Tuned, untuned_samples
from soac.autotune.store import Planned, open_study
from soac.frontend.source.text import Reach
from soac.ir.errors import SoacError
from soac.reports.timing import seconds_text
from soac.session import Session, open_program
from soac.settings import Settings
from soac.tuning.charts import fixed_versions, pictures, write_pictures
from soac.tuning.report import noise_of, rows_of
from soac.tuning.runs import Stopwatch, Subject, problem_of, sets_of, subject_of

from .machine import describe_machine
from .tuning_tpe import FACTS, Contest, made_up, on_program, picture, summary

ROOT = Path(__file__).parent.parent
PAGE, PICTURES, RESULTS = ROOT / "docs/autotuning.md", ROOT / "docs/pictures", ROOT / "benchmarks/results"
PROGRAMS = ("matmul", "sumrows", "locvolcalib", "optionpricing", "spmv")
RACES = ("matmul", "locvolcalib", "p13_three_scans")
SHAPES = {"p13_three_scans": ("[512][512][4]i32", "[256][256][16]i32", "[64][64][256]i32", "[64][64][1024]i32",
                              "[2][2][16384]i32")}  # fmt: skip
"""Data sets of programs whose test blocks have one size only."""

ENOUGH = 2.0
"""Seconds that the race on a data set takes at least, while there are less than ten times the rounds."""

SLOWER = 4.0
"""A version that takes this many times as long as the fastest does not take part in the race."""

NEAR = 1.05
"""Time over that of the best version, up to which the tuned program is as good."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: the median with its confidence interval, and the minimum."""

    median: float
    low: float
    high: float
    least: float

    @staticmethod
    def of(samples: Sequence[float]) -> Timing:
        return Timing(statistics.median(samples), *interval(samples), min(samples))


@dataclass(frozen=True, slots=True)
class Row:
    """A data set: the tuned and the untuned program and the best of `others` fixed versions. Not `separable`: it alone
    would want other thresholds than the data sets together."""

    program: str
    label: str
    tuned: Timing
    untuned: Timing
    best: Timing
    version: str
    others: int
    separable: bool

    @property
    def ratios(self) -> tuple[float, float]:
        """Tuned over best version, by medians and by minima."""
        return self.tuned.median / self.best.median, self.tuned.least / self.best.least

    @property
    def is_near(self) -> bool:
        """By medians, or where these are within each other's noise, by minima."""
        by_median, by_least = self.ratios
        overlap = self.tuned.low <= self.best.high
        return by_median <= NEAR or (overlap and by_least <= NEAR)

    @property
    def is_slower(self) -> bool:
        """Slower than without tuning by more than noise."""
        return self.tuned.low > self.untuned.high and self.tuned.least > self.untuned.least


@dataclass(frozen=True, slots=True)
class Found:
    """A program that was tuned."""

    session: Session
    subject: Subject
    search: Search
    tuned: Tuned
    labels: tuple[str, ...]
    most: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("only", nargs="*", help="programs; default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="races with TPE too; write tables, pictures and results")
    options = parser.parse_args()
    rows: list[Row] = []
    contests: list[tuple[Contest, dict[str, float]]] = []
    for name in options.only or (*PROGRAMS, *(set(RACES) - set(PROGRAMS) if options.all else ())):
        found = tuned_program(name, options.threads)
        if name in PROGRAMS:
            rows += races(name, found, options.rounds, PICTURES if options.all else None)
        if options.all and name in RACES:
            contest = on_program(name, found.search, found.tuned)
            contests.append((contest, judged(found, contest, options.rounds)))
            print(line_of(*contests[-1]), flush=True)
    print(said_of_rows(rows), flush=True)
    if options.all:
        write(rows, contests, options.threads, options.rounds)


# ---- tuned against every version ----------------------------------------------------------------------------------


def tuned_program(name: str, threads: int) -> Found:
    """A program tuned for its large data sets, or for those that this benchmark has for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = ROOT / "programs" / f"{name}.soac"
        if name in SHAPES:
            path = with_shapes(path, SHAPES[name], Path(folder))
        session = open_program(path, Settings("cpu", threads, None, False, (), (), Reach.PROJECT))
        sets = [one for one in sets_of(path, session, "main") if "notest" in one.case.tags and "k=30" not in one.label]
        subject, problem = subject_of(path, session, "main", sets, threads), problem_of(session, "main", sets, threads)
        sampler = Planned(1)
        study = open_study(None, name, FACTS, sampler)
        search = Search(study, sampler, Stopwatch(subject, 3), math.inf, lambda progress: None)
        search.see_versions(problem)
        tuned = search.settle(problem)
    most = most_versions(problem.branches) * len(problem.labels)
    stopped = sum(t.record.status is Status.STOPPED for t in search.timed())
    bound = f"at most {most}" + (f", and one more for each of {stopped} that were stopped" if stopped else "")
    print(f"{name}: {len(search.timed())} timed runs ({bound}) for {len(problem.labels)} data sets", flush=True)
    return Found(session, subject, search, tuned, problem.labels, most)


def with_shapes(path: Path, shapes: Sequence[str], folder: Path) -> Path:
    """A copy of a program with data sets of these shapes alone."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("-- ")]
    block = ["-- ==", *(f"-- notest random input {{ {shape} }}" for shape in shapes), ""]
    copy = folder / path.name
    copy.write_text("\n".join([*block, *lines]) + "\n", encoding="utf-8")
    return copy


def races(name: str, found: Found, rounds: int, folder: Path | None) -> Iterator[Row]:
    sites = [site for site in found.session.sites if site.entry == "main"]
    versions = {label: Version(version, {}) for label, version in fixed_versions(sites)}
    for case, label in enumerate(found.labels):
        row = race(name, found, case, label, versions, rounds)
        print(show(row), flush=True)
        yield row
    if folder is not None:
        problem = problem_of(found.session, "main", found.subject.sets, found.subject.threads)
        shown = rows_of(problem, found.tuned, found.search.timed(), (None,) * len(found.labels), sites)
        drawn = pictures(name, problem, found.tuned, shown, sites)
        write_pictures(folder, {f"{name}.svg": drawn[f"{name}.times.svg"]} if name == "matmul" else {})


def race(name: str, found: Found, case: int, label: str, versions: Mapping[str, Version], rounds: int) -> Row:
    """All take turns; versions that fail or are much slower do not take part."""
    subject, tuned = found.subject, found.tuned
    ours = {"tuned": Version({}, dict(tuned.solution.thresholds)), "untuned": Version({}, {})}
    once = {name: min(seconds(subject, case, version) for _ in range(2)) for name, version in versions.items()}
    racing = ours | {name: version for name, version in versions.items() if once[name] < SLOWER * min(once.values())}
    times: dict[str, list[float]] = {version: [] for version in racing}
    order = list(racing)
    started = time.monotonic()
    while len(times["tuned"]) < rounds or (time.monotonic() - started < ENOUGH and len(times["tuned"]) < 10 * rounds):
        order.reverse()
        for version in order:
            times[version].append(seconds(subject, case, racing[version]))
    seen = {version: Timing.of(samples) for version, samples in times.items()}
    fixed = [version for version in seen if version not in ours]
    best = min(fixed or ours, key=lambda version: seen[version].median)
    noise = noise_of(untuned_samples(found.search.timed(), case))
    separable = seconds_of(tuned.cases[case], tuned.solution.thresholds) <= tuned.best[case] * (1 + noise)
    return Row(name, label, seen["tuned"], seen["untuned"], seen[best], best, len(fixed), separable)


def judged(found: Found, contest: Contest, rounds: int) -> dict[str, float]:
    """What the searches found, timed in turn: the mean over data sets of the minimum over the least."""
    ours = {
        "exact": Version({}, dict(found.tuned.solution.thresholds)),
        "TPE after as many runs": Version({}, dict(contest.after_same)),
        "TPE at its end": Version({}, dict(contest.after_all)),
    }
    ratios: dict[str, list[float]] = {name: [] for name in ours}
    for case in range(len(found.labels)):
        times = {name: [seconds(found.subject, case, version)] for name, version in ours.items()}
        least = min(first for (first,) in times.values())
        racing = [name for name, (first,) in times.items() if first < SLOWER * least]
        for _ in range(rounds):
            racing.reverse()
            for name in racing:
                times[name].append(seconds(found.subject, case, ours[name]))
        for name, samples in times.items():
            ratios[name].append(min(samples) / min(map(min, times.values())))
    return {name: statistics.mean(each) for name, each in ratios.items()}


def seconds(subject: Subject, case: int, version: Version) -> float:
    """Time of the processor on one thread, which other load disturbs less; on several the time that passes."""
    clock = time.thread_time if subject.threads == 1 else time.perf_counter
    start = clock()
    try:
        subject.run(case, version, [])
    except SoacError:
        return FAILS
    return clock() - start


# ---- what is shown ------------------------------------------------------------------------------------------------


def show(row: Row) -> str:
    ratios = "× | ".join(f"{ratio:.2f}" for ratio in row.ratios)
    times = " | ".join(seconds_text(t.median) for t in (row.untuned, row.tuned, row.best))
    note = "" if row.separable else "; not separable"
    return f"| {row.program} | {row.label} | {times} | {row.version} (of {row.others}){note} | {ratios}× |"


HEAD = (
    "| program | data set | untuned | tuned | best version | which | by medians | by minima |\n"
    "|---|---|---|---|---|---|---|---|"
)


def said_of_rows(rows: Sequence[Row]) -> str:
    """What the table shows, in words."""
    apart = [row for row in rows if row.separable]
    if not apart:
        return "no data sets"
    medians, minima = zip(*(row.ratios for row in rows), strict=True)
    means = " and ".join(f"{statistics.geometric_mean(column):.3f}" for column in (medians, minima))
    far = ", ".join(f"{row.program} {row.label}" for row in apart if not row.is_near) or "none"
    slower = ", ".join(f"{row.program} {row.label}" for row in rows if row.is_slower) or "none"
    untuned = statistics.geometric_mean(max(1.0, row.untuned.median / row.best.median) for row in rows)
    return (
        f"Tuned over best version: geometric mean {means}, worst {max(medians):.2f} and {max(minima):.2f} (by medians "
        f"and by minima). Within 5 % of the best version on {sum(row.is_near for row in apart)} of {len(apart)} "
        f"separable data sets; not: {far}. Slower than untuned by more than noise: {slower}. Untuned over best "
        f"version: geometric mean {untuned:.2f}."
    )


def said_of(contests: Sequence[Contest], what: str) -> str:
    reached = summary(contests)
    runs = statistics.mean(len(one.exact) for one in contests)
    tpe = ", ".join(f"after {key[4:-1]} × the runs {value:.3f}" for key, value in reached.items() if key != "exact")
    return f"{what}: exact {reached['exact']:.3f} of the best time after {runs:.0f} runs; TPE {tpe}."


def line_of(contest: Contest, judgement: Mapping[str, float]) -> str:
    raced = ", ".join(f"{name} {ratio:.3f}" for name, ratio in judgement.items())
    return f"{said_of([contest], contest.name)} Timed in turn at the end, over the least: {raced}."


def write(
    rows: Sequence[Row], contests: Sequence[tuple[Contest, Mapping[str, float]]], threads: int, rounds: int
) -> None:
    """Results, pictures and the page."""
    entries = made_up()
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / "tpe.svg").write_text(picture("Made-up entries: exact search and TPE", entries), encoding="utf-8")
    drawn = picture("Programs: exact search and TPE", [contest for contest, _ in contests])
    (PICTURES / "tpe_programs.svg").write_text(drawn, encoding="utf-8")
    what = f"{threads} threads" if threads > 1 else "One thread, processor time"
    lines = [*(line_of(*one) for one in contests), said_of(entries, "made-up entries")]
    table = f"{what}, at least {rounds} interleaved rounds, medians. {said_of_rows(rows)}\n\n{HEAD}\n"
    page = replaced(PAGE.read_text(encoding="utf-8"), "tuned", table + "\n".join(map(show, rows)))
    PAGE.write_text(replaced(page, "tpe", "\n".join(f"* {line}" for line in lines)), encoding="utf-8")
    found: dict[str, Any] = {
        "date": str(date.today()),
        "machine": describe_machine(threads),
        "rows": [asdict(row) for row in rows],
    }
    found["tpe"] = {one.name: asdict(one) | {"timed": judgement} for one, judgement in contests}
    found["tpe"]["made up"] = summary(entries)
    path = RESULTS / f"{found['date']}-{llvm.get_host_cpu_name()}-tuning.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print("\n".join([*lines, f"wrote {path}"]))


def replaced(page: str, mark: str, text: str) -> str:
    """The page with this text between its marks."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
