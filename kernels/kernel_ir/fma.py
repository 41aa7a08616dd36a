"""Fused multiply–add, formed by one rule: the product that feeds a float `+` reduction.

    acc := add acc (mul a b)   ⟶   acc := fma a b acc

One rounding instead of two, and the only contraction there is (DESIGN 2.6): no compiler below may form or undo one.
It concerns the step that takes in an element; partial sums are added. Loops that a user writes are left as they are.
Halves take part where the machine has such an instruction for them (`halves`): a GPU. A CPU adds their rounded product,
since it would compute that of them in f64.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op
from .nodes import KLambda, KLet, KOp, KStm, KVar, Operand

Product = tuple[Operand, Operand]


def contracted(
    stms: Iterable[KStm], results: Iterable[Operand], values: Iterable[Operand], *, halves: bool = False
) -> list[KStm]:
    """The statements, with every float sum among `results` that adds a product among `values` as one `fma`."""
    stms, sums = list(stms), set(results)
    products = _products(stms, halves) if any(isinstance(v, KVar) and v.prim.is_float for v in values) else {}
    wanted: dict[Operand, Product] = {v: products[v] for v in values if v in products}
    return [_contract(stm, wanted) if isinstance(stm, KLet) and stm.var in sums else stm for stm in stms]


def contracted_step(op: KLambda, body: Iterable[KStm], values: tuple[Operand, ...], *, halves: bool = False) -> KLambda:
    """The operator of a collective reduction as the step that takes in the `values` that `body` computes."""
    products = _products(body, halves)
    wanted: dict[Operand, Product] = {
        right: products[v] for right, v in zip(op.right, values, strict=True) if v in products
    }
    sums = set(op.results)
    stms = [_contract(stm, wanted) if isinstance(stm, KLet) and stm.var in sums else stm for stm in op.body]
    return replace(op, body=tuple(stms))


def _products(stms: Iterable[KStm], halves: bool) -> dict[Operand, Product]:
    return {
        stm.var: (stm.rhs.args[0], stm.rhs.args[1])
        for stm in stms
        if isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.op is Op.MUL and stm.rhs.prim.is_float
        if halves or not stm.rhs.prim.is_half
    }


def _contract(stm: KLet, products: dict[Operand, Product]) -> KLet:
    match stm.rhs:
        case KOp(Op.ADD, prim, (x, y)) if y in products:
            return KLet(stm.var, KOp(Op.FMA, prim, (*products[y], x)))
        case KOp(Op.ADD, prim, (x, y)) if x in products:
            return KLet(stm.var, KOp(Op.FMA, prim, (*products[x], y)))
        case _:
            return stm
