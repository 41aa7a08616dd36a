"""Broken programs are made smaller, those with functions beside the entry too, and can be saved."""

from __future__ import annotations

from pathlib import Path

from soac.flatten.context.trace import Rule
from soac.ir.core import Apply, Body
from soac.ir.traverse import bodies
from tests.support.property.features import features
from tests.support.property.reduce import reduced, size_of
from tests.support.property.saved import load, save
from tests.support.property.shapes import shape_of

SECONDS = 20.0


def calls(body: Body) -> bool:
    return any(isinstance(stm.exp, Apply) or any(map(calls, bodies(stm.exp))) for stm in body.stms)


def test_a_function_that_breaks_it_stays_and_one_that_is_not_called_goes(tmp_path: Path) -> None:
    case = shape_of(Rule.CALL.value, 0)
    assert len(case.prog.functions) == 2
    small = reduced(case, lambda tried: calls(tried.prog.functions[-1].body), SECONDS)
    assert len(small.prog.functions) == 2
    assert size_of(small.prog) < size_of(case.prog) // 2
    assert features(small) <= features(case)
    again = load(save(small, tmp_path / "one.ir", "it calls"))
    assert size_of(again.prog) == size_of(small.prog)
    assert len(again.args) == len(small.args)
    assert len(reduced(case, lambda _: True, SECONDS).prog.functions) == 1
