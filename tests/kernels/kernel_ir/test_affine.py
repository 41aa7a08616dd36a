"""Polynomials of indices."""

from __future__ import annotations

from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.affine import Environment, is_long
from soac.kernels.kernel_ir.nodes import KLet, KOp, KVar, Operand


def test_products_of_products_are_followed_for_a_while() -> None:
    """Squares and remainders of what came before have twice as many factors, or names, each time."""
    x: Operand = KVar("x", Prim.I64)
    values, first = Environment(divides=True), x
    for k in range(120):
        made, op = KVar(f"x{k}", Prim.I64), (Op.MUL, Op.ADD, Op.REM)[k % 3]
        values.note(KLet(made, KOp(op, Prim.I64, (x, i64(2) if op is Op.ADD else x if op is Op.MUL else first))))
        x = made
        assert not is_long(values.of(x))
