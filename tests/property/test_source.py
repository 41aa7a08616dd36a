"""Random programs as source: the front end accepts them, and they mean what their core means."""

from __future__ import annotations

from dataclasses import replace

from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.interpret import Thresholds, prepare
from tests.support.property.law import agree, run
from tests.support.property.soak import program
from tests.support.property.source import NotSource, source_of

PROGRAMS = 40
SEED = 2


def test_the_source_means_what_the_core_means() -> None:
    written = 0
    for number in range(PROGRAMS):
        case = program(SEED, number)
        expected = run(prepare(case.prog), case, Thresholds())[0]
        try:
            text = source_of(case, "", expected)
        except NotSource:
            continue
        prog = compile_text(text, "random.soac")
        check(prog, Stage.CORE)
        found = run(prepare(prog), replace(case, prog=prog), Thresholds())[0]
        assert agree(expected, found), text
        written += 1
    assert written > PROGRAMS // 4
