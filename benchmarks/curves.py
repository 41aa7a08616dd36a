"""`python -m benchmarks.curves`: how costs grow.

- the time of three programs against n, from 10 to 10^7: a constant at first, then in proportion to n;
- versions and compile time against nesting: sums of sums, one or two of them side by side at every level.

Times are processor times of one thread. The curves go to docs/pictures, the tables between the markers of a page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.ir.machine import CPU, Mode
from soac.ir.version_tree import sites
from soac.pipeline import compile_prog
from soac.reports.svg import Chart, Curve, chart, seconds_label, write
from soac.reports.timing import Effort, Times, race

from .suite import program_path

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
BEGIN, END = "<!-- curves -->", "<!-- end of curves -->"
SIZES = tuple(10**k for k in range(1, 8))
DEPTHS = (1, 2, 3, 4, 5)
ENOUGH = Effort(rounds=5, seconds=0.05, spread=0.05, most_rounds=200, most_seconds=1.0)


@dataclass(frozen=True, slots=True)
class Sweep:
    """An entry point and its arguments for n."""

    program: str
    entry: str
    arguments: Callable[[int], Sequence[Any]]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).random(shape, dtype=np.float32)


SWEEPS = (
    Sweep("rowreduce", "sum_squares", lambda n: [floats(1, n)]),
    Sweep("rowscan", "main", lambda n: [floats(1, n)]),
    Sweep("blackscholes", "main", lambda n: [10 + floats(n), 10 + floats(n), 1 + floats(n)]),
)


def times_of(sweep: Sweep) -> list[Times]:
    program = soac.load(program_path(sweep.program))
    found: list[Times] = []
    for n in SIZES:
        args = sweep.arguments(n)
        call = program.prepare(sweep.entry, threads=1)
        run = {"": lambda call=call, args=args: call(args)}
        found.append(race(run, ENOUGH, time.process_time)[""])
    return found


def nest(depth: int, width: int) -> str:
    """A map around sums of sums: `depth` reductions in each other, `width` of them side by side at every level."""
    exp = "x"
    for _ in range(depth):
        sums = (f"reduce (+) 0 (map (\\x -> {k + 2} * {exp}) x)" for k in range(width))
        exp = "(" + " + ".join(sums) + ")"
    sizes = " ".join(f"[n{d}]" for d in range(depth + 1))
    shape = "".join(f"[n{d}]" for d in range(depth + 1))
    return f"entry main {sizes} (a: {shape}f32): [n0]f32 = map (\\x -> {exp}) a\n"


def versions_of(text: str) -> tuple[int, float]:
    """Versions of all guards, and milliseconds of compiling to kernels."""
    start = time.process_time()
    compiled = compile_prog(text, "nest.soac", Mode.INCREMENTAL, CPU)
    spent = (time.process_time() - start) * 1e3
    return sum(len(site.versions) for site in sites(compiled.flat)), spent


def growth_with_n() -> str:
    names = [f"{sweep.program} {sweep.entry}" for sweep in SWEEPS]
    found = [times_of(sweep) for sweep in SWEEPS]
    curves = tuple(
        Curve(name, tuple(zip(SIZES, (t.median for t in times))), False, tuple(t.interval for t in times))
        for name, times in zip(names, found)
    )
    drawn = Chart("time of a call, one thread", "n", "time", curves, (), seconds_label)
    write(PICTURES / "growth.svg", chart(drawn))
    rows = [f"| n | {' | '.join(f'{name}, µs' for name in names)} |", "|---:|" + "---:|" * len(names)]
    for k, n in enumerate(SIZES):
        rows.append(f"| 10^{len(str(n)) - 1} | {' | '.join(f'{times[k].median * 1e6:.3g}' for times in found)} |")
    return "\n".join(rows)


def growth_with_depth() -> str:
    rows = ["| sums nested | versions, one sum | ms | versions, two sums | ms |", "|---:|---:|---:|---:|---:|"]
    versions_of(nest(1, 1))
    for depth in DEPTHS:
        (one, ms), (two, ms_of_two) = versions_of(nest(depth, 1)), versions_of(nest(depth, 2))
        rows.append(f"| {depth} | {one} | {ms:.0f} | {two} | {ms_of_two:.0f} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--update", type=Path, help="replace the tables in this Markdown file")
    options = parser.parse_args()
    os.makedirs(PICTURES, exist_ok=True)
    text = f"{growth_with_n()}\n\n![time of a call against n](pictures/growth.svg)\n\n{growth_with_depth()}"
    print(text)
    if options.update:
        page = options.update.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        options.update.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
