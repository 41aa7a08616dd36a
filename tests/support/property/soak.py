"""Long runs of the law on random programs: `python -m tests.support.property.soak --programs 50000 --seed 1 --jobs 2`.

Program k of a seed is always the same. Parts of `PART` programs run in processes of their own; after each the count is
written down, and the same command goes on from there. A program for which the law does not hold is made smaller and
written to tests/regress/, where `test_regress.py` runs it ever after. With `--device` every version also runs on the
CPU device. At the end stands how often each rule has fired.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from random import Random

from soac.flatten.context.trace import Rule
from soac.flatten.fusion.first_kept import any_of_count, read_first_kept
from soac.flatten.fusion.flat_rows import reduce_rows
from soac.flatten.fusion.gather import fuse_gather
from soac.flatten.fusion.joins import join, map_with_ends
from soac.flatten.fusion.kept import last_of_scan, read_through_filters
from soac.flatten.fusion.late_rows import split_at_rows
from soac.flatten.fusion.loops import loop_to_map
from soac.flatten.fusion.parts import scatter_parts
from soac.flatten.fusion.rules import SIDE_BY_SIDE, VERTICAL
from soac.flatten.fusion.sink import sink
from soac.flatten.tiling.choose import tile
from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import Mode
from tests.support.processes import results
from tests.support.property.choices import Decide, Drawn, Replayed, shrunk
from tests.support.property.device import SIZES, check_device, resized
from tests.support.property.generate import Case, case_of
from tests.support.property.irregular import small_parts, varying_case
from tests.support.property.law import Broken, Tally, broken_by, check_law, meaning_of, run
from tests.support.property.reduce import reduced
from tests.support.property.saved import save
from tests.support.property.shapes import SHAPES, shape_case
from tests.support.property.source import NotSource, source_of

REGRESS = Path(__file__).parents[2] / "regress"
PART = 100
MODES = tuple(Mode)
OTHERS = tuple(
    rule.__name__
    for rule in (
        *VERTICAL, *SIDE_BY_SIDE, fuse_gather, join, map_with_ends, reduce_rows, read_through_filters, last_of_scan,
        read_first_kept, any_of_count, scatter_parts, split_at_rows, loop_to_map, sink, tile,
    )
)  # fmt: skip
"""The rules of fusion and tiling."""
SECONDS_EACH = 120
"""A program that takes longer counts as broken .."""
SECONDS_OF_A_RUN = 2
""".. unless the interpreter takes so long for it as it is written that there is no time for its versions."""
SECONDS_TO_SHRINK = 240

LATE = "takes longer than {:g} s"

Law = Callable[[Case], object]


@dataclass(frozen=True, slots=True)
class Found:
    """A program that broke the law: its number, what was wrong, where it has been saved."""

    number: int
    message: str
    path: str


@dataclass(slots=True)
class Progress:
    """How far a run has come; what the file beside it holds."""

    done: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    found: list[Found] = field(default_factory=list)


# ---- one program ---------------------------------------------------------------------------------------------------


def law_for(number: int, device: bool) -> Callable[[Case], Tally]:
    """What program `number` is tested for; the mode of flattening takes turns."""
    mode = MODES[number % len(MODES)]

    def law(case: Case) -> Tally:
        with small_parts():
            tally = check_law(case, mode)
        if device:
            check_device(on_device(case, number))
        return tally

    return law


def on_device(case: Case, number: int) -> Case:
    """A program with arguments that fill vectors, by its number."""
    sizes = Random(number)
    return resized(case, sizes.choice(SIZES), sizes.choice(SIZES), sizes.randrange(1 << 16))


def decisions_of(seed: int, number: int) -> tuple[int, ...]:
    """The decisions that make program `number` of a seed."""
    drawn = Drawn(Random(f"{seed} {number}"))
    generator_of(number)(drawn)
    return tuple(drawn.made)


class Kind(Enum):
    """Which generator makes a program."""

    GENERAL = "general"
    SHAPE = "shape of a rule"
    NONUNIFORM = "nonuniform"


TURNS = (Kind.GENERAL, Kind.SHAPE, Kind.GENERAL, Kind.NONUNIFORM)


def kind_of(number: int) -> Kind:
    """Of the programs of each mode, every fourth is one of nonuniform parallelism, every fourth one of the shape that
    some rule matches."""
    return TURNS[number // len(MODES) % len(TURNS)]


def generator_of(number: int) -> Callable[[Decide], Case]:
    """What makes program `number` of its decisions; the shapes take turns."""
    match kind_of(number):
        case Kind.GENERAL:
            return case_of
        case Kind.NONUNIFORM:
            return varying_case
        case Kind.SHAPE:
            turn = number // (len(MODES) * len(TURNS))
            return partial(shape_case, tuple(SHAPES.values())[turn % len(SHAPES)])


def program(seed: int, number: int) -> Case:
    """Program `number` of a seed."""
    return generator_of(number)(Replayed(decisions_of(seed, number)))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Breaks off what takes more processor time."""

    def late(*_: object) -> None:
        raise Broken(LATE.format(seconds))

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def broken(law: Law, case: Case) -> str | None:
    """What is wrong, if anything, in the time a program has."""
    with within(SECONDS_EACH):
        return broken_by(law, case)


def is_expensive(case: Case) -> bool:
    """Whether one run of the program as it is written takes long."""
    start = time.process_time()
    broken(meaning_of, case)
    return time.process_time() - start > SECONDS_OF_A_RUN


def smallest(law: Law, seed: int, number: int, seconds: float) -> Case:
    """A small program that breaks the law as program `number` does: fewer decisions, then fewer statements."""
    make = generator_of(number)
    numbers = decisions_of(seed, number)
    numbers = shrunk(numbers, lambda tried: broken(law, make(Replayed(tried))) is not None, seconds / 2)
    return reduced(make(Replayed(numbers)), lambda case: broken(law, case) is not None, seconds / 2)


def keep(law: Law, case: Case, stem: str, message: str) -> Path:
    """Writes a broken program: as source if it is broken then too, else as IR. Gives its path."""
    try:
        text = source_of(case, message, run(prepare(case.prog), case, Thresholds())[0])
        elaborated = replace(case, prog=compile_text(text, f"{stem}.soac"))
    except (NotSource, CompileError):
        return save(case, REGRESS / f"{stem}.ir", message)
    if broken(law, elaborated) is None:
        return save(case, REGRESS / f"{stem}.ir", message)
    path = REGRESS / f"{stem}.soac"
    path.write_text(text, encoding="utf-8")
    return path


# ---- a part, in a process of its own -----------------------------------------------------------------------------


def _counting(law: Callable[[Case], Tally], tally: Tally) -> Law:
    return lambda case: tally.add(law(case))


def run_part(seed: int, numbers: range, device: bool) -> tuple[Tally, list[Found]]:
    """The programs of these numbers."""
    tally, found = Tally(), []
    for number in numbers:
        law = law_for(number, device)
        tally.programs += 1
        message = broken(_counting(law, tally), program(seed, number))
        if message == LATE.format(SECONDS_EACH) and is_expensive(program(seed, number)):
            tally.expensive += 1
        elif message is not None:
            case = smallest(law, seed, number, SECONDS_TO_SHRINK)
            message = broken(law, case) or message
            found.append(Found(number, message, str(keep(law, case, f"seed{seed}_{number}", message))))
    return tally, found


# ---- the whole run ---------------------------------------------------------------------------------------------------


def soak(seed: int, programs: int, jobs: int, device: bool, file: Path) -> Progress:
    """All parts that have not been done, `jobs` at a time."""
    progress = read_progress(file)
    parts = [part for part in range((programs + PART - 1) // PART) if part not in set(progress.done)]
    start, before = time.monotonic(), progress.tally.programs
    for k, (tally, found) in results(run_part, [(seed, part_of(part, programs), device) for part in parts], jobs):
        progress.done.append(parts[k])
        progress.tally.add(tally)
        progress.found += found
        write_progress(file, progress)
        rate = (progress.tally.programs - before) / (time.monotonic() - start)
        print(f"{summary(progress)}, {rate:.1f} programs/s", flush=True)
        for one in found:
            print(f"  program {one.number}: {one.path}\n    {one.message[:300]}", flush=True)
    return progress


def part_of(part: int, programs: int) -> range:
    return range(part * PART, min((part + 1) * PART, programs))


def summary(progress: Progress) -> str:
    tally = progress.tally
    left_out = f", {tally.skipped} left out" if tally.skipped else ""
    expensive = f", {tally.expensive} programs too expensive to run" if tally.expensive else ""
    return f"{tally.programs} programs, {tally.versions} versions{left_out}{expensive}, {len(progress.found)} broken"


def table(tally: Tally) -> str:
    """How often each rule has fired."""
    return "\n".join(f"{times:9d}  {name}" for name, times in fired_by_name(tally).items())


def fired_by_name(tally: Tally) -> dict[str, int]:
    """Of every rule how often it has fired."""
    return {rule.value: tally.fired[rule] for rule in Rule} | {name: tally.others[name] for name in OTHERS}


def record(record_property: Callable[[str, object], None], tally: Tally) -> None:
    """What a test has tested, for the table at the end of the run (`tests/conftest.py`)."""
    record_property("programs", tally.programs)
    record_property("versions", tally.versions)
    record_property("fired", fired_by_name(tally))


def read_progress(file: Path) -> Progress:
    if not file.is_file():
        return Progress()
    data = json.loads(file.read_text(encoding="utf-8"))
    tally = Tally(data["programs"], data["versions"], data["skipped"], expensive=data["expensive"])
    tally.fired.update({rule: data["fired"].get(rule.name, 0) for rule in Rule})
    tally.others.update(data["others"])
    return Progress(data["done"], tally, [Found(*one) for one in data["found"]])


def write_progress(file: Path, progress: Progress) -> None:
    """Old or new, never torn."""
    tally = progress.tally
    data = {
        "done": progress.done,
        "programs": tally.programs,
        "versions": tally.versions,
        "expensive": tally.expensive,
        "skipped": tally.skipped,
        "fired": {rule.name: tally.fired[rule] for rule in Rule},
        "others": tally.others,
        "found": [[one.number, one.message, one.path] for one in progress.found],
    }
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(data), encoding="utf-8")
    os.replace(fresh, file)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.property.soak", description=__doc__)
    parser.add_argument("--programs", type=int, default=50_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--device", action="store_true", help="run every version on the CPU device too")
    parser.add_argument("--progress", type=Path, help="where the count is kept")
    given = parser.parse_args()
    kind = "device" if given.device else "interpreter"
    file = given.progress or Path(tempfile.gettempdir()) / f"soac-soak-{kind}-{given.seed}.json"
    progress = soak(given.seed, given.programs, given.jobs, given.device, file)
    print(table(progress.tally))
    print(summary(progress))
    return 1 if progress.found else 0


if __name__ == "__main__":
    sys.exit(main())
