"""The law of the project, on random programs: every pass and every version gives what the core program gives.

    interpret(core) == interpret(fused) == interpret(flat, any leaves)

and the law of failure: where core fails, a version fails or succeeds. All values are exact. The number of programs is
300, or $SOAC_PROPERTY_PROGRAMS; a table says how often each rule has fired.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from soac.flatten.flatten import flatten_traced
from soac.flatten.fuse import fuse
from soac.flatten.inline import inline
from soac.flatten.levels import CUDA, Mode
from soac.flatten.simplify import simplify
from soac.flatten.trace import Rule
from soac.flatten.tree import combinations, sites
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.show import show
from tests.property.generate import Case, cases

# Hypothesis repeats itself now and then: half as many again are drawn.
PROGRAMS = int(os.environ.get("SOAC_PROPERTY_PROGRAMS", "300"))
MOST_LEAVES = 8
RARE = {Rule.G0, Rule.SEQ_OUTER}
"""Rules that random programs do not reach: G0 leaves no trace, the other needs an attribute."""

Results = list | None
"""None where the program fails."""

ACCEPTED = settings(
    max_examples=PROGRAMS * 3 // 2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example),
)


def results_of(prog: Prog, case: Case, leaf: dict[str, bool]) -> Results:
    try:
        return prepare(prog).run("main", case.args, Thresholds(forced=leaf))[0]
    except RunError:
        return None


def agree(expected: Results, found: Results) -> bool:
    """Equal values; if the program fails, failure or success."""
    if expected is None:
        return True
    return found is not None and all(np.array_equal(x, y) for x, y in zip(expected, found, strict=True))


def assert_agrees(what: str, expected: Results, case: Case, prog: Prog, leaf: dict[str, bool]) -> None:
    found = results_of(prog, case, leaf)
    assert agree(expected, found), f"{what} {leaf}\n{expected}\n{found}\n{case.args}\n{show(case.prog)}\n{show(prog)}"


def assert_versions_agree(what: str, expected: Results, case: Case, prog: Prog) -> None:
    check(prog, Stage.FLAT)
    for leaf in combinations(sites(prog))[:MOST_LEAVES]:
        assert_agrees(what, expected, case, prog, leaf)


def test_every_version_means_the_same() -> None:
    fired: Counter[Rule] = Counter()
    programs, different = 0, set()

    @ACCEPTED
    @given(cases())
    def law(case: Case) -> None:
        nonlocal programs
        programs += 1
        different.add(hash(show(case.prog)))
        check(case.prog, Stage.CORE)
        expected = results_of(case.prog, case, {})
        fused = simplify(fuse(simplify(inline(case.prog))))
        check(fused, Stage.CORE)
        assert_agrees("fused", expected, case, fused, {})
        mode = list(Mode)[programs % 3]
        for source in (case.prog, fused):
            done = flatten_traced(source, mode, CUDA)
            fired.update(step.rule for step in done.trail)
            assert_versions_agree(f"flat {mode.value}", expected, case, done.prog)
        assert_versions_agree(f"simplified flat {mode.value}", expected, case, simplify(done.prog))

    law()
    print(f"\n{programs} programs, {len(different)} different")
    for rule in Rule:
        print(f"  {fired[rule]:6d}  {rule.value}")
    if programs >= 300:
        assert not [rule for rule in Rule if fired[rule] == 0 and rule not in RARE]
