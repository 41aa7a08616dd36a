"""What the test blocks of a program ask for, as a list of checks, and how they are to be made: `Testing`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..settings import Settings
from .blocks import FORMER, Pattern, Structure, TestBlock
from .datasets import DataSet, data_sets

EXCLUDED = frozenset({"disable", "notest", "no_soac"})


@dataclass(frozen=True, slots=True)
class Testing:
    """How programs are to be tested. `seed` is for random inputs, `timeout` the seconds of a step; None: none. `sync`:
    launches are traced, and hazards are failures. `laws`: those of operators are tried. `machine`: the one whose
    versions are traced, at sizes around its tiles too; nothing for the device's own. `gradients`: derivatives are
    compared at the inputs of all cases."""

    __test__ = False  # not a test class of pytest's

    settings: Settings
    every_version: bool
    structures: bool
    excluded: frozenset[str]
    seed: int | None
    timeout: float | None
    sync: bool
    laws: bool = False
    machine: str = ""
    gradients: bool = False


@dataclass(frozen=True, slots=True)
class Rejects:
    """The program must not compile."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Warns:
    """Some warning must match."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Shaped:
    """Nodes must occur as often as stated."""

    structure: Structure


@dataclass(frozen=True, slots=True)
class Runs:
    """A run must give what is expected."""

    data_set: DataSet


@dataclass(frozen=True, slots=True)
class Resized:
    """Runs like those of a data set, at sizes around tiles, must have no hazards."""

    data_set: DataSet


@dataclass(frozen=True, slots=True)
class Differentiated:
    """The derivatives of an entry point must agree with finite differences at an input."""

    data_set: DataSet


@dataclass(frozen=True, slots=True)
class Holds:
    """An entry point must give true for random arguments."""

    name: str


@dataclass(frozen=True, slots=True)
class Lawful:
    """Operators must be associative, and their initial values neutral."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """A kernel by hand must agree with the function that it implements."""

    name: str


@dataclass(frozen=True, slots=True)
class Compiles:
    """There is nothing more to ask for."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that is left out, and why."""

    name: str
    why: str


Check = Rejects | Warns | Shaped | Runs | Resized | Differentiated | Holds | Lawful | ByHand | Compiles | Skipped


def checks_of(blocks: Sequence[TestBlock], testing: Testing) -> tuple[Check, ...]:
    """All checks of the blocks of a program, in the order of the source."""
    excluded = testing.excluded | {f"no_{testing.settings.device}"}
    asked = {tag for block in blocks for tag in block.tags}
    if unwanted := sorted(excluded & asked):
        return (Skipped("all", f"tagged `{unwanted[0]}`"),)
    found: list[Check] = []
    for block in blocks:
        found += [Rejects(block.compile_error)] if block.compile_error else []
        found += map(Holds, block.properties)
        found += map(Warns, block.warnings)
        found += map(_shape, block.structures) if testing.structures else []
    found += [_run_or_skip(one, excluded) for one in data_sets(blocks)]
    if testing.gradients:
        found += [Differentiated(one.data_set) for one in found if isinstance(one, Runs)]
    if testing.machine:
        firsts = {one.data_set.entry: Resized(one.data_set) for one in reversed(found) if isinstance(one, Runs)}
        found += firsts.values()
    found += [Lawful()] if testing.laws else []
    return tuple(found) or (Compiles(),)


def _run_or_skip(one: DataSet, excluded: frozenset[str]) -> Check:
    unwanted = sorted(excluded & set(one.case.tags))
    return Skipped(name_of(one), f"tagged `{unwanted[0]}`") if unwanted else Runs(one)


def _shape(wanted: Structure) -> Check:
    """A `structure`, unless it counts for a pipeline that is no more."""
    if wanted.pipeline in FORMER:
        return Skipped("structure", f"there is no pipeline `{wanted.pipeline}` any more")
    return Shaped(wanted)


def name_of(one: DataSet) -> str:
    return f"{one.entry} {one.label}"
