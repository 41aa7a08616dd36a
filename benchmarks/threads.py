"""`python -m benchmarks.threads`: two threads against one, beside Numba, JAX and PyTorch with two.

Every program whose run takes more than a millisecond on one thread: the suite and the classes on their large data
sets, and NPBench (preset M, where its repository is named by `--suite` or `$NPBENCH`). A program has a process for
each number of threads, with as many cores, in which soac, untuned, and its peers take turns, with a rest before each;
the clock is the wall's, so the machine must have nothing else to do. A gain is the median on one thread over that on
two; of Numba's variants that counts which is the fastest on two. A row is limited by memory where moving its arguments
and results once, at the bandwidth that one thread measures, takes half of soac's time on one thread or more.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import soac
from soac.reports.timing import Effort, geometric_mean, race
from soac.testing.datasets import inputs_of

from .compile import in_process
from .machine import measure_limits
from .npbench.cases import CASES
from .npbench.suite import VARIANTS, original
from .npbench.suite import peers_of as npbench_peers
from .pages import put_between
from .peers import peers_of
from .run import environment
from .suite import CLASSES, SUITE, bytes_moved, large_data_sets, program_path

LEAST = 1e-3
"""Seconds of a run on one thread from which on a row counts."""

WANTED = 1.6
"""What two threads are to gain where computing is the limit."""

SLOW = 8.0
"""As a multiple of soac's time: peers that take longer in their second run are left out."""

REST = 0.005
"""Seconds before a run: libraries' threads look for more work for some milliseconds, on the core that the next
contender needs."""

PARALLEL = tuple(variant for variant in VARIANTS if variant.endswith(("p", "pr")))
LIBRARIES = ("numba", "jax", "torch")
HEAD = (
    "| program | one thread, ms | memory's share | soac | Numba | JAX | PyTorch |\n|---|---:|---:|---:|---:|---:|---:|"
)
BEGIN, END = "<!-- threads -->", "<!-- end of threads -->"

Run = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """A row on a number of threads: medians in seconds, by contender, and the bytes of arguments and results."""

    name: str
    moved: int
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """What two threads gain, soac and each library; `memory`: the share of one thread's time that moving data takes."""

    name: str
    one_ms: float
    memory: float
    gains: Mapping[str, float]

    @property
    def wanted(self) -> float:
        """What the gain of soac is to be."""
        best = max((gain for library, gain in self.gains.items() if library != "soac"), default=1.0)
        return best if self.memory >= 0.5 else WANTED


def main() -> None:
    options = parse_options()
    settings = {threads: environment("cpu", threads) for threads in (1, 2)}
    read = on_threads(settings[1], measure_limits, 1).read
    rows: list[Row] = []
    for work, name in jobs(options):
        one, two = (on_threads(settings[n], measured, work, name, n, options) for n in settings)
        for row in joined(one or [], two or [], read):
            rows.append(row)
            print(line(row), flush=True)
    text = page(rows)
    print(text)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if options.update:
        put_between(options.update, BEGIN, END, f"\n{text}\n")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("programs", nargs="*", help="of the suite, the classes and NPBench; default: all")
    parser.add_argument("--suite", type=Path, default=os.environ.get("NPBENCH"), help="where NPBench's repository is")
    parser.add_argument("--preset", default="M", help="sizes of NPBench: S, M, L, paper; default: M")
    parser.add_argument("--alone", action="store_true", help="no peers: about 10 minutes")
    parser.add_argument("--seconds", type=float, default=0.5, help="that a race takes, at least")
    parser.add_argument("--most-seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    return parser.parse_args()


def jobs(options: argparse.Namespace) -> Iterator[tuple[Callable[..., Iterator[Contest]], str]]:
    """What measures a program, and its name."""
    listed = [(of_suite, name) for name in (*SUITE, *CLASSES)]
    listed += [(of_npbench, name) for name in CASES if options.suite]
    return ((work, name) for work, name in listed if not options.programs or name in options.programs)


def on_threads(settings: Mapping[str, str], work: Callable[..., Any], *args: Any) -> Any:
    """In a process that is started with these settings of libraries; None where it fails."""
    os.environ.clear()
    os.environ.update(settings)
    return in_process(work, *args)


# ---- in the process of a program -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contest:
    """A data set: soac's call, those of its peers, and what it moves."""

    name: str
    own: Run
    peers: Mapping[str, Run]
    moved: int


def measured(
    work: Callable[..., Iterator[Contest]], name: str, threads: int, options: argparse.Namespace
) -> list[Seen]:
    """All data sets of a program on as many cores as threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    effort = Effort(5, options.seconds, 0.02, 1000, options.most_seconds)
    found: list[Seen] = []
    with np.errstate(all="ignore"):
        for contest in work(name, threads, options):
            seconds = again(contest.own)
            if seconds >= LEAST / 2:
                fit = {who: call for who, call in contest.peers.items() if works(call, SLOW * seconds)}
                times = race({"soac": contest.own, **fit}, effort, time.perf_counter, REST)
                found.append(Seen(contest.name, contest.moved, {who: seen.median for who, seen in times.items()}))
    return found


def again(call: Run) -> float:
    """Seconds of a second run: the first one compiles."""
    call()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def works(call: Run, most: float) -> bool:
    try:
        return again(call) <= most
    except Exception:
        return False


def of_suite(name: str, threads: int, options: argparse.Namespace) -> Iterator[Contest]:
    path, libraries = program_path(name), () if options.alone else LIBRARIES
    program = soac.load(path)
    for one in large_data_sets(name):
        args = inputs_of(one, program, path)
        own, placed = program.prepare(one.entry, threads=threads), program.place(one.entry, args)
        peers = {peer.library: peer.call for peer in peers_of(name, one.entry, args, libraries)}
        label = " ".join((name, *([] if one.entry == "main" else [one.entry]), one.label))
        yield Contest(label, lambda: own(placed), peers, bytes_moved(args, own(args)))  # noqa: B023


def of_npbench(name: str, threads: int, options: argparse.Namespace) -> Iterator[Contest]:
    case = CASES[name]
    suite = original(options.suite, case)
    if options.preset not in suite.sizes:
        return
    values = suite.inputs(options.preset)
    args = case.arguments(values)
    program = soac.load(case.path)
    own, placed = program.prepare("main", threads=threads), program.place("main", args)
    variants = () if options.alone else (*PARALLEL, "jax")
    peers = {peer.variant: peer for peer in npbench_peers(case, suite, values, variants)}
    calls = {variant: lambda peer=peer: peer.call(peer.fresh()) for variant, peer in peers.items()}
    yield Contest(f"{name} {options.preset} (NPBench)", lambda: own(placed), calls, bytes_moved(args, own(args)))


# ---- what it says ----------------------------------------------------------------------------------------------------


def joined(one: Sequence[Seen], two: Sequence[Seen], read: float) -> Iterator[Row]:
    """Rows that were measured on one thread and on two. `read`: GB/s."""
    others = {seen.name: seen.seconds for seen in two}
    for seen in one:
        own, other = seen.seconds["soac"], others.get(seen.name)
        if other is not None and own >= LEAST:
            gains: dict[str, float] = {}
            for who in sorted(seen.seconds.keys() & other.keys(), key=other.__getitem__):
                gains.setdefault(who.partition("_")[0], seen.seconds[who] / other[who])
            yield Row(seen.name, own * 1e3, seen.moved / (read * 1e9) / own, gains)


def page(rows: Sequence[Row]) -> str:
    """Means, the rows below what is wanted of them, and all rows, the least gain first."""
    computing = [row.gains["soac"] for row in rows if row.memory < 0.5]
    below = [row.name for row in rows if row.memory >= 0.5 and row.gains["soac"] < 0.95 * row.wanted]
    mean = f"{geometric_mean(computing):.2f}" if computing else "–"
    return "\n".join(
        [
            f"Where computing is the limit: geometric mean {mean} of {len(computing)} rows (wanted {WANTED}).",
            f"Limited by memory, with less than 0.95 of the gain of the best peer: {', '.join(below) or 'none'}.",
            "",
            HEAD,
            *map(line, sorted(rows, key=lambda row: row.gains["soac"])),
        ]
    )


def line(row: Row) -> str:
    gains = (f"{row.gains[who]:.2f}" if who in row.gains else "–" for who in ("soac", *LIBRARIES))
    return f"| {row.name} | {row.one_ms:.3g} | {row.memory:.2f} | {' | '.join(gains)} |"


if __name__ == "__main__":
    main()
