"""Shapes of the rules of fusion and tiling."""

from __future__ import annotations

from dataclasses import dataclass

from soac.ir import core
from soac.ir.core import Lambda, Param, Reduction
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Prim, Var, i64
from tests.support.property.generate import Inputs, hist_of
from tests.support.property.make import F32, I32, Block
from tests.support.property.operators import binary, by_rows, scalar_operator
from tests.support.property.parts import (
    branching,
    gathered,
    gone,
    indices,
    looping,
    mapped_ints,
    named,
    number,
    operate,
    outside,
    rows,
    scanned_rows,
    scattered,
)
from tests.support.property.shapes_flat import discard, with_map


def mapped_once(b: Block) -> Inputs:
    """What a map gives, for one reader or for several."""
    made = mapped_ints(b, rows(b, 1), (number(b),))
    if b.maker.chance(60):
        gone(b, made)
    return made


def with_map_map(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), mapped=1)


def with_map_reduce(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), reds=(scalar_operator(b),))


def with_map_scan(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), scans=(scalar_operator(b),))


def with_redomap_map(b: Block) -> None:
    op = scalar_operator(b)
    scans, reds = ((op,), ()) if b.maker.chance(50) else ((), (op,))
    made = operate(b, rows(b, 1), (number(b),), scans, reds, mapped=1)
    operate(b, named(made[-1:], b), (number(b),), reds=(scalar_operator(b),) if reds else (), mapped=1)


def with_map_scatter(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    scattered(b, *made[0])


def with_map_hist(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    hist_of(b, made, made[0][1].shape[0])


def with_late_rows(b: Block) -> None:
    """A histogram takes the rows that a loop makes, and their places; what these come from is there for others too."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    width, x = m.size(), m.param("x", I32)
    row = I32.array_of(width)
    inner = b.inner((x,))
    scaled = inner.let(
        "h", I32, core.PrimOp(m.pick((Op.ADD, Op.XOR, Op.MUL)), Prim.I32, (outside(b, I32), Var(x.name)))
    )
    place = inner.let("i", I64, core.Convert(Prim.I32, Prim.I64, scaled))
    empty = inner.let("row", row, core.Replicate((width,), Var(x.name)))

    def work(turn: Block) -> tuple[Atom, ...]:
        at, made = turn.params
        return (turn.let("w", row, core.Update(made, (core.Fix(Var(at)),), number(inner), True)),)

    (filled,) = looping(inner, (row,), (empty,), width, work)
    f = Lambda((x,), inner.body((place, scaled, filled)), (I64, I32, row))
    pat = tuple(m.param(base, of.array_of(t.shape[0])) for base, of in (("is", I64), ("hs", I32), ("rss", row)))
    places, _, made = b.lets(pat, core.Screma(t.shape[0], (name,), f, (), ()))
    adds = by_rows(b, width, binary(m, Op.ADD, Prim.I32), (Const(Prim.I32, 0),))
    bins = m.size()
    dest = b.let("dest", row.array_of(bins), core.Replicate((bins, width), Const(Prim.I32, 0)))
    params = (m.param("i", I64), m.param("r", row))
    same = Lambda(params, core.Body((), tuple(Var(p.name) for p in params)), (I64, row))
    b.let("h", b.env[dest.name], core.Hist(t.shape[0], (places.name, made.name), same, adds, (dest.name,), 1))
    gone(b, named((places, made, dest), b))


def with_sums(b: Block) -> None:
    """Sums into the same bins, by the places that a map gives: of floats, or of floats and of numbers; now and then
    what is combined is no sum."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    n, bins, x = t.shape[0], m.size(), m.param("x", I32)
    inner = b.inner((x,))
    place = inner.let("i", I64, core.Convert(Prim.I32, Prim.I64, Var(x.name)))
    small = inner.let("h", I32, core.PrimOp(Op.AND, Prim.I32, (Var(x.name), Const(Prim.I32, 15))))
    other = inner.let("v", F32, core.Convert(Prim.I32, Prim.F32, small))
    f = Lambda((x,), inner.body((place, small, other)), (I64, I32, F32))
    pat = tuple(m.param(base, of.array_of(n)) for base, of in (("is", I64), ("hs", I32), ("vs", F32)))
    places, *values = b.lets(pat, core.Screma(n, (name,), f, (), ()))
    for of in m.pick(((F32, F32), (I32, F32), (F32, I32), (F32, F32, I32))):
        array, zero = (values[0], Const(Prim.I32, 0)) if of == I32 else (values[1], Const(Prim.F32, 0.0))
        op = Op.OR if of == I32 and m.chance(20) else Op.ADD
        combined = Reduction(binary(m, op, of.prim), (zero,), True)
        dest = b.let("dest", of.array_of(bins), core.Replicate((bins,), zero))
        params = (m.param("i", I64), m.param("v", of))
        same = Lambda(params, core.Body((), tuple(Var(p.name) for p in params)), (I64, of))
        b.let("h", b.env[dest.name], core.Hist(n, (places.name, array.name), same, combined, (dest.name,), 1))
        gone(b, named((dest,), b))
    gone(b, named((places, *values), b))


def with_neighbours(b: Block) -> None:
    given = rows(b, 1)
    operate(b, given, (number(b),), mapped=1)
    operate(b, given, (number(b),), reds=(scalar_operator(b),) if b.maker.chance(50) else (), mapped=1)


def with_gathered(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    gathered(b, *made[0])


def with_joined(b: Block) -> None:
    """A map beside the array that it has read, or twice, as one row, which is reduced."""
    m = b.maker
    made = mapped_ints(b, source := rows(b, 1), (number(b),))
    ((name, t), (other, _)) = (made[0], source[0])
    n = t.shape[0]
    width = b.let("width", I64, core.PrimOp(Op.ADD, Prim.I64, (n, n)))
    parts = m.pick(((name, other), (other, name), (name, name)))
    row = b.let("row", I32.array_of(width), core.Concat(parts, width)).name
    gone(b, made)
    operate(b, ((row, I32.array_of(width)),), (), reds=(scalar_operator(b),))
    b.env.pop(row, None)


def with_ends(b: Block) -> None:
    """An array with a few elements before or behind it, which one reduction or map reads."""
    m = b.maker
    (name, t) = rows(b, 1)[0]
    count = m.pick((1, 2))
    few = b.let("few", I32.array_of(i64(count)), core.ArrayLit(tuple(number(b) for _ in range(count)), I32)).name
    width = b.let("width", I64, core.PrimOp(Op.ADD, Prim.I64, (t.shape[0], i64(count))))
    row = b.let("row", I32.array_of(width), core.Concat(m.pick(((few, name), (name, few))), width)).name
    gone(b, ((few, I32.array_of(i64(count))),))
    made: Inputs = ((row, I32.array_of(width)),)
    if m.chance(50):
        made = mapped_ints(b, made, (number(b),))
        b.env.pop(row, None)
    operate(b, made, (), reds=(scalar_operator(b),))
    b.env.pop(row, None)


def with_flat_rows(b: Block) -> None:
    """A reduction of the elements of a matrix that a map makes."""
    ((name, t),) = rows(b, 2)
    made = scanned_rows(b, name, t)
    size = b.let("size", I64, core.PrimOp(Op.MUL, Prim.I64, t.shape))
    flat = b.let("flat", core.Type(t.prim, (size,)), core.Reshape((size,), made.name))
    gone(b, named((made,), b))
    operate(b, named((flat,), b), (), reds=(scalar_operator(b),))
    b.env.pop(flat.name, None)


def with_filter(b: Block) -> None:
    """What is kept of an array is reduced, mapped, counted or kept again, and nothing else reads it."""
    m = b.maker
    made = kept(b, rows(b, 1))
    if m.chance(30):
        again = kept(b, made)
        gone(b, made)
        made = again
    match m.pick(("reduce", "map", "hist", "reduce")):
        case "reduce":
            operate(b, made, (number(b),), reds=(scalar_operator(b),))
        case "map":
            gone(b, made)
            made = mapped_ints(b, made, (number(b),))
            operate(b, made, (), reds=(scalar_operator(b),))
        case _:
            hist_of(b, made, made[0][1].shape[0])
    gone(b, made)


def kept(b: Block, taken: Inputs) -> Inputs:
    """A filter, as the front end makes it."""
    m = b.maker
    ((name, t),) = taken
    n, x = t.shape[0], m.param("x", I32)
    inner = b.inner((x,))
    keep = inner.let("keep", BOOL, core.PrimOp(Op.LT, Prim.I32, (Var(x.name), number(b))))
    bools = BOOL.array_of(n)
    keeps = b.let("keeps", bools, core.Screma(n, (name,), Lambda((x,), inner.body((keep,)), (BOOL,)), (), ())).name
    counts, size = counted(b, keeps, n)
    flag, count, y = m.param("keep", BOOL), m.param("count", I64), m.param("x", I32)
    inner = b.inner((flag, count, y))
    before = inner.let("at", I64, core.PrimOp(Op.SUB, Prim.I64, (Var(count.name), i64(1))))
    place = inner.let("at", I64, core.PrimOp(Op.SELECT, Prim.I64, (Var(flag.name), before, i64(-1))))
    f = Lambda((flag, count, y), inner.body((place, Var(y.name))), (I64, I32))
    dest = b.let("dest", I32.array_of(size), core.Scratch(I32.array_of(size))).name
    made = b.let("kept", I32.array_of(size), core.Scatter(n, (keeps, counts, name), f, (dest,), 1))
    for hidden in (dest, keeps, counts):
        b.env.pop(hidden)
    return named((made,), b)


def counted(b: Block, keeps: Name, n: Atom) -> tuple[Name, Var]:
    """How many of the first truth values hold, for each number of them, and how many there are in all."""
    add = Reduction(binary(b.maker, Op.ADD, Prim.I64), (i64(0),), True)
    x = b.maker.param("x", BOOL)
    inner = b.inner((x,))
    one = inner.let("one", I64, core.Convert(Prim.BOOL, Prim.I64, Var(x.name)))
    f = Lambda((x,), inner.body((one,)), (I64,))
    counts = b.let("counts", I64.array_of(n), core.Screma(n, (keeps,), f, (add,), ())).name
    empty = b.let("empty", BOOL, core.PrimOp(Op.EQ, Prim.I64, (n, i64(0))))
    last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (n, i64(1))))
    inner = b.inner(())
    total = inner.let("m", I64, core.Index(counts, (core.Fix(last),), True))
    branch = core.If(empty, core.Body((), (i64(0),)), inner.body((total,)))
    return counts, b.let("m", I64, branch)


def with_parts(b: Block) -> None:
    """A scatter of two values for each element, of which one goes beside the other, or a histogram: of halves, which as
    often one map makes, or of rows that are literals."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    n, size = t.shape[0], m.size()
    i, x = m.param("i", I64), m.param("x", I32)
    inner = b.inner((i, x))
    even = inner.let("even", I64, core.PrimOp(Op.MUL, Prim.I64, (Var(i.name), i64(2))))
    odd = inner.let("odd", I64, core.PrimOp(Op.ADD, Prim.I64, (even, i64(m.pick((1, -1))))))
    new = inner.let("h", I32, core.PrimOp(m.pick((Op.ADD, Op.MUL)), Prim.I32, (Var(x.name), number(b))))
    places = b.let("is", I64.array_of(n), core.Iota(n, i64(m.number(2)), i64(1), Prim.I64)).name
    each = Elements((places, name), (i, x), inner, (even, odd), (Var(x.name), new))
    both, at, values, made = m.pick((halves, literals))(b, n, each)
    dest = b.let("dest", I32.array_of(size), core.Replicate((size,), outside(b, I32))).name
    j, v = m.param("j", I64), m.param("v", I32)
    g = Lambda((j, v), core.Body((), (Var(j.name), Var(v.name))), (I64, I32))
    add = Reduction(binary(m, Op.ADD, Prim.I32), (Const(Prim.I32, 0),), True)
    hist = core.Hist(both, (at, values), g, add, (dest,), 1)
    exp = m.pick((core.Scatter(both, (at, values), g, (dest,), 1), hist))
    b.lets((m.param("sc", I32.array_of(size)),), exp)
    for hidden in (dest, at, values, *(one.name for one in made)):
        b.env.pop(hidden)


@dataclass(frozen=True, slots=True)
class Elements:
    """What a map gives for each element: two places, two values."""

    arrays: tuple[Name, ...]
    params: tuple[Param, ...]
    inner: Block
    places: tuple[Atom, Atom]
    values: tuple[Atom, Atom]


Joined = tuple[Atom, Name, Name, tuple[Var, ...]]
"""How many, their places, their values, and the arrays these are made of."""


def halves(b: Block, n: Atom, each: Elements) -> Joined:
    """The first place of each element, then the second ones."""
    types = (I64, I32, I64, I32)
    results = (each.places[0], each.values[0], each.places[1], each.values[1])
    f = Lambda(each.params, each.inner.body(results), types)
    pat = tuple(b.maker.param("part", t.array_of(n)) for t in types)
    parts = b.lets(pat, core.Screma(n, each.arrays, f, (), ()))
    both = b.let("nn", I64, core.PrimOp(Op.ADD, Prim.I64, (n, n)))
    at = b.let("at", I64.array_of(both), core.Concat((parts[0].name, parts[2].name), both)).name
    values = b.let("vs", I32.array_of(both), core.Concat((parts[1].name, parts[3].name), both)).name
    return both, at, values, parts


def literals(b: Block, n: Atom, each: Elements) -> Joined:
    """Both places of each element side by side."""
    types = (I64.array_of(i64(2)), I32.array_of(i64(2)))
    results = (
        each.inner.let("lit", types[0], core.ArrayLit(each.places, I64)),
        each.inner.let("lit", types[1], core.ArrayLit(each.values, I32)),
    )
    f = Lambda(each.params, each.inner.body(results), types)
    pat = tuple(b.maker.param("rows", t.array_of(n)) for t in types)
    made = b.lets(pat, core.Screma(n, each.arrays, f, (), ()))
    both = b.let("nn", I64, core.PrimOp(Op.MUL, Prim.I64, (n, i64(2))))
    at = b.let("at", I64.array_of(both), core.Reshape((both,), made[0].name)).name
    values = b.let("vs", I32.array_of(both), core.Reshape((both,), made[1].name)).name
    return both, at, values, made


def with_last_of_scan(b: Block) -> None:
    """A scan of which the last element alone is read."""
    ((name, t),) = rows(b, 1)
    x = b.maker.param("x", I32)
    inner = b.inner((x,))
    keep = inner.let("keep", BOOL, core.PrimOp(Op.LT, Prim.I32, (Var(x.name), number(b))))
    f = Lambda((x,), inner.body((keep,)), (BOOL,))
    keeps = b.let("keeps", BOOL.array_of(t.shape[0]), core.Screma(t.shape[0], (name,), f, (), ())).name
    counts, _ = counted(b, keeps, t.shape[0])
    gone(b, ((counts, I64), (keeps, BOOL)))


def with_first_kept(b: Block) -> None:
    """A filter whose first element alone is read, if it has one."""
    ((name, t),) = kept(b, rows(b, 1))
    some = b.let("some", BOOL, core.PrimOp(b.maker.pick((Op.GT, Op.NE)), Prim.I64, (t.shape[0], i64(0))))
    inner = b.inner(())
    first = inner.let("x", I32, core.Index(name, (core.Fix(i64(0)),), False))
    b.let("x", I32, core.If(some, inner.body((first,)), core.Body((), (number(b),))))
    b.env.pop(name)


def with_any_of_count(b: Block) -> None:
    """How many truth values hold, compared with 0 alone."""
    ((name, t),) = rows(b, 1)
    x = b.maker.param("x", I32)
    inner = b.inner((x,))
    keep = inner.let("keep", BOOL, core.PrimOp(Op.LT, Prim.I32, (Var(x.name), number(b))))
    one = inner.let("one", I64, core.Convert(Prim.BOOL, Prim.I64, keep))
    add = Reduction(binary(b.maker, Op.ADD, Prim.I64), (i64(0),), True)
    count = b.let("m", I64, core.Screma(t.shape[0], (name,), Lambda((x,), inner.body((one,)), (I64,)), (), (add,)))
    args = b.maker.pick(((count, i64(0)), (i64(0), count)))
    b.let("some", BOOL, core.PrimOp(b.maker.pick((Op.EQ, Op.NE)), Prim.I64, args))
    b.env.pop(count.name)


def with_loop_of_map(b: Block) -> None:
    """A loop whose body is a map of what it carries."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    beside = indices(b, t.shape[0]) if m.chance(50) else ()

    def work(inner: Block) -> tuple[Var, ...]:
        return tuple(Var(made) for made, _ in mapped_ints(inner, ((inner.params[1], t), *beside), (number(b),)))

    looping(b, (t,), (Var(name),), m.pick((i64(3), *m.sizes)), work)


def with_sink(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    sides = [lambda inner: discard(named(operate(inner, made, reds=(scalar_operator(inner),)), inner)), with_map]
    if b.maker.chance(50):
        sides.reverse()
    branching(b, outside(b, BOOL), (I32,), *sides)


def with_sums_of_shared_rows(b: Block) -> None:
    """All pairs of two arrays: neighbours read the same row."""
    m = b.maker
    ((ys, t),) = rows(b, 1)
    ((zs, _),) = given = indices(b, m.pick((t.shape[0], *m.sizes)))
    del zs

    def work(inner: Block) -> None:
        operate(inner, ((ys, t),), (number(inner),), reds=(scalar_operator(inner),))

    operate(b, given, mapped=1, work=work)
