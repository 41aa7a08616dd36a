"""Between which numbers the integers of a kernel lie, a fixpoint over loops and operators.

    elements of u8 lie in 0..255    x % c in 0..c-1    x + y in the sum of both, if no value of the type is passed
    an operator's operands          where its results and what is taken in lie

What still grows after some rounds may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...ir.ops import COMPARISONS, COUNTS, PREDICATES, Op
from ...ir.scalar import int_range
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KConvert, KLambda, KLet, KLoad, KOp, KStm, KVar, Operand, Rhs
from ..kernel_ir.traverse import all_statements, bound, bound_inside, children, names, operators

Interval = tuple[int, int]
"""The least and the greatest value."""

ROUNDS = 4
"""Rounds until what grows may be anything."""


def range_of(prim: Prim) -> Interval:
    """All values of an integer type, or of bool."""
    return (0, 1) if prim is Prim.BOOL else int_range(prim)


def find_intervals(stms: tuple[KStm, ...], assumed: Mapping[str, Interval] | None = None) -> Mapping[str, Interval]:
    """Of the integer variables of a kernel's body; those that are missing may be anything. `assumed`: of variables from
    outside, what is to be taken for granted."""
    finder = _Finder(frozenset(name for stm in all_statements(stms) for name in names(*_made(stm))), assumed or {})
    while True:
        finder.changed = False
        finder.statements(stms)
        finder.rounds += 1
        if not finder.changed:
            return finder.found


def _made(stm: KStm) -> tuple[KVar, ...]:
    operands = (var for op in operators(stm) for var in (*op.left, *op.right))
    return (*bound(stm), *bound_inside(stm), *operands)


class _Finder:
    """`made`: the variables of the body, others may be anything; `found`: what has been seen of them, wide where it
    still grows after `ROUNDS`."""

    def __init__(self, made: frozenset[str], assumed: Mapping[str, Interval]) -> None:
        self.made = made
        self.assumed = assumed
        self.found: dict[str, Interval] = {}
        self.changed = False
        self.rounds = 0

    def of(self, x: Operand) -> Interval | None:
        """None: no value has been seen, or it is no integer."""
        if not _is_whole(x.prim):
            return None
        if isinstance(x, Const):
            return int(x.value), int(x.value)
        return self.found.get(x.name) if x.name in self.made else self.assumed.get(x.name, range_of(x.prim))

    def put(self, var: KVar, interval: Interval | None) -> None:
        """A value that a variable may have besides those seen."""
        if interval is None or not _is_whole(var.prim):
            return
        before = self.found.get(var.name)
        after = interval if before is None else (min(before[0], interval[0]), max(before[1], interval[1]))
        if after != before:
            self.found[var.name] = after if self.rounds < ROUNDS else range_of(var.prim)
            self.changed = True

    def statements(self, stms: Iterable[KStm]) -> None:
        for stm in stms:
            self.statement(stm)

    def statement(self, stm: KStm) -> None:
        match stm:
            case KLet(var, rhs):
                self.put(var, self.value(rhs) if _is_whole(var.prim) else None)
            case kir.Declare(var, value) | kir.Assign(var, value):
                self.put(var, self.of(value))
            case kir.BlockReduce(outs=outs, index=index, body=body, neutral=neutral, values=values):
                self.anything((index,))
                self.statements(body)
                for op in operators(stm):
                    self.operator(op, outs, (neutral, values, op.results))
            case _:
                self.anything(_made(stm))
                for inner in (*children(stm), *(op.body for op in operators(stm))):
                    self.statements(inner)

    def anything(self, variables: Iterable[KVar]) -> None:
        for var in variables:
            self.put(var, range_of(var.prim) if _is_whole(var.prim) else None)

    def operator(self, op: KLambda, outs: tuple[KVar, ...], sources: tuple[tuple[Operand, ...], ...]) -> None:
        """Its operands, and what it gives, are neutral elements, values and results."""
        self.statements(op.body)
        for column in sources:
            for x, y, out, source in zip(op.left, op.right, outs, column, strict=True):
                for var in (x, y, out):
                    self.put(var, self.of(source))

    def value(self, rhs: Rhs) -> Interval | None:
        """The interval of a right-hand side that is an integer or a bool; None where an operand has not been seen."""
        match rhs:
            case KLoad(array, _):
                return range_of(array.prim)
            case KConvert(source, target, x) if _is_whole(source):
                known = self.of(x)
                return known and fitted(known, target)
            case KConvert(_, target, _):
                return range_of(target)
            case KOp(op, prim, args) if _is_whole(prim):
                known = [self.of(x) for x in args]
                if any(one is None for one in known):
                    return None
                return of_operation(op, prim, [one for one in known if one is not None])
            case KOp(op, prim, _):
                return range_of(Prim.BOOL if op in COMPARISONS or op in PREDICATES else prim)
            case kir.KAligned():
                return range_of(Prim.BOOL)


def _is_whole(prim: Prim) -> bool:
    return prim.is_int or prim is Prim.BOOL


def fitted(interval: Interval, prim: Prim) -> Interval:
    """An interval of exact numbers as those of a type, which may wrap."""
    least, greatest = range_of(prim)
    return interval if least <= interval[0] and interval[1] <= greatest else (least, greatest)


def of_operation(op: Op, prim: Prim, args: list[Interval]) -> Interval:
    """The values of an operation at an integer type."""
    if op in COMPARISONS or op in PREDICATES:
        return 0, 1
    if op in COUNTS:
        return 0, prim.bits
    return fitted(_exact(op, prim, args), prim)


def _exact(op: Op, prim: Prim, args: list[Interval]) -> Interval:
    match op, args:
        case Op.ADD, [(a, b), (c, d)]:
            return a + c, b + d
        case Op.SUB, [(a, b), (c, d)]:
            return a - d, b - c
        case Op.MUL, [(a, b), (c, d)]:
            products = a * c, a * d, b * c, b * d
            return min(products), max(products)
        case Op.MIN, [(a, b), (c, d)]:
            return min(a, c), min(b, d)
        case Op.MAX, [(a, b), (c, d)]:
            return max(a, c), max(b, d)
        case Op.SELECT, [_, (a, b), (c, d)]:
            return min(a, c), max(b, d)
        case ((Op.MOD | Op.REM), [(a, _), (c, d)]) if c > 0 and (a >= 0 or op is Op.MOD):
            return 0, d - 1
        case ((Op.DIV | Op.QUOT), [(a, b), (c, d)]) if a >= 0 and c > 0:
            return a // d, b // c
        case Op.AND, [(a, b), (c, d)] if a >= 0 or c >= 0:
            return 0, min(y for x, y in args if x >= 0)
        case ((Op.OR | Op.XOR), [(a, b), (c, d)]) if a >= 0 and c >= 0:
            return 0, (1 << max(b, d).bit_length()) - 1
        case ((Op.SHR | Op.USHR), [(a, b), (c, d)]) if a >= 0 and 0 <= c == d < prim.bits:
            return a >> c, b >> c
        case Op.SHL, [(a, b), (c, d)] if a >= 0 and 0 <= c == d < prim.bits:
            return a << c, b << c
        case _:
            return range_of(prim)
