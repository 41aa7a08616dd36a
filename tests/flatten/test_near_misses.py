"""What passes over core and flat programs make of near misses of golden pairs, and what all of them make of near misses
of core programs (`core/`): `near_misses.txt`. Its last column is written by `pytest --update`, the others by
`python -m tests.support.mutation.choose flatten`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.errors import IRError
from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.parse import parse_prog
from soac.ir.rename import renumbered
from soac.ir.show import show
from soac.pipeline import stages
from tests.flatten.test_pairs import PASSES
from tests.support.golden_pairs import GOLDEN, program, sections
from tests.support.near_misses import Ledger, variant


def flat(mode: Mode, machine: Machine) -> Callable[[Prog], Prog]:
    return lambda prog: deque(stages(prog, mode, machine, False), maxlen=1)[0][1]


ALL = {"flat-cpu": (flat(Mode.INCREMENTAL, CPU), Stage.CORE), "flat-gpu": (flat(Mode.EVERY, CUDA), Stage.CORE)}
RUNS = PASSES | ALL


def became(name: str, text: str, number: int) -> str:
    run, stage = RUNS[name]
    try:
        if name in ALL:
            given = parse_prog(variant((CORE / f"{text}.ir").read_text("utf-8"), number))
        else:
            header, before, _ = sections((GOLDEN / f"{text}.ir").read_text("utf-8"))
            given = program(header, variant(before, number))
        check(given, stage)
    except IRError as error:
        return str(error)
    found = run(given)
    check(found, Stage.FLAT if name in ALL else stage)
    return show(renumbered(found))


CORE = Path(__file__).with_name("core")
LEDGER = Ledger(Path(__file__).with_name("near_misses.txt"), became)


@pytest.mark.whole
@pytest.mark.parametrize("name", LEDGER.names())
def test_near_misses_become_what_they_became(name: str, update: bool) -> None:
    if not update:
        LEDGER.compare(name)


def test_the_ledger_is_of_all_passes(update: bool) -> None:
    if update:
        LEDGER.write(row[:3] for row in LEDGER.known())
    assert set(LEDGER.names()) == RUNS.keys()
