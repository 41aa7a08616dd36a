"""Truth values that are scanned along with numbers, as words of their size: -1 and 0.

    scan .. op (f: bool, x: i64) (g: bool, y: i64) { (or f g, select g y (x + y)) }
    ⟶  scan .. op (f: i64, x: i64) (g: i64, y: i64) { (f | g, select (g < 0) y (x + y)) }

In lanes, a scan and a reduction in order move all components by the same numbers of lanes. Truth values are bits there,
or parts of narrower vectors, which take several instructions to be moved and then spread over the numbers that they
choose; words are moved as the numbers are, and processors choose by their signs.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import BlockReduce, BlockScan, Kernel, KLambda, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import map_operands, rewritten

WORDS = {8: Prim.I8, 16: Prim.I16, 32: Prim.I32, 64: Prim.I64}


def flags_as_words(kernel: Kernel) -> Kernel:
    """The kernel with such truth values as words; the same one where there are none."""
    new = NewNames("f")
    body = rewritten(kernel.body, lambda stm: _in_words(stm, new))
    return replace(kernel, body=body) if new.made else kernel


def _in_words(stm: KStm, new: NewNames) -> tuple[KStm, ...] | None:
    """A scan, or a reduction in order, of truth values and numbers by plain code; None for other statements."""
    if not isinstance(stm, BlockScan | BlockReduce) or not all(isinstance(s, KLet) for s in stm.op.body):
        return None
    prims = {x.prim for x in stm.op.left}
    in_any_order = isinstance(stm, BlockReduce) and (stm.commutative or stm.step is not None)
    if Prim.BOOL not in prims or len(prims) == 1 or in_any_order:
        return None
    prim = WORDS[max(p.bits for p in prims if p is not Prim.BOOL)]
    inside, outside, operator = (_Words(prim, new, {}) for _ in range(3))
    before, body, after, behind = list[KStm](), list(stm.body), list[KStm](), list[KStm]()
    values, neutral, op = inside.wide(stm.values, body), outside.wide(stm.neutral, before), operator.of(stm.op)
    if isinstance(stm, BlockReduce):
        outs = outside.named(stm.outs, behind)
        made: KStm = replace(stm, outs=outs, body=tuple(body), values=values, op=op, neutral=neutral)
    else:
        carry, outs = outside.wide(stm.carry, before), outside.named(stm.carry_out, behind)
        scanned = inside.named(stm.scanned, after)
        parts = {"carry": carry, "carry_out": outs, "scanned": scanned, "after": (*after, *stm.after)}
        made = replace(stm, body=tuple(body), values=values, op=op, neutral=neutral, **parts)
    return (*before, made, *behind)


@dataclass(frozen=True, slots=True)
class _Words:
    """`made`: the words of truth values, in a list of statements."""

    prim: Prim
    new: NewNames
    made: dict[Operand, KVar]

    def wide(self, xs: tuple[Operand, ...], out: list[KStm]) -> tuple[Operand, ...]:
        """Truth values as words, numbers as they are."""
        return tuple(self.wide_one(x, out) for x in xs)

    def wide_one(self, x: Operand, out: list[KStm]) -> Operand:
        if x.prim is not Prim.BOOL:
            return x
        if isinstance(x, Const):
            return Const(self.prim, -int(x.value))
        if x not in self.made:
            choice = KOp(Op.SELECT, self.prim, (x, Const(self.prim, -1), Const(self.prim, 0)))
            out.append(KLet(self.word(x), choice))
        return self.made[x]

    def word(self, x: KVar) -> KVar:
        """A new variable for the word of a truth value."""
        self.made[x] = self.new.name(x.name, self.prim)
        return self.made[x]

    def narrow(self, x: Operand, out: list[KStm]) -> Operand:
        """A truth value that may be a word, as one."""
        if x not in self.made:
            return x
        holds = self.new.name("holds", Prim.BOOL)
        out.append(KLet(holds, self.is_set(self.made[x])))
        return holds

    def is_set(self, word: KVar) -> KOp:
        return KOp(Op.LT, self.prim, (word, Const(self.prim, 0)))

    def named(self, xs: tuple[KVar, ...], out: list[KStm]) -> tuple[KVar, ...]:
        """Variables for results, from which `out` makes the truth values."""
        found = tuple(self.new.name(x.name, self.prim) if x.prim is Prim.BOOL else x for x in xs)
        out += (KLet(x, self.is_set(word)) for x, word in zip(xs, found, strict=True) if x != word)
        return found

    def of(self, op: KLambda) -> KLambda:
        """An operator on words."""
        left, right = (tuple(self.word(x) if x.prim is Prim.BOOL else x for x in side) for side in (op.left, op.right))
        body: list[KStm] = []
        for stm in op.body:
            self.statement(stm, body)
        results = self.wide(op.results, body)
        return KLambda(left, right, tuple(body), results)

    def statement(self, stm: KStm, out: list[KStm]) -> None:
        """What combines words, on words; anything else has truth values."""
        match stm:
            case KLet(var, KOp(Op.AND | Op.OR as op, Prim.BOOL, args)) if any(x in self.made for x in args):
                rhs = KOp(op, self.prim, self.wide(args, out))
            case KLet(var, KOp(Op.NOT, Prim.BOOL, (x,))) if x in self.made:
                rhs = KOp(Op.XOR, self.prim, (self.made[x], Const(self.prim, -1)))
            case KLet(var, KOp(Op.SELECT, Prim.BOOL, (cond, *sides))) if any(x in self.made for x in sides):
                rhs = KOp(Op.SELECT, self.prim, (self.narrow(cond, out), *self.wide(tuple(sides), out)))
            case _:
                out.append(map_operands(stm, lambda x: self.narrow(x, out)))
                return
        out.append(KLet(self.word(var), rhs))
