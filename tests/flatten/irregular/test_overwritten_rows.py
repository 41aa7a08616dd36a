"""Threads have rows of their own that they overwrite: the flat program passes `check`, which asks that."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.flatten.flatten import flatten
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.machine import CPU, Mode
from soac.pipeline import CORE_PASSES

PROGRAM = Path(__file__).parents[2] / "regress" / "varying_row_overwritten.soac"


@pytest.mark.parametrize("mode", Mode)
def test_rows_that_threads_overwrite_are_their_own(mode: Mode) -> None:
    prog = compile_text(PROGRAM.read_text(encoding="utf-8"), PROGRAM.name)
    for _, run in CORE_PASSES:
        prog = run(prog)
    check(flatten(prog, mode, CPU), Stage.FLAT)
