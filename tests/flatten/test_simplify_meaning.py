"""Simplification and fusion keep the meaning of random programs: every pass, and every rule by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from soac.flatten import fuse as fuse_module
from soac.flatten import simplify as simplify_module
from soac.flatten.fuse import fuse
from soac.flatten.fuse_rules import VERTICAL, fuse_horizontally
from soac.flatten.simplify import simplify
from soac.flatten.simplify_dead import remove_dead
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import interpret

from .pipelines import Case, cases, program

RULE_TUPLES = ("EXPANSIONS", "SCALAR_RULES", "BASIC_RULES", "INPUT_RULES", "RESULT_RULES")
RULES = [(where, rule) for where in RULE_TUPLES for rule in getattr(simplify_module, where)]


def results(prog: Prog, case: Case) -> list | None:
    """What the program gives; None if it fails."""
    try:
        return interpret(prog, "main", list(case.args))[0]
    except RunError:
        return None


def assert_same_meaning(before: list | None, prog: Prog, case: Case) -> None:
    """The law of failure: what had a value has the same; what failed may fail or not."""
    check(prog, Stage.CORE)
    if before is None:
        return
    after = results(prog, case)
    assert after is not None
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_passes_keep_meaning(case: Case) -> None:
    before = results(case.prog, case)
    prog = case.prog
    for run in (remove_dead, simplify, fuse, simplify):
        prog = run(prog)
        assert_same_meaning(before, prog, case)


@pytest.mark.parametrize(("where", "rule"), RULES, ids=lambda x: getattr(x, "__name__", None))
def test_rule_alone_keeps_meaning(where: str, rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RULE_TUPLES:
        monkeypatch.setattr(simplify_module, name, (rule,) if name == where else ())
    for seed in range(12):
        case = program(seed)
        assert_same_meaning(results(case.prog, case), simplify(case.prog), case)


@pytest.mark.parametrize("rule", (*VERTICAL, fuse_horizontally), ids=lambda rule: rule.__name__)
def test_fusion_rule_alone_keeps_meaning(rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    vertical = rule is not fuse_horizontally
    monkeypatch.setattr(fuse_module, "VERTICAL", (rule,) if vertical else ())
    if vertical:
        monkeypatch.setattr(fuse_module, "_with_neighbour", lambda node, scope: None)
    for seed in range(100, 125):
        case = program(seed)
        assert_same_meaning(results(case.prog, case), fuse(case.prog), case)


def test_simplification_settles() -> None:
    """A second run finds nothing more to do."""
    for seed in range(20):
        once = simplify(program(seed).prog)
        assert simplify_module._round(once)[1] == 0
