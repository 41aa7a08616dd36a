"""Every rule of flattening and of fusion fires often, on programs made for it, and keeps their meaning.

For each name that a trace shows, Hypothesis makes programs of its shape until it has fired `ENOUGH` times; the law
holds for all of them. Then each rule for itself: with nothing but the rule for maps beside it, it fires as often and a
program means what it meant. How often each rule has fired in the whole run stands at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from soac.flatten import flatten as flatten_module
from soac.flatten.context.nest import Flow, Nest
from soac.flatten.context.trace import Rule
from soac.flatten.flatten import RULES, RuleFunction
from soac.flatten.fusion import driver as fuse_module
from soac.flatten.fusion.driver import fuse
from soac.flatten.fusion.rules import SIDE_BY_SIDE, VERTICAL
from soac.flatten.irregular.soacs import varying_rule
from soac.flatten.rules.bulk import invariant_rule
from soac.flatten.rules.control import map_loop, top_rule
from soac.flatten.rules.maps import map_rule
from soac.ir.check import Stage, check
from soac.ir.core import Stm
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import Mode
from tests.support.property.generate import Case
from tests.support.property.irregular import small_parts
from tests.support.property.law import Tally, agree, check_law, check_values, run
from tests.support.property.shapes import SHAPES, shape_cases
from tests.support.property.soak import OTHERS, fired_by_name, record

ENOUGH = 50
MOST = 600
"""More programs than that a rule that fires may not need."""
ROUND = 20
SEARCH = settings(
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
)

RULE_SHAPES: dict[str, tuple[Rule | str, ...]] = {
    "sequential_rule": (Rule.SEQUENTIAL,),
    "map_rule": (Rule.G1, Rule.G2),
    "reduction_rule": (Rule.GR_RED, Rule.GR_SCAN, Rule.SPLIT, Rule.FISSION, Rule.IRWIM, Rule.ISWIM),
    "scatter_rule": (Rule.GR_SCATTER,),
    "hist_rule": (Rule.GR_HIST,),
    "top_rule": (Rule.G0, Rule.ROUNDS),
    "map_loop": (Rule.MAP_LOOP, Rule.REPLICATE),
    "map_if": (Rule.MAP_IF,),
    "varying_rule": (Rule.FLAT_MAP, Rule.FLAT_SCAN, Rule.FLAT_RED),
    "row_operators_rule": ("rows of varying number",),
    "rows_of_rows_rule": ("rows of rows",),
    "varying_write_rule": (Rule.FLAT_SCATTER,),
    "varying_if_rule": (Rule.VARYING_IF,),
    "varying_loop_rule": (Rule.VARYING_LOOP,),
    "invariant_rule": (Rule.INVARIANT,),
    "alias_rule": (Rule.ALIAS,),
    "rearrange_rule": (Rule.REARRANGE,),
    "reshape_rule": (Rule.RESHAPE,),
    "slice_rule": (Rule.SLICE,),
    "concat_rule": (Rule.CONCAT,),
    "varying_concat_rule": (Rule.SEGMENTS,),
    "update_rule": (Rule.UPDATE,),
    "branch_write_rule": (Rule.BRANCH_WRITE,),
    "varying_update_rule": (Rule.SEGMENTS,),
    "append_rule": (Rule.APPEND,),
    "call_rule": (Rule.CALL,),
}
"""For each function of the driver's table, the rules on whose programs it is run alone."""

NAMES = (*(rule.value for rule in Rule), *OTHERS)
"""What a trace can show."""

BESIDE: dict[str, tuple[RuleFunction, ...]] = {
    "map_loop": (top_rule,),
    "slice_rule": (invariant_rule,),
    "concat_rule": (invariant_rule,),
    "branch_write_rule": (map_loop, top_rule),
    "row_operators_rule": (invariant_rule, varying_rule),
    "varying_update_rule": (varying_rule,),
}
"""What a rule cannot do without: the one that takes loops outside of a nest; loops in which rows are written, bounds
and sizes that are known before the nest, rows that are not in a thread."""


def test_every_rule_has_programs_of_its_own() -> None:
    assert set(SHAPES) == {*NAMES, *(shape for shapes in RULE_SHAPES.values() for shape in shapes_of(shapes))}
    assert set(RULE_SHAPES) == {rule.__name__ for rule in RULES}


def shapes_of(rules: tuple[Rule | str, ...]) -> tuple[str, ...]:
    return tuple(rule.value if isinstance(rule, Rule) else rule for rule in rules)


def search(names: tuple[str, ...], law: Callable[[Mode, Case], int], enough: int = ENOUGH) -> int:
    """Hypothesis looks for a program of these shapes that breaks the law, in rounds until the law, which says how often
    the rule fired, has seen it often enough. Gives that number."""
    fired = 0
    for number in range(MOST // ROUND):

        @seed(number)
        @settings(SEARCH, max_examples=ROUND)
        @given(st.one_of(*map(shape_cases, names)))
        def keeps_the_law(given: tuple[Mode, Case]) -> None:
            nonlocal fired
            mode, case = given
            with small_parts():
                fired += law(mode, case)

        keeps_the_law()
        if fired >= enough:
            break
    return fired


@pytest.mark.parametrize("name", NAMES)
def test_rule_fires_often(name: str, record_property: Callable[[str, object], None]) -> None:
    tally = Tally()

    def law(mode: Mode, case: Case) -> int:
        found = check_law(case, mode)
        found.programs += 1
        tally.add(found)
        return fired_by_name(found)[name]

    assert search((name,), law) >= ENOUGH
    record(record_property, tally)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_alone_keeps_meaning(rule: RuleFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule for maps, without which there is no nest, and no other that it can do without."""
    fired = 0

    def counting(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
        nonlocal fired
        done = rule(flow, nest, stm)
        fired += done is not None
        return done

    def law(mode: Mode, case: Case) -> int:
        before = fired
        check_values(case, mode)
        return fired - before

    wanted = (map_rule, *BESIDE.get(rule.__name__, ()))
    alone = tuple(counting if other is rule else other for other in RULES if other is rule or other in wanted)
    monkeypatch.setattr(flatten_module, "RULES", alone)
    assert search(shapes_of(RULE_SHAPES[rule.__name__]), law) >= ENOUGH


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_all_rules_but_one_keep_meaning(rule: RuleFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    def law(mode: Mode, case: Case) -> int:
        check_values(case, mode)
        return 1

    monkeypatch.setattr(flatten_module, "RULES", tuple(other for other in RULES if other is not rule))
    assert search(shapes_of(RULE_SHAPES[rule.__name__]), law, enough=ROUND) >= ROUND


@pytest.mark.parametrize("rule", (*VERTICAL, *SIDE_BY_SIDE), ids=lambda rule: rule.__name__)
def test_fusion_rule_alone_keeps_meaning(rule: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("VERTICAL", "SIDE_BY_SIDE"):
        rules = getattr(fuse_module, table)
        monkeypatch.setattr(fuse_module, table, tuple(one for one in rules if one is rule))

    def law(_: Mode, case: Case) -> int:
        expected = run(prepare(case.prog), case, Thresholds())[0]
        fired = Counter(fuse_module.fused_once(case.prog)[1])
        fused = fuse(case.prog)
        check(fused, Stage.CORE)
        assert agree(expected, run(prepare(fused), case, Thresholds())[0])
        return fired[rule.__name__]

    assert search((rule.__name__,), law) >= ENOUGH
