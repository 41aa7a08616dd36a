"""`python -m benchmarks.compile`: the time to the first result, compiling included, beside Numba and JAX.

Entry by entry: those of `programs/` on the first of their data sets for tests, and NPBench's programs, preset S (where
its repository is named by `--suite` or `$NPBENCH`). Each entry is in a process of its own with an empty cache; its
modules are imported and an addition was compiled before. The time is that of the processor in this process, as in
`clock.py`: other load does not count, waiting neither. Of Numba's variants of a program in NPBench the least counts.
Then what `soac run` of a small program takes beside Python that imports NumPy and llvmlite (`--commands`: only that).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.reports.timing import geometric_mean
from soac.testing.blocks import parse_tests
from soac.testing.datasets import data_sets, inputs_of

from .clock import processor_clock
from .npbench.cases import CASES
from .npbench.suite import VARIANTS, original
from .npbench.suite import peers_of as npbench_peers
from .pages import put_between
from .peers import peers_of
from .run import BEGUN, environment, workers
from .suite import PROGRAMS

LIMITS: Mapping[str, float] = {"numba": 0.7, "jax": 3.0}
"""What soac's time may be of that of a library, in the geometric mean."""

LONGEST = 2.0
"""Seconds that an entry may take."""

SMALL = "entry main (xs: []f64): f64 = f64.sum (map (\\x -> x * x) xs)\n"
BEGIN, END = "<!-- first results -->", "<!-- end of first results -->"


@dataclass(frozen=True, slots=True)
class Row:
    """An entry: seconds to its first result by library; `loaded`: those of soac until the entry could be called."""

    name: str
    loaded: float
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Job:
    """An entry of a program with its arguments."""

    name: str
    path: Path
    entry: str
    args: Sequence[Any]


def main() -> None:
    options = parse_options()
    if os.environ.get(BEGUN) != "1":
        words = [sys.executable, "-m", "benchmarks.compile", *sys.argv[1:]]
        os.execve(sys.executable, words, environment("cpu", 1))
    rows = [] if options.commands else list(all_rows(options))
    text = "\n\n".join([*([page(rows)] if rows else []), *([commands()] if not options.programs else [])])
    print(text)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if options.update:
        put_between(options.update, BEGIN, END, f"\n{text}\n")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile", description=__doc__)
    parser.add_argument("programs", nargs="*", help="of programs/ and of NPBench; default: all")
    parser.add_argument("--suite", type=Path, default=os.environ.get("NPBENCH"), help="where NPBench's repository is")
    parser.add_argument("--commands", action="store_true", help="only what commands take")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    return parser.parse_args()


def all_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Those of `programs/` first; an entry that fails is reported and left out."""
    own = sorted(path.stem for path in PROGRAMS.glob("*.soac"))
    for name in (name for name in own if not options.programs or name in options.programs):
        for job in in_process(jobs_of, name) or ():
            yield from shown(in_process(row_of_job, job))
    for name in (name for name in CASES if options.suite and (not options.programs or name in options.programs)):
        yield from shown(in_process(row_of_case, name, options.suite))


def shown(row: Row | None) -> Iterator[Row]:
    if row is not None:
        print(line(row), flush=True)
        yield row


def in_process(work: Callable[..., Any], *args: Any) -> Any:
    """In a process that is started afresh; None where it fails."""
    with workers() as pool:
        try:
            return pool.submit(work, *args).result()
        except Exception as fault:
            print(f"{args[0]}: {type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
            return None


def jobs_of(name: str) -> list[Job]:
    """The entries of a program, each with the first of its data sets for tests."""
    path = PROGRAMS / f"{name}.soac"
    program = soac.load(path)
    found: dict[str, Job] = {}
    for one in data_sets(parse_tests(path.read_text(encoding="utf-8"), str(path))):
        if one.entry not in found and "notest" not in one.case.tags:
            label = name if one.entry == "main" else f"{name} ({one.entry})"
            found[one.entry] = Job(label, path, one.entry, inputs_of(one, program, path))
    return list(found.values())


def row_of_job(job: Job) -> Row:
    """An entry of `programs/` beside the peers of the suite."""
    loaded, seconds = first_of_soac(job)
    for library in LIMITS:
        warm_up(library)
        for peer in peers_of(job.path.stem, job.entry, job.args, (library,)):
            seconds[library] = timed(peer.call)
    return Row(job.name, loaded, seconds)


def row_of_case(name: str, suite: Path) -> Row:
    """A program of NPBench beside those of the suite."""
    case = CASES[name]
    own = original(suite, case)
    values = own.inputs("S")
    loaded, seconds = first_of_soac(Job(name, case.path, "main", case.arguments(values)))
    for library, variants in (("numba", VARIANTS), ("jax", ("jax",))):
        warm_up(library)
        found: list[float] = []
        for peer in npbench_peers(case, own, values, variants):
            args = peer.fresh()
            try:
                found.append(timed(lambda: peer.call(args)))  # noqa: B023
            except Exception as fault:
                print(f"{name}, {peer.variant}: {type(fault).__name__}", file=sys.stderr, flush=True)
        if found:
            seconds[library] = min(found)
    return Row(f"{name} (NPBench)", loaded, seconds)


def first_of_soac(job: Job) -> tuple[float, dict[str, float]]:
    """Seconds until the entry could be called, and until it had given its result, with an empty cache."""
    with tempfile.TemporaryDirectory() as empty:
        os.environ["SOAC_CACHE_DIR"] = empty
        soac.compile("entry main (x: i64): i64 = x + 1").call("main", [1])
        clock = processor_clock()
        begin = clock()
        prepared = soac.load(job.path).prepare(job.entry, threads=1)
        loaded = clock() - begin
        prepared(job.args)
        return loaded, {"soac": clock() - begin}


def warm_up(library: str) -> None:
    """Compiles an addition, for Numba one in parallel too."""
    if library == "numba":
        import numba

        numba.njit(lambda xs: xs + 1.0)(np.ones(4))
        numba.njit(parallel=True)(lambda xs: xs + 1.0)(np.ones(4))
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.block_until_ready(jax.jit(lambda xs: xs + 1.0)(np.ones(4)))


def timed(call: Callable[[], Any]) -> float:
    clock = processor_clock()
    begin = clock()
    with np.errstate(all="ignore"):
        call()
    return clock() - begin


# ---- what it says ---------------------------------------------------------------------------------------------------


def page(rows: Sequence[Row]) -> str:
    """Means against the limits, and all rows, the longest first."""
    lines = []
    for library, limit in LIMITS.items():
        ratios = [row.seconds["soac"] / row.seconds[library] for row in rows if library in row.seconds]
        if ratios:
            mean = geometric_mean(ratios)
            lines.append(f"soac / {library}: {mean:.2f} in the geometric mean of {len(ratios)} entries (limit {limit})")
    over = [row.name for row in rows if row.seconds["soac"] > LONGEST]
    mean = geometric_mean([row.seconds["soac"] for row in rows])
    lines.append(
        f"soac: {mean:.2f} s in the geometric mean of {len(rows)}; over {LONGEST} s: {', '.join(over) or 'none'}"
    )
    head = "| entry | soac, s | until it is loaded | Numba | JAX |\n|---|---:|---:|---:|---:|"
    table = "\n".join([head, *map(line, sorted(rows, key=lambda row: -row.seconds["soac"]))])
    return ".\n".join(lines) + ".\n\n" + table


def line(row: Row) -> str:
    peers = (f"{row.seconds[library]:.2f}" if library in row.seconds else "–" for library in LIMITS)
    return f"| {row.name} | {row.seconds['soac']:.2f} | {row.loaded:.2f} | {' | '.join(peers)} |"


def commands() -> str:
    """Processor time of commands: the least of five."""
    with tempfile.TemporaryDirectory() as folder:
        file, cache = Path(folder) / "small.soac", Path(folder) / "cache"
        file.write_text(SMALL, encoding="utf-8")
        known = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        words = [sys.executable, "-m", "soac", "run", str(file), "[1.0, 2.0]"]

        def run(place: Path) -> float:
            return seconds_of(words, {**known, "SOAC_CACHE_DIR": str(place)})

        run(cache)
        imports = min(seconds_of([sys.executable, "-c", "import numpy, llvmlite.binding"], known) for _ in range(5))
        cold = min(run(Path(folder) / str(k)) for k in range(5))
        warm = min(run(cache) for _ in range(5))
    return (
        f"Python that imports NumPy and llvmlite: {imports:.2f} s; `soac run` of a small program, warm: {warm:.2f}"
        f" ({warm / imports:.1f} times, limit 2); cold: {cold:.2f} (limit {2 * imports + 0.4:.2f})."
    )


def seconds_of(words: Sequence[str], variables: Mapping[str, str]) -> float:
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=dict(variables), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
