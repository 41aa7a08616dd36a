"""`python -m benchmarks.tuning`: what the autotuner finds, against every fixed version, and against a search by TPE.

Programs are tuned for the large data sets of their test blocks; then the tuned program, the untuned one and every fixed
version take turns on each data set. `--tpe` compares the exact search with Optuna's TPE over raw thresholds, on
made-up entries whose truth is known.

    python -m benchmarks.tuning --update docs/autotuning.md            the table
    python -m benchmarks.tuning --tpe docs/pictures/tpe.svg            the comparison
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import optuna

from soac.autotune.measure import Version
from soac.autotune.model import FAILS, Side, candidates, seconds_of
from soac.autotune.plan import most_leaves
from soac.autotune.search import Problem, Search, Tuned
from soac.autotune.solve import solve, weights_of
from soac.autotune.store import Facts, Planned, open_study
from soac.commands.options import Settings
from soac.frontend.compile import Reach
from soac.ir.errors import SoacError
from soac.session import open_program
from soac.svg import Chart, Curve, chart
from soac.tuning_pictures import fixed_versions, pictures, write_pictures
from soac.tuning_report import rows_of
from soac.tuning_runs import Stopwatch, Subject, problem_of, seconds_text, sets_of, subject_of
from tests.autotune.synthetic import MadeUp, entry, total

ROOT = Path(__file__).parent.parent
PROGRAMS = ("matmul", "sumrows", "locvolcalib", "optionpricing", "spmv")
FACTS = Facts("benchmark", "this machine", "")
BEGIN, END = "<!-- tuned -->", "<!-- end of tuned -->"
ENOUGH = 2.0
"""Seconds that the race on a data set takes at least, while there are less than ten times the rounds."""

SLOWER = 4.0
"""A version that takes so many times as long as the fastest does not take part in the race."""


@dataclass(frozen=True, slots=True)
class Row:
    """A data set: medians and minima of the tuned and the untuned program and the best fixed version."""

    program: str
    label: str
    tuned: tuple[float, float]
    untuned: tuple[float, float]
    best: tuple[float, float]
    version: str
    others: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("only", nargs="*", help="programs; default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    parser.add_argument("--plot", type=Path, help="write the pictures of each program to this folder")
    parser.add_argument("--tpe", type=Path, help="compare with TPE, and write the picture to this file")
    options = parser.parse_args()
    if options.tpe is not None:
        compare_with_tpe(options.tpe)
        return
    rows: list[Row] = []
    for name in options.only or PROGRAMS:
        rows += tune_and_race(name, options.threads, options.rounds, options.plot)
    if options.update is not None:
        update(options.update, rows, options.threads, options.rounds)


# ---- tuned against every version ----------------------------------------------------------------------------------


def tune_and_race(name: str, threads: int, rounds: int, folder: Path | None) -> Iterator[Row]:
    path = ROOT / "programs" / f"{name}.soac"
    session = open_program(path, Settings("cpu", threads, None, False, (), (), Reach.PROJECT))
    sets = [one for one in sets_of(path, session, "main") if "notest" in one.case.tags and "k=30" not in one.label]
    subject, problem = subject_of(path, session, "main", sets, threads), problem_of(session, "main", sets)
    sampler = Planned(1)
    search = Search(
        open_study(None, name, FACTS, sampler), sampler, Stopwatch(subject, 3), math.inf, lambda progress: None
    )
    search.see_leaves(problem)
    tuned = search.settle(problem)
    bound = most_leaves(problem.branches) * len(problem.labels)
    print(f"{name}: {len(search.timed())} timed runs (at most {bound}) for {len(problem.labels)} data sets", flush=True)
    sites = [site for site in session.sites if site.entry == "main"]
    if folder is not None:
        shown = rows_of(problem, tuned, search.timed(), (None,) * len(sets), sites)
        write_pictures(folder, pictures(name, problem, tuned, shown, sites))
    versions = {label: Version(leaf, {}) for label, leaf in fixed_versions(sites)}
    for case, label in enumerate(problem.labels):
        row = race(name, subject, case, label, tuned, versions, rounds)
        print(show(row), flush=True)
        yield row


def race(
    name: str, subject: Subject, case: int, label: str, tuned: Tuned, versions: Mapping[str, Version], rounds: int
) -> Row:
    """All take turns; versions that fail or are much slower do not take part."""
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
    seen = {version: (statistics.median(found), min(found)) for version, found in times.items()}
    fixed = [version for version in seen if version not in ours]
    best = min(fixed or ours, key=lambda version: seen[version])
    return Row(name, label, seen["tuned"], seen["untuned"], seen[best], best, len(fixed))


def seconds(subject: Subject, case: int, version: Version) -> float:
    """Time of the processor on one thread, which other load disturbs less; on several the time that passes."""
    clock = time.thread_time if subject.threads == 1 else time.perf_counter
    start = clock()
    try:
        subject.run(case, version, [])
    except SoacError:
        return FAILS
    return clock() - start


def show(row: Row) -> str:
    ratios = "× | ".join(f"{ours / best:.2f}" for ours, best in zip(row.tuned, row.best, strict=True))
    times = " | ".join(seconds_text(t[0]) for t in (row.untuned, row.tuned, row.best))
    return f"| {row.program} | {row.label} | {times} | {row.version} (of {row.others}) | {ratios}× |"


def update(path: Path, rows: Sequence[Row], threads: int, rounds: int) -> None:
    """Replace the rows of these programs in the table between the marks, and what is said of all rows."""
    text = path.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    ran = {row.program for row in rows}
    old = [line for line in text[len(before) : text.index(END)].splitlines() if line.startswith("| ")]
    lines = [line for line in old if line.split(" | ")[0][2:] not in (*ran, "program")] + [show(row) for row in rows]
    lines.sort(key=lambda line: PROGRAMS.index(line.split(" | ")[0][2:]))
    ratios = [[float(cell.strip(" ×|")) for cell in line.split(" | ")[-2:]] for line in lines]
    means = " and ".join(f"{statistics.geometric_mean(column):.3f}" for column in zip(*ratios, strict=True))
    worst = " and ".join(f"{max(column):.2f}" for column in zip(*ratios, strict=True))
    what = f"{threads} threads" if threads > 1 else "One thread, processor time"
    said = (
        f"{what}, at least {rounds} interleaved rounds, medians. Tuned over best version: geometric mean {means}, "
        f"worst {worst} (by medians and by minima)."
    )
    head = (
        "| program | data set | untuned | tuned | best version | which | by medians | by minima |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    table = "\n".join([said, "", head, *lines])
    path.write_text(f"{before}{BEGIN}\n{table}\n{after}", encoding="utf-8")


# ---- against TPE --------------------------------------------------------------------------------------------------

ENTRIES = 40
NOISE = 0.05
TIMES = 4
"""How many times as many runs as the exact search TPE may make."""


def compare_with_tpe(path: Path) -> None:
    """Mean over made-up entries of how far from the best thresholds each search is, by the runs it made."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    exact: list[list[float]] = []
    sampled: list[list[float]] = []
    counts: list[int] = []
    for seed in range(ENTRIES):
        branches, truth = entry(seed, cases=4, failing=0.0)
        problem = Problem(branches, tuple(map(str, range(len(truth)))), {})
        ours = exact_search(problem, truth)
        exact.append(ours)
        counts.append(len(ours))
        sampled.append(tpe_search(truth, TIMES * len(ours), seed))
    share = [k / 20 for k in range(1, 20 * TIMES + 1)]
    curves = (
        Curve("TPE", tuple((s, mean_at(sampled, counts, s)) for s in share), False),
        Curve("exact", tuple((s, mean_at(exact, counts, s)) for s in share if s <= 1), True),
    )
    ticks = tuple((float(k), f"{k}×") for k in range(TIMES + 1))
    drawn = Chart(
        "Thresholds: exact search and TPE", "runs, over those of the exact search", "time over best, mean", curves,
        ticks, lambda ratio: f"{ratio:g}×",
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(chart(drawn), encoding="utf-8")
    for share_of in (1.0, 2.0, float(TIMES)):
        print(f"TPE after {share_of:g} × the runs: {mean_at(sampled, counts, share_of):.4f} of the best time")
    print(f"exact: {mean_at(exact, counts, 1.0):.4f} of the best time after {statistics.mean(counts):.1f} runs")


def mean_at(found: Sequence[Sequence[float]], counts: Sequence[int], share: float) -> float:
    """The mean over entries of what was reached after a share of the runs of the exact search."""
    values = [one[min(len(one), max(1, round(share * n))) - 1] for one, n in zip(found, counts, strict=True)]
    return statistics.mean(values)


def regret(truth: Sequence[Side], thresholds: Mapping[str, int]) -> float:
    """Time over that of the best thresholds, by the truth."""
    weights = weights_of(truth)
    ours = sum(w * seconds_of(case, thresholds) for w, case in zip(weights, truth, strict=True))
    return ours / solve(truth, weights).cost.seconds


def exact_search(problem: Problem, truth: Sequence[Side]) -> list[float]:
    """What the thresholds are worth after each run; before something of every data set was seen, all are refused."""
    bench, reached = MadeUp(truth, NOISE), []
    sampler = Planned(1)
    search = Search(open_study(None, "exact", FACTS, sampler), sampler, bench, math.inf, lambda progress: None)
    search.tell = lambda progress: reached.append(None)
    search.see_leaves(problem)
    final = regret(truth, search.settle(problem).solution.thresholds)
    first = regret(truth, {})
    return [first] * (len(reached) - 1) + [final]


def tpe_search(truth: Sequence[Side], runs: int, seed: int) -> list[float]:
    """The same for TPE over raw thresholds on a logarithmic scale; a trial runs every data set once."""
    bench, weights = MadeUp(truth, NOISE), weights_of(truth)
    names = list(candidates(truth))
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    reached: list[float] = []

    def objective(trial: optuna.Trial) -> float:
        thresholds = {name: trial.suggest_int(name, 1, 1 << 12, log=True) for name in names}
        version = Version({}, thresholds)
        pieces = [bench.piece(case, version, 1.0) for case in truth]
        value = sum(w * total(piece) for w, piece in zip(weights, pieces, strict=True))
        known = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        is_best = all(value < (one.value or math.inf) for one in known)
        now = regret(truth, thresholds) if is_best else reached[-1]
        reached.extend([now] * len(truth))
        return value

    study.optimize(objective, n_trials=math.ceil(runs / len(truth)))
    return reached


if __name__ == "__main__":
    main()
