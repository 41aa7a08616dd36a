"""Statements without bodies: scalar code, code that can fail, bulk operations, updates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from soac.ir import core
from soac.ir.core import Fix, Slice, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Const, Prim, Type, Var, i64, scalar
from tests.support.property.make import F32, I32, Block, Maker, array, forget, small_float, some_type, value

# ---- scalar code ----------------------------------------------------------------------------------------------

INT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.XOR, Op.AND)
FLOAT_OPS = (Op.ADD, Op.SUB, Op.MIN, Op.MAX)
BOOL_OPS = (Op.AND, Op.OR, Op.XOR)
COMPARE = (Op.EQ, Op.LT, Op.LE)


def scalar_stm(b: Block) -> None:
    m = b.maker
    match m.number(11):
        case 0 | 1 | 2:
            b.let("a", I32, core.PrimOp(m.pick(INT_OPS), Prim.I32, (value(b, I32), value(b, I32))))
        case 3:
            x, y = small_float(b, value(b, F32)), small_float(b, value(b, F32))
            b.let("f", F32, core.PrimOp(m.pick(FLOAT_OPS), Prim.F32, (x, y)))
        case 4:
            prim = m.pick((Prim.I32, Prim.F32, Prim.I64))
            b.let("c", BOOL, core.PrimOp(m.pick(COMPARE), prim, (value(b, scalar(prim)), value(b, scalar(prim)))))
        case 5:
            b.let("c", BOOL, core.PrimOp(m.pick(BOOL_OPS), Prim.BOOL, (value(b, BOOL), value(b, BOOL))))
        case 6:
            b.let("l", I64, core.PrimOp(m.pick(INT_OPS), Prim.I64, (value(b, I64), value(b, I64))))
        case 7:
            b.let("l", I64, core.Convert(Prim.I32, Prim.I64, value(b, I32)))
        case 8:
            b.let("a", I32, core.Convert(Prim.I64, Prim.I32, value(b, I64)))
        case 9:
            b.let("a", I32, core.Convert(Prim.F32, Prim.I32, value(b, F32)))
        case _:
            small = b.let("a", I32, core.PrimOp(Op.AND, Prim.I32, (value(b, I32), Const(Prim.I32, 7))))
            b.let("f", F32, core.Convert(Prim.I32, Prim.F32, small))


def failing_stm(b: Block) -> None:
    """Division, an index that may be out of bounds, an assertion that something relies on."""
    m = b.maker
    match m.number(3):
        case 0:
            b.let("q", I32, core.PrimOp(m.pick((Op.DIV, Op.MOD, Op.QUOT)), Prim.I32, (value(b, I32), value(b, I32))))
        case 1:
            found = [(name, t) for name, t in b.arrays() if t.rank == 1]
            if found:
                name, t = m.pick(found)
                b.let("x", t.row(), core.Index(name, (Fix(i64(m.number(3))),), False))
        case _:
            ok = b.let("ok", BOOL, core.Assert(value(b, BOOL), "R0103", ("checked ", value(b, I32))))
            pat = (m.param("v", I32),)
            b.stms.append(Stm(pat, core.Copied(value(b, I32)), (ok.name,), (), NOWHERE))
            b.env[pat[0].name] = I32


def small_size(b: Block) -> Var:
    """A size computed from a value: between 0 and 3."""
    x = b.let("x", I32, core.PrimOp(Op.AND, Prim.I32, (value(b, I32), Const(Prim.I32, 3))))
    return b.let("k", I64, core.Convert(Prim.I32, Prim.I64, x))


def varying_size(b: Block) -> Var:
    """A size computed from values of a nest, seldom a large one."""
    m = b.maker
    mask = m.pick((1, 3, 7))
    x = b.let("x", I32, core.PrimOp(Op.AND, Prim.I32, (value(b, I32), Const(Prim.I32, mask))))
    if m.chance(25):
        x = b.let("x", I32, core.PrimOp(Op.MUL, Prim.I32, (x, x)))
    return b.let("k", I64, core.Convert(Prim.I32, Prim.I64, x))


@contextmanager
def sizes_with(m: Maker, more: tuple[Var, ...]) -> Iterator[None]:
    """Statements choose from these sizes too, more often than from the others."""
    before = m.sizes
    m.sizes = (*before, *more, *more, *more)
    yield
    m.sizes = before


# ---- bulk operations ----------------------------------------------------------------------------------------------


def bulk_stm(b: Block) -> None:
    m = b.maker
    own = [(name, b.env[name]) for name in b.params if name in b.env and b.env[name].shape]
    candidates = own if own and m.chance(50) else b.arrays()
    match m.number(14):
        case 9 | 12 if candidates:
            name, t = m.late(candidates)
            b.let("same", t, core.Copied(Var(name)) if m.chance(50) else core.Copy(name))
        case 10 | 13 if candidates:
            name, t = m.late(candidates)
            b.let("re", Type(t.prim, (*t.shape, i64(1))), core.Reshape((*t.shape, i64(1)), name))
        case 0:
            n = m.size()
            b.let("is", I32.array_of(n), core.Iota(n, value(b, I32), value(b, I32), Prim.I32))
        case 1:
            t, n = some_type(m, 1), m.size()
            b.let("rep", t.array_of(n), core.Replicate((n,), value(b, t)))
        case 2:
            found = [(name, t) for name, t in candidates if t.rank >= 2]
            if found:
                name, t = m.late(found)
                perm = _permutation(m, t.rank)
                b.let("tr", Type(t.prim, tuple(t.shape[k] for k in perm)), core.Rearrange(perm, name))
        case 3 if candidates:
            name, t = m.late(candidates)
            if isinstance(t.shape[0], Const) and m.chance(50):
                dims = tuple(Slice(i64(0), size, i64(1)) for size in t.shape)
                b.let("part", t, core.Index(name, dims, True))
                return
            last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (t.shape[0], i64(1))))
            dims = (Slice(last, t.shape[0], i64(-1)), *(Slice(i64(0), size, i64(1)) for size in t.shape[1:]))
            b.let("rev", t, core.Index(name, dims, True))
        case 4 | 11 if candidates:
            name, t = m.late(candidates)
            double = b.let("double", I64, core.PrimOp(Op.ADD, Prim.I64, (t.shape[0], t.shape[0])))
            b.let("cat", t.row().array_of(double), core.Concat((name, array(b, t)), double))
        case 5 if candidates:
            name, t = m.late(candidates)
            b.let("re", t.array_of(i64(1)), core.Reshape((i64(1), *t.shape), name))
        case 6:
            row = some_type(m, 1)
            b.let("lit", row.array_of(i64(2)), core.ArrayLit((value(b, row), value(b, row)), row))
        case 7 | 8 if candidates:
            update_stm(b)
        case _:
            scalar_stm(b)


def _permutation(m: Maker, rank: int) -> tuple[int, ...]:
    left = list(range(rank))
    return tuple(left.pop(m.number(len(left))) for _ in range(rank))


def update_stm(b: Block) -> None:
    """A copy, part of which is replaced: a constant place of a constant size, or a whole slice."""
    m = b.maker
    name, t = m.late(b.arrays())
    first = t.shape[0]
    if isinstance(first, Const) and int(first.value) > 0:
        place: core.DimIndex = Fix(i64(m.number(int(first.value))))
        new = t.row()
    else:
        last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (first, i64(1))))
        place, new = Slice(last, first, i64(-1)), t
    given = value(b, new)
    copied = b.let("cp", t, core.Copy(name)).name
    if m.chance(30):
        b.let("seen", t, core.Rearrange(tuple(range(t.rank)), copied))
    dims = (place, *(Slice(i64(0), size, i64(1)) for size in t.shape[1:]))
    b.let("up", t, core.Update(copied, dims, given, True))
    forget(b, copied)
