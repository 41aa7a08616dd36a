"""Between which numbers the integers of a kernel lie, a fixpoint over loops and operators.

    elements of u8 lie in 0..255    x % c in 0..c-1    x + y in the sum of both, if no value of the type is passed
    an operator's operands          where its results and what is taken in lie
    an index                        from the first number to the one before the end
    sums                            what is begun with, and what is added, as often as there are turns or elements

What else still grows after some rounds may be anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import field
from math import prod

from ...ir.ops import COMPARISONS, COUNTS, PREDICATES, Op
from ...ir.records import dataclass
from ...ir.scalar import int_range
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KConvert, KLambda, KLet, KLoad, KOp, KStm, KVar, Operand, Rhs
from ..kernel_ir.traverse import all_statements, bound, bound_inside, children, names, operators

Interval = tuple[int, int]
"""The least and the greatest value."""

ROUNDS = 4
"""Rounds until what grows may be anything."""
DEEP = 8
"""How many choices and copies a value is followed through."""
ENDLESS = 1 << 64
"""Turns of a loop whose end is not known."""


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


@dataclass(slots=True)
class _Sum:
    """A variable that is assigned: how many loops are around it, its values that are no sums of it, and what is added
    by each statement in all."""

    depth: int
    begun: Interval | None = None
    added: dict[int, Interval] = field(default_factory=dict)


class _Finder:
    """`made`: the variables of the body, others may be anything; `found`: what has been seen of them, wide where it
    still grows after `ROUNDS`; `sources`: what they are made of; `turns`: the most of each loop around a statement;
    `partial`: sums of elements, which are no larger than all of these together."""

    def __init__(self, made: frozenset[str], assumed: Mapping[str, Interval]) -> None:
        self.made = made
        self.assumed = assumed
        self.found: dict[str, Interval] = {}
        self.changed = False
        self.rounds = 0
        self.sources: dict[Operand, dict[Rhs | Operand, None]] = {}
        self.turns: list[int] = []
        self.sums: dict[str, _Sum] = {}
        self.partial: set[str] = set()

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
        after = interval if before is None else _hull(before, interval)
        if after != before:
            self.found[var.name] = after if self.rounds < ROUNDS else range_of(var.prim)
            self.changed = True

    def statements(self, stms: Iterable[KStm]) -> None:
        for stm in stms:
            self.statement(stm)

    def statement(self, stm: KStm) -> None:
        match stm:
            case KLet(var, rhs):
                self.sources.setdefault(var, {})[rhs] = None
                if var.name not in self.partial and _is_whole(var.prim):
                    self.put(var, self.value(rhs))
            case kir.Declare(var, value):
                self.sources.setdefault(var, {})[value] = None
                sum_ = self.sums.setdefault(var.name, _Sum(len(self.turns)))
                sum_.begun = _hull(sum_.begun, self.of(value))
                self.put(var, self.of(value))
            case kir.Assign(var, value):
                self.sources.setdefault(var, {})[value] = None
                self.assign(stm)
            case kir.For(index=index, bound=bound):
                self.index(index, Const(bound.prim, 0), bound)
                known = self.of(index)
                self.loop(stm, known[1] + 1 if known is not None else 0)
            case kir.Threads(index=index, lo=lo, hi=hi, body=body):
                self.index(index, lo, hi)
                self.statements(body)
            case kir.BlockReduce(outs=outs, index=index, lo=lo, hi=hi, body=body):
                self.index(index, lo, hi)
                self.statements(body)
                for op in operators(stm):
                    self.operator(op, (outs,), (stm.neutral, stm.values), self.of(index))
            case kir.BlockScan(index=index, lo=lo, hi=hi, body=body, op=op, after=after):
                self.index(index, lo, hi)
                self.statements(body)
                outs = stm.scanned, stm.carry_out
                self.operator(op, outs, (stm.neutral, stm.values, stm.carry), self.of(index))
                self.statements(after)
            case kir.KWhile():
                self.loop(stm, ENDLESS)
            case _:
                self.anything(_made(stm))
                for inner in (*children(stm), *(op.body for op in operators(stm))):
                    self.statements(inner)

    def anything(self, variables: Iterable[KVar]) -> None:
        for var in variables:
            self.put(var, range_of(var.prim) if _is_whole(var.prim) else None)

    def index(self, var: KVar, lo: Operand, hi: Operand) -> None:
        first, end = self.of(lo), self.of(hi)
        if first is not None and end is not None:
            self.put(var, (first[0], max(first[0], end[1] - 1)))

    def loop(self, stm: KStm, turns: int) -> None:
        self.turns.append(turns)
        for inner in children(stm):
            self.statements(inner)
        self.turns.pop()

    def assign(self, stm: kir.Assign) -> None:
        """A value of a variable, or what is added to it in all turns of the loops that are younger than it."""
        var, sum_ = stm.var, self.sums.get(stm.var.name)
        if sum_ is None or not _is_whole(var.prim):
            self.put(var, self.of(stm.value))
            return
        added: Interval = 0, 0
        for source in self.choices(stm.value, {var}):
            addend = self.addend(source, var)
            if addend is not None:
                added = _hull(added, self.of(addend))
            elif source != var:
                seen = self.of(source) if isinstance(source, KVar | Const) else self.value(source)
                sum_.begun = _hull(sum_.begun, seen)
        count = prod(self.turns[sum_.depth :])
        sum_.added[id(stm)] = added[0] * count, added[1] * count
        if sum_.begun is not None:
            least, most = (sum(ends) for ends in zip(sum_.begun, *sum_.added.values(), strict=True))
            self.put(var, fitted((least, most), var.prim))

    def addend(self, source: Rhs | Operand, var: KVar) -> Operand | None:
        """What is added to a variable."""
        match source:
            case KOp(Op.ADD, _, (x, y)) if self.choices(x, {var}) == {var}:
                return y
            case KOp(Op.ADD, _, (x, y)) if self.choices(y, {var}) == {var}:
                return x
            case _:
                return None

    def choices(self, x: Operand, ends: Container[Operand], depth: int = DEEP) -> set[Rhs | Operand]:
        """What a value is one of, through copies and choices, up to some variables."""
        sources = self.sources.get(x)
        if x in ends or sources is None or not depth:
            return {x}
        found: set[Rhs | Operand] = set()
        for source in sources:
            match source:
                case KConvert(prim, target, arg) if prim is target:
                    found |= self.choices(arg, ends, depth - 1)
                case KOp(Op.SELECT, _, (_, y, z)) | KOp(Op.MIN | Op.MAX, _, (y, z)):
                    found |= self.choices(y, ends, depth - 1) | self.choices(z, ends, depth - 1)
                case KVar() | Const():
                    found |= self.choices(source, ends, depth - 1)
                case _:
                    found.add(source)
        return found

    def operator(
        self,
        op: KLambda,
        outs: tuple[tuple[KVar, ...], ...],
        taken: tuple[tuple[Operand, ...], ...],
        places: Interval | None,
    ) -> None:
        """Its operands, and what it gives, are neutral elements, what it takes in, and results."""
        self.statements(op.body)
        for k, (x, y) in enumerate(zip(op.left, op.right, strict=True)):
            if not _is_whole(x.prim):
                continue
            made, (neutral, value, *carry) = [x, y, *(out[k] for out in outs)], (each[k] for each in taken)
            sums = self.choices(op.results[k], {x, y}) - {x, y}
            if sums and neutral == Const(x.prim, 0) and all(_adds(rhs, {x, y}) for rhs in sums):
                made += [let.var for let in op.body if isinstance(let, KLet) and let.rhs in sums]
                self.partial |= names(*made)
                count = places[1] - places[0] + 1 if places is not None else 0
                begun, added = (_hull(self.of(z), (0, 0)) for z in ((carry or [neutral])[0], value))
                found = [fitted((begun[0] + added[0] * count, begun[1] + added[1] * count), x.prim)]
            else:
                found = [self.of(z) for z in (neutral, value, *carry, op.results[k])]
            for var in made:
                for one in found:
                    self.put(var, one)

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


def _hull(x: Interval | None, y: Interval | None) -> Interval:
    """What holds both, of which one may not be known yet."""
    first, second = x or y or (0, 0), y or x or (0, 0)
    return min(first[0], second[0]), max(first[1], second[1])


def _adds(rhs: Rhs | Operand, operands: set[KVar]) -> bool:
    return isinstance(rhs, KOp) and rhs.op is Op.ADD and set(rhs.args) == operands


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
