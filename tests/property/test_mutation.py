"""Mutants and faults by hand are changes of the sources as they are; their tools need no package of their own here."""

from __future__ import annotations

import tomllib

import pytest

from tests.support.mutation.equivalent import EQUIVALENT, Equivalent
from tests.support.mutation.mutants import differs, mutants_of
from tests.support.mutation.scores import interval, together
from tests.support.property.faults import ROOT

SOURCE = '''
def covers(xs: list[int], perm: tuple[int, ...], op: Op) -> bool:
    """Left alone: texts, types, assertions, what is raised."""
    assert len(xs) > 1
    if not xs and op is Op.MIN:
        raise ValueError(1 + 2)
    rest = [xs[k] for k in perm][1:len(xs)]
    for k in range(len(rest)):
        match rest[k]:
            case 0 if min(k, 2) < 1:
                return is_zero(k)
            case _:
                rest.append((*xs, k))
    return False
'''

KINDS = {
    "and, or", "answer inverted", "case left out", "comparison", "condition dropped", "constant", "element left out",
    "guard dropped", "inverse permutation", "one short", "operation", "statement left out",
}  # fmt: skip


def test_every_kind_is_another_program() -> None:
    found = mutants_of("file.py", SOURCE)
    assert {mutant.kind for mutant in found} == KINDS
    texts = [mutant.applied(SOURCE.encode()) for mutant in found if differs(mutant, SOURCE.encode())]
    assert len(texts) == len(set(texts))
    spared = ("Left alone", "list[int]", "assert len(xs) > 1", "raise ValueError(1 + 2)")
    assert all(part.encode() in text for text in texts for part in spared)


def test_faults_by_hand_have_their_places() -> None:
    listed = (ROOT / "tests" / "support" / "mutation" / "planted.toml").read_text(encoding="utf-8")
    faults = tomllib.loads(listed)["fault"]
    assert len(faults) >= 60
    for fault in faults:
        assert (ROOT / fault["file"]).read_text(encoding="utf-8").count(fault["old"]) == 1, fault["kind"]


@pytest.mark.parametrize("one", EQUIVALENT, ids=lambda one: one.new)
def test_what_changes_nothing_is_still_there(one: Equivalent) -> None:
    assert one.old in (ROOT / one.file).read_text(encoding="utf-8")


def test_an_interval_of_a_share() -> None:
    low, high = interval(90, 100)
    assert (round(low, 4), round(high, 4)) == (0.8256, 0.9448)
    assert interval(0, 0) == (0.0, 1.0)
    assert together([(1.0, 90, 100)]) == pytest.approx((0.9, low, high))
    assert together([(0.5, 10, 10), (0.5, 10, 10)])[0] == 1.0
