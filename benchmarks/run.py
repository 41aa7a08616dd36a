"""`python -m benchmarks.run`: every program against NumPy on the same work, in one run, one thread each.

The two take turns in every round, so that the load of the machine falls on both; what counts is the ratio of their
medians, and of their minima, which other load disturbs less. soac is timed with its default thresholds, and on every
version.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import soac
from soac.versions import leaves_of

from .cases import CASES, Case

ROOT = Path(__file__).parent.parent
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


@dataclass(frozen=True, slots=True)
class Time:
    """Milliseconds: median and minimum."""

    median: float
    least: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g})"


@dataclass(frozen=True, slots=True)
class Row:
    """The times of a case; `version` names the best one (empty if there is only one)."""

    program: str
    entry: str
    size: str
    numpy: Time
    default: Time
    best: Time
    version: str

    @property
    def ratios(self) -> tuple[float, float]:
        """How many times faster than NumPy the best version is, by medians and by minima."""
        return self.numpy.median / self.best.median, self.numpy.least / self.best.least


def main() -> None:
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.run", *sys.argv[1:]], {**os.environ, **ONE_THREAD})
    options = parse_options()
    rows = []
    for case in CASES:
        if not options.only or case.program in options.only:
            rows.append(measure(case, options.rounds))
            print(markdown_row(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) | {"ratios": row.ratios} for row in rows], indent=2) + "\n")
    if options.update:
        update(options.update, rows, options.rounds)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("only", nargs="*", help="programs; default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    return parser.parse_args()


# ---- measuring --------------------------------------------------------------------------------------------------


def measure(case: Case, rounds: int) -> Row:
    """Times the peer, the default and every version in turn; raises if results differ."""
    program = soac.load(ROOT / "programs" / f"{case.program}.soac")
    args = case.make(np.random.default_rng(1))
    versions = versions_of(program, case.entry)
    contestants: dict[str, Callable[[], Any]] = {
        "numpy": lambda: case.peer(*args),
        "default": lambda: program.call(case.entry, args, threads=1),
        **{name: run_version(program, case.entry, args, forced) for name, forced in versions.items()},
    }
    check_equal(case, contestants)
    times = race(contestants, rounds)
    best = min((name for name in times if name != "numpy"), key=lambda name: times[name].least)
    return Row(
        case.program, case.entry, case.size, times["numpy"], times["default"], times[best],
        best if len(versions) > 1 else "",
    )  # fmt: skip


def versions_of(program: soac.Program, entry: str) -> Mapping[str, Mapping[str, bool]]:
    """The leaves of all sites of the entry, each taken alone, by name."""
    return {
        f"{site}={leaf}": forced
        for site, leaf, forced in leaves_of(program.compiled.flat)
        if site.split(".")[0] == entry
    }


def run_version(program: soac.Program, entry: str, args: list[Any], forced: Mapping[str, bool]) -> Callable[[], Any]:
    return lambda: program.call(entry, args, forced=forced, threads=1)


def check_equal(case: Case, contestants: Mapping[str, Callable[[], Any]]) -> None:
    """All contestants compute what the peer does; also warms everything up."""
    expected = list(components(contestants["numpy"]()))
    for name, run in contestants.items():
        for got, wanted in zip(components(run()), expected, strict=True):
            scale = np.maximum(np.abs(wanted), np.max(np.abs(wanted), initial=1e-30) * 1e-3)
            worst = np.max(np.abs(got - wanted) / scale, initial=0)
            if not worst <= case.tolerance:
                raise SystemExit(f"{case.program} {case.size}: {name} differs from NumPy by {worst:.2e}")


def components(results: Any) -> Iterator[np.ndarray]:
    """The arrays of a result, in a type that does not overflow in the comparison."""
    for part in results if isinstance(results, tuple | list) else [results]:
        array = np.asarray(part)
        yield array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def race(contestants: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Time]:
    """The times of each, one call of each per round."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: Time(statistics.median(seen), min(seen)) for name, seen in times.items()}


# ---- showing ----------------------------------------------------------------------------------------------------


def markdown_row(row: Row) -> str:
    name = row.program if row.entry == "main" else f"{row.program} ({row.entry})"
    by_median, by_least = row.ratios
    return (
        f"| {name} | {row.size} | {row.numpy} | {row.default} | {row.best} "
        f"| {by_median:.2f}× | **{by_least:.2f}×** | {row.version} |"
    )


def update(path: Path, rows: list[Row], rounds: int) -> None:
    """Puts the table between the markers of the Markdown file."""
    text = path.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    head = (
        f"{platform.machine()} {llvm.get_host_cpu_name()}, NumPy {np.__version__}, soac {soac.__version__}, "
        f"one thread, {rounds} interleaved rounds, milliseconds: median (minimum).\n\n"
        "| program | size | NumPy | soac, default | soac, best version | by medians | by minima | best version |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    table = head + "\n".join(map(markdown_row, rows))
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
