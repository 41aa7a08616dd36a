"""Programs by number, what is wrong with them, and small programs that are wrong in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

from soac.data.dataset_types import Value as Data
from soac.data.read_write import Format, write_value
from soac.ir.collector import paused_collector
from tests.support.property.choices import Drawn, Replayed, shrunk
from tests.support.property.guards import Broken
from tests.support.property.soak import LATE, within
from tests.support.source_programs.program import Program, program_of
from tests.support.source_programs.scalars import TYPES
from tests.support.source_programs.stages import LeftOut, Reach, Refused, Wanted, check_program, evaluated, parsed
from tests.support.source_programs.types import Array, Prim, Type, fields_of
from tests.support.source_programs.values import Vec, first

REGRESS = Path(__file__).parents[2] / "regress"
SECONDS_EACH = 60
SECONDS_TO_SHRINK = 120


@dataclass(frozen=True, slots=True)
class Found:
    """A program that is wrong: its number, what is wrong, where it has been saved."""

    number: int
    message: str
    path: str


@dataclass(slots=True)
class Outcome:
    """What some programs gave."""

    reach: Reach = field(default_factory=Reach)
    found: list[Found] = field(default_factory=list)
    refused: list[Found] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.reach.add(other.reach)
        self.found += other.found
        self.refused += other.refused


def decisions_of(seed: int, number: int) -> tuple[int, ...]:
    """The decisions that make program `number` of a seed."""
    drawn = Drawn(Random(f"{seed} {number}"))
    program_of(drawn)
    return tuple(drawn.made)


def program(seed: int, number: int) -> Program:
    """Program `number` of a seed, always the same."""
    return program_of(Random(f"{seed} {number}").randrange)


def broken(one: Program, stages: Sequence[str], number: int, reach: Reach | None = None) -> str | None:
    """What is wrong with a program, if anything. Raises `Refused` and `LeftOut`."""
    try:
        with within(SECONDS_EACH):
            reached = check_program(one, stages, number)
    except Broken as error:
        if str(error) == LATE.format(SECONDS_EACH):
            raise LeftOut("takes long") from error
        return str(error)
    if reach is not None:
        reach.add(reached)
    return None


@paused_collector()
def run(seed: int, numbers: range, stages: Sequence[str], shrink: float | None = None) -> Outcome:
    """The programs of these numbers. Those that are wrong are made small in `shrink` seconds and saved, if any."""
    outcome = Outcome()
    for number in numbers:
        outcome.reach.programs["all"] += 1
        one = program(seed, number)
        try:
            message = broken(one, stages, number, outcome.reach)
        except LeftOut as error:
            outcome.reach.programs[f"left out: {error}"] += 1
            continue
        except Refused as error:
            outcome.refused.append(Found(number, str(error), ""))
            outcome.reach.programs["refused"] += 1
            continue
        if message is not None:
            path = ""
            if shrink is not None:
                small = smallest(seed, number, message, stages, shrink)
                path = str(save(small, f"seed{seed}_{number}", message))
            outcome.found.append(Found(number, message, path))
    return outcome


# ---- smaller -------------------------------------------------------------------------------------------------------


def kind_of(message: str) -> tuple[str, ...]:
    """What must stay the same while a program is made smaller: the stage, and where the compiler stops, or how the
    program fails."""
    stage, _, said = message.partition(":")
    return stage.split()[0], *re.findall(r"^ stops with \w+ in [^:]+|error\[R\d+\]", said)


def smallest(seed: int, number: int, message: str, stages: Sequence[str], seconds: float) -> Program:
    """A small program that is wrong as program `number` is: fewer decisions, then less text."""
    kind = kind_of(message)

    def fails(one: Program) -> bool:
        try:
            said = broken(one, stages, number)
        except (Refused, LeftOut):
            return False
        return said is not None and kind_of(said) == kind

    def replayed(numbers: tuple[int, ...]) -> bool:
        try:
            return fails(program_of(Replayed(numbers)))
        except (RecursionError, AssertionError, IndexError):
            return False

    stages = needed(kind[0], stages)
    numbers = decisions_of(seed, number)
    if seconds <= 0:
        return program_of(Replayed(numbers))
    numbers = shrunk(numbers, replayed, seconds / 3)
    return with_less_text(program_of(Replayed(numbers)), fails, seconds * 2 / 3)


def needed(stage: str, stages: Sequence[str]) -> Sequence[str]:
    """The stages that a program goes through for a fault of one."""
    if stage in ("front-end", "core", "evaluator"):
        return ("evaluator",)
    return (stage,) if stage in stages else stages


def with_less_text(one: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The program without the parts that need not be: results, lines, then what stands in parentheses."""
    end = time.monotonic() + seconds
    every = range(len(one.shown))
    for chosen in ([k] for k in every) if len(every) > 1 else ():
        if fails(one.giving(chosen)):
            one = one.giving(chosen)
            break
    one = spelled_out(one)
    if not fails(one):
        return one
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for make in (_without_lines, _without_parentheses):
            place = 0
            while time.monotonic() < end:
                candidates = make(one.text)
                if place >= len(candidates):
                    break
                candidate = replace(one, text=candidates[place])
                if fails(candidate):
                    one, smaller = candidate, True
                else:
                    place += 1
    return one


def spelled_out(one: Program) -> Program:
    """The program with the suffix of every literal."""
    lines = one.text.split("\n")
    done: set[int] = set()
    for (line, column), prim in sorted(one.literals.items(), reverse=True):
        text = lines[line - 1]
        found = re.match(r"-?\d(?:[eE]-\d|[\w.])*", text[column - 1 :])
        end = column - 1 + found.end() if found else 0
        if found and (line, end) not in done and not found[0].endswith(prim):
            done.add((line, end))  # type: ignore[arg-type]
            lines[line - 1] = f"{text[:end]}{prim}{text[end:]}"
    return replace(one, text="\n".join(lines))


def _without_lines(text: str) -> list[str]:
    """The text without a line and those below it that are further in; the largest part first."""
    lines = text.split("\n")
    depth = [len(line) - len(line.lstrip()) for line in lines]
    found = []
    for k, line in enumerate(lines):
        after = next((j for j in range(k + 1, len(lines)) if depth[j] <= depth[k]), len(lines))
        if line.strip() and not line.startswith(("def main", "entry main")):
            found.append((after - k, "\n".join([*lines[:k], *lines[after:]])))
            found.append((1, "\n".join([*lines[:k], *lines[k + 1 :]])))
    return [shorter for _, shorter in sorted(found, key=lambda pair: -pair[0])]


def _without_parentheses(text: str) -> list[str]:
    """The text with something in parentheses replaced by a part of it that is; the shortest first."""
    found = []
    for begin, end in _pairs(text):
        inside = text[begin + 1 : end]
        found += [f"{text[:begin]}{inside[a : b + 1]}{text[end + 1 :]}" for a, b in _pairs(inside)]
        found += [
            f"{text[:begin]}{word}{text[end + 1 :]}" for word in dict.fromkeys(re.findall(r"\b[a-z]+\d+\b", inside))
        ]
    return sorted({one for one in found if len(one) < len(text)}, key=len)[:600]


def _pairs(text: str) -> list[tuple[int, int]]:
    opened, found = [], []
    for k, sign in enumerate(text):
        if sign == "(":
            opened.append(k)
        elif sign == ")" and opened:
            found.append((opened.pop(), k))
    return found


# ---- saved ---------------------------------------------------------------------------------------------------------


def save(one: Program, stem: str, message: str) -> Path:
    """Writes a program with a test block; gives its path."""
    said = "\n".join(f"-- {line}" for line in message[:400].splitlines())
    given = " ".join(_shown(arg) for arg in one.args)
    path = REGRESS / f"{stem}.soac"
    text = one.text.replace("\ndef main", "\nentry main", 1)
    path.write_text(
        f"{said}\n-- ==\n-- entry: main\n-- input {{ {given} }}\n{_expected(one)}\n{text}", encoding="utf-8"
    )
    return path


def _shown(data: Data) -> str:
    return write_value(data, Format.TEXT).decode().strip()


def _expected(one: Program) -> str:
    try:
        wanted: Wanted = evaluated(one, parsed(one))
    except Exception:  # the evaluator itself is wrong, or leaves the program out
        return "-- auto output"
    if wanted.code is not None:
        return "-- error:"
    prims = [name for form, _ in one.results for name in prims_of(form)]
    given = (_shown(as_array(part, name)) for part, name in zip(wanted.parts, prims, strict=True))
    return f"-- output {{ {' '.join(given)} }}"


def prims_of(form: Type) -> list[str]:
    """The scalar types of the arrays and scalars that a value of a type consists of."""
    match form:
        case Prim(name):
            return [name]
        case Array(_, elem):
            return prims_of(elem)
        case _:
            return [name for _, part in fields_of(form) for name in prims_of(part)]


def as_array(value: object, name: str) -> np.ndarray | np.generic:
    """A result of the evaluator as NumPy has it, an empty one too."""
    sizes, part = [], value
    while isinstance(part, Vec):
        sizes.append(len(part))
        part = first(part)
    array = np.array(value, TYPES[name]).reshape(sizes)
    return array if array.shape else array[()]
