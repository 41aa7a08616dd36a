"""Divisions by constants of numbers that are known to be small.

    x % c    0 <= x < c               ⟶   x
             0 <= x < 2c              ⟶   x < c ? x : x - c           (unsigned: min x (x - c), which wraps)
    x / c    0 <= x < 2^32, 64 bits   ⟶   in 32 bits
             -2^31 <= x < 2^31, 64    ⟶   in 32 bits
             0 <= x, signed           ⟶   unsigned, without a look at signs
    threads i { .. (x + k) / c .. }   ⟶   if -2^20 <= k <= 2^20 { threads i { .. in 32 bits .. } } else { as it was }

k is a number of the kernel that only the run knows, as in a shift by k letters or a weight of k percent.
Sums modulo a number, checksums and hashes: their operands are rests of the same division (`analysis/intervals.py`). A
vector has no upper halves of products of 64 bits, of which a division by a constant is made. Indices, which count with
the lanes, are divided in a way of their own (`lanes/linear_division.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.ops import DIVISIONS, Op, unsigned_of
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval, find_intervals, range_of
from ..analysis.uniformity import Facts, Varying, find_facts
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import Assign, Declare, KConvert, Kernel, KLet, KOp, KStm, KVar, Threads
from ..kernel_ir.traverse import (
    ROLES,
    Stms,
    all_statements,
    children,
    names,
    operands,
    rewritten,
    with_children,
)
from .both_forms import in_both_forms

RESTS = (Op.MOD, Op.REM)
FITS = 1 << 31
ASSUMED: Mapping[Prim, Interval] = {Prim.I64: (-(1 << 20), 1 << 20), Prim.U64: (0, 1 << 20)}
"""What numbers of the kernel are mostly between."""


def narrow_divisions(kernel: Kernel) -> Kernel:
    """The kernel with such divisions made shorter; the same one where there are none."""
    if not any(_divisor(stm) for stm in all_statements(kernel.body)):
        return kernel
    facts, scalars = find_facts(kernel.body), {var.name: var for var in kernel.scalars if var.prim in ASSUMED}
    narrower = _Narrower(find_intervals(kernel.body), facts, NewNames("d"))
    terms = _terms(kernel.body, narrower.wide(kernel.body))
    chosen = {name: var for name, var in scalars.items() if name in terms}
    if chosen:
        assumed = find_intervals(kernel.body, {name: ASSUMED[var.prim] for name, var in chosen.items()})
        narrower.guarded = _Narrower(assumed, facts, narrower.new), tuple(chosen.values())
    body = narrower.statements(kernel.body)
    return replace(kernel, body=body) if narrower.new.made else kernel


def _terms(stms: Stms, divisions: Stms) -> frozenset[str]:
    """What the divisions are made of, by operations alone."""
    every = tuple(all_statements(stms)) if divisions else ()
    found = {name for stm in divisions for name in names(*operands(stm))}
    for _ in range(2):
        for stm in reversed(every):
            match stm:
                case KLet(var, KOp() | KConvert()) | Declare(var) | Assign(var) if var.name in found:
                    found |= names(*operands(stm))
                case _:
                    pass
    return frozenset(found)


def _divisor(stm: KStm) -> int:
    """The divisor of a division of integers by a constant that is no power of two; else 0."""
    match stm:
        case KLet(_, KOp(op, prim, (KVar(), Const(value=c)))) if op in DIVISIONS and prim.is_int:
            return int(c) if c > 0 and int(c) & (int(c) - 1) else 0
        case _:
            return 0


class _Narrower:
    """`guarded`: what makes more divisions shorter where numbers are as assumed."""

    guarded: tuple[_Narrower, tuple[KVar, ...]] | None = None

    def __init__(self, intervals: Mapping[str, Interval], facts: Facts, new: NewNames) -> None:
        self.intervals = intervals
        self.facts = facts
        self.new = new

    def interval(self, x: KVar) -> Interval:
        return self.intervals.get(x.name, range_of(x.prim))

    def statements(self, stms: Stms) -> Stms:
        return rewritten(stms, self.statement)

    def statement(self, stm: KStm) -> Stms | None:
        if (divisor := _divisor(stm)) and isinstance(stm, KLet):
            return self.division(stm, divisor)
        if isinstance(stm, Threads) and self.guarded is not None:
            return self.loop(stm, *self.guarded)
        found = {name: op for name in ROLES[type(stm)].operators if (op := getattr(stm, name)) is not None}
        if not found:
            return None
        changes = {name: replace(op, body=self.statements(op.body)) for name, op in found.items()}
        return (with_children(replace(stm, **changes), map(self.statements, children(stm))),)

    def division(self, stm: KLet, divisor: int) -> Stms | None:
        """A division in other terms, None where its number may be anything."""
        rhs = stm.rhs
        assert isinstance(rhs, KOp), "a division"
        x, _ = rhs.args
        assert isinstance(x, KVar), "a division of a variable"
        least, greatest = self.interval(x)
        prim, rest = rhs.prim, rhs.op in RESTS
        if not isinstance(self.facts.of(x), Varying):
            return None
        if least < 0:
            fits = prim.bits == 64 and least >= -FITS and greatest < FITS and divisor < FITS
            return self.narrowed(stm.var, rhs.op, prim, x, Const(Prim.I32, divisor)) if fits else None
        if greatest < divisor and rest:
            self.new.made += 1
            return (KLet(stm.var, KConvert(prim, prim, x)),)
        if greatest < 2 * divisor and rest:
            return self.subtracted(stm.var, x, Const(prim, divisor))
        narrow = Prim.U32 if prim.bits == 64 and max(greatest, divisor) < 1 << 32 else unsigned_of(prim)
        if narrow is prim:
            return None
        return self.narrowed(stm.var, Op.REM if rest else Op.QUOT, prim, x, Const(narrow, divisor))

    def narrowed(self, var: KVar, op: Op, prim: Prim, x: KVar, divisor: Const) -> Stms:
        """A division in the type of the divisor."""
        narrow = divisor.prim
        y, z = (self.new.name(x.name, narrow) for _ in range(2))
        quotient = KLet(z, KOp(op, narrow, (y, divisor)))
        return (KLet(y, KConvert(prim, narrow, x)), quotient, KLet(var, KConvert(narrow, prim, z)))

    def wide(self, stms: Stms) -> Stms:
        """The divisions of 64 bits in loops over threads that stay as they are."""
        loops = (loop for loop in all_statements(stms) if isinstance(loop, Threads))
        return tuple(one for loop in loops for one in all_statements(loop.body) if self.is_wide(one))

    def is_wide(self, stm: KStm) -> bool:
        match stm:
            case KLet(_, KOp(_, prim, (KVar() as x, _))) if _divisor(stm) and prim.bits == 64:
                least, greatest = self.interval(x)
                return isinstance(self.facts.of(x), Varying) and (least < -FITS or greatest >= FITS)
            case _:
                return False

    def loop(self, stm: Threads, guarded: _Narrower, scalars: tuple[KVar, ...]) -> Stms | None:
        """A loop of which more divisions are shorter where the scalars are as assumed, in both forms."""
        if len(guarded.wide((stm,))) == len(self.wide((stm,))):
            return None
        body = guarded.statements(stm.body)
        wide = replace(stm, body=self.statements(stm.body))
        assumed = {var: ASSUMED[var.prim] for var in scalars}
        return in_both_forms(self.new, assumed, (replace(stm, body=body),), wide)

    def subtracted(self, var: KVar, x: KVar, divisor: Const) -> Stms:
        """The rest of what is less than twice the divisor."""
        prim, less = divisor.prim, self.new.name(x.name, divisor.prim)
        stms = (KLet(less, KOp(Op.SUB, prim, (x, divisor))),)
        if prim.is_unsigned:
            return (*stms, KLet(var, KOp(Op.MIN, prim, (x, less))))
        small = self.new.name(x.name, Prim.BOOL)
        return (
            *stms,
            KLet(small, KOp(Op.LT, prim, (x, divisor))),
            KLet(var, KOp(Op.SELECT, prim, (small, x, less))),
        )
