"""Variables that a pass makes, and copies of statements with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...ir.ops import Op, result_type
from ...ir.records import dataclass
from ...ir.types import Prim
from .nodes import Assign, KConvert, KLambda, KLet, KOp, KStm, KVar, Operand
from .traverse import Renamed


@dataclass(slots=True)
class NewNames:
    """`mark`, which is the pass's own, and a number end each name; `made` counts them. `base`: what results of
    operations are called; `exact`: these do not wrap around."""

    mark: str
    base: str = "t"
    exact: bool = False
    made: int = 0

    def name(self, base: str, prim: Prim = Prim.I64) -> KVar:
        """A new variable."""
        self.made += 1
        return KVar(f"{base}.{self.mark}{self.made}", prim)

    def let(self, out: list[KStm], op: Op, x: Operand, y: Operand, prim: Prim = Prim.I64) -> KVar:
        """A new variable for an operation on values of a type."""
        var = self.name(self.base, result_type(op, prim))
        out.append(KLet(var, KOp(op, prim, (x, y), self.exact)))
        return var

    def copy(self) -> Renamed:
        """A copy of statements, whose variables are new."""
        self.made += 1
        return Renamed(f".{self.mark}{self.made}", {})


def taken_in(copy: Renamed, op: KLambda, accs: Sequence[KVar], values: Iterable[Operand]) -> Iterator[KStm]:
    """`accs := op accs values`, with the variables of the copy."""
    for left, acc in zip(op.left, accs, strict=True):
        yield KLet(copy.made(left), KConvert(acc.prim, acc.prim, acc))
    copy.names.update(zip(op.right, values, strict=True))
    yield from copy.rewritten(op.body)
    yield from map(Assign, accs, map(copy.read, op.results))
