"""What random programs of each rule become: a line for each shape of `shapes.py` in `ledger.txt`.

    map-if interchange | 12 programs: 3 hist, 14 segmap, 2 segred | 1f0a 33b2 ..

The counts are of all programs after fusion and after flattening, in the modes of the shape, for both machines in turn;
the digests are of each. Where the law of random programs sees values, this sees that a rule fires where it should not,
or no longer where it should: a condition that is lost, a bound that is one off. `pytest -m '' --update` writes the
lines; `shape_of(NAME, K)` is the program whose digest differs. The night looks at all, CI at those of `chosen.txt`,
which reach each outcome of a condition that any reaches (`python -m tests.support.mutation.choose shapes`).
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from scripts.emit_digest import renumbered
from soac.ir.core import Prog
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.show import show
from soac.ir.traverse import all_stms
from soac.pipeline import CORE_PASSES, stages
from soac.testing.structure import kind_of
from tests.support.near_misses import Ledger, digest
from tests.support.property.irregular import small_parts
from tests.support.property.shapes import SHAPES, shape_of

LEDGER = Path(__file__).with_name("ledger.txt")
PROGRAMS = 12
MACHINES = (CPU, CUDA)
CHOSEN = Ledger(Path(__file__).with_name("chosen.txt"), lambda name, _, number: text_of(ends_of(name, number)))
SCALAR = {"PrimOp", "Convert", "Assert", "Index"}


@pytest.mark.whole
@pytest.mark.parametrize("name", CHOSEN.names())
def test_chosen_programs_of_a_shape_become_what_they_became(name: str, update: bool) -> None:
    if not update:
        CHOSEN.compare(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_programs_of_a_rule_become_what_the_ledger_says(name: str, update: bool) -> None:
    if update:
        pytest.skip("written at once")
    assert line_of(name) == known()[name]


def test_the_ledger_has_a_line_for_each_shape(update: bool) -> None:
    if update:
        CHOSEN.write(row[:3] for row in CHOSEN.known())
        LEDGER.write_text("\n".join(map(line_of, sorted(SHAPES))) + "\n", encoding="utf-8")
        known.cache_clear()
    assert known().keys() == SHAPES.keys()


@cache
def known() -> dict[str, str]:
    return {line.partition(" | ")[0]: line for line in LEDGER.read_text(encoding="utf-8").splitlines()}


def line_of(name: str) -> str:
    made = [ends_of(name, number) for number in range(PROGRAMS)]
    kinds = Counter(kind for ends in made for prog in ends for kind in constructs(prog) if kind not in SCALAR)
    counts = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(kinds.items()))
    return f"{name} | {PROGRAMS} programs: {counts} | {' '.join(digest(text_of(ends)) for ends in made)}"


def ends_of(name: str, number: int) -> tuple[Prog, Prog]:
    """Program `number` of a shape after fusion and after flattening."""
    mode, machine = setting(name, number)
    with small_parts():
        after = dict(stages(shape_of(name, number).prog, mode, machine, False))
    return after[CORE_PASSES[-1][0]], list(after.values())[-1]


def setting(name: str, number: int) -> tuple[Mode, Machine]:
    modes = SHAPES[name].modes
    return modes[number % len(modes)], MACHINES[number // 2 % len(MACHINES)]


def run_of(name: str, number: int) -> str:
    return "-".join(one.name.lower() for one in setting(name, number))


def constructs(prog: Prog) -> list[str]:
    return [kind_of(stm.exp) for body in prog.bodies for stm in all_stms(body)]


def text_of(ends: tuple[Prog, Prog]) -> str:
    return "\n".join("\n\n".join(map(renumbered, show(prog).split("\n\n"))) for prog in ends)
