"""Which of two kernels is the cheaper one, by sizes that the host knows when it runs.

    0 < cost of the one - cost of the other     0 < 30*d*u - 52*d*⌈u/16⌉ + ..

Costs are computed in f64: products of sizes may be larger than an i64.
"""

from __future__ import annotations

from ...ir import core
from ...ir.core import Param
from ...ir.errors import NOWHERE
from ...ir.ops import Op
from ...ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ..analysis.cost import EXTENT, FAR, LANES, NEAR, cost_by_sizes
from ..analysis.symbolic_cost import Factor, Product, Role, Sum, size
from .host_builder import HostBuilder, Made

MOST_PRODUCTS = 40
"""A comparison of more products is not worth its code."""


def extra_cost(points: Atom, lanes: Made, rows: int, spread: Made, width: Name) -> Sum | None:
    """By how much points with lanes over them, of which a group that is not full takes as long as one that is, cost
    more than with lanes over their elements, as a sum over sizes; None where that has too many products."""
    each = _cost(lanes, width) * (LANES / (EXTENT * rows))
    if isinstance(points, Const):
        groups, count = Sum() + max(1.0, -(-float(points.value) // LANES)), Sum() + float(points.value)
    else:
        groups, count = size(points.name, Role.GROUPS), size(points.name, Role.STEPS)
    found = each * groups - _cost(spread, width) * count
    return found if len(found.terms) <= MOST_PRODUCTS else None


def _cost(made: Made, width: Name) -> Sum:
    scalars = zip(made.kernel.scalars, made.scalars, strict=True)
    sizes = {var: name for var, name in scalars if not var.prim.is_float and var.prim is not Prim.BOOL}
    return cost_by_sizes(made.kernel.body, sizes, width, made.tiled, made.facts)


def is_positive(h: HostBuilder, total: Sum) -> Atom:
    """Host code for `0 < total`."""
    values: dict[Product, Atom] = {}
    number = float(dict(total.terms).get((), 0.0))
    if not any(product for product, _ in total.terms):
        return Const(Prim.BOOL, number > 0.0)
    sum_: Atom = Const(Prim.F64, number)
    for product, c in total.terms:
        if product:
            scaled = _float(h, Op.MUL, Const(Prim.F64, float(c)), _product(h, product, values))
            sum_ = _float(h, Op.ADD, sum_, scaled, "extra_cost")
    return _float(h, Op.LT, Const(Prim.F64, 0.0), sum_)


def _product(h: HostBuilder, product: Product, values: dict[Product, Atom]) -> Atom:
    """The value of a product, by those of its beginnings, which others have too."""
    if product not in values:
        *before, last = product
        if before:
            factor = _product(h, (last,), values)
            values[product] = _float(h, Op.MUL, _product(h, tuple(before), values), factor)
        else:
            values[product] = _factor(h, last)
    return values[product]


def _factor(h: HostBuilder, factor: Factor) -> Atom:
    """The value of a factor, in f64."""
    value = _converted(h, Var(factor.name), h.types[factor.name].prim, Prim.I64)
    match factor.role:
        case Role.STEPS:
            return _converted(h, value, Prim.I64, Prim.F64)
        case Role.GROUPS:
            return _converted(h, h.op(Op.MAX, h.ceil_div(value, LANES), i64(1)), Prim.I64, Prim.F64)
        case Role.FAR:
            near = h.op(Op.MIN, h.op(Op.MAX, value, i64(int(NEAR))), i64(int(FAR)))
            return _float(h, Op.MUL, _converted(h, near, Prim.I64, Prim.F64), Const(Prim.F64, 1.0 / NEAR))


def _converted(h: HostBuilder, x: Atom, source: Prim, target: Prim) -> Atom:
    if source is target:
        return x
    name = h.names.fresh("size")
    h.emit((Param(name, Type(target, ())),), core.Convert(source, target, x), NOWHERE)
    return Var(name)


def _float(h: HostBuilder, op: Op, x: Atom, y: Atom, base: str = "cost") -> Atom:
    name = h.names.fresh(base)
    result = Prim.BOOL if op is Op.LT else Prim.F64
    h.emit((Param(name, Type(result, ())),), core.PrimOp(op, Prim.F64, (x, y)), NOWHERE)
    return Var(name)
