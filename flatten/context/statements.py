"""Scalar statements under construction, of a body inside of a segop or of what is deferred."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.core import Body, Exp, Lambda, PrimOp, Reduction, Stm
from ...ir.ops import Op
from ...ir.types import Atom, Const, Name, Type, Var, scalar
from .nest import Flow, number_op
from .segop_bodies import element_of


class Statements:
    """Statements in order, each of which binds a fresh name."""

    __slots__ = ("flow", "stms")

    def __init__(self, flow: Flow, stms: Iterable[Stm] = ()) -> None:
        self.flow = flow
        self.stms = list(stms)

    def let(self, base: str, exp: Exp, type_: Type, certs: tuple[Name, ...] = ()) -> Var:
        """`let base = exp`."""
        param = self.flow.fresh_param(base, type_)
        self.stms.append(Stm((param,), exp, certs, (), self.flow.output.loc))
        return Var(param.name)

    def op(self, base: str, op: Op, *args: Atom) -> Var:
        """`op args`, of numbers or of truth values."""
        return self.let(base, *number_op(op, args))

    def at(self, base: str, array: Name, *indices: Atom) -> Var:
        """The part of an array at leading indices that are known to be in bounds."""
        t = self.flow.known.types[array]
        return self.let(base, element_of(array, t.shape, indices), Type(t.prim, t.shape[len(indices) :]))

    def body(self, *result: Atom) -> Body:
        """The statements with their results."""
        return Body(tuple(self.stms), result)


def monoid(flow: Flow, op: Op, neutral: Const) -> Reduction:
    """`λa b → a op b` with its neutral element; it is commutative."""
    t = scalar(neutral.prim)
    a, b = (flow.fresh_param(base, t) for base in "ab")
    inner = Statements(flow)
    result = inner.let("r", PrimOp(op, neutral.prim, (Var(a.name), Var(b.name))), t)
    return Reduction(Lambda((a, b), inner.body(result), (t,)), (neutral,), True)
