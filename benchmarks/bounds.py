"""`python -m benchmarks.bounds`: sums and prefix sums of rows at every shape, and maps, against loops written by hand.

    sums     the better of two loops of Numba: row after row; and one that reads, adds and writes as much, but without
             moving elements across lanes (`streams`), which short rows cannot beat
    scans    a copy of the array, which is the bound, and the loop row after row
    maps     the same loop, and the bandwidth of the triad x = y + a z in bytes read and written

Everything runs on the thread that calls, whose processor time is the clock; contenders take turns, of each the least
time counts. A ratio is the loop's time over soac's: 1 is as fast as the loop.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import soac
from soac.reports.timing import Effort, Times, race
from soac.versions import runs_of

from .machine import describe_machine
from .peers.on_numba import by_hand

ELEMENTS = 1 << 24
ODD = ((1000, 16777), (3, 5000001), (100003, 167), (500000, 33))
SHAPES = (*((1 << k, ELEMENTS >> k) for k in range(0, 25, 2)), *ODD)
TYPES = ("i8", "i16", "f32", "i64", "f64")
DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of program on a shape: least milliseconds of every contender, and what the ratio compares."""

    kind: str
    type: str
    shape: Sequence[int]
    least_ms: Mapping[str, float]
    bound: str
    ratio: float
    best_version: str
    fraction_of_triad: float


@dataclass(frozen=True, slots=True)
class Case:
    """A program on arguments, and the loops by hand that it is compared with; `bounds` are those of which the faster
    one counts."""

    kind: str
    type: str
    args: Sequence[np.ndarray]
    loops: Mapping[str, Run]
    bounds: Sequence[str]
    written: int

    @property
    def bytes_moved(self) -> int:
        return sum(array.nbytes for array in self.args) + self.written


PROGRAMS: Mapping[str, str] = {
    "sums": "entry main [n][m] (xss: [n][m]T): [n]T = map (reduce (+) 0) xss",
    "scans": "entry main [n][m] (xss: [n][m]T): [n][m]T = map (scan (+) 0) xss",
    "increments": "entry main [n] (xs: [n]T): [n]T = map (+ 1) xs",
    "additions": "entry main [n] (xs: [n]T) (ys: [n]T): [n]T = map2 (+) xs ys",
    "pairs": "entry main [n] (xs: [n]T) (ys: [n]T): ([n]T, [n]T) = unzip (map2 (\\x y -> (x + y, x - y)) xs ys)",
    "transposed": "entry main [n][m] (xss: [n][m]T): [m][n]T = copy (transpose xss)",
}


# ---- cases ----------------------------------------------------------------------------------------------------------


def sums(type_: str) -> Iterator[Case]:
    for n, m in SHAPES:
        xss, out = values(type_, n, m), np.zeros(n, DTYPES[type_])
        loops: dict[str, Run] = {"rows": lambda xss=xss, out=out: by_hand.sums(xss, out)}
        if m <= 64:
            loops["streams"] = lambda xss=xss, out=out: by_hand.streams(xss.reshape(-1), out)
        yield Case("sums", type_, [xss], loops, tuple(loops), out.nbytes)


def scans(type_: str) -> Iterator[Case]:
    for n, m in SHAPES:
        xss = values(type_, n, m)
        out = np.zeros_like(xss)
        loops: dict[str, Run] = {
            "copy": lambda xss=xss, out=out: by_hand.copy(xss.reshape(-1), out.reshape(-1)),
            "rows": lambda xss=xss, out=out: by_hand.scans(xss, out),
        }
        yield Case("scans", type_, [xss], loops, ("copy",), out.nbytes)


def maps(type_: str) -> Iterator[Case]:
    n = (1 << 26) // np.dtype(DTYPES[type_]).itemsize
    xs, ys = values(type_, n), values(type_, n)
    out, other = np.zeros_like(xs), np.zeros_like(xs)
    yield Case("increments", type_, [xs], {"loop": lambda: by_hand.increments(xs, out)}, ("loop",), out.nbytes)
    yield Case("additions", type_, [xs, ys], {"loop": lambda: by_hand.additions(xs, ys, out)}, ("loop",), out.nbytes)
    pairs: Run = lambda: by_hand.sums_and_differences(xs, ys, out, other)  # noqa: E731
    yield Case("pairs", type_, [xs, ys], {"loop": pairs}, ("loop",), 2 * out.nbytes)
    side = 1 << ((n.bit_length() - 1) // 2)
    square = xs[: side * side].reshape(side, side)
    turned = np.zeros_like(square)
    yield Case(
        "transposed", type_, [square], {"tiles": lambda: by_hand.transposed(square, turned)}, ("tiles",), turned.nbytes
    )


def values(type_: str, *shape: int) -> np.ndarray:
    if type_[0] == "f":
        return np.random.default_rng(1).random(shape, np.float32).astype(DTYPES[type_], copy=False)
    return np.random.default_rng(1).integers(-50, 50, shape).astype(DTYPES[type_])


KINDS: Mapping[str, tuple[Callable[[str], Iterator[Case]], Sequence[str]]] = {
    "sums": (sums, ("f32",)),
    "scans": (scans, ("f32", "i32")),
    "maps": (maps, TYPES),
}


# ---- times ----------------------------------------------------------------------------------------------------------


def prepared(program: soac.Program, args: Sequence[np.ndarray], forced: Mapping[str, bool]) -> Run:
    """A version by force, on one thread."""
    call = program.prepare("main", forced=forced, threads=1)
    return lambda: call(args)


def measured(case: Case, program: soac.Program, triad: float, effort: Effort) -> Row:
    """The default and every version by force, and the loops, in turns."""
    placed = program.place("main", case.args)
    runs: dict[str, Run] = {"soac": prepared(program, placed, {})}
    for forced in runs_of(program.compiled.flat, "main"):
        if forced:
            name = " ".join(f"{guard.rpartition('.')[2]}={int(side)}" for guard, side in forced.items())
            runs[name] = prepared(program, placed, forced)
    times = race({**runs, **case.loops}, effort, time.thread_time)
    bound = min(case.bounds, key=lambda name: times[name].least)
    best = min(runs, key=lambda name: times[name].least)
    mine = times["soac"].least
    return Row(
        case.kind, case.type, case.args[0].shape, least_ms(times), bound, times[bound].least / mine, best,
        case.bytes_moved / mine / triad,
    )  # fmt: skip


def least_ms(times: Mapping[str, Times]) -> dict[str, float]:
    return {name: seen.least * 1e3 for name, seen in times.items()}


def triad_bandwidth(effort: Effort) -> float:
    """Bytes a second: two arrays read and one written."""
    x, y, z = np.zeros(ELEMENTS), np.ones(ELEMENTS), np.ones(ELEMENTS)
    return 24 * ELEMENTS / race({"": lambda: by_hand.triad(x, y, z)}, effort, time.thread_time)[""].least


def program_of(kind: str, type_: str) -> soac.Program:
    return soac.compile(PROGRAMS[kind].replace("T", type_))


def shown(row: Row) -> str:
    times = ", ".join(f"{name} {ms:.2f}" for name, ms in row.least_ms.items())
    shape = "".join(f"[{n}]" for n in row.shape)
    found = f"{row.ratio:.2f} of {row.bound}, {row.fraction_of_triad:.2f} of triad"
    return f"{row.kind} {row.type} {shape}: {found}; {times}"


def main() -> None:
    options = parse_options()
    effort = Effort(options.rounds, 0.1, 0.0, options.rounds, 60.0)
    triad = triad_bandwidth(effort)
    print(f"triad {triad / 1e9:.1f} GB/s", flush=True)
    rows: list[Row] = []
    for kind in options.kinds or KINDS:
        cases, types = KINDS[kind]
        for type_ in options.types or types:
            programs: dict[str, soac.Program] = {}
            for case in cases(type_):
                if options.shape is not None and options.shape not in "".join(f"[{n}]" for n in case.args[0].shape):
                    continue
                program = programs.setdefault(case.kind, program_of(case.kind, type_))
                rows.append(measured(case, program, triad, effort))
                print(shown(rows[-1]), flush=True)
    print(f"least ratio {min(row.ratio for row in rows):.2f}")
    if options.json is not None:
        write(options.json, rows, triad)


def write(path: Path, rows: Sequence[Row], triad: float) -> None:
    found = {
        "date": datetime.date.today().isoformat(),
        "machine": describe_machine(1),
        "triad": triad / 1e9,
        "rows": [asdict(row) for row in rows],
    }
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="default: all")
    parser.add_argument("--types", nargs="*", choices=tuple(DTYPES), help="of elements")
    parser.add_argument("--shape", metavar="TEXT", help="only shapes with this text, such as '[1]['")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write what was found")
    return parser.parse_args()


if __name__ == "__main__":
    main()
