"""Statements that compute a polynomial of variables, such as an index brought out of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field

from ...ir.ops import Op
from ...ir.polynomials import divided
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from .affine import Poly
from .nodes import KConvert, KLet, KOp, KStm, KVar, Operand


@dataclass(slots=True)
class PolyCode:
    """Code under construction. `prims`: the types of the variables; `fresh` makes one for i64."""

    prims: Mapping[str, Prim]
    fresh: Callable[[str], KVar]
    out: list[KStm] = field(default_factory=list)

    def let(self, op: Op, x: Operand, y: Operand) -> KVar:
        var = self.fresh("t")
        self.out.append(KLet(var, KOp(op, Prim.I64, (x, y), True)))
        return var

    def value(self, poly: Poly) -> Operand:
        """The value of a polynomial of uniform variables, by Horner's rule in the variable of most terms."""
        counts = Counter(name for names, _ in poly for name in dict.fromkeys(names))
        if not counts:
            return Const(Prim.I64, sum(c for _, c in poly))
        factor, _ = counts.most_common(1)[0]
        inner, rest = divided(poly, factor)
        product = self.times(self.value(inner), self.wide(factor))
        return product if not rest else self.let(Op.ADD, product, self.value(rest))

    def times(self, x: Operand, y: KVar) -> KVar:
        return y if x == Const(Prim.I64, 1) else self.let(Op.MUL, x, y)

    def wide(self, name: str) -> KVar:
        prim = self.prims[name]
        if prim is Prim.I64:
            return KVar(name, prim)
        var = self.fresh("t")
        self.out.append(KLet(var, KConvert(prim, Prim.I64, KVar(name, prim))))
        return var
