"""Shapes of the rules for parallelism that varies over a nest."""

from __future__ import annotations

from soac.ir import core
from soac.ir.ops import Op
from soac.ir.types import I64, Const, Prim, Var, i64
from tests.support.property.generate import Inputs, hist_of, scatter_of
from tests.support.property.make import I32, Block
from tests.support.property.operators import row_operator, scalar_operator
from tests.support.property.parts import (
    counting,
    doubled,
    indices,
    looping,
    mapped_ints,
    named,
    number,
    operate,
    own_size,
    rows,
    rows_made,
    stored,
)
from tests.support.property.shapes_flat import discard, stores_in_loop, use_of, with_reduction


def varying_array(b: Block) -> Inputs:
    """An array whose size varies over the nest: indices, or a row that is scanned."""
    return indices(b, own_size(b))


def with_flat_map(b: Block) -> None:
    inner = b.maker.chance(50)
    made = operate(b, varying_array(b), (number(b),), mapped=1, work=with_reduction if inner else nothing)
    operate(b, named(made, b), reds=(scalar_operator(b),))


def nothing(b: Block) -> None:
    del b


def with_flat_scan(b: Block) -> None:
    operate(b, varying_array(b), (number(b),), scans=(scalar_operator(b),), mapped=b.maker.number(2))


def with_flat_reduction(b: Block) -> None:
    operate(b, varying_array(b), (number(b),), reds=(scalar_operator(b),))


def with_flat_scatter(b: Block) -> None:
    """Writes from an array of varying size, or into one."""
    m = b.maker
    given = varying_array(b)
    width = given[0][1].shape[0]
    if m.chance(60):
        m.pick((scatter_of, hist_of))(b, given, width)
        return
    before, m.sizes = m.sizes, (width,)
    scatter_of(b, given, width)
    m.sizes = before


def with_flat_bulk(b: Block) -> None:
    """Arrays of varying size behind each other, or overwritten in place: in a loop, or the first element of some."""
    m = b.maker
    match m.number(3):
        case 0:
            ((name, t),) = varying_array(b)
            made = doubled(b, name, t, name)
        case 1:
            ((name, t),) = varying_array(b)
            (made,) = stores_in_loop(b, b.let("cp", t, core.Copy(name)), t)
        case _:
            some = b.let("k", I64, core.PrimOp(Op.ADD, Prim.I64, (own_size(b), i64(1))))
            given = mapped_ints(b, indices(b, some), (number(b),))
            if m.chance(50):
                given = named((b.let("cp", given[0][1], core.Copy(given[0][0])),), b)
            made = stored(b, *given[0], i64(0), number(b))
    use_of(b, named((made,), b))


def with_varying_loop(b: Block) -> None:
    """A loop over rows of varying size, as many turns everywhere or more in some rows than in others."""
    m = b.maker
    ((name, t),) = varying_array(b)
    bound = m.pick((i64(2), *m.sizes, own_size(b)))

    def work(inner: Block) -> None:
        carried = ((inner.params[-1], t),)
        if m.chance(50):
            operate(inner, carried, (number(b),), scans=(scalar_operator(inner),))
        mapped_ints(inner, carried, (number(b),))

    (looping if m.chance(60) else counting)(b, (t,), (Var(name),), bound, work)


def with_variant_trip_count(b: Block) -> None:
    """A loop over a row that some points of the nest run longer than others: it stays in the thread."""
    ((name, t),) = rows(b, 1)
    bound = own_size(b)
    looping(b, (t,), (Var(name),), bound, lambda inner: discard(mapped_ints(inner, ((inner.params[1], t),))))
    operate(b, rows(b, 1), (number(b),), mapped=1)
    row = b.let("ne", I32.array_of(bound), core.Replicate((bound,), Const(Prim.I32, 0)))
    operate(b, named((row,), b), scans=(scalar_operator(b),))


def with_rows_of_rows(b: Block) -> None:
    """As many rows of such a size as the point of the nest says."""
    made = rows_made(b, varying_array(b), own_size(b))
    if b.maker.chance(50):
        operate(b, made, mapped=1, work=with_reduction)
    else:
        b.total(*made[0])


def with_varying_rows(b: Block) -> None:
    """Operators on rows, of which there are as many as the point of the nest says."""
    m = b.maker
    size = m.pick(m.sizes)
    op = row_operator(b, size)
    made = tuple(one for _ in op.neutral for one in rows_made(b, varying_array(b), size)[:1])
    width = made[0][1].shape[0]
    made = made[:1] * len(op.neutral)
    params = tuple(m.param("x", t.row()) for _, t in made)
    f = core.Lambda(params, core.Body((), tuple(Var(p.name) for p in params)), op.op.ret)
    is_scan = m.chance(50)
    pat = tuple(m.param("y", t.array_of(width) if is_scan else t) for t in op.op.ret)
    arrays = tuple(name for name, _ in made)
    b.lets(pat, core.Screma(width, arrays, f, (op,) if is_scan else (), () if is_scan else (op,)))
