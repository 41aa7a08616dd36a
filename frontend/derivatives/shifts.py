"""Rows moved by one: what stands before each row of an array."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Reduction
from ...ir.ops import Op
from ...ir.types import Atom, Var, i64
from ..building.code import Code


def exclusive(code: Code, width: Atom, red: Reduction, arrays: Sequence[Var]) -> list[Var]:
    """The reductions of the rows before each."""
    fresh = Reduction(code.fresh_lambda(red.op), red.neutral, red.comm)
    return shifted(code, width, code.screma(code.scan(width, arrays, fresh), "scan"), red.neutral)


def shifted(code: Code, width: Atom, arrays: Sequence[Var], first: Sequence[Atom]) -> list[Var]:
    """`first`, then the rows but the last."""
    types = [code.types[a.name].row() for a in arrays]

    def rows(inner: Code, i: Sequence[Var]) -> Sequence[Atom]:
        start = inner.op(Op.EQ, i[0], i64(0))

        def earlier(there: Code) -> Sequence[Atom]:
            place = there.op(Op.SUB, i[0], i64(1))
            return [there.at(a, place) for a in arrays]

        return inner.choose(start, lambda there: list(first), earlier, types)

    return list(code.map(width, (code.iota(width),), rows))
