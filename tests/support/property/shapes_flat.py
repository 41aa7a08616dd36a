"""Shapes of the rules for maps, reductions, writes, bulk operations, loops and branches."""

from __future__ import annotations

from collections.abc import Callable

from soac.ir import core
from soac.ir.core import Attr
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Prim, Type, Var, i64
from tests.support.property.generate import Inputs, hist_of, scatter_of
from tests.support.property.make import I32, Block, forget
from tests.support.property.operators import binary, by_rows, row_operator, scalar_operator
from tests.support.property.parts import (
    Turn,
    branching,
    condition,
    counting,
    doubled,
    elementwise,
    looping,
    mapped_ints,
    named,
    number,
    operate,
    outside,
    rows,
    stored,
    turned,
)

Looping = Callable[[Block, tuple[Type, ...], tuple[Atom, ...], Atom, Turn], tuple[Var, ...]]

# ---- maps, reductions, writes ----------------------------------------------------------------------------------------


def with_map(b: Block) -> None:
    operate(b, rows(b, 1), (number(b),), mapped=1 + b.maker.number(2))


def attributed(*attrs: Attr) -> Callable[[Block], None]:
    def make(b: Block) -> None:
        red = scalar_operator(b)

        def work(inner: Block) -> None:
            operate(inner, rows(inner, 1), (number(inner),), reds=(red,))

        operate(b, rows(b, 2), mapped=1 + b.maker.number(2), attrs=attrs, work=work)

    return make


def with_reduction(b: Block) -> None:
    operate(b, rows(b, 1), (number(b),), reds=(scalar_operator(b),))


def with_scan(b: Block) -> None:
    operate(b, rows(b, 1), (number(b),), scans=(scalar_operator(b),), mapped=b.maker.number(2))


def with_scatter(b: Block) -> None:
    given = rows(b, 1)
    scatter_of(b, given, given[0][1].shape[0])


def with_hist(b: Block) -> None:
    given = rows(b, 1)
    hist_of(b, given, given[0][1].shape[0])


def with_hist_of_rows(b: Block) -> None:
    given = rows(b, 1)
    op = by_rows(b, b.maker.size(), binary(b.maker, Op.ADD, Prim.I32), (Const(Prim.I32, 0),))
    hist_of(b, given, given[0][1].shape[0], op)


def with_expensive(b: Block) -> None:
    """What is expensive is needed by a map below: a reduction, or a loop of scalars."""
    m = b.maker
    if m.chance(50):
        expensive = operate(b, rows(b, 1), (number(b),), reds=(scalar_operator(b),))
        used = tuple(v for v in expensive if b.env[v.name] == I32) or (number(b),)
    else:
        used = looping(b, (I32,), (number(b),), i64(2 + m.number(3)), squared)
    operate(b, rows(b, 1), used, mapped=1)


def squared(b: Block) -> tuple[Var, ...]:
    return (b.let("q", I32, core.PrimOp(Op.MUL, Prim.I32, (Var(b.params[1]),) * 2)),)


def with_parallel_map(b: Block) -> None:
    """A reduction or scan whose map is parallel itself."""
    op, inner_op = scalar_operator(b), scalar_operator(b)

    def work(inner: Block) -> None:
        operate(inner, rows(inner, 1), (number(inner),), reds=(inner_op,))

    scans, reds = ((op,), ()) if b.maker.chance(40) else ((), (op,))
    operate(b, rows(b, 2), (), scans, reds, work=work)


def with_fission(b: Block) -> None:
    """An operator on rows beside one on numbers, over what a cheap map gives."""
    m = b.maker
    ((name, t),) = rows(b, 2)
    by_row, by_number = row_operator(b, t.shape[1]), scalar_operator(b)
    row = m.param("row", t.row())
    inner = b.inner((row,))
    scaled = inner.let("h", I32, core.PrimOp(Op.ADD, Prim.I32, (outside(b, I32), Const(Prim.I32, m.number(5)))))
    given = {I32: scaled, t.row(): Var(row.name)}
    types = (*by_row.op.ret, *by_number.op.ret)
    results = tuple(given[u] if u in given else Const(u.prim, u.prim is Prim.BOOL or 1) for u in types)
    results = tuple(Const(x.prim, 1.0) if isinstance(x, Const) and x.prim.is_float else x for x in results)
    is_scan = m.chance(40)
    ops = (by_row, by_number)
    f = core.Lambda((row,), inner.body(results), types)
    pat = tuple(m.param("y", u.array_of(t.shape[0]) if is_scan else u) for u in types)
    b.lets(pat, core.Screma(t.shape[0], (name,), f, ops if is_scan else (), () if is_scan else ops))


def with_rows_operated(is_scan: bool) -> Callable[[Block], None]:
    """A reduction or scan with an operator on rows, of rows that are there or that a map computes."""

    def make(b: Block) -> None:
        m = b.maker
        ((name, t),) = rows(b, 2)
        op = row_operator(b, t.shape[1])
        row = m.param("row", t.row())
        inner = b.inner((row,))
        computed = m.chance(50)
        result = tuple(elementwise(inner, row.name, row.type) if computed else Var(row.name) for _ in op.op.ret[:1])
        results = result * len(op.op.ret)
        f = core.Lambda((row,), inner.body(results), op.op.ret)
        pat = tuple(m.param("y", u.array_of(t.shape[0]) if is_scan else u) for u in op.op.ret)
        b.lets(pat, core.Screma(t.shape[0], (name,), f, (op,) if is_scan else (), () if is_scan else (op,)))

    return make


# ---- bulk operations -------------------------------------------------------------------------------------------------


def use_of(b: Block, taken: Inputs) -> None:
    """A SOAC over what was made."""
    m = b.maker
    reds = (scalar_operator(b),) if m.chance(50) else ()
    operate(b, taken, (number(b),), reds=reds, mapped=0 if reds else 1)


def with_invariant(b: Block) -> None:
    m = b.maker
    width = m.size()
    t = I32.array_of(width)
    exp = core.Replicate((width,), outside(b, I32))
    if m.chance(50):
        exp = core.Iota(width, outside(b, I32), Const(Prim.I32, 1), Prim.I32)
    use_of(b, named((b.let("same", t, exp),), b))


def with_alias(b: Block) -> None:
    ((name, t),) = rows(b, 1)
    exp = core.Copied(Var(name)) if b.maker.chance(50) else core.Copy(name)
    use_of(b, named((b.let("same", t, exp),), b))


def with_rearrange(b: Block) -> None:
    """Matrices transposed, and dimensions of a cube rotated."""
    rank = max(b.env[name].rank for name in b.params)
    ((name, t),) = rows(b, rank)
    perm = (1, 0) if rank == 2 else b.maker.pick(((1, 2, 0), (2, 0, 1), (0, 2, 1)))
    other = core.Type(t.prim, tuple(t.shape[k] for k in perm))
    made = b.let("tr", other, core.Rearrange(perm, name))
    if rank > 2:
        elementwise(b, made.name, other)
        return
    operate(b, named((made,), b), mapped=1, work=lambda inner: with_reduction(inner))


def with_reshape(b: Block) -> None:
    ((name, t),) = rows(b, 1)
    t2 = core.Type(t.prim, (i64(1), *t.shape) if b.maker.chance(50) else (*t.shape, i64(1)))
    made = b.let("re", t2, core.Reshape(t2.shape, name))
    operate(b, named((made,), b), mapped=1, work=lambda inner: with_reduction(inner))


def with_slice(b: Block) -> None:
    ((name, t),) = rows(b, 1)
    use_of(b, named((turned(b, name, t),), b))


def with_concat(b: Block) -> None:
    ((name, t),) = rows(b, 1)
    other = mapped_ints(b, ((name, t),))[0][0] if b.maker.chance(50) else name
    use_of(b, named((doubled(b, name, t, other),), b))


def with_update(b: Block) -> None:
    """A row overwritten in place: backwards by another, or an element of it in every turn of a loop."""
    ((name, t),) = rows(b, 1)
    copied = b.let("cp", t, core.Copy(name))
    if b.maker.chance(40):
        last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (t.shape[0], i64(1))))
        dims = (core.Slice(last, t.shape[0], i64(-1)),)
        made = b.let("up", t, core.Update(copied.name, dims, Var(mapped_ints(b, ((name, t),))[0][0]), True))
        forget(b, copied.name)
    else:
        (made,) = stores_in_loop(b, copied, t)
    use_of(b, named((made,), b))


def stores_in_loop(b: Block, copied: Var, t: core.Type) -> tuple[Var, ...]:
    def work(inner: Block) -> tuple[Var, ...]:
        index, row = inner.params
        seen = inner.let("x", I32, core.Index(row, (core.Fix(Var(index)),), True))
        new = inner.let("h", I32, core.PrimOp(Op.ADD, Prim.I32, (seen, number(b))))
        if inner.maker.chance(50):
            (total, *_) = operate(inner, ((row, t),), reds=(scalar_operator(inner),))
            del total
        return (stored(inner, row, t, Var(index), new),)

    forget(b, copied.name)
    return looping(b, (t,), (copied,), t.shape[0], work)


def with_branch_write(b: Block) -> None:
    """A row of which a loop overwrites an element, or leaves it as it is, and gives a number as well."""
    ((name, t),) = rows(b, 1)
    copied = b.let("cp", t, core.Copy(name))
    forget(b, copied.name)

    def work(inner: Block) -> tuple[Var, ...]:
        index, row, _ = inner.params
        cond, new = condition(inner), number(inner)
        if inner.maker.chance(80):
            discard(mapped_ints(inner, ((row, t),)))
        writes, stays = inner.inner(()), inner.inner(())
        place = Var(index)
        if inner.maker.chance(50):
            new = writes.let("h", I32, core.Index(row, (core.Fix(place),), True))
        dims = (core.Fix(place),)
        made = writes.let("up", t, core.Update(row, dims, new, inner.maker.chance(50)))
        sides = [writes.body((made, new)), stays.body((Var(row), new if not writes.stms[:-1] else number(stays)))]
        if inner.maker.chance(30):
            sides.reverse()
        pat = (inner.maker.param("z", t), inner.maker.param("z", I32))
        forget(inner, row)
        return inner.lets(pat, core.If(cond, sides[0], sides[1]))

    use_of(b, named(looping(b, (t, I32), (copied, number(b)), t.shape[0], work)[:1], b))


# ---- control ---------------------------------------------------------------------------------------------------------


def with_loop(b: Block) -> None:
    """A loop of invariant trip count over rows; they start as a row that is there or as the same number everywhere."""
    loop_over_rows(b, looping)


def with_rounds(b: Block) -> None:
    """The same, counted by the loop or by itself."""
    loop_over_rows(b, b.maker.pick((looping, counting)))


def loop_over_rows(b: Block, loop: Looping) -> None:
    """A loop over rows by one of the ways to count."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    start = b.let("rep", t, core.Replicate(t.shape, outside(b, I32))) if m.chance(50) else Var(name)

    def work(inner: Block) -> None:
        carried = ((inner.params[-1], t),)
        if m.chance(50):
            operate(inner, carried, (number(b),), scans=(scalar_operator(inner),))
        mapped_ints(inner, carried, (number(b),))

    loop(b, (t,), (start,), m.pick((i64(2), i64(3), i64(5), *m.sizes)), work)


def with_replicate(b: Block) -> None:
    ((_, t),) = rows(b, 1)
    start = b.let("rep", t, core.Replicate(t.shape, outside(b, I32)))
    looping(b, (t,), (start,), i64(2), lambda inner: discard(mapped_ints(inner, ((inner.params[1], t),))))


def discard(made: Inputs) -> None:
    del made


def with_branch(varies: bool) -> Callable[[Block], None]:
    def make(b: Block) -> None:
        ((name, t),) = given = rows(b, 1)
        del name
        cond = condition(b) if varies else outside(b, BOOL)
        types = b.maker.pick(((I32,), (t,), (t, I32)))

        def then(inner: Block) -> None:
            operate(inner, given, (number(b),), reds=(scalar_operator(inner),))
            mapped_ints(inner, given, (number(b),))

        def orelse(inner: Block) -> None:
            if inner.maker.chance(60):
                operate(inner, given, (number(b),), scans=(scalar_operator(inner),), mapped=1)

        branching(b, cond, types, then, orelse)

    return make


def with_top(b: Block) -> None:
    m = b.maker
    if m.chance(50):
        branching(b, condition(b), (I32,), with_map, with_reduction)
    else:
        looping(b, (I32,), (number(b),), m.size(), m.pick((with_map, with_reduction, with_scan)))
