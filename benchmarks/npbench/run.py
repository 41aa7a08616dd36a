"""NPBench in soac against the suite's NumPy, Numba and JAX versions; `--check` compares
results only. Every program runs in a process of its own, all contenders in the same one, as in `benchmarks.run`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from soac.reports.timing import Effort

from ..clock import processor_clock
from ..run import BEGUN, environment, workers
from .cases import CASES
from .contest import Row, Rules, check, row_of
from .report import line, page
from .suite import LIBRARIES, VARIANTS

SUITE = "NPBENCH"


def main() -> None:
    options = parse_options()
    if options.check:
        sys.exit(1 if check_all(options) else 0)
    if os.environ.get(BEGUN) != str(options.threads):
        words = [sys.executable, "-m", "benchmarks.npbench", *sys.argv[1:]]
        os.execve(sys.executable, words, environment("cpu", options.threads))
    rows: list[dict[str, Any]] = []
    for preset in options.presets:
        for name in options.programs or CASES:
            row = in_process(measured, name, preset, options)
            if row is not None:
                rows.append(asdict(row))
                print(line(rows[-1]), flush=True)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(page(rows))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("programs", nargs="*", help="default: all")
    parser.add_argument("--suite", type=Path, help=f"where NPBench's repository is; default: ${SUITE}")
    parser.add_argument("--check", action="store_true", help="compare results with NPBench's NumPy versions")
    parser.add_argument(
        "--presets", nargs="+", default=["S"], metavar="PRESET", help="sizes: S, M, L, paper; default: S"
    )
    parser.add_argument("--threads", type=int, default=1, help="of soac and of every peer")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument(
        "--longest", type=float, default=20.0, help="of soac's run, in seconds; a longer one is left out"
    )
    parser.add_argument("--most-seconds", type=float, default=8.0, help="that a row's race takes")
    parser.add_argument("--numba", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="of Numba; default: all")
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    options.suite = options.suite or Path(os.environ.get(SUITE, ""))
    if not (options.suite / "bench_info").is_dir():
        parser.error(f"NPBench's repository is not there: name it by --suite or ${SUITE}")
    if unknown := set(options.programs) - set(CASES):
        parser.error(f"no such programs: {', '.join(sorted(unknown))}")
    return options


def check_all(options: argparse.Namespace) -> list[str]:
    """The programs whose results differ from NPBench's; says how."""
    wrong: list[str] = []
    for preset in options.presets:
        for name in options.programs or CASES:
            why = in_process(checked, name, preset, options, otherwise="fails")
            print(f"{name} {preset}: {why or 'equal'}", flush=True)
            wrong += [name] if why else []
    return wrong


def in_process(
    work: Callable[..., Any], name: str, preset: str, options: argparse.Namespace, otherwise: Any = None
) -> Any:
    """In a process that ends with the program; one that fails is reported, and gives `otherwise`."""
    with workers() as pool:
        try:
            return pool.submit(work, name, preset, options).result()
        except Exception as fault:
            print(f"{name}: {type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
            return otherwise


def checked(name: str, preset: str, options: argparse.Namespace) -> str | None:
    return check(CASES[name], options.suite, preset)


def measured(name: str, preset: str, options: argparse.Namespace) -> Row | None:
    """With one thread it stays on one core, and the clock is the processor's time in this process."""
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    clock = processor_clock() if options.threads == 1 else time.perf_counter
    effort = Effort(7, 0.5, 0.03, 300, options.most_seconds)
    variants = {library: options.numba if library == "numba" else LIBRARIES[library] for library in options.libraries}
    rules = Rules(options.suite, preset, options.threads, variants, effort, clock, options.longest)
    return row_of(name, rules)
