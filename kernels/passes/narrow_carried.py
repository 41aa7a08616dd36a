"""Integers that lanes carry from element to element in i32, where they must fit: places and counts.

    threads i { var k: i64 = -1; for j < m { k := select c j k }; out[i] := k }
    ⟶  if 0 <= m <= 2^30 { threads i { var k': i32 = -1; for j < m { k' := select c (i32 j) k' }; out[i] := i64 k' } }
       else { as it was }

Sizes, indices and what programs make of them are i64, of which a vector has half as many as of f32 and i32, and which
AVX2 neither compares for the greater in one instruction nor converts to floats. So variables of loops over threads and
components of reductions and scans have a twin of i32 if all their values lie there (`analysis/intervals.py`) where the
sizes and numbers from outside are as assumed, which is asked before the loop. What is computed of twins alone is in
i32, too; all else reads them as i64 again. It is done where that takes fewer instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...ir.ops import COMPARISONS, Op
from ...ir.reachable import reachable
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval, find_intervals, range_of
from ..analysis.uniformity import Affine, Facts, find_facts
from ..kernel_ir import nodes as kir
from ..kernel_ir.counts import counted
from ..kernel_ir.dead_code import needed
from ..kernel_ir.kept_stores import kept_stores
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import (
    Assign,
    BlockReduce,
    BlockScan,
    Declare,
    For,
    KConvert,
    Kernel,
    KLambda,
    KLet,
    KOp,
    KStm,
    KVar,
    Operand,
    Rhs,
)
from ..kernel_ir.traverse import (
    Stms,
    all_statements,
    bound,
    children,
    defined,
    map_operands,
    mentions,
    names,
    operands,
    operands_inside,
    operators,
    rewritten,
    statements,
    with_children,
)
from .both_forms import in_both_forms
from .narrow_comparisons import MADE_ALIKE

NUMBERS = 1 << 30
"""Between what and the negative of that numbers from outside are, where loops are in the narrow form."""
SIZES = 1 << 30, 1 << 22
"""How large sizes and places are at most: with the first of these for which numbers fit, sums of larger ones with the
second."""
IN_LOOP, IN_OPERATOR = 8, 4
"""How many instructions one in a loop, or in an operator of lanes, counts as."""


def narrow_carried(kernel: Kernel) -> Kernel:
    """The kernel with such variables in i32; the same one where there are none, or lanes have elements of 64 bits."""
    if not any(map(_carries, all_statements(kernel.body))):
        return kernel
    facts = find_facts(kernel.body)
    if any(_is_wide(stm, facts) for stm in all_statements(kernel.body)):
        return kernel
    new = NewNames("w", exact=True)
    body = rewritten(kernel.body, lambda stm: _narrowed(stm, facts, new))
    return replace(kernel, body=body) if new.made else kernel


def _is_wide(stm: KStm, facts: Facts) -> bool:
    """Whether lanes have elements of 64 bits, or compute with such floats."""
    match stm:
        case KLet(var, KOp(_, Prim.F64, _) | KConvert(_, Prim.F64, _)):
            return facts.varies(var)
        case KLet(var, kir.KLoad(array, _)):
            return array.prim.bits > Prim.I32.bits and facts.varies(var)
        case _:
            return False


def _carries(stm: KStm) -> bool:
    """Whether a statement carries i64 that may be had in i32; what is counted by truth values is no vector."""
    match stm:
        case Assign(var, _):
            return var.prim is Prim.I64
        case BlockReduce(step=None):
            counts = counted(stm)
            return any(x.prim is Prim.I64 and k not in counts for k, x in enumerate(stm.op.left))
        case BlockScan():
            return any(x.prim is Prim.I64 for x in stm.op.left) and kept_stores(stm) is None
        case _:
            return False


def _narrowed(stm: KStm, facts: Facts, new: NewNames) -> Stms | None:
    """A loop or collective in both forms; None to look inside."""
    alone = isinstance(stm, kir.Threads | kir.PeeledThreads | BlockReduce | BlockScan)
    if not (alone or isinstance(stm, For)) or not any(map(_carries, all_statements((stm,)))):
        return (stm,) if alone else None
    for most in SIZES:
        region = _Region(stm, facts, new, most)
        if region.pays():
            return region.both()
    return (stm,) if alone else None


class _Region:
    """`assumed`: what i64 from outside are taken to be; `made`: what variables are made of; `twins`: the variables
    that lanes carry and that fit, and what is computed of them, as i32; `narrow`: the statement with these; `needed`:
    what is to be as assumed for that."""

    def __init__(self, stm: KStm, facts: Facts, new: NewNames, most: int) -> None:
        self.stm, self.facts, self.new = stm, facts, new
        every = tuple(all_statements((stm,)))
        own = {*defined(every), *names(*(x for s in every for op in operators(s) for x in (*op.left, *op.right)))}
        own |= {s.var.name for s in every if isinstance(s, Assign)}
        ends = names(*(x for s in every for x in _ends(s)))
        free = (x for x in mentions(stm) if isinstance(x, KVar) and x.prim is Prim.I64 and x.name not in own)
        self.assumed: dict[KVar, Interval] = {x: (0, most) if x.name in ends else (-NUMBERS, NUMBERS - 1) for x in free}
        self.intervals = find_intervals((stm,), {x.name: of for x, of in self.assumed.items()})
        self.mutable = frozenset(s.var for s in every if isinstance(s, Declare))
        self.components = tuple(x for s in every if isinstance(s, BlockReduce | BlockScan) for x in _components(s))
        self.made = _made(every)
        self.twins = self.find_twins(every)
        self.needed: dict[Operand, None] = {}
        self.relies_on(x for s in every if not isinstance(s, kir.Threads) for x in _ends(s))
        self.narrow = needed(self.statements((stm,)), {x.name for x in bound(stm)}) if self.twins else ()

    # ---- what fits ---------------------------------------------------------------------------------------------------

    def fits(self, x: Operand) -> bool:
        least, most = range_of(Prim.I32)
        known = self.intervals.get(x.name) or self.assumed.get(x) if isinstance(x, KVar) else (int(x.value),) * 2
        return x.prim is Prim.I64 and known is not None and least <= known[0] and known[1] <= most

    def find_twins(self, every: tuple[KStm, ...]) -> Mapping[KVar, KVar]:
        """The greatest set of varying variables that fit and are made of each other, of what does not vary and of
        indices; of these what is carried, and what it is made of or makes."""
        inside = {x for s in every for x in operands_inside(s) if x in self.mutable}
        near = self.mutable.union(self.components)
        fit = {x: of for x, of in self.made.items() if self.fits(x) and (x in near or self.is_gathered(x))}
        fit = {x: of for x, of in fit.items() if x not in inside}
        while lost := [x for x, values in fit.items() if not all(self.is_alike(v, fit) for v in values)]:
            for x in lost:
                del fit[x]
        beside: dict[KVar, dict[KVar, None]] = {x: {} for x in fit}
        for x, values in fit.items():
            for y in (y for value in values for y in _parts(value) if y in fit):
                beside[x][y] = None
                beside[y][x] = None
        pending = [*_carried(every), *self.components]
        found: dict[KVar, KVar] = {}
        while pending:
            x = pending.pop()
            if x in fit and x not in found:
                found[x] = self.new.name(x.name, Prim.I32)
                pending += beside[x]
        return found

    def relies_on(self, values: Iterable[Operand]) -> None:
        """What is computed of these is right where what they are made of is as assumed."""
        self.needed |= reachable(values, lambda x: [y for value in self.made.get(x, ()) for y in _parts(value)])

    def is_alike(self, value: Rhs | Operand | None, fit: Mapping[KVar, Any]) -> bool:
        """Whether a value can be made as it is, in i32."""
        match value:
            case KOp(op, Prim.I64, _):
                alike = op in MADE_ALIKE
            case KConvert(source, Prim.I64, _):
                if source is not Prim.I64:
                    return source is Prim.BOOL or source.is_int
                alike = True
            case _:
                alike = isinstance(value, Const | KVar)
        return alike and all(x in fit or (self.fits(x) and not self.is_gathered(x)) for x in _parts(value))

    def is_gathered(self, x: Operand) -> bool:
        """Whether bringing a value to i32 takes instructions for each vector."""
        return self.facts.varies(x) and not isinstance(self.facts.of(x), Affine)

    # ---- both forms --------------------------------------------------------------------------------------------------

    def pays(self) -> bool:
        return bool(self.twins) and self.cost(self.narrow) < self.cost((self.stm,))

    def cost(self, stms: Iterable[KStm]) -> int:
        """Instructions for a vector of twins, or for two of i64 with AVX2."""
        total = 0
        for stm in stms:
            if isinstance(stm, KLet) and isinstance(stm.rhs, KOp | KConvert):
                parts = stm.var, *operands(stm)
                if any(x.prim is Prim.I64 and self.is_gathered(x) for x in parts):
                    total += _instructions(stm.rhs)
                elif any(x in self.twins.values() for x in parts):
                    total += 1
            of = IN_LOOP if isinstance(stm, For) else 1
            total += of * sum(map(self.cost, children(stm)))
            total += IN_OPERATOR * sum(self.cost(op.body) for op in operators(stm))
        return total

    def both(self) -> Stms:
        """The narrow form where all is as assumed, else the statement as it was."""
        assumed = {x: interval for x, interval in self.assumed.items() if x in self.needed}
        return in_both_forms(self.new, assumed, self.narrow, self.stm)

    # ---- the narrow form ---------------------------------------------------------------------------------------------

    def statements(self, stms: Stms) -> Stms:
        return tuple(new for stm in stms for new in self.statement(stm))

    def statement(self, stm: KStm) -> Iterator[KStm]:
        before = list[KStm]()
        match stm:
            case KLet(var, KOp(op, prim, args, exact)) if var in self.twins:
                given = tuple(self.read(x, before) if x.prim is prim else x for x in args)
                yield from before
                yield KLet(self.twins[var], KOp(op, Prim.I32, given, exact))
                yield self.widened(var)
            case KLet(var, KConvert(source, _, x)) if var in self.twins:
                given = self.read(x, before) if source is Prim.I64 else x
                yield from before
                yield KLet(self.twins[var], KConvert(given.prim, Prim.I32, given))
                yield self.widened(var)
            case Declare(var, value) | Assign(var, value) if var in self.twins:
                given = self.read(value, before)
                yield from before
                yield type(stm)(self.twins[var], given)
            case KLet(var, KOp(op, Prim.I64, args)) if op in COMPARISONS and self.is_narrow(args):
                given = tuple(self.read(x, before) for x in args)
                yield from before
                yield KLet(var, KOp(op, Prim.I32, given))
            case KLet(var, KConvert(Prim.I64, target, x)) if x in self.twins:
                yield KLet(var, KConvert(Prim.I32, target, self.twins[x]))
            case BlockReduce() | BlockScan() if any(x in self.twins for x in stm.op.left):
                yield from self.collective(stm)
            case _:
                stm = map_operands(stm, lambda x: self.wide(x, before))
                yield from before
                yield with_children(stm, map(self.statements, children(stm)))

    def is_narrow(self, args: tuple[Operand, ...]) -> bool:
        """Whether what is compared is had in i32: a twin, and what costs nothing."""
        fits = (x in self.twins or (self.fits(x) and not self.is_gathered(x)) for x in args)
        return any(x in self.twins for x in args) and all(fits)

    def read(self, x: Operand, out: list[KStm]) -> Operand:
        """A number as i32."""
        if isinstance(x, Const):
            return Const(Prim.I32, x.value)
        if x in self.twins:
            return self.twins[x]
        self.relies_on([x])
        var = self.new.name(x.name, Prim.I32)
        out.append(KLet(var, KConvert(Prim.I64, Prim.I32, x)))
        return var

    def widened(self, var: KVar) -> KLet:
        return KLet(var, KConvert(Prim.I32, Prim.I64, self.twins[var]))

    def wide(self, x: Operand, out: list[KStm]) -> Operand:
        """What a variable that is assigned is now, as i64; others have a number beside their twin."""
        if x not in self.twins or x not in self.mutable:
            return x
        var = self.new.name(x.name, Prim.I64)
        out.append(KLet(var, KConvert(Prim.I32, Prim.I64, self.twins[x])))
        return var

    def collective(self, stm: Any) -> Iterator[KStm]:
        """A reduction or scan, some of whose components are twins."""
        before, body, behind = list[KStm](), list(self.statements(stm.body)), list[KStm]()
        places = [k for k, x in enumerate(stm.op.left) if x in self.twins]

        def each(xs: tuple[Operand, ...], out: list[KStm]) -> tuple[Operand, ...]:
            return tuple(self.read(x, out) if k in places else x for k, x in enumerate(xs))

        changes: dict[str, Any] = {"values": each(stm.values, body), "neutral": each(stm.neutral, before)}
        made = ("carry_out", "scanned") if isinstance(stm, BlockScan) else ("outs",)
        if isinstance(stm, BlockScan):
            changes["carry"] = each(stm.carry, before)
            head = [self.widened(stm.scanned[k]) for k in places]
            changes["after"] = (*head, *self.statements(stm.after))
        for name in made:
            changes[name] = tuple(self.twins.get(x, x) for x in getattr(stm, name))
        behind += [self.widened(getattr(stm, made[0])[k]) for k in places]
        yield from before
        yield replace(stm, body=tuple(body), op=self.operator(stm.op, places), **changes)
        yield from behind

    def operator(self, op: KLambda, places: list[int]) -> KLambda:
        left, right = (tuple(self.twins.get(x, x) for x in side) for side in (op.left, op.right))
        body: list[KStm] = [self.widened(side[k]) for side in (op.left, op.right) for k in places]
        body += self.statements(op.body)
        results = tuple(self.read(x, body) if k in places else x for k, x in enumerate(op.results))
        return KLambda(left, right, needed(tuple(body), {x.name for x in results if isinstance(x, KVar)}), results)


def _instructions(rhs: KOp | KConvert) -> int:
    """For two vectors of i64: choices take several, or truth values of 64 bits; so do numbers of other types."""
    match rhs:
        case KConvert(source, target, _) if source is target:
            return 0
        case KConvert(source, _, _) if source is not Prim.BOOL:
            return 8
        case KConvert() | KOp(Op.MIN | Op.MAX | Op.SELECT):
            return 4
        case _:
            return 2


def _ends(stm: KStm) -> tuple[Operand, ...]:
    """Where an index begins and ends."""
    match stm:
        case For(bound=end):
            return (end,)
        case kir.Threads(lo=lo, hi=hi) | BlockReduce(lo=lo, hi=hi) | BlockScan(lo=lo, hi=hi):
            return lo, hi
        case _:
            return ()


def _parts(value: Rhs | Operand | None) -> tuple[Operand, ...]:
    """The numbers that a value is made of."""
    match value:
        case KOp(Op.SELECT, _, (_, *parts)) | KOp(_, _, parts):
            return tuple(parts)
        case KConvert(_, _, x):
            return (x,)
        case Const() | KVar():
            return (value,)
        case _:
            return ()


def _made(every: Iterable[KStm]) -> Mapping[KVar, list[Rhs | Operand | None]]:
    """All that variables are made of, where that is a value; what an operator takes in and gives is one in each of its
    components."""
    made: dict[KVar, list[Rhs | Operand | None]] = {}
    for stm in every:
        match stm:
            case KLet(var, value) | Declare(var, value) | Assign(var, value):
                made.setdefault(var, []).append(value)
            case BlockReduce() | BlockScan():
                outs = (stm.scanned, stm.carry_out) if isinstance(stm, BlockScan) else (stm.outs,)
                carry = (stm.carry,) if isinstance(stm, BlockScan) else ()
                for k, (x, y) in enumerate(zip(stm.op.left, stm.op.right, strict=True)):
                    values = [each[k] for each in (stm.values, stm.neutral, stm.op.results, *carry)]
                    for var in (x, y, *(out[k] for out in outs)):
                        made[var] = [*values, x] if _carries(stm) else [None]
                made.setdefault(stm.index, []).extend(_ends(stm))
            case For() | kir.Threads():
                made.setdefault(stm.index, []).extend(_ends(stm))
            case _:
                pass
    return made


def _carried(every: Iterable[KStm]) -> Iterator[KVar]:
    """The variables that a loop assigns, and that are older than a turn of it."""
    for loop in every:
        if isinstance(loop, For | kir.KWhile):
            inside = [stm for stms in children(loop) for stm in statements(stms)]
            own = {stm.var for stm in inside if isinstance(stm, Declare)}
            yield from (stm.var for stm in inside if isinstance(stm, Assign) and stm.var not in own)


def _components(stm: BlockReduce | BlockScan) -> tuple[KVar, ...]:
    """What an operator takes in and gives."""
    outs = (*stm.scanned, *stm.carry_out) if isinstance(stm, BlockScan) else stm.outs
    return (*stm.op.left, *stm.op.right, *outs)
