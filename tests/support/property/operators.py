"""Associative operators with their neutral elements: some do not commute, some are on tuples, some on rows."""

from __future__ import annotations

from soac.ir import core
from soac.ir.core import Body, Lambda, Reduction, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, Atom, Const, Prim, Var, scalar
from tests.support.property.make import I32, Block, Maker


def binary(m: Maker, op: Op, prim: Prim) -> Lambda:
    a, c, r = (m.param(base, scalar(prim)) for base in ("a", "b", "r"))
    stm = Stm((r,), core.PrimOp(op, prim, (Var(a.name), Var(c.name))), (), (), NOWHERE)
    return Lambda((a, c), Body((stm,), (Var(r.name),)), (scalar(prim),))


def affine(m: Maker) -> Lambda:
    """(a, b) ; (c, d) = (a*c, b*c + d) mod 2^32: composition of affine maps, associative and not commutative."""
    a, b, c, d = params = tuple(m.param(base, I32) for base in "abcd")
    block = Block(m, {}, 0)
    first = block.let("r", I32, core.PrimOp(Op.MUL, Prim.I32, (Var(a.name), Var(c.name))))
    scaled = block.let("s", I32, core.PrimOp(Op.MUL, Prim.I32, (Var(b.name), Var(c.name))))
    second = block.let("t", I32, core.PrimOp(Op.ADD, Prim.I32, (scaled, Var(d.name))))
    return Lambda(params, block.body((first, second)), (I32, I32))


def first_nonzero(m: Maker) -> Lambda:
    """The left operand unless it is 0: associative, not commutative, neutral element 0."""
    a, c = m.param("a", I32), m.param("b", I32)
    block = Block(m, {}, 0)
    is_zero = block.let("z", BOOL, core.PrimOp(Op.EQ, Prim.I32, (Var(a.name), Const(Prim.I32, 0))))
    result = block.let("r", I32, core.If(is_zero, Body((), (Var(c.name),)), Body((), (Var(a.name),))))
    return Lambda((a, c), block.body((result,)), (I32,))


def operator(b: Block) -> Reduction:
    """An associative operator with its neutral element, now and then one on rows."""
    return row_operator(b, b.maker.size()) if b.maker.chance(18) else scalar_operator(b)


def scalar_operator(b: Block) -> Reduction:
    """An associative operator on scalars or on pairs of them."""
    m = b.maker
    match m.number(9):
        case 0 | 1:
            return Reduction(binary(m, Op.ADD, Prim.I32), (Const(Prim.I32, 0),), m.chance(50))
        case 2:
            return Reduction(binary(m, Op.MAX, Prim.I32), (Const(Prim.I32, -(2**31)),), True)
        case 3:
            return Reduction(binary(m, Op.ADD, Prim.F32), (Const(Prim.F32, 0.0),), True)
        case 4:
            return Reduction(binary(m, m.pick((Op.OR, Op.XOR)), Prim.BOOL), (Const(Prim.BOOL, False),), True)
        case 5 | 7:
            return Reduction(affine(m), (Const(Prim.I32, 1), Const(Prim.I32, 0)), False)
        case _:
            return Reduction(first_nonzero(m), (Const(Prim.I32, 0),), False)


def commutative_operator(b: Block) -> Reduction:
    """What histograms combine with: a sum, a minimum, both of pairs, or a sum of rows."""
    m = b.maker
    zero, greatest = Const(Prim.I32, 0), Const(Prim.I32, 2**31 - 1)
    match m.number(5):
        case 0 | 1:
            return Reduction(binary(m, Op.ADD, Prim.I32), (zero,), True)
        case 2:
            return Reduction(binary(m, Op.MIN, Prim.I32), (greatest,), True)
        case 3:
            first, second = binary(m, Op.ADD, Prim.I32), binary(m, Op.MIN, Prim.I32)
            params = tuple(f.params[k] for k in (0, 1) for f in (first, second))
            body = Body(first.body.stms + second.body.stms, first.body.result + second.body.result)
            return Reduction(Lambda(params, body, (I32, I32)), (zero, greatest), True)
        case _:
            return by_rows(b, m.size(), binary(m, Op.ADD, Prim.I32), (zero,))


def row_operator(b: Block, width: Atom) -> Reduction:
    """A scalar operator on the rows: `map2 op`, neutral element a replicate."""
    m = b.maker
    base = m.pick((affine, first_nonzero, lambda m: binary(m, Op.ADD, Prim.I32)))(m)
    neutral = (Const(Prim.I32, 1), Const(Prim.I32, 0)) if len(base.ret) == 2 else (Const(Prim.I32, 0),)
    return by_rows(b, width, base, neutral)


def by_rows(b: Block, width: Atom, base: Lambda, neutral: tuple[Const, ...]) -> Reduction:
    """`map2 base` on rows of this width."""
    m = b.maker
    rows = tuple(b.let("ne", I32.array_of(width), core.Replicate((width,), ne)) for ne in neutral)
    params = tuple(m.param(p.name.base, p.type.array_of(width)) for p in base.params)
    results = tuple(m.param("rs", t.array_of(width)) for t in base.ret)
    exp = core.Screma(width, tuple(p.name for p in params), base, (), ())
    body = Body((Stm(results, exp, (), (), NOWHERE),), tuple(Var(p.name) for p in results))
    return Reduction(Lambda(params, body, tuple(p.type for p in results)), rows, False)
