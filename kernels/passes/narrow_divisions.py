"""Divisions by constants of numbers that are known to be small.

    x % c    0 <= x < c               ⟶   x
             0 <= x < 2c              ⟶   x < c ? x : x - c           (unsigned: min x (x - c), which wraps)
    x / c    0 <= x < 2^32, 64 bits   ⟶   in 32 bits
             0 <= x, signed           ⟶   unsigned, without a look at signs

Sums modulo a number, checksums and hashes: their operands are rests of the same division (`analysis/intervals.py`). A
vector has no upper halves of products of 64 bits, of which a division by a constant is made. Indices, which count with
the lanes, are divided in a way of their own (`lanes/linear_division.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.ops import DIVISIONS, Op, unsigned_of
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval, find_intervals
from ..analysis.uniformity import Facts, Varying, find_facts
from ..kernel_ir.nodes import KConvert, Kernel, KLet, KOp, KStm, KVar
from ..kernel_ir.traverse import ROLES, Stms, all_statements, children, rewritten, with_children

RESTS = (Op.MOD, Op.REM)


def narrow_divisions(kernel: Kernel) -> Kernel:
    """The kernel with such divisions made shorter; the same one where there are none."""
    if not any(_divisor(stm) for stm in all_statements(kernel.body)):
        return kernel
    narrower = _Narrower(find_intervals(kernel.body), find_facts(kernel.body))
    body = narrower.statements(kernel.body)
    return replace(kernel, body=body) if narrower.count else kernel


def _divisor(stm: KStm) -> int:
    """The divisor of a division of integers by a constant that is no power of two; else 0."""
    match stm:
        case KLet(_, KOp(op, prim, (KVar(), Const(value=c)))) if op in DIVISIONS and prim.is_int:
            return int(c) if c > 1 and int(c) & (int(c) - 1) else 0
        case _:
            return 0


class _Narrower:
    """`count`: of the divisions made shorter."""

    def __init__(self, intervals: Mapping[str, Interval], facts: Facts) -> None:
        self.intervals = intervals
        self.facts = facts
        self.count = 0

    def statements(self, stms: Stms) -> Stms:
        return rewritten(stms, self.statement)

    def statement(self, stm: KStm) -> Stms | None:
        if (divisor := _divisor(stm)) and isinstance(stm, KLet):
            return self.division(stm, divisor)
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
        least, greatest = self.intervals.get(x.name, (-1, 0))
        if least < 0 or not isinstance(self.facts.of(x), Varying):
            return None
        prim, rest = rhs.prim, rhs.op in RESTS
        if greatest < divisor and rest:
            self.count += 1
            return (KLet(stm.var, KConvert(prim, prim, x)),)
        if greatest < 2 * divisor and rest:
            return self.subtracted(stm.var, x, Const(prim, divisor))
        narrow = Prim.U32 if prim.bits == 64 and greatest < 1 << 32 else unsigned_of(prim)
        if narrow is prim:
            return None
        y, z = (self.fresh(x, narrow) for _ in range(2))
        op = KOp(Op.REM if rest else Op.QUOT, narrow, (y, Const(narrow, divisor)))
        return (KLet(y, KConvert(prim, narrow, x)), KLet(z, op), KLet(stm.var, KConvert(narrow, prim, z)))

    def subtracted(self, var: KVar, x: KVar, divisor: Const) -> Stms:
        """The rest of what is less than twice the divisor."""
        prim, less = divisor.prim, self.fresh(x, divisor.prim)
        stms = (KLet(less, KOp(Op.SUB, prim, (x, divisor))),)
        if prim.is_unsigned:
            return (*stms, KLet(var, KOp(Op.MIN, prim, (x, less))))
        small = self.fresh(x, Prim.BOOL)
        return (
            *stms,
            KLet(small, KOp(Op.LT, prim, (x, divisor))),
            KLet(var, KOp(Op.SELECT, prim, (small, x, less))),
        )

    def fresh(self, like: KVar, prim: Prim) -> KVar:
        self.count += 1
        return KVar(f"{like.name}.d{self.count}", prim)
