"""The law of the project on random programs: the share of a pull request, and each rule of flattening by itself.

Programs are numbered, so that every run takes the same ones: at most $SOAC_PROPERTY_PROGRAMS (2000) in at most
$SOAC_PROPERTY_SECONDS (55). Printed are how many there were, how often each rule has fired, and how common each
feature of programs was. `python -m tests.property.soak` runs more.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from soac.flatten import flatten as flatten_module
from soac.flatten.flatten import RULES, RuleFunction, flatten_traced
from soac.flatten.levels import CUDA, Mode
from soac.flatten.rules_map import map_rule
from soac.flatten.trace import Rule
from soac.flatten.tree import combinations, sites
from soac.ir.interpret import Thresholds, prepare
from tests.property.features import Feature, features
from tests.property.generate import Case, cases
from tests.property.law import Tally, agree, check_law, run
from tests.property.soak import FUSION, Found, program, run_part, table

PROGRAMS = int(os.environ.get("SOAC_PROPERTY_PROGRAMS", "2000"))
SECONDS = float(os.environ.get("SOAC_PROPERTY_SECONDS", "55"))
SEED = 0
PART = 20
ENOUGH = 300
"""From so many programs on every rule must have fired."""
NONUNIFORM = {Rule.VARYING_IF, Rule.VARYING_LOOP, Rule.FLAT_SCATTER}
"""Rare here; `test_irregular.py` makes programs for them, and asks that they fire."""

ACCEPTED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example),
)


def test_every_version_means_the_same() -> None:
    tally, found = share(PROGRAMS, SECONDS)
    print(f"\n{tally.programs} programs, {tally.leaves} versions, {tally.skipped} left out\n{table(tally)}")
    assert not found, "\n".join(f"program {one.number}, {one.path}: {one.message}" for one in found)
    if tally.programs >= ENOUGH:
        assert not [rule.value for rule in Rule if tally.fired[rule] == 0 and rule not in NONUNIFORM]
        assert not [name for name in FUSION if tally.fused[name] == 0]


def share(programs: int, seconds: float) -> tuple[Tally, list[Found]]:
    """As many of the first programs as there is time for, in two processes."""
    end = time.monotonic() + seconds
    tally, found = Tally(), []
    parts = iter([range(first, min(first + PART, programs)) for first in range(0, programs, PART)])
    with ProcessPoolExecutor(2) as pool:
        running = [pool.submit(run_part, SEED, part, False) for part in (next(parts), next(parts))]
        while running:
            some, broken = running.pop(0).result()
            tally.add(some)
            found += broken
            if time.monotonic() < end and (part := next(parts, None)) is not None:
                running.append(pool.submit(run_part, SEED, part, False))
    return tally, found


def test_programs_have_all_features() -> None:
    count = 400
    found: Counter[Feature] = Counter()
    for number in range(count):
        found.update(features(program(SEED, number)))
    for feature in Feature:
        print(f"{100 * found[feature] / count:6.1f} %  {feature.value}")
    assert not [feature.value for feature in Feature if found[feature] < 0.05 * count]


@settings(ACCEPTED, max_examples=15)
@given(cases())
def test_the_law_on_examples_of_hypothesis(case: Case) -> None:
    for mode in Mode:
        check_law(case, mode)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_alone_keeps_meaning(rule: RuleFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one rule beside that for maps, and with all rules but one, programs mean what they mean."""
    for rules in (dict.fromkeys((map_rule, rule)), [other for other in RULES if other is not rule]):
        monkeypatch.setattr(flatten_module, "RULES", tuple(rules))
        for number in range(8):
            assert_flattened_agrees(program(SEED, number))


def assert_flattened_agrees(case: Case) -> None:
    expected = run(prepare(case.prog), case, Thresholds())[0]
    prog = flatten_traced(case.prog, Mode.FULL, CUDA).prog
    prepared = prepare(prog)
    for leaf in combinations(sites(prog)):
        assert agree(expected, run(prepared, case, Thresholds(forced=leaf))[0])
