"""What random programs of each rule become: a line for each shape of `shapes.py` in `ledger.txt`.

    map-if interchange | 12 programs: 3 hist, 14 segmap, 2 segred | 1f0a 33b2 ..

The counts are of all programs after fusion and after flattening, in the modes of the shape, for both machines in turn;
the digests are of each. Where the law of random programs sees values, this sees that a rule fires where it should not,
or no longer where it should: a condition that is lost, a bound that is one off. CI looks at the first programs, the
night at all. `pytest -m '' --update` writes the lines; `shape_of(NAME, K)` is the program whose digest differs.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from scripts.emit_digest import renumbered
from soac.ir.core import Prog
from soac.ir.machine import CPU, CUDA
from soac.ir.show import show
from soac.ir.traverse import all_stms
from soac.pipeline import CORE_PASSES, stages
from soac.testing.structure import kind_of
from tests.support.property.irregular import small_parts
from tests.support.property.shapes import SHAPES, shape_of

LEDGER = Path(__file__).with_name("ledger.txt")
PROGRAMS, FIRST = 12, 4
MACHINES = (CPU, CUDA)
SCALAR = {"PrimOp", "Convert", "Assert", "Index"}


@pytest.mark.whole
@pytest.mark.parametrize("name", SHAPES)
def test_the_first_programs_of_a_rule_become_what_they_became(name: str, update: bool) -> None:
    if update:
        pytest.skip("written at once")
    assert [digest for digest, _ in became(name, FIRST)] == known()[name].rpartition(" | ")[2].split()[:FIRST]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_programs_of_a_rule_become_what_the_ledger_says(name: str, update: bool) -> None:
    if update:
        pytest.skip("written at once")
    assert line_of(name) == known()[name]


def test_the_ledger_has_a_line_for_each_shape(update: bool) -> None:
    if update:
        LEDGER.write_text("\n".join(map(line_of, sorted(SHAPES))) + "\n", encoding="utf-8")
        known.cache_clear()
    assert known().keys() == SHAPES.keys()


@cache
def known() -> dict[str, str]:
    return {line.partition(" | ")[0]: line for line in LEDGER.read_text(encoding="utf-8").splitlines()}


def line_of(name: str) -> str:
    made = became(name, PROGRAMS)
    kinds = sum((kinds for _, kinds in made), Counter[str]())
    counts = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(kinds.items()))
    return f"{name} | {PROGRAMS} programs: {counts} | {' '.join(digest for digest, _ in made)}"


def became(name: str, programs: int) -> list[tuple[str, Counter[str]]]:
    """The digest of each program, and how many constructs there are of each kind."""
    modes, found = SHAPES[name].modes, list[tuple[str, Counter[str]]]()
    with small_parts():
        for number in range(programs):
            mode, machine = modes[number % len(modes)], MACHINES[number // 2 % len(MACHINES)]
            after = dict(stages(shape_of(name, number).prog, mode, machine, False))
            ends = after[CORE_PASSES[-1][0]], list(after.values())[-1]
            kinds = Counter(kind for prog in ends for kind in constructs(prog) if kind not in SCALAR)
            found.append((sha256("\n".join(map(text_of, ends)).encode()).hexdigest()[:4], kinds))
    return found


def constructs(prog: Prog) -> list[str]:
    return [kind_of(stm.exp) for body in prog.bodies for stm in all_stms(body)]


def text_of(prog: Prog) -> str:
    return "\n\n".join(map(renumbered, show(prog).split("\n\n")))
