"""Conditions as trees, and branches on them that a processor foresees.

    condition ::= True | False | [not] test | condition and .. | condition or ..

Negations are on tests alone. An order of pairs is written so that equal first parts need no test of their own, and a
place that is none with one that is less than a count (which is not negative) is one comparison without signs:

    x > y or (x = y and c)        ⟶  x >= y and (c or x > y)
    i < 0 or (not (i < j) and c)  ⟶  not (u i < u j) and (i < 0 or c)

What is mostly so for the largest of a stream, x >= y and i < j, is then two branches, whether there are ties or not.
"""

from __future__ import annotations

from itertools import permutations

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from .kernel_builder import Builder, Operand

OR_EQUAL = {Op.LT: Op.LE, Op.GT: Op.GE}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`[not] op x y`. A comparison of floats and its negation are apart: neither holds for NaN."""

    op: Op
    prim: Prim
    args: tuple[Operand, ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class Given:
    """`[not] x`"""

    x: kir.KVar
    holds: bool


@dataclass(frozen=True, slots=True)
class All:
    """`x and y and ..`"""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """`x or y or ..`"""

    terms: tuple[Condition, ...]


Condition = bool | Comparison | Given | All | Any


def given(x: Operand) -> Condition:
    """A bool as a condition; a constant is known."""
    return bool(x.value) if isinstance(x, Const) else Given(x, True)


def negated(c: Condition) -> Condition:
    """The condition that holds where this one does not, by De Morgan's laws."""
    match c:
        case bool():
            return not c
        case Comparison(op, prim, args, holds):
            return Comparison(op, prim, args, not holds)
        case Given(x, holds):
            return Given(x, not holds)
        case All(terms):
            return Any(tuple(map(negated, terms)))
        case Any(terms):
            return All(tuple(map(negated, terms)))


def every(*terms: Condition) -> Condition:
    """All of the terms: flat, without repetitions and without those that always hold."""
    flat = dict.fromkeys(t for term in terms for t in (term.terms if isinstance(term, All) else (term,)))
    kept = tuple(t for t in flat if t is not True)
    if False in kept:
        return False
    return True if not kept else kept[0] if len(kept) == 1 else All(kept)


def some(*terms: Condition) -> Condition:
    """One of the terms: flat, without repetitions and without those that never hold."""
    flat = dict.fromkeys(t for term in terms for t in (term.terms if isinstance(term, Any) else (term,)))
    kept = tuple(t for t in flat if t is not False)
    if True in kept:
        return True
    return False if not kept else kept[0] if len(kept) == 1 else Any(kept)


def chosen(test: Condition, x: Condition, y: Condition) -> Condition:
    """`if test then x else y`"""
    match x, y:
        case _ if x == y:
            return x
        case (True, _) | (_, False):
            return some(test, y) if x is True else every(test, x)
        case (False, _) | (_, True):
            return every(negated(test), y) if x is False else some(negated(test), x)
        case _:
            return some(every(test, x), every(negated(test), y))


# ---- rules --------------------------------------------------------------------------------------------------------


def in_order(c: Condition, counts: frozenset[Operand]) -> Condition:
    """By the two rules, and by their duals for `and`. `counts` are not negative."""
    match c:
        case Any(terms) | All(terms):
            as_it_is = _same if isinstance(c, Any) else negated
            whole = some(*(as_it_is(in_order(t, counts)) for t in terms))
            parts = whole.terms if isinstance(whole, Any) else ()
            for x, y in permutations(parts, 2):
                made = of_pairs(x, y) or of_places(x, y, counts)
                if made is not None:
                    return in_order(as_it_is(some(*(t for t in parts if t not in (x, y)), made)), counts)
            return as_it_is(whole)
        case _:
            return c


def _same(c: Condition) -> Condition:
    return c


def of_pairs(beyond: Condition, rest: Condition) -> Condition | None:
    """`x > y or (x = y and c)  ⟶  x >= y and (c or x > y)`, for `<` too; None where the condition is not of that
    form."""
    match beyond, rest:
        case Comparison(op, prim, args, True), All((Comparison(Op.EQ, other, same, True), *others)) if (
            op in OR_EQUAL and prim is other and same in (args, args[::-1])
        ):
            return every(Comparison(OR_EQUAL[op], prim, args, True), some(every(*others), beyond))
        case _:
            return None


def of_places(none: Condition, rest: Condition, counts: frozenset[Operand]) -> Condition | None:
    """`i < 0 or (not (i < j) and c)  ⟶  not (u i < u j) and (i < 0 or c)` where j is one of `counts`; None where the
    condition is not of that form."""
    match none, rest:
        case Comparison(Op.LT, Prim.I64, (i, zero), True), All(terms) if zero == i64(0):
            for term in terms:
                match term:
                    case Comparison(Op.LT, Prim.I64, (place, j), False) if place == i and j in counts:
                        others = every(*(t for t in terms if t != term))
                        return every(Comparison(Op.LT, Prim.U64, (i, j), False), some(none, others))
                    case _:
                        pass
            return None
        case _:
            return None


# ---- code ---------------------------------------------------------------------------------------------------------


def emitted(b: Builder, c: Condition) -> Operand:
    """As a value."""
    match c:
        case bool():
            return Const(Prim.BOOL, c)
        case Comparison(op, prim, args, holds):
            operands = (x if x.prim is prim else b.let("u", prim, kir.KConvert(x.prim, prim, x)) for x in args)
            return _signed(b, b.op(op, prim, *operands), holds)
        case Given(x, holds):
            return _signed(b, x, holds)
        case All(terms) | Any(terms):
            first, *others = (emitted(b, t) for t in terms)
            for other in others:
                first = b.op(Op.AND if isinstance(c, All) else Op.OR, Prim.BOOL, first, other)
            return first


def _signed(b: Builder, x: Operand, holds: bool) -> Operand:
    return x if holds else b.op(Op.NOT, Prim.BOOL, x)


def branches(b: Builder, c: Condition, then: tuple[kir.KStm, ...]) -> None:
    """`if c then ..` as a branch for each test; `then` is code that may be there more than once."""
    match c:
        case All((first, *others)):
            with b.nested() as inner:
                branches(b, every(*others), then)
            branches(b, first, tuple(inner))
        case Any((first, *others)):
            with b.nested() as inner:
                branches(b, some(*others), then)
            b.emit(kir.KIf(emitted(b, first), then, tuple(inner)))
        case _:
            b.emit(kir.KIf(emitted(b, c), then, ()))
