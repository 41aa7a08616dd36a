"""The data sets of test blocks: inputs and expected values as arrays.

Random inputs follow from a seed, which follows from the entry and the case unless one is given, so that every run on
every machine draws the same; `soac dataset -g .. --seed N` writes them out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..api import Program
from ..arguments import Argument, checked, parameter_types
from ..data.dataset_types import Drawn, check_size
from ..data.files import read_file
from ..data.read_write import ValueType, default_limit, random_value, read_values
from ..ir.core import FunDef
from ..ir.errors import DataError, Diagnostic, Label
from ..ir.types import Type
from .blocks import (
    Case,
    Fails,
    Input,
    RandomInput,
    RandomType,
    ScriptInput,
    TestBlock,
    ValuesFile,
    ValuesText,
    parse_tests,
)
from .scripts import run_script


@dataclass(frozen=True, slots=True)
class DataSet:
    """A case of a test block for one entry point; `label` is what reports call it."""

    entry: str
    label: str
    case: Case


def data_sets(blocks: Sequence[TestBlock]) -> Iterator[DataSet]:
    """All cases of the blocks, for each entry point that they name."""
    seen: dict[str, int] = {}
    for block in blocks:
        for entry in block.entries:
            for case in block.cases:
                number = seen[entry] = seen.get(entry, -1) + 1
                label = case.name or described(case.input) or f"#{number}"
                yield DataSet(entry, label, case)


def sets_to_run(text: str, file: str, entry: str | None, skipped: Collection[str]) -> list[DataSet]:
    """The data sets of a program, or of one entry point, but for those with one of these tags, and those whose run is
    expected to fail."""
    return [
        one
        for one in data_sets(parse_tests(text, file))
        if entry in (None, one.entry)
        and not set(skipped) & set(one.case.tags)
        and not isinstance(one.case.expected, Fails)
    ]


def described(given: Input) -> str:
    """What reports call an input; nothing for values that are too long for that."""
    text = spelling_of(given)
    return "" if isinstance(given, ValuesText) and len(text) > 40 else text


def spelling_of(given: Input) -> str:
    """An input as its block writes it, wherever the block is."""
    match given:
        case ValuesFile(path, _):
            return path
        case RandomInput(items, _):
            return " ".join(_describe_item(item) for item in items)
        case ValuesText(text, _, _):
            return " ".join(text.split())
        case ScriptInput(text, _):
            return text.path if isinstance(text, ValuesFile) else text


def _describe_item(item: RandomType | ValuesText) -> str:
    if isinstance(item, ValuesText):
        return item.text.strip()
    return str(Drawn(item.prim, item.shape))


def inputs_of(data_set: DataSet, program: Program, path: Path, seed: int | None = None) -> list[Argument]:
    """The input of a case as arguments of its entry point, a script's by running it; `seed` for random ones."""
    match data_set.case.input:
        case ScriptInput(text, loc):
            script = _script_in(text, path) if isinstance(text, ValuesFile) else text
            return run_script(script, loc, program, path, data_set.entry)
        case RandomInput(items, _) if seed is not None:
            fun = program.function(data_set.entry)
            return checked(fun, _random(items, parameter_types(fun), str(path), seed))
        case RandomInput() | ValuesText() | ValuesFile():
            return arguments_of(data_set, program.function(data_set.entry), path)


def arguments_of(data_set: DataSet, fun: FunDef, program: Path) -> list[Argument]:
    """As `inputs_of`, for inputs that can be had without running the program."""
    types = parameter_types(fun)
    match data_set.case.input:
        case RandomInput(items, _):
            return checked(fun, _random(items, types, str(program), seed_of(data_set)))
        case ScriptInput(_, loc):
            raise DataError(Diagnostic("D0120", "a script input needs the program to run", Label(loc, "")))
        case ValuesText() | ValuesFile() as given:
            return checked(fun, values_of(given, types, program, data_set.entry))


def values_of(
    given: ValuesText | ValuesFile, types: Sequence[Type], program: Path, entry: str | None
) -> list[Argument]:
    """Literal values, or those of a file beside the program; `entry` if they are what an entry point takes."""
    expect = [ValueType(t.prim, t.rank) for t in types]
    match given:
        case ValuesText(text, line, _):
            return read_values(text.encode(), str(program), expect, first_line=line, entry=entry)
        case ValuesFile():
            return read_values(_bytes_of(given, program), str(program.parent / given.path), expect, entry=entry)


def _script_in(given: ValuesFile, program: Path) -> str:
    """The script in a file."""
    try:
        return _bytes_of(given, program).decode().strip()
    except UnicodeDecodeError:
        raise DataError(Diagnostic("D0121", f"`{given.path}` is not UTF-8", Label(given.loc, ""))) from None


def _bytes_of(given: ValuesFile, program: Path) -> bytes:
    """The bytes of a file beside the program."""
    file = program.parent / given.path
    try:
        return read_file(file, default_limit())
    except OSError as fault:
        text = f"cannot read `{file}`: {fault.strerror}"
        raise DataError(Diagnostic("D0121", text, Label(given.loc, ""))) from None


def seed_of(data_set: DataSet) -> int:
    """The seed of a random input where none is given."""
    digest = hashlib.sha256(f"{data_set.entry} {data_set.label}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def _random(items: Sequence[RandomType | ValuesText], types: Sequence[Type], name: str, seed: int) -> list[Argument]:
    source = np.random.PCG64(seed)
    values: list[Argument] = []
    for position, item in enumerate(items):
        if isinstance(item, RandomType):
            check_size(Drawn(item.prim, item.shape), item.loc)
            values.append(random_value(source, item.prim, item.shape))
        else:
            expect = [ValueType(types[position].prim, types[position].rank)] if position < len(types) else None
            values += read_values(item.text.encode(), name, expect, first_line=item.line)
    return values
