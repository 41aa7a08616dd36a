"""What programs around one rule are made of: SOACs over given arrays, loops and branches around given work, nests.

The statements are those of `generate.py`; here the caller says over which arrays they go and what they use, and chance
has the rest: operators, types, scalar code, sizes (0 and 1 among them), what is captured.
"""

from __future__ import annotations

from collections.abc import Callable

from soac.ir import core
from soac.ir.core import Attr, Body, Fix, Lambda, Slice
from soac.ir.ops import Op
from soac.ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64
from tests.support.property.generate import Inputs, fill, map_over
from tests.support.property.make import I32, SCALARS, Block, Env, outcome, value
from tests.support.property.operators import binary
from tests.support.property.simple import scalar_stm

Work = Callable[[Block], None]
"""Adds statements to a body."""
Turn = Callable[[Block], tuple[Atom, ...] | None]
"""Adds statements to the body of a loop; says what comes next, or leaves that to chance."""


# ---- what there is ---------------------------------------------------------------------------------------------------


def rows(b: Block, rank: int) -> Inputs:
    """An array of this rank: of the innermost map if there is one, else any."""
    own: Env = {name: b.env[name] for name in b.params if name in b.env}
    for scope in (own, b.env):
        found = [(name, t) for name, t in scope.items() if t.rank == rank and t.prim is Prim.I32]
        if found:
            return (b.maker.late(found),)
    raise AssertionError(f"a program without an array of rank {rank}")


def number(b: Block) -> Atom:
    """A number of the innermost map, so that it varies; else any."""
    own = [name for name in b.params if b.env.get(name) == I32]
    return Var(b.maker.late(own)) if own else value(b, I32)


def outside(b: Block, t: Type) -> Atom:
    """The first value of this type there is: the program's own, the same for all points of a nest."""
    found = b.of_type(t)
    return Var(found[0]) if found else value(b, t)


def indices(b: Block, width: Atom) -> Inputs:
    """An iota of this width that starts anywhere."""
    t = I32.array_of(width)
    step = Const(Prim.I32, b.maker.pick((1, 1, -2)))
    return ((b.let("is", t, core.Iota(width, number(b), step, Prim.I32)).name, t),)


def condition(b: Block) -> Atom:
    """A condition that varies over a nest."""
    return b.let("c", BOOL, core.PrimOp(Op.LT, Prim.I32, (number(b), Const(Prim.I32, b.maker.number(8)))))


def own_size(b: Block) -> Var:
    """A size that varies over a nest: small, mostly; 0 is among them."""
    m = b.maker
    x = b.let("x", I32, core.PrimOp(Op.AND, Prim.I32, (number(b), Const(Prim.I32, m.pick((1, 3, 3, 7))))))
    if m.chance(20):
        x = b.let("x", I32, core.PrimOp(Op.MUL, Prim.I32, (x, x)))
    return b.let("k", I64, core.Convert(Prim.I32, Prim.I64, x))


def named(atoms: tuple[Var, ...], b: Block) -> Inputs:
    return tuple((v.name, b.env[v.name]) for v in atoms)


def gone(b: Block, taken: Inputs) -> None:
    """Nothing else uses these."""
    for name, _ in taken:
        b.env.pop(name, None)


# ---- SOACs -----------------------------------------------------------------------------------------------------------


def operate(
    b: Block,
    taken: Inputs,
    used: tuple[Atom, ...] = (),
    scans: tuple[core.Reduction, ...] = (),
    reds: tuple[core.Reduction, ...] = (),
    mapped: int = 0,
    attrs: tuple[Attr, ...] = (),
    work: Work = lambda inner: None,
) -> tuple[Var, ...]:
    """A Screma over these arrays, whose map computes with the numbers `used` and does some `work`."""
    m = b.maker
    width = taken[0][1].shape[0]
    params = tuple(m.param("x", t.row()) for _, t in taken)
    inner = b.inner(params)
    for atom in used:
        inner.let("h", I32, core.PrimOp(m.pick((Op.ADD, Op.XOR, Op.MUL)), Prim.I32, (number(inner), atom)))
    work(inner)
    if m.chance(30):
        scalar_stm(inner)
    operated = tuple(t for op in scans + reds for t in op.op.ret)
    types = (*operated, *(m.pick(SCALARS) for _ in range(mapped)))
    f = Lambda(params, inner.body(tuple(outcome(inner, t) for t in types)), types)
    scanned = sum(len(op.neutral) for op in scans)
    pat = tuple(m.param("y", t if scanned <= k < len(operated) else t.array_of(width)) for k, t in enumerate(types))
    return b.lets(pat, core.Screma(width, tuple(name for name, _ in taken), f, scans, reds), attrs)


def mapped_ints(b: Block, taken: Inputs, used: tuple[Atom, ...] = ()) -> Inputs:
    """A map to i32, digesting all it has."""
    m = b.maker
    width = taken[0][1].shape[0]
    params = tuple(m.param("x", t.row()) for _, t in taken)
    inner = b.inner(params)
    for atom in used:
        inner.let("h", I32, core.PrimOp(m.pick((Op.ADD, Op.XOR, Op.MUL)), Prim.I32, (number(inner), atom)))
    if m.chance(30):
        scalar_stm(inner)
    f = Lambda(params, inner.body((inner.digest(),)), (I32,))
    made = b.let("ms", I32.array_of(width), core.Screma(width, tuple(name for name, _ in taken), f, (), ()))
    return named((made,), b)


def scattered(b: Block, name: Name, t: Type) -> Var:
    """The elements of an array at distinct places of another one, some of them out of range."""
    m = b.maker
    n, width = m.size(), t.shape[0]
    dest = b.let("dest", I32.array_of(n), core.Replicate((n,), outside(b, I32))).name
    iota = core.Iota(width, i64(m.number(3) - 1), i64(m.pick((1, -1, 2))), Prim.I64)
    places = b.let("is", I64.array_of(width), iota).name
    i, x = m.param("i", I64), m.param("x", I32)
    inner = b.inner((i, x))
    new = inner.let("h", I32, core.PrimOp(m.pick((Op.ADD, Op.XOR, Op.MUL)), Prim.I32, (Var(x.name), number(b))))
    f = Lambda((i, x), inner.body((Var(i.name), new)), (I64, I32))
    made = b.let("sc", I32.array_of(n), core.Scatter(width, (places, name), f, (dest,), 1))
    b.env.pop(dest)
    return made


def gathered(b: Block, name: Name, t: Type) -> Var:
    """The elements of an array, last first, each read at its index."""
    m = b.maker
    width = t.shape[0]
    last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (width, i64(1))))
    places = b.let("is", I64.array_of(width), core.Iota(width, i64(0), i64(1), Prim.I64)).name
    i = m.param("i", I64)
    inner = b.inner((i,))
    at = inner.let("e", I64, core.PrimOp(Op.SUB, Prim.I64, (last, Var(i.name))))
    x = inner.let("x", I32, core.Index(name, (Fix(at),), True))
    new = inner.let("h", I32, core.PrimOp(m.pick((Op.ADD, Op.XOR, Op.MUL)), Prim.I32, (x, number(b))))
    f = Lambda((i,), inner.body((new,)), (I32,))
    return b.let("zs", t, core.Screma(width, (places,), f, (), ()))


def rows_made(b: Block, taken: Inputs, size: Atom) -> Inputs:
    """A row of this size for each element of an array."""
    ((name, t),) = taken
    x = b.maker.param("x", I32)
    inner = b.inner((x,))
    row = I32.array_of(size)
    made = inner.let("is", row, core.Iota(size, Var(x.name), Const(Prim.I32, b.maker.pick((1, 3))), Prim.I32))
    f = Lambda((x,), inner.body((made,)), (row,))
    return named((b.let("rs", row.array_of(t.shape[0]), core.Screma(t.shape[0], (name,), f, (), ())),), b)


def elementwise(b: Block, name: Name, t: Type) -> Var:
    """Every element of an array changed, by maps in maps."""
    if not t.shape:
        return b.let("e", I32, core.PrimOp(b.maker.pick((Op.ADD, Op.MUL)), Prim.I32, (Var(name), outside(b, I32))))
    x = b.maker.param("x", t.row())
    inner = b.inner((x,))
    f = Lambda((x,), inner.body((elementwise(inner, x.name, x.type),)), (t.row(),))
    return b.let("es", t, core.Screma(t.shape[0], (name,), f, (), ()))


def scanned_rows(b: Block, name: Name, t: Type) -> Var:
    """Every innermost row of an array scanned, by maps around a scan."""
    x = b.maker.param("x", t.row())
    inner = b.inner((x,))
    if t.rank == 1:
        add = binary(b.maker, Op.ADD, Prim.I32)
        f = Lambda((x,), inner.body((Var(x.name),)), (t.row(),))
        scan = core.Reduction(add, (Const(Prim.I32, 0),), True)
        return b.let("cs", t, core.Screma(t.shape[0], (name,), f, (scan,), ()))
    f = Lambda((x,), inner.body((scanned_rows(inner, x.name, x.type),)), (t.row(),))
    return b.let("es", t, core.Screma(t.shape[0], (name,), f, (), ()))


# ---- control ---------------------------------------------------------------------------------------------------------


def looping(b: Block, types: tuple[Type, ...], inits: tuple[Atom, ...], bound: Atom, work: Turn) -> tuple[Var, ...]:
    """A loop that carries values of these types; they come last in the scope of its body."""
    m = b.maker
    params = tuple(m.param("s", t) for t in types)
    index = m.param("it", I64)
    inner = b.inner((index, *params))
    body = inner.body(work(inner) or tuple(outcome(inner, t) for t in types))
    pat = tuple(m.param("z", t) for t in types)
    return b.lets(pat, core.Loop(params, inits, core.ForLoop(index.name, bound, Prim.I64), body))


def counting(b: Block, types: tuple[Type, ...], inits: tuple[Atom, ...], bound: Atom, work: Turn) -> tuple[Var, ...]:
    """The same as a `while` that counts for itself."""
    m = b.maker
    enters = b.let("go", BOOL, core.PrimOp(Op.LT, Prim.I64, (i64(0), bound)))
    go, count = m.param("go", BOOL), m.param("it", I64)
    params = (go, count, *(m.param("s", t) for t in types))
    inner = b.inner(params)
    results = work(inner) or tuple(outcome(inner, t) for t in types)
    after = inner.let("it", I64, core.PrimOp(Op.ADD, Prim.I64, (Var(count.name), i64(1))))
    again = inner.let("go", BOOL, core.PrimOp(Op.LT, Prim.I64, (after, bound)))
    pat = (m.param("went", BOOL), m.param("count", I64), *(m.param("z", t) for t in types))
    loop = core.Loop(params, (enters, i64(0), *inits), core.WhileLoop(go.name), inner.body((again, after, *results)))
    return b.lets(pat, loop)


def branching(b: Block, cond: Atom, types: tuple[Type, ...], then: Work, orelse: Work) -> tuple[Var, ...]:
    """A branch whose sides do some work each and give values of these types."""

    def side(work: Work) -> Body:
        inner = b.inner(())
        work(inner)
        return inner.body(tuple(outcome(inner, t) for t in types))

    pat = tuple(b.maker.param("z", t) for t in types)
    return b.lets(pat, core.If(cond, side(then), side(orelse)))


def nested(b: Block, depth: int, rank: int, work: Work) -> None:
    """`work` in a nest of this many maps, the innermost over arrays of this rank (seldom of more)."""
    if depth == 0:
        work(b)
        return
    m = b.maker
    deepest = depth + rank + m.chance(15)
    found = [(name, t) for name, t in b.arrays() if depth + rank <= t.rank <= deepest and t.prim is Prim.I32]
    name, t = m.late(found)
    numbers = [one for one in b.arrays() if one[1] == I32.array_of(t.shape[0])]
    beside = m.pick(numbers) if numbers and m.chance(80) else indices(b, t.shape[0])[0]

    def inside(inner: Block) -> None:
        if m.chance(25):
            fill(inner, 1)
        nested(inner, depth - 1, rank, work)
        for made in inner.own()[-2:] if depth == 1 else ():
            if inner.env[made].shape:
                inner.total(made, inner.env[made])  # so that it is not for nothing
        inner.digest()

    map_over(b, (beside, (name, t)), inside)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def whole(t: Type) -> tuple[core.DimIndex, ...]:
    return tuple(Slice(i64(0), size, i64(1)) for size in t.shape)


def turned(b: Block, name: Name, t: Type) -> Var:
    """An array from its end to its beginning."""
    last = b.let("last", I64, core.PrimOp(Op.SUB, Prim.I64, (t.shape[0], i64(1))))
    dims = (Slice(last, t.shape[0], i64(-1)), *whole(t)[1:])
    return b.let("rev", t, core.Index(name, dims, True))


def doubled(b: Block, name: Name, t: Type, other: Name) -> Var:
    """Two arrays of a type behind each other."""
    double = b.let("double", I64, core.PrimOp(Op.ADD, Prim.I64, (t.shape[0], t.shape[0])))
    return b.let("cat", t.row().array_of(double), core.Concat((name, other), double))


def stored(b: Block, name: Name, t: Type, index: Atom, new: Atom) -> Var:
    """An array of which one element, in bounds, is replaced in place."""
    dims = (Fix(index), *whole(t)[1:])
    made = b.let("up", t, core.Update(name, dims, new, True))
    b.env.pop(name)
    return made
