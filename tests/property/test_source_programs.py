"""Random source programs: an evaluator of the syntax tree gives what the core gives, and every version; its scalars are
those of the table of operations. `python -m tests.support.source_programs` runs more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from soac.frontend.source.declarations import Module
from soac.frontend.source.numeric_modules import Arg, Cast, Formula, Node, Scalar, Value, meanings
from soac.ir import scalar
from soac.ir.types import Prim
from tests.property.test_meaning import ACCEPTED
from tests.support.source_programs import stages, statements
from tests.support.source_programs.program import Program, programs
from tests.support.source_programs.scalars import INEXACT, OPERATIONS, TYPES, Failure
from tests.support.source_programs.search import broken, program, run, smallest
from tests.support.source_programs.stages import LeftOut, Refused, Wanted, check_program

pytestmark = pytest.mark.whole

SEED = 11


def test_the_evaluator_gives_what_core_gives() -> None:
    outcome = run(SEED, range(20), ("evaluator",))
    assert outcome.found == []
    assert len(outcome.refused) <= 1
    assert outcome.reach.programs["gives a value"] > 12


def test_every_version_gives_what_the_evaluator_gives() -> None:
    assert run(SEED, range(100, 102), ("evaluator", "passes", "cpu", "gpu")).found == []


def test_views_of_what_is_made_anew_may_be_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "KINDS", (statements.overwritten,))
    outcome = run(SEED, range(5), ("evaluator", "passes"))
    assert outcome.found == outcome.refused == []
    assert outcome.reach.features["overwritten view of what is made anew"] > 10


def test_a_smaller_program_stops_at_the_same_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the same type elsewhere is another fault."""
    evaluated, first = stages.evaluated, program(SEED, 3)

    def evaluated_if_long(one: Program, module: Module) -> Wanted:
        return evaluated(one, module) if len(one.text) > len(first.text) // 2 else {}[one.text]

    monkeypatch.setattr(stages, "evaluated", evaluated_if_long)
    monkeypatch.setattr(stages, "_cpu", lambda one, *_: {}[one.text])
    message = broken(first, ("cpu",), 3)
    assert message is not None
    small = smallest(SEED, 3, message, ("cpu",), 3)
    assert len(first.text) // 2 < len(small.text) < len(first.text)


@settings(ACCEPTED, max_examples=8)
@given(programs())
def test_programs_of_hypothesis(one: Program) -> None:
    try:
        check_program(one, ("evaluator",), 0)
    except (Refused, LeftOut):
        return


def test_a_program_is_always_the_same() -> None:
    assert program(SEED, 7).text == program(SEED, 7).text


@pytest.mark.parametrize("prim", [prim for prim in Prim if prim.value in OPERATIONS], ids=lambda prim: prim.value)
def test_scalars_mean_what_the_table_says(prim: Prim) -> None:
    """Functions that are not exact agree nearly, where they are finite."""
    for name, member in meanings(prim).items():
        function = OPERATIONS[prim.value].get(name)
        if function is None or not isinstance(member, Scalar):
            continue
        for args in some(list(itertools.product(*map(edges, member.params)))):
            expected = meaning(member.formula, args)
            given = [TYPES[p.value](x) for p, x in zip(member.params, args, strict=True)]
            with np.errstate(all="ignore"):
                assert agree(name, expected, found(function, given)), (name, prim, args)


def some(cases: list) -> list:
    """At most a hundred of the cases, always the same."""
    return cases if len(cases) <= 100 else Random(0).sample(cases, 100)


def edges(prim: Prim) -> tuple[bool | int | float, ...]:
    """Some values of a type."""
    if prim is Prim.BOOL:
        return (False, True)
    if prim.is_float:
        rounded = TYPES[prim.value]
        return tuple(float(rounded(x)) for x in (0.0, -0.0, 1.0, -2.5, 0.1, math.inf, -math.inf, math.nan, 3.0))
    low, high = scalar.int_range(prim)
    return (0, 1, 3, 7, high, high - 1, low, *((-1, -8) if low else ()))


def found(function: Callable[..., Any], args: list[Any]) -> Any:
    try:
        return function(*args)
    except Failure as failure:
        return str(failure)


def meaning(formula: Formula, args: tuple[Any, ...]) -> Any:
    """What a member of a numeric module gives by `ir/scalar.py`."""
    match formula:
        case Arg(index):
            return args[index]
        case Value(_, value):
            return value
        case Cast(source, target, arg):
            return scalar.convert(source, target, meaning(arg, args))
        case Node(op, prim, parts):
            values = tuple(meaning(part, args) for part in parts)
            try:
                return scalar.apply(op, prim, values)
            except scalar.ScalarFailure as failure:
                return failure.code


def agree(name: str, expected: Any, value: Any) -> bool:
    if isinstance(expected, str) or isinstance(value, str):
        return expected == value
    if isinstance(expected, float):
        near = float(value)
        if name in INEXACT:
            return math.isclose(near, expected, rel_tol=1e-2, abs_tol=1e-6) or not (
                math.isfinite(near) and math.isfinite(expected)
            )
        return (math.isnan(near) and math.isnan(expected)) or (
            near == expected and math.copysign(1, near) == math.copysign(1, expected)
        )
    return int(expected) == int(value)
