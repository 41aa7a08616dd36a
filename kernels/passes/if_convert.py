"""Cheap branches as selects.

    var r = 0; if c { r := x } else { let t = y + 1; r := t }   ⟶   let t = y + 1; let s = select c x t; r := s

On lanes a branch that varies is a mask for either side, a test whether any lane wants it, and a blend for each
assignment. Where both sides are a few harmless statements, all lanes compute both (if-conversion, Allen et al. 1983).
An operator that becomes plain code by this is written without mutable variables, so that it can be reasoned about
(`narrow_argreduce.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..analysis.speculation import is_harmless
from ..analysis.uniformity import find_facts
from ..kernel_ir import nodes as kir
from ..kernel_ir.dead_code import needed
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import KConvert, Kernel, KIf, KLambda, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import children, map_operands, names, rewritten, statements, with_children

MOST = 16
"""Statements of both sides that all lanes compute."""
MOST_OF_OPERATOR = 32
"""The same in an operator, which is applied to every element."""

Values = dict[Operand, Operand]
"""What variables stand for: mutable ones their value now, copies what they are copies of."""


def if_convert(kernel: Kernel) -> Kernel:
    """The kernel with its cheap varying branches as selects."""
    if not any(isinstance(stm, KIf | kir.BlockReduce | kir.BlockScan) for stm in statements(kernel.body)):
        return kernel
    facts = find_facts(kernel.body)
    selector = _Selector(facts.varying, facts.mutable, NewNames("s"))
    body = rewritten(kernel.body, selector.statement)
    return kernel if body is kernel.body else replace(kernel, body=body)


@dataclass(frozen=True, slots=True)
class _Selector:
    """Names of what differs from lane to lane, and of what is assigned."""

    varying: frozenset[str]
    mutable: frozenset[str]
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case KIf(KVar(name), _, _) if name in self.varying and _is_cheap((stm,), MOST):
                return self.selected(stm)
            case kir.BlockReduce() | kir.BlockScan():
                lists = tuple(rewritten(inner, self.statement) for inner in children(stm))
                return (with_children(replace(stm, op=self.operator(stm.op)), lists),)
            case _:
                return None

    def selected(self, branch: KIf) -> tuple[KStm, ...]:
        """A branch as plain code, and what it assigns."""
        out: list[KStm] = []
        values: Values = {}
        self.straighten((branch,), values, out)
        outside = [var for var in _assigned((branch,)) if var in values]
        return (*out, *(kir.Assign(var, values[var]) for var in outside))

    def operator(self, op: KLambda) -> KLambda:
        """An operator without branches and mutable variables, where it is cheap."""
        if not _is_cheap(op.body, MOST_OF_OPERATOR):
            return replace(op, body=rewritten(op.body, self.statement))
        out: list[KStm] = []
        values: Values = {}
        self.straighten(op.body, values, out)
        results = tuple(values.get(r, r) for r in op.results)
        return replace(op, body=needed(tuple(out), set(names(*results))), results=results)

    def straighten(self, stms: Iterable[KStm], values: Values, out: list[KStm]) -> None:
        """Plain code for `stms`, which reads variables as `values` says; afterwards they say what is assigned."""

        def read(operand: Operand) -> Operand:
            return values.get(operand, operand)

        for stm in stms:
            match stm:
                case KIf(cond, then, orelse):
                    self.join(read(cond), then, orelse, values, out)
                case kir.Declare(var, value) | kir.Assign(var, value):
                    values[var] = self.value_now(value, values, out)
                case KLet(var, KConvert(source, target, arg)) if source is target:
                    values[var] = self.value_now(arg, values, out)
                case _:
                    out.append(map_operands(stm, read))

    def join(
        self, cond: Operand, then: tuple[KStm, ...], orelse: tuple[KStm, ...], values: Values, out: list[KStm]
    ) -> None:
        """Both sides, and a select for each variable in which they differ."""
        sides = dict(values), dict(values)
        for side, body in zip(sides, (then, orelse), strict=True):
            self.straighten(body, side, out)
        for var in dict.fromkeys((*_assigned(then), *_assigned(orelse))):
            x, y = (side[var] if var in side else self.old_value(var, out) for side in sides)
            values[var] = x if x == y else self.select(var, cond, x, y, out)

    def select(self, var: KVar, cond: Operand, x: Operand, y: Operand, out: list[KStm]) -> KVar:
        """`select cond x y`; with a select of the same values beneath it, one select by both conditions.

        select c x (select d x y)  ⟶  select (c or d) x y
        select c x (select d y x)  ⟶  select (not c and d) y x
        """
        match _definition(y, out):
            case KOp(Op.SELECT, _, (d, p, q)) if p == x:
                return self.let(var, KOp(Op.SELECT, var.prim, (self.both(Op.OR, cond, d, out), p, q)), out)
            case KOp(Op.SELECT, _, (d, p, q)) if q == x:
                other = self.test(KOp(Op.NOT, Prim.BOOL, (cond,)), out)
                return self.let(var, KOp(Op.SELECT, var.prim, (self.both(Op.AND, other, d, out), p, q)), out)
            case _:
                return self.let(var, KOp(Op.SELECT, var.prim, (cond, x, y)), out)

    def both(self, op: Op, x: Operand, y: Operand, out: list[KStm]) -> KVar:
        return self.test(KOp(op, Prim.BOOL, (x, y)), out)

    def test(self, rhs: KOp, out: list[KStm]) -> KVar:
        return self.let(KVar("both", Prim.BOOL), rhs, out)

    def value_now(self, operand: Operand, values: Values, out: list[KStm]) -> Operand:
        """An operand as a value that does not change."""
        if isinstance(operand, KVar) and operand not in values and operand.name in self.mutable:
            return self.old_value(operand, out)
        return values.get(operand, operand)

    def old_value(self, var: KVar, out: list[KStm]) -> KVar:
        """What a variable of the surroundings holds."""
        return self.let(var, KConvert(var.prim, var.prim, var), out)

    def let(self, like: KVar, rhs: kir.Rhs, out: list[KStm]) -> KVar:
        var = self.new.name(like.name, like.prim)
        out.append(KLet(var, rhs))
        return var


def _definition(operand: Operand, out: list[KStm]) -> kir.Rhs | None:
    """How an operand was computed, among these statements."""
    return next((s.rhs for s in reversed(out) if isinstance(s, KLet) and s.var == operand), None)


def _assigned(stms: tuple[KStm, ...]) -> list[KVar]:
    """Variables that are assigned and not declared there, in order."""
    found = [stm for stm in statements(stms) if isinstance(stm, (kir.Declare, kir.Assign))]
    declared = {stm.var for stm in found if isinstance(stm, kir.Declare)}
    return [var for var in dict.fromkeys(stm.var for stm in found) if var not in declared]


def _is_cheap(stms: tuple[KStm, ...], most: int) -> bool:
    """At most `most` statements, all of them harmless in lanes that do not want them."""
    computed = [stm for stm in statements(stms) if not isinstance(stm, (KIf, kir.Declare, kir.Assign))]
    return len(computed) <= most and all(map(is_harmless, computed))
