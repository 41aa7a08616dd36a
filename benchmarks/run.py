"""`python -m benchmarks.run`: the suite, soac and its peers taking turns in one run.

Prints a table, ratios and geometric means; writes `benchmarks/results/<date>-<device>.json` with the machine described
and its limits measured in the same run, and pictures of it. Every program runs in a process of its own, all contenders
of a row in the same one. With one thread the clock is that of the processor's time in this process, so that other load
shows only where it fills the caches and the memory's channels; `clock.py` says what a call is charged with.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from soac.reports.timing import Effort

from .clock import processor_clock
from .contest import Rules, rows_of
from .machine import Limits, describe_machine, measure_limits
from .peers import CPU, CUDA, MORE
from .report import headline, markdown, pictures, update_page
from .suite import CLASSES, SUITE

RESULTS = Path(__file__).parent / "results"
BEGUN = "SOAC_BENCHMARKS_THREADS"


def main() -> None:
    options = parse_options()
    if os.environ.get(BEGUN) != str(options.threads):
        words = [sys.executable, "-m", "benchmarks.run", *sys.argv[1:]]
        os.execve(sys.executable, words, environment(options.device, options.threads))
    with workers() as pool:
        limits = pool.submit(measure_limits, options.threads).result()
    print(f"triad {limits.triad:.1f} GB/s, read {limits.read:.1f} GB/s, sgemm {limits.sgemm:.0f} GFLOP/s", flush=True)
    rows: list[dict[str, Any]] = []
    for program in options.programs or (*SUITE, *CLASSES):
        rows += rows_in_process(program, options, limits)
        write(found(rows, limits, options), options)
    print(json.dumps(headline(rows), indent=2))
    show(found(rows, limits, options), options)


def found(rows: list[dict[str, Any]], limits: Limits, options: argparse.Namespace) -> dict[str, Any]:
    """All that a run says."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": describe_machine(options.threads),
        "clock": "processor" if uses_processor_time(options) else "wall",
        "limits": asdict(limits),
        "rows": rows,
        "summary": headline(rows),
    }


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("programs", nargs="*", help="programs; default: the suite and the classes")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--peers", metavar="A,B", help="libraries to compare with; default: all but Taichi")
    parser.add_argument("--threads", type=int, default=1, help="of soac and of every peer")
    parser.add_argument("--data", metavar="TEXT", help="only data sets with this text in their name")
    parser.add_argument("--rounds", type=int, default=7, help="at least")
    parser.add_argument("--seconds", type=float, default=1.0, help="on a data set, at least")
    parser.add_argument("--most-seconds", type=float, default=10.0)
    parser.add_argument("--wall", action="store_true", help="wall time also with one thread, not processor time")
    parser.add_argument("--tuner-seconds", type=float, default=600.0, help="that a program may take to tune; 0: none")
    parser.add_argument("--no-pictures", action="store_true")
    parser.add_argument("--json", type=Path, help="write here instead of benchmarks/results")
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    return parser.parse_args()


def environment(device: str, threads: int) -> dict[str, str]:
    """Every library on this number of threads; read when they are imported."""
    if device == "cuda":
        return {**os.environ, BEGUN: str(threads)}
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", BEGUN)
    one = "" if threads > 1 else " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    settings = dict.fromkeys(names, str(threads)) | {"JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")}
    return {**os.environ, **settings, "XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + one}


def uses_processor_time(options: argparse.Namespace) -> bool:
    """With one thread, what other programs take away from it does not count."""
    return options.device == "cpu" and options.threads == 1 and not options.wall


def workers() -> ProcessPoolExecutor:
    """One process, started afresh."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def rows_in_process(program: str, options: argparse.Namespace, limits: Limits) -> list[dict[str, Any]]:
    """The rows of a program; one that fails is reported and left out."""
    effort = Effort(options.rounds, options.seconds, 0.02, 1000, options.most_seconds)
    by_processor = uses_processor_time(options)
    with workers() as pool:
        try:
            return pool.submit(
                measure, program, options.device, options.threads, effort, limits, options.tuner_seconds, options.data,
                by_processor, tuple(options.peers.split(",")) if options.peers else (),
            ).result()  # fmt: skip
        except Exception as fault:
            print(f"{program}: {type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
            return []


def measure(
    program: str, device: str, threads: int, effort: Effort, limits: Limits, tuner_seconds: float, only: str | None,
    by_processor: bool, peers: tuple[str, ...],
) -> list[dict[str, Any]]:  # fmt: skip
    """In the process of the program. With one thread it stays on one core, so that no library has a second one."""
    if by_processor and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    clock = processor_clock() if by_processor else time.perf_counter
    libraries = peers or ((*CPU, *MORE) if device == "cpu" else CUDA)
    rows: list[dict[str, Any]] = []
    for row in rows_of(program, Rules(device, threads, effort, libraries, limits, tuner_seconds, clock), only):
        rows.append(asdict(row))
        print(markdown([rows[-1]]), flush=True)
    return rows


def results_path(found: dict[str, Any], options: argparse.Namespace) -> Path:
    device = llvm.get_host_cpu_name() if options.device == "cpu" else options.device
    return options.json or RESULTS / f"{found['date']}-{device}.json"


def write(found: dict[str, Any], options: argparse.Namespace) -> None:
    """The results so far: a run may be ended."""
    path = results_path(found, options)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show(found: dict[str, Any], options: argparse.Namespace) -> None:
    """Pictures beside the results, and the table in the page."""
    path = results_path(found, options)
    print(f"wrote {path}")
    if not options.no_pictures:
        pictures(found, path.with_suffix(".svg"))
    if options.update:
        update_page(options.update, found)


if __name__ == "__main__":
    main()
