"""Indices that are taken apart and put together again, as what they are.

    i = p / m; j = p % m; ys[i*m + j] := f xs[i*m + j] zs[i]     ⟶     i = p / m; ys[p] := f xs[p] zs[i]

An index is a polynomial, in which a remainder is p - (p / m) * m. One that is equal to a value that is there already is
that value; a quotient of equal ones is computed once. What is then not used goes.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.affine import Environment
from ..kernel_ir.dead_code import needed
from ..kernel_ir.nodes import Kernel, KLet, KStm, KVar
from ..kernel_ir.traverse import assigned, bound_inside, children, map_mentions, with_children

Stms = tuple[KStm, ...]


def straighten_indices(kernel: Kernel) -> Kernel:
    """The kernel with such indices; the same one where there are none."""
    there = {var.name: var for var in (kernel.block, *kernel.scalars) if var.prim is Prim.I64}
    straight = Straightening(Environment(assigned(kernel.body), divides=True), there, {})
    body = needed(straight.listed(kernel.body), set())
    return kernel if body == kernel.body else replace(kernel, body=body)


@dataclass(slots=True)
class Straightening:
    """Where statements stand: what is known, the variables by the names that polynomials have for them, and what
    stands for variables that have gone."""

    known: Environment
    there: dict[str, KVar]
    other: dict[str, KVar]

    def listed(self, stms: Stms) -> Stms:
        done: list[KStm] = []
        for stm in stms:
            lists = children(stm)
            stm = self.renamed(with_children(stm, ((),) * len(lists)))
            if isinstance(stm, KLet) and self.is_there(stm):
                continue
            inside = [self.inside(stm) for _ in lists]
            lists = [own.listed(inner) for own, inner in zip(inside, lists, strict=True)]
            stm = inside[0].renamed(stm) if inside else stm  # for what is read at the end of the first list
            done.append(with_children(stm, lists))
        return tuple(done)

    def inside(self, stm: KStm) -> Straightening:
        """The same for a list of a statement."""
        own = {var.name: var for var in bound_inside(stm) if var.prim is Prim.I64}
        return Straightening(self.known.copy(), self.there | own, dict(self.other))

    def is_there(self, stm: KLet) -> bool:
        """Whether another variable has the value, which then stands for this one; else it is noted."""
        poly = self.known.value(stm.rhs)
        self.known.note(stm)
        if stm.var.prim is not Prim.I64:
            return False
        match poly:
            case (((str(name),), 1),):
                self.other |= {stm.var.name: self.there[name]} if name in self.there else {}
                return self.there.setdefault(name, stm.var) is not stm.var
            case None:
                self.there[stm.var.name] = stm.var
                return False
            case _:
                return False

    def renamed(self, stm: KStm) -> KStm:
        return map_mentions(stm, lambda one: self.other.get(one.name, one) if isinstance(one, KVar) else one)
