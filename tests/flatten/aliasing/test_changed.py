"""Bounds of the points that a map changes: all of these are inside, and of intervals of one index they are the ends."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import pytest

from soac.flatten.aliasing.changed import Box, Changes, folded
from soac.ir.core import Body, Copied, Exp, If, Param, PrimOp, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64

X, Y, M, OLD, NEW = Name("x", 1), Name("y", 2), Name("m", 3), Name("old", 4), Name("new", 5)
"""The indices of a point, a size, the elements of before and behind."""

OPS: dict[Op, Callable[[int, int], bool]] = {
    Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt,
    Op.GE: operator.ge, Op.EQ: operator.eq, Op.NE: operator.ne,
}  # fmt: skip
INDICES = range(-3, 5)
"""Of x; where m is 0."""


class Code:
    """The code of a point."""

    def __init__(self) -> None:
        self.defined: dict[Name, Stm] = {}

    def let(self, exp: Exp, type_: Type = BOOL) -> Var:
        name = Name("v", 100 + len(self.defined))
        self.defined[name] = Stm((Param(name, type_),), exp, (), (), NOWHERE)
        return Var(name)

    def compared(self, op: Op, c: int, side: str, base: Atom) -> Var:
        """x op base + c, x + 1 op base + c, or base + c op x"""
        bound = self.let(PrimOp(Op.ADD, Prim.I64, (base, i64(c))), I64)
        if side == "right":
            return self.let(PrimOp(op, Prim.I64, (bound, Var(X))))
        index = Var(X) if side == "left" else self.let(PrimOp(Op.ADD, Prim.I64, (Var(X), i64(1))), I64)
        return self.let(PrimOp(op, Prim.I64, (index, bound)))

    def changes(self) -> Changes:
        return Changes((X, Y), self.defined, {*self.defined}, {M}, lambda atom: atom == Var(OLD))


def holds(op: Op, c: int, side: str) -> list[bool]:
    """At each index, what `compared` is there."""
    return [OPS[op](c, i) if side == "right" else OPS[op](i + (side == "next"), c) for i in INDICES]


def ends_of(box: Box) -> tuple[int, int]:
    """The least index x of a box, and the first that is too large; those of INDICES where there is none."""
    (low, high), other = box.dims
    assert other == (None, None)
    return INDICES.start if low is None else low.get(None, 0), INDICES.stop if high is None else high.get(None, 0)


CONDITIONS = [(op, c, side) for op in OPS for c in (0, 2) for side in ("left", "next", "right")]


@pytest.mark.parametrize("base", [i64(0), Var(M)], ids=str)
@pytest.mark.parametrize("join", [Op.AND, Op.OR])
@pytest.mark.parametrize("is_old_first", [True, False])
def test_two_conditions(base: Atom, join: Op, is_old_first: bool) -> None:
    """Also negated. Of intervals, in whatever order they lie, the box is the least one."""
    joined = operator.and_ if join is Op.AND else operator.or_
    for first, second, negated in itertools.product(CONDITIONS, CONDITIONS[::11], (False, True)):
        code = Code()
        cond = code.let(PrimOp(join, Prim.BOOL, (code.compared(*first, base), code.compared(*second, base))))
        cond = code.let(Copied(code.let(PrimOp(Op.NOT, Prim.BOOL, (cond,))))) if negated else cond
        sides = (Var(OLD), Var(NEW)) if is_old_first else (Var(NEW), Var(OLD))
        box = code.changes().box(code.let(PrimOp(Op.SELECT, Prim.I64, (cond, *sides)), I64))
        both = [joined(x, y) != negated for x, y in zip(holds(*first), holds(*second), strict=True)]
        points = [i for i, so in zip(INDICES, both, strict=True) if so != is_old_first]
        if points:
            assert box is not None
            low, high = ends_of(box)
            assert low <= points[0] <= points[-1] < high
            if not {first[0], second[0]} & {Op.EQ, Op.NE}:
                assert (low, high) == (points[0], points[-1] + 1)


@pytest.mark.parametrize("first", CONDITIONS, ids=str)
def test_what_holds_at_all_points_of_a_box_is_a_constant(first: tuple[Op, int, str]) -> None:
    for low, high in itertools.combinations(INDICES, 2):
        code = Code()
        cond = code.compared(*first, i64(0))
        stm = code.defined[cond.name]
        made = folded(code.changes(), stm, Box((({None: low}, {None: high}), (None, None))))
        found = set(holds(*first)[low - INDICES.start : high - INDICES.start])
        is_constant = len(found) == 1 and first[0] not in (Op.EQ, Op.NE)
        assert made.exp == (Copied(Const(Prim.BOOL, found.pop())) if is_constant else stm.exp)


P, ALL = Name("p", 6), ((None, None), (None, None))
FAR = i64(1 << 33)


def less(code: Code, x: Atom, y: Atom) -> Var:
    return code.let(PrimOp(Op.LT, Prim.I64, (x, y)))


def computed(code: Code, op: Op, x: Atom, y: Atom) -> Var:
    return code.let(PrimOp(op, Prim.I64, (x, y)), I64)


def branch(code: Code, cond: Atom, *sides: tuple[Atom, Atom]) -> list[Var]:
    """The results of an if."""
    names = [Name("b", 200 + k) for k in range(len(sides))]
    exp = If(cond, Body((), tuple(x for x, _ in sides)), Body((), tuple(y for _, y in sides)))
    stm = Stm(tuple(Param(name, I64) for name in names), exp, (), (), NOWHERE)
    code.defined |= dict.fromkeys(names, stm)
    return list(map(Var, names))


CONDITIONS_ALONE: dict[str, tuple[Callable[[Code], Atom], tuple]] = {
    "x < p": (lambda code: less(code, Var(X), Var(P)), ((None, {P: 1}), (None, None))),
    "y < m": (lambda code: less(code, Var(Y), Var(M)), ((None, None), (None, {M: 1}))),
    "x < m + 1": (
        lambda code: less(code, Var(X), computed(code, Op.ADD, Var(M), i64(1))), ((None, {M: 1, None: 1}), ALL[0]),
    ),
    "x < p + 1, which may overflow": (lambda code: less(code, Var(X), computed(code, Op.ADD, Var(P), i64(1))), ALL),
    "x < something of the point": (lambda code: less(code, Var(X), computed(code, Op.MUL, Var(P), Var(X))), ALL),
    "x < y": (lambda code: less(code, Var(X), Var(Y)), ALL),
    "2 * x < 3": (lambda code: less(code, computed(code, Op.MUL, Var(X), i64(2)), i64(3)), ALL),
    "x + y < 3": (lambda code: less(code, computed(code, Op.ADD, Var(X), Var(Y)), i64(3)), ALL),
    "p < 3": (lambda code: less(code, Var(P), i64(3)), ALL),
    "x < far away": (lambda code: less(code, Var(X), FAR), ALL),
    "x + far away < 3": (lambda code: less(code, computed(code, Op.ADD, Var(X), FAR), i64(3)), ALL),
    "in 32 bits": (lambda code: code.let(PrimOp(Op.LT, Prim.I32, (Var(X), i64(3)))), ALL),
    "a sum": (lambda code: code.let(PrimOp(Op.ADD, Prim.I64, (Var(X), i64(3)))), ALL),
    "unknown": (lambda code: Var(Name("c", 7)), ALL),
    "true": (lambda code: Const(Prim.BOOL, True), ALL),
    "x < p or x < m": (
        lambda code: code.let(PrimOp(Op.OR, Prim.BOOL, (less(code, Var(X), Var(P)), less(code, Var(X), Var(M))))), ALL,
    ),
    "x < p and x < m": (
        lambda code: code.let(PrimOp(Op.AND, Prim.BOOL, (less(code, Var(X), Var(P)), less(code, Var(X), Var(M))))),
        ((None, {P: 1}), (None, None)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS_ALONE)
def test_one_condition(name: str) -> None:
    make, expected = CONDITIONS_ALONE[name]
    code = Code()
    result = code.let(PrimOp(Op.SELECT, Prim.I64, (make(code), Var(NEW), Var(OLD))), I64)
    box = code.changes().box(code.let(Copied(result), I64))
    assert box is not None
    assert box.dims == expected


def test_the_result_of_a_branch() -> None:
    code = Code()
    first, second, third = branch(
        code, less(code, Var(X), i64(3)), (Var(NEW), Var(OLD)), (Var(OLD), Var(NEW)), (Var(OLD), Var(OLD))
    )
    changes = code.changes()
    assert changes.box(first) == Box(((None, {None: 3}), (None, None)))
    assert changes.box(second) == Box((({None: 3}, None), (None, None)))
    assert changes.box(third) is changes.box(Var(OLD)) is None
    assert changes.box(Var(NEW)) == changes.box(i64(0)) == Box(ALL)


def test_changes_on_both_sides() -> None:
    code, unknown = Code(), Var(Name("c", 7))
    low, high, none = (
        code.let(PrimOp(Op.SELECT, Prim.I64, (less(code, *pair), Var(NEW), Var(OLD))), I64)
        for pair in ((Var(X), i64(3)), (Var(X), i64(8)), (Var(X), Var(P)))
    )
    for (x, y), last in {(low, high): {None: 8}, (high, low): {None: 8}, (low, none): None}.items():
        both = code.let(PrimOp(Op.SELECT, Prim.I64, (unknown, x, y)), I64)
        assert code.changes().box(both) == Box(((None, last), (None, None)))


def test_what_is_old_is_not_looked_into() -> None:
    """Here a branch gives the element, whatever else is known of it."""
    code = Code()
    (made,) = branch(code, less(code, Var(X), i64(3)), (Var(NEW), Var(OLD)))
    assert Changes((X, Y), code.defined, (), (), lambda atom: atom == made).box(made) is None
