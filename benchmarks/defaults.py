"""`python -m benchmarks.defaults`: the version that runs untuned against every other, over shapes of data.

`--write` puts the table into docs/performance.md. One thread; times are processor time of the thread that calls, which
other load disturbs little, the median of interleaved calls. Arguments come from a seed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.versions import versions_of

from .pages import put_between

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- defaults -->", "<!-- end of defaults -->"

Arguments = Callable[[np.random.Generator], list[Any]]
Rows = Callable[[np.random.Generator], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Case:
    """An entry point of a program of `programs/` on data of some shape."""

    program: str
    shape: str
    make: Arguments


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of a case: untuned, and on each version."""

    case: Case
    default: float
    versions: Mapping[str, float]

    @property
    def best(self) -> str:
        return min(self.versions, key=lambda name: self.versions[name])

    @property
    def ratio(self) -> float:
        return self.default / min(self.default, self.versions[self.best])


# ---- the cases -------------------------------------------------------------------------------------------------------


def matrices(*shapes: tuple[int, ...]) -> Arguments:
    return lambda rng: [rng.random(shape, dtype=np.float32) for shape in shapes]


def sparse(lengths: Rows) -> Arguments:
    """A matrix with rows of these lengths, and a vector."""

    def make(rng: np.random.Generator) -> list[Any]:
        off = offsets(lengths(rng))
        columns = max(len(off) - 1, 1000)
        floats = [rng.random(size, dtype=np.float32) for size in (off[-1], columns)]
        return [off, rng.integers(0, columns, off[-1]), *floats]

    return make


def segments(lengths: Rows) -> Arguments:
    """Rows of these lengths to be sorted, and the ranks that are asked for."""

    def make(rng: np.random.Generator) -> list[Any]:
        off = offsets(lengths(rng))
        return [off, rng.integers(-1000, 1000, off[-1]).astype(np.int32), np.array([0, 1, 5], np.int64)]

    return make


def offsets(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def zipf(rng: np.random.Generator) -> Sequence[int]:
    """A million elements; row k has 1/k of the longest."""
    shares = 1 / np.arange(1, 50_001)
    return rng.permutation((shares * 1e6 / shares.sum()).astype(np.int64)).tolist()


def cases() -> Iterator[Case]:
    for n, m in ((20, 2), (18, 4), (16, 6), (12, 10), (7, 15), (2, 20)):
        yield Case("sumrows", f"[2^{n}][2^{m}]", matrices((1 << n, 1 << m)))
    for n, p in ((9, 2), (8, 4), (7, 6), (6, 8), (6, 10), (1, 14)):
        yield Case("p13_three_scans", f"[2^{n}][2^{n}][2^{p}]", ints((1 << n, 1 << n, 1 << p)))
    for n, m in ((9, 7), (5, 15), (2, 21), (1, 23)):
        yield Case("matmul", f"2^{n} x 2^{m} x 2^{n}", matrices((1 << n, 1 << m), (1 << m, 1 << n)))
    rows: tuple[tuple[str, Rows], ...] = (
        ("50,000 rows of 20", lambda _: [20] * 50_000),
        ("200,000 rows of 0 to 10", lambda rng: rng.integers(0, 11, 200_000).tolist()),
        ("50,000 rows, Zipf", zipf),
        ("50,000 rows, one with 90 %", lambda _: [2] * 25_000 + [900_000] + [2] * 25_000),
        ("8 rows of 125,000", lambda _: [125_000] * 8),
    )
    for shape, lengths in rows:
        yield Case("spmv", shape, sparse(lengths))
    rows = (
        ("20,000 rows of 16", lambda _: [16] * 20_000),
        ("2,000 rows of 200", lambda _: [200] * 2_000),
        ("8 rows of 30,000", lambda _: [30_000] * 8),
        ("20,000 rows of 5, one of 100,000", lambda _: [5] * 10_000 + [100_000] + [5] * 10_000),
    )
    for shape, lengths in rows:
        yield Case("segsort", shape, segments(lengths))


def ints(shape: tuple[int, ...]) -> Arguments:
    return lambda rng: [rng.integers(0, 100, shape).astype(np.int32)]


# ---- measuring -------------------------------------------------------------------------------------------------------


def measured(case: Case, rounds: int, threads: int = 1) -> Row:
    """The time of each version, in turn; the first call does not count. On one thread the median of processor time; on
    more the least, since a machine that does something else rarely gives all of them a core."""
    clock, typical = (time.thread_time, statistics.median) if threads == 1 else (time.perf_counter, min)
    program = soac.load(ROOT / "programs" / f"{case.program}.soac")
    args = case.make(np.random.default_rng(1))
    versions = versions_of(program.compiled.flat)
    forced = {f"{site}={version}": sides for site, version, sides in versions if site.startswith("main.")}
    calls = {name: program.prepare("main", forced=forced.get(name), threads=threads) for name in ("", *forced)}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, seen in times.items():
            start = clock()
            calls[name](args)
            seen.append(1000 * (clock() - start))
    found = {name: typical(seen[1:]) for name, seen in times.items()}
    return Row(case, found.pop(""), found)


def line(row: Row) -> str:
    best, default = row.versions[row.best], row.default
    name = row.best.removeprefix("main.")
    return (
        f"| {row.case.program} | {row.case.shape} | {default:.3g} | {best:.3g} | {name} | {row.ratio:.2f} "
        f"| {max(row.versions.values()) / best:.1f} |"
    )


def write(text: str) -> None:
    """The table between its marks in the page."""
    put_between(PAGE, BEGIN, END, f"\n{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("only", nargs="*", help="programs; default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    lines = [
        "| program | data | untuned, ms | best version, ms | best version | untuned/best | worst/best |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for case in cases():
        if not given.only or case.program in given.only:
            lines.append(line(measured(case, given.rounds)))
            print(lines[-1], flush=True)
    if given.write:
        write("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
