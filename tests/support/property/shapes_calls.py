"""Shapes of the rules for calls, and for loops that append."""

from __future__ import annotations

from soac.ir import core
from soac.ir.core import Apply, Body, Concat, Fix, ForLoop, FunDef, If, Loop, PrimOp, Replicate, Stm, Update
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Const, Name, Prim, Type, Var, i64
from tests.support.property.make import I32, Block, Maker, forget
from tests.support.property.parts import indices, mapped_ints, named, number, own_size
from tests.support.property.shapes_flat import use_of


def with_append(b: Block) -> None:
    """A loop that appends a row in each iteration, and writes an element; as often everywhere, or not."""
    m = b.maker
    bound = m.pick((i64(2), *m.sizes, own_size(b)))
    k, i = m.param("k", I64), m.param("i", I64)
    out, marks = m.param("out", I32.array_of(Var(k.name))), m.param("marks", I64.array_of(bound))
    none = b.let("none", I32.array_of(i64(0)), Replicate((i64(0),), Const(Prim.I32, 0)))
    zeros = b.let("zeros", I64.array_of(bound), Replicate((bound,), i64(0)))
    forget(b, zeros.name)
    inner = b.inner((i,))
    size = own_size(inner)
    ((row, _),) = mapped_ints(inner, indices(inner, size), (number(inner),))
    longer = inner.let("k", I64, PrimOp(Op.ADD, Prim.I64, (Var(k.name), size)))
    data = inner.let("data", I32.array_of(longer), Concat((out.name, row), longer))
    marked = inner.let("marks", marks.type, Update(marks.name, (Fix(Var(i.name)),), size, True))
    loop = Loop((k, marks, out), (i64(0), zeros, none), ForLoop(i.name, bound, Prim.I64),
                Body(tuple(inner.stms), (longer, marked, data)))  # fmt: skip
    total = m.param("k", I64)
    pat = (total, m.param("marks", marks.type), m.param("out", I32.array_of(Var(total.name))))
    _, marks_made, made = b.lets(pat, loop)
    use_of(b, named((made,), b))
    use_of(b, named((marks_made,), b))


def with_call(b: Block) -> None:
    """A function that calls itself as often as the point of the nest says, on a row and all that it was before."""
    m = b.maker
    fun = grown(m)
    m.functions.append(fun)
    n = b.let("n", I64, PrimOp(Op.MIN, Prim.I64, (own_size(b), i64(3))))
    ((row, t),) = mapped_ints(b, indices(b, m.pick((own_size(b), *m.sizes))), (number(b),))
    size = m.param("t", I64)
    pat = (size, m.param("sum", I32), m.param("ys", I32.array_of(Var(size.name))))
    _, _, made = b.lets(pat, Apply(fun.name, (t.shape[0], n, number(b), Var(row))))
    use_of(b, named((made,), b))


def grown(m: Maker) -> FunDef:
    """`fun f s n x (xs: [s]) = if n < 1 then (x, xs) else let (y, ys) = f s (n-1) (x+1) xs in (y*x, xs ++ ys)`"""
    s, n, x = m.param("s", I64), m.param("n", I64), m.param("x", I32)
    xs, name = m.param("xs", I32.array_of(Var(s.name))), m.names.fresh("f")
    stms: list[Stm] = []

    def let(base: str, t: Type, exp: core.Exp) -> Var:
        stms.append(Stm((m.param(base, t),), exp, (), (), NOWHERE))
        return Var(stms[-1].pat[0].name)

    less = let("n", I64, PrimOp(Op.SUB, Prim.I64, (Var(n.name), i64(1))))
    more = let("x", I32, PrimOp(m.pick((Op.ADD, Op.XOR)), Prim.I32, (Var(x.name), Const(Prim.I32, 1))))
    inner, y = m.param("t", I64), m.param("y", I32)
    ys = m.param("ys", I32.array_of(Var(inner.name)))
    stms.append(Stm((inner, y, ys), Apply(name, (Var(s.name), less, more, Var(xs.name))), (), (), NOWHERE))
    size = let("t", I64, PrimOp(Op.ADD, Prim.I64, (Var(s.name), Var(inner.name))))
    product = let("y", I32, PrimOp(m.pick((Op.ADD, Op.MUL)), Prim.I32, (Var(y.name), Var(x.name))))
    arrays: tuple[Name, ...] = (xs.name, ys.name) if m.chance(50) else (ys.name, xs.name)
    joined = let("zs", I32.array_of(size), Concat(arrays, size))
    orelse = Body(tuple(stms), (size, product, joined))
    done, total = m.param("done", BOOL), m.param("t", I64)
    pat = (total, m.param("y", I32), m.param("zs", I32.array_of(Var(total.name))))
    body = Body(
        (
            Stm((done,), PrimOp(Op.LT, Prim.I64, (Var(n.name), i64(1))), (), (), NOWHERE),
            Stm(pat, If(Var(done.name), Body((), (Var(s.name), Var(x.name), Var(xs.name))), orelse), (), (), NOWHERE),
        ),
        tuple(Var(p.name) for p in pat),
    )
    size_given = m.param("t", I64)
    results = (size_given, m.param("y", I32), m.param("zs", I32.array_of(Var(size_given.name))))
    return FunDef(name, (s, n, x, xs), (), results, body, None, (), NOWHERE)
